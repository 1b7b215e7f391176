"""Long campaigns, run by `make torture`: each fuzz target for a while, a million small files, big and growing evidence.

NEURONWATCH_FUZZ_SECONDS (default 60) and NEURONWATCH_FUZZ_SEED (default 1) set how long each target runs and from where.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hostile"))

from case_support import CASES, NAMES, essence
from case_support import diagnose as judged
from hostile_support import ANSWER, FAULT, diagnose, evidence, run, still_judged
from live_case_support import live

pytestmark = pytest.mark.torture
SECONDS = os.environ.get("NEURONWATCH_FUZZ_SECONDS", "60")
SEED = os.environ.get("NEURONWATCH_FUZZ_SEED", "1")


@pytest.mark.parametrize("target", ["parsers", "archives", "rules", "redactor"])
def test_fuzz(target: str) -> None:
    program = Path(__file__).with_name(f"fuzz_{target}.py")
    done = subprocess.run([sys.executable, str(program), "--seconds", SECONDS, "--seed", SEED], capture_output=True, text=True)
    print(done.stdout[-2000:])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_million_small_files(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    for folder in range(20):
        (root / f"{folder:02d}").mkdir()
        for number in range(50_000):
            os.close(os.open(root / f"{folder:02d}" / f"{number:05d}.log", os.O_CREAT | os.O_WRONLY))
    result = still_judged(diagnose(root, timeout=1800, seconds=1500, memory=150))
    assert len(result.sources) < 5000


def test_files_that_change_while_they_are_read(tmp_path: Path) -> None:
    """A writer appends, truncates, renames, removes and replaces files during forty scans; good.log is always judged."""
    root, outside = evidence(tmp_path / "e", {}), tmp_path / "outside.log"
    outside.write_text(f"{OUTSIDE}\n")
    rng, stop = random.Random(int(SEED)), threading.Event()
    counts: dict[str, int] = {}

    def disturb() -> None:
        while not stop.is_set():
            path = root / f"{rng.randrange(40)}.log"
            what = rng.choice(("append", "truncate", "unlink", "rename", "replace", "rmdir"))
            with contextlib.suppress(OSError):
                _disturb(path, what, rng, outside)
                counts[what] = counts.get(what, 0) + 1

    writer = threading.Thread(target=disturb, daemon=True)
    writer.start()
    try:
        for number in range(40):
            result = diagnose(root, timeout=300, seconds=200)
            assert ANSWER in result.faults and OUTSIDE not in result.out
            if number % 8 == 0:
                assert run("collect", root, "-o", tmp_path / "b.tgz", timeout=600, seconds=500, memory=250).code == 0
    finally:
        stop.set()
        writer.join(timeout=60)
    assert not writer.is_alive() and len(counts) == 6 and min(counts.values()) > 100, counts
    assert outside.read_text() == f"{OUTSIDE}\n"


OUTSIDE = "RuntimeError: a line from outside of the evidence"


def _disturb(path: Path, what: str, rng: random.Random, outside: Path) -> None:
    """One change. Files are opened so that neither a link is followed (as root that would write to what it points to) nor a
    pipe is waited for."""
    if what in ("append", "truncate"):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_CREAT if what == "append" else 0))
        try:
            if what == "truncate":
                os.ftruncate(handle, rng.randrange(1000))
            elif os.fstat(handle).st_size < 20_000_000:
                os.write(handle, b"some line of a log\n" * rng.choice((1, 1000, 100_000)))
        finally:
            os.close(handle)
    elif what == "unlink":
        path.unlink()
    elif what == "rename":
        path.rename(path.with_name(f"{rng.randrange(40)}.log"))
    elif what == "replace":
        path.unlink(missing_ok=True)
        rng.choice((os.mkfifo, os.mkdir, partial(os.symlink, outside)))(path)
    else:
        path.rmdir()


def test_a_log_of_four_gigabytes(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    block = b"".join(b"2026-01-02 03:04:05 INFO step %d loss %d.%d of the run\n" % (n, n % 7, n) for n in range(20_000))
    with (root / "big.log").open("wb") as out:
        while out.tell() < 4 << 30:
            out.write(block)
        out.write(f"{FAULT}\n".encode())
    still_judged(diagnose(root, timeout=1800, seconds=1500, memory=100))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_live_equals_offline(name: str, seed: int) -> None:
    """tests/test_live_offline.py, for every case and several interleavings."""
    directory = CASES / name / "evidence"
    assert essence(live(directory, f"{SEED} {seed}")[0].diagnosis) == essence(judged(directory))
