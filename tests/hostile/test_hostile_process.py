"""The surroundings are hostile: pipes that break, closed descriptors, signals, full disks, no home, no locale, no terminal."""

from __future__ import annotations

import gzip
import os
import pty
import re
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from hostile_support import (
    ANSWER,
    FAULT,
    MIB,
    NEURONWATCH,
    diagnose,
    environment,
    evidence,
    one_line_error,
    run,
    start,
    still_judged,
    wait_until_it_reads,
)

FULL = Path("/dev/full")


def big_evidence(directory: Path) -> Path:
    root = evidence(directory, {})
    for number in range(300):
        (root / f"{number:03d}.log").write_text(f"{FAULT} {number}\n" * 30)
    return root


@pytest.mark.parametrize(
    "argv",
    [
        ("diagnose", "-v"),
        ("diagnose", "--format", "json"),
        ("diagnose", "-v", "--format", "markdown"),
        ("rules", "list"),
        ("rules", "docs"),
    ],
)
def test_a_reader_that_goes_away(tmp_path: Path, argv: tuple[str, ...]) -> None:
    more = [str(big_evidence(tmp_path / "e"))] if argv[0] == "diagnose" else [str(tmp_path / "docs")] if argv[1] == "docs" else []
    read_end, write_end = os.pipe()
    os.close(read_end)
    child = start(*argv, *more, stdout=write_end, stderr=subprocess.PIPE)
    os.close(write_end)
    _, err = child.communicate(timeout=60)
    assert child.returncode in (0, 141) and b"Traceback" not in err and b"Exception ignored" not in err, err
    line = " ".join(["exec", *(f"'{part}'" for part in (*NEURONWATCH, *argv, *more))])
    done = subprocess.run(["sh", "-c", f"({line}) | head -1"], capture_output=True, env=environment(), timeout=60)
    assert done.returncode == 0 and b"Traceback" not in done.stderr and b"Exception" not in done.stderr, done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors(tmp_path: Path, closed: str) -> None:
    root = evidence(tmp_path / "e", {})
    for argv in (
        ("diagnose", str(root)),
        ("diagnose", "--format", "json", str(root)),
        ("rules", "list"),
        ("diagnose", "/nonexistent"),
        ("collect", str(root), "-o", str(tmp_path / "b.tgz")),
    ):
        line = " ".join(f"'{part}'" for part in (*NEURONWATCH, *argv))
        done = subprocess.run(["sh", "-c", f"exec {line} {closed}"], capture_output=True, env=environment(), timeout=60)
        assert done.returncode in (0, 1, 2, 3, 64, 141), (argv, done.returncode, done.stderr)
        assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr, done.stderr
    assert root.joinpath("good.log").read_text() == f"starting\n{FAULT}\n"


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("argv", [("diagnose",), ("diagnose", "--format", "json"), ("collect",)])
def test_output_to_a_full_disk(tmp_path: Path, argv: tuple[str, ...]) -> None:
    root = evidence(tmp_path / "e", {})
    more = [str(root), "-o", str(tmp_path / "b.tgz")] if argv[0] == "collect" else [str(root)]
    with FULL.open("wb") as full:
        child = start(*argv, *more, stdout=full, stderr=subprocess.PIPE)
        _, err = child.communicate(timeout=60)
    assert (
        child.returncode not in (0, 2, 70, 120)
        and b"Traceback" not in err
        and b"no space left" in err.lower()
        and err.count(b"\n") == 1
    ), (child.returncode, err)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_scan(tmp_path: Path, number: int) -> None:
    root = evidence(tmp_path / "e", {})
    with (root / "big.log").open("wb") as out:
        block = b'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nRuntimeError: nothing\n' * 10_000
        for _ in range(60):
            out.write(block)
    for delay in (0.05, 0.3, 0.8):
        for argv in (("diagnose", root), ("collect", root, "-o", tmp_path / "b.tgz")):
            child = start(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if delay >= 0.3:
                wait_until_it_reads(child, root / "big.log")
            time.sleep(delay)
            child.send_signal(number)
            _, err = child.communicate(timeout=120)  # an interrupt in an import may be lost in Python itself
            if delay >= 0.3:  # before the program has begun the interpreter dies of it
                assert child.returncode in (130, 2, 0, -number, 143), child.returncode
                assert b"Traceback" not in err, err
    assert sorted(path.name for path in tmp_path.iterdir() if "b.tgz" in path.name) in ([], ["b.tgz"]) or number == signal.SIGTERM


@pytest.mark.parametrize("env", [
    {"HOME": None, "XDG_CACHE_HOME": None, "XDG_CONFIG_HOME": None, "USER": None}, {"HOME": "", "XDG_CACHE_HOME": ""}, {"HOME": "/nonexistent", "XDG_CACHE_HOME": None},
    {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1:strict"},
    {"TERM": "dumb"}, {"TERM": None, "COLUMNS": None}, {"COLUMNS": "0"}, {"COLUMNS": "-5", "LINES": "x"}, {"COLUMNS": "99999999999"}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"},
    {"PATH": ""}, {"TMPDIR": "/nonexistent"}, {"PYTHONWARNINGS": "error"}, {"TZ": "Nowhere/Nothing"}, {"PYTHONOPTIMIZE": "2"}, {"PYTHONDEVMODE": "1"},
], ids=lambda value: ",".join(f"{key}={content}" for key, content in value.items())[:60])  # fmt: skip
def test_odd_environments(tmp_path: Path, env: dict[str, str | None]) -> None:
    root = evidence(tmp_path / "e", {"é表.log": f"é表 \U0001f642 {FAULT}\n"})
    clean = {"XDG_CACHE_HOME": str(tmp_path / "cache"), **env}
    still_judged(diagnose(root, env=clean, cwd=tmp_path))
    for how in ("text", "markdown"):
        result = run("diagnose", "-v", "--format", how, root, env=clean, cwd=tmp_path)
        assert result.code == 2 and not result.err.replace(
            "neuronwatch: compiling the rule table (first run after a change)\n", ""
        ), result.err
    assert not (tmp_path / "~").exists()
    if "TMPDIR" not in env:
        assert run("collect", root, "-o", tmp_path / "b.tgz", env=clean).code == 0


def test_forty_columns(tmp_path: Path) -> None:
    result = run("diagnose", evidence(tmp_path / "e", {}), env={"COLUMNS": "40"})
    assert result.code == 2 and max(len(line) for line in result.out.split("\n")) <= 40


def test_a_terminal_that_hangs_up(tmp_path: Path) -> None:
    root = big_evidence(tmp_path / "e")
    leader, follower = pty.openpty()
    child = start("diagnose", "-v", root, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    out = b""
    while len(out) < 400:
        out += os.read(leader, 400)
    os.close(leader)
    assert child.wait(60) in (2, 3, 141, -signal.SIGHUP, 129)
    assert b"Traceback" not in out


def test_a_terminal_gets_colours_and_nothing_of_the_evidence(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {"a.log": f"\x1b]52;c;QQ==\x07\x1b[5m[red]{FAULT}\x1b[8m\n"})
    leader, follower = pty.openpty()
    child = start(
        "diagnose", root, stdin=follower, stdout=follower, stderr=follower, env={"TERM": "xterm-256color", "NO_COLOR": None}
    )
    os.close(follower)
    out = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(leader)
    assert child.wait(60) == 2
    assert b"\x1b[" in out and b"\x1b]" not in out and b"\x07" not in out and b"\x1b[5m" not in out and b"\x1b[8m" not in out
    assert not re.sub(rb"\x1b\[(?:[0-9;]*m|K)", b"", out).count(b"\x1b")  # K: of the progress on a slow machine


def test_a_big_directory_is_no_memory(tmp_path: Path) -> None:
    result = run("diagnose", "-v", big_evidence(tmp_path / "e"))
    assert result.code == 2 and result.memory < 80 and ANSWER in result.out


def test_no_room_for_a_bundle(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {"a.bin": os.urandom(MIB).hex()})
    result = run("collect", root, "-o", tmp_path / "b.tgz", file_limit=64 * 1024)
    assert result.code in (1, 64) and result.err.count("\n") == 1 and "b.tgz" in result.err, result.err
    assert not list(tmp_path.glob("b.tgz*"))


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root to mount a small file system")
def test_a_full_disk(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(place)], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        root = evidence(tmp_path / "e", {"a.log": os.urandom(MIB).hex()})
        result = run("collect", root, "-o", place / "b.tgz")
        assert result.code in (1, 64) and result.err.count("\n") == 1 and "no space left" in result.err.lower(), result.err
        assert not list(place.iterdir())
        result = run("lock", "write", "--lock", place / "x" / "l.toml", "--from", root)
        assert result.code in (1, 64) and result.err.count("\n") == 1
        still_judged(diagnose(root, env={"XDG_CACHE_HOME": str(place)}))
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_standard_input(tmp_path: Path) -> None:
    line = f"{FAULT}\n".encode()
    for data in (line, gzip.compress(line), line * 100_000):
        result = still_judged(diagnose("-", stdin=data))
        assert list(result.sources) == ["stdin"]
        assert result.json["findings"][0]["evidence"][0]["line"] == 1
    still_judged(diagnose("-", evidence(tmp_path / "e", {}), stdin=b""))
    assert diagnose("-").code in (0, 3)
    leader, follower = pty.openpty()
    child = start("diagnose", "-", stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, _ = child.communicate(timeout=60)  # a terminal is not waited for
    assert child.returncode == 3 and b"a terminal is not read" in out
    os.close(leader)
    os.close(follower)


def test_a_bundle_never_replaces_what_is_no_file_and_never_holds_itself(tmp_path: Path) -> None:
    """As root `-o /dev/null` put a regular file in the place of the device."""
    root = evidence(tmp_path / "e", {"a.log": "x"})
    os.mkfifo(tmp_path / "fifo")
    for target in (tmp_path / "fifo", root):
        one_line_error(run("collect", root, "-o", target), "no regular file")
    assert (tmp_path / "fifo").is_fifo()
    assert run("collect", root, "-o", root / "b.tgz").code == 0
    with tarfile.open(root / "b.tgz") as archive:
        assert sorted(archive.getnames()) == ["evidence/a.log", "evidence/good.log", "manifest.json"]
