"""The audit chain: whole after kill -9 at any time; what was changed, removed or cut off is found and named."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neuronwatch.remedy.audit import HEAD, NAME, Audit

WRITER = """
import sys, time
from pathlib import Path
from neuronwatch.remedy.audit import Audit
audit = Audit(Path(sys.argv[1]))
print("begun", flush=True)
while True:
    audit.append("decision", time.time(), {"why": "x" * 3000, "pid": sys.argv[2]})
"""


def filled(place: Path, lines: int = 6) -> Audit:
    audit = Audit(place)
    for number in range(lines):
        audit.append("decision", 1000.0 + number, {"why": f"line {number}", "diff": [{"old": None, "new": 4}]})
    return audit


def test_what_is_appended_is_told_and_whole(tmp_path: Path) -> None:
    audit = filled(tmp_path)
    assert audit.verify() == (6, [])
    entries = list(audit.entries())
    assert [entry.n for entry in entries] == [1, 2, 3, 4, 5, 6] and entries[3].told["why"] == "line 3"
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_kill_9_while_appending_leaves_it_whole(tmp_path: Path) -> None:
    """Two writers at once, killed at random moments, 60 times (seed 7)."""
    rng = random.Random(7)
    for number in range(30):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), f"{number}-{side}"], stdout=subprocess.PIPE)
            for side in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None and writer.stdout.readline() == b"begun\n"
        time.sleep(rng.uniform(0.0, 0.02))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            writer.stdout.close()  # type: ignore[union-attr]
    Audit(tmp_path).append("decision", 1.0, {"why": "the last"})
    count, problems = Audit(tmp_path).verify()
    assert problems == [] and count > 30


def test_a_torn_line_is_moved_aside_and_said(tmp_path: Path) -> None:
    audit = filled(tmp_path, 3)
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"n":4,"half of a li')
    assert [(problem.line, "torn" in problem.what) for problem in audit.verify()[1]] == [(4, True)]
    audit.append("decision", 2000.0, {"why": "goes on"})
    assert audit.verify() == (5, [])
    repair = list(audit.entries())[3]
    assert repair.kind == "repair" and (tmp_path / str(repair.told["moved_to"])).read_bytes() == b'{"n":4,"half of a li'


@pytest.mark.parametrize("line", [1, 3, 6])
def test_a_changed_line_is_named(tmp_path: Path, line: int) -> None:
    audit = filled(tmp_path)
    lines = (tmp_path / NAME).read_text().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(f"line {line - 1}", "line 9")
    (tmp_path / NAME).write_text("".join(lines))
    assert [(problem.line, problem.what) for problem in audit.verify()[1]] == [(line, "was changed")]


@pytest.mark.parametrize(
    ("gone", "at", "what"),
    [(0, 1, "1 lines before it are missing"), (2, 3, "1 lines before it are missing"), (5, 5, "the last 1 lines are missing")],
)
def test_a_removed_line_is_named(tmp_path: Path, gone: int, at: int, what: str) -> None:
    audit = filled(tmp_path)
    lines = (tmp_path / NAME).read_text().splitlines(keepends=True)
    del lines[gone]
    (tmp_path / NAME).write_text("".join(lines))
    assert [tuple(problem) for problem in audit.verify()[1]] == [(at, what)]


def test_a_line_that_was_made_anew_with_its_own_hash_is_found(tmp_path: Path) -> None:
    """Whoever rewrites one line and its hash breaks the line after it."""
    audit = filled(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    forged = Audit(other)
    for number in range(6):
        forged.append(
            "decision", 1000.0 + number, {"why": "forged" if number == 2 else f"line {number}", "diff": [{"old": None, "new": 4}]}
        )
    lines, made = ((place / NAME).read_text().splitlines(keepends=True) for place in (tmp_path, other))
    lines[2] = made[2]
    (tmp_path / NAME).write_text("".join(lines))
    assert [problem.line for problem in audit.verify()[1]] == [4]


def test_hostile_content_is_named_and_appending_goes_on(tmp_path: Path) -> None:
    audit = filled(tmp_path, 2)
    with (tmp_path / NAME).open("ab") as file:
        file.write(b"[" * 100_000 + b"\n" + b'{"n": true, "t": 1, "kind": "x", "prev": "", "hash": ""}\n\xff\xfe\n')
    audit.append("decision", 5.0, {"n": "mine", "kind": "mine", "why": "still works"})
    count, problems = audit.verify()
    assert count == 6 and {problem.line for problem in problems} >= {3, 4, 5}
    assert list(audit.entries())[-1].told["why"] == "still works"
    (tmp_path / HEAD).write_text("{")
    assert any("cannot be read" in problem.what for problem in audit.verify()[1])


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    target = tmp_path / NAME
    if kind == "link":
        (tmp_path / "elsewhere").write_text("")
        target.symlink_to(tmp_path / "elsewhere")
    elif kind == "fifo":
        os.mkfifo(target)
    else:
        target.mkdir()
    with pytest.raises(OSError):
        Audit(tmp_path).append("decision", 1.0, {})


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    """RLIMIT_FSIZE ends the write in the middle of a line."""
    script = (
        "import resource, signal, sys; from pathlib import Path; from neuronwatch.remedy.audit import Audit\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); a = Audit(Path(sys.argv[1])); a.append('decision', 1.0, {})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: a.append('decision', 2.0, {'why': 'x' * 5000})\nexcept OSError as error: print('refused', error.errno)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.startswith("refused")
    assert Audit(tmp_path).verify() == (1, [])


def test_what_is_too_long_is_cut_and_said(tmp_path: Path) -> None:
    audit = Audit(tmp_path)
    audit.append("decision", 1.0, {"why": "y" * 1_000_000})
    assert audit.verify() == (1, []) and next(iter(audit.entries())).told["too_long"] > 1_000_000
    assert (tmp_path / NAME).stat().st_size < 10_000
    json.loads((tmp_path / HEAD).read_text())
