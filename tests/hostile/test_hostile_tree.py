"""Hostile directories: links, special files, names, unreadable files, very many files, as a user meets them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from hostile_support import (
    ANSWER,
    FAULT,
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

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
NOBODY = 65534

NAMES = [
    b"new\nline.log", b"-rf", b"--format=json", b"x" * 251 + b".log", b"\xff\xfe\x80.log", b"[bold red]b[/].log", b"\x1b[2J\x1b]52;c;QQ==\x07.log",
    "\u202egol.exe".encode(), "表情🙂.log".encode(), b" ", b"a:b!c.log", b"`id`$(id).log", b"<script>alert(1)</script>.log", b"a\tb.log",
    b"...", b"%s%n.log", b"nul\x01.log", "e\u0301\u200b.log".encode(),
]  # fmt: skip


def test_links_devices_pipes_and_sockets(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    (tmp_path / "outside.log").write_text("secret outside\n" + FAULT)
    (root / "out").symlink_to(tmp_path / "outside.log")
    (root / "etc").symlink_to("/etc")
    (root / "zero").symlink_to("/dev/zero")
    (root / "self").symlink_to("self")
    (root / "up").symlink_to("..")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
        result = still_judged(diagnose(root))
    for name in ("out", "etc", "zero", "up"):
        assert result.sources[name] == "skipped: a link out of the evidence is not followed"
    assert (
        "skipped: a named pipe is not read" in result.sources.values()
        and "skipped: a socket is not read" in result.sources.values()
    )
    assert "secret outside" not in result.out


@pytest.mark.parametrize("given", ["/dev/zero", "/dev/null", "/proc/self/mem", "/dev/stdin"])
def test_a_device_as_path(given: str) -> None:
    if not Path(given).exists():
        pytest.skip("not on this system")
    assert diagnose(given).code in (0, 3)


def test_a_pipe_as_path_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert diagnose(tmp_path / "fifo", timeout=20).code == 3


@pytest.mark.skipif(not ROOT or not shutil.which("setpriv"), reason="needs root and setpriv to have files that cannot be read")
def test_unreadable_files(tmp_path: Path) -> None:
    """Another user's files and directories, read by somebody without the capabilities of root."""
    root = evidence(tmp_path / "e", {"closed.log": FAULT, "closed/x.log": FAULT})
    for name in ("closed.log", "closed"):
        os.chown(root / name, NOBODY, NOBODY)
        (root / name).chmod(0o600 if name.endswith("log") else 0o700)
    result = still_judged(diagnose(root, uid=-1))
    assert result.sources["closed.log"] == result.sources["closed"] == "failed: permission denied"
    closed = run("diagnose", root / "closed.log", uid=-1)
    assert closed.code == 3 and "permission denied" in closed.out
    bundle = run("collect", root, "-o", tmp_path / "b.tar.gz", uid=-1)
    assert bundle.code == 0 and "permission denied" in bundle.out


def test_hostile_names(tmp_path: Path) -> None:
    root = tmp_path / "e"
    root.mkdir()
    for name in NAMES:
        Path(os.fsdecode(os.fsencode(root) + b"/" + name.replace(b"/", b"|"))).write_text(f"x\n{FAULT}\n")
    for how in ("text", "markdown", "json"):
        for env in ({}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}):
            result = run("diagnose", "-v", "--format", how, root, env=env)
            assert result.code == 2 and "\x1b" not in result.out and "\x07" not in result.out and "\u202e" not in result.out
            assert "\n(line.log" not in result.out and "\nline.log" not in result.out
    result = diagnose(root)
    assert result.faults == [ANSWER] and len(result.sources) == len(NAMES)


def test_a_hostile_name_as_argument(tmp_path: Path) -> None:
    for name in ("a\nb\x1b[2J.log", "\udcff.log", "[red]x.log"):
        (tmp_path / name).write_text(FAULT)
        assert run("diagnose", tmp_path / name).code == 2
        result = run("diagnose", tmp_path / ("missing" + name))
        assert result.code == 64 and "\x1b" not in result.err and result.err.count("\n") == 1, result.err
        result = run("diagnose", "--format", "json", tmp_path / ("missing" + name))
        assert result.code == 64 and result.json["error"]["code"] == "usage"


def test_a_path_that_cannot_exist(tmp_path: Path) -> None:
    for path in ("x" * 5000, str(tmp_path / ("y" * 300)), "", "a/../../../../../../nothing", str(tmp_path / "f" / "x")):
        (tmp_path / "f").write_text("a file")
        result = run("diagnose", path)
        assert result.code == 64 and result.err.count("\n") == 1, result.err


def test_twenty_thousand_small_files(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    for number in range(20_000):
        (root / f"{number:05d}.txt").write_bytes(b"quiet\n" if number % 7 else b"")
    result = still_judged(diagnose(root, memory=150))
    assert len(result.sources) < 3000 and any("further files" in path for path in result.sources)


def test_very_deep_directories(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    place = os.open(root, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    assert any("deeper" in reason for reason in still_judged(diagnose(root)).sources.values())


def test_evidence_that_vanishes_is_never_healthy(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    for number in range(3000):
        (root / f"{number}").mkdir()
        (root / f"{number}" / "a.log").write_text("x\n" * 2000)
    child = start("diagnose", "--format", "json", root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until_it_reads(child, root)
    shutil.rmtree(root)
    out, err = child.communicate(timeout=100)
    assert b"Traceback" not in err
    assert child.returncode == 3 and json.loads(out)["verdict"] == "unknown" and "vanished" in out.decode(), out[-500:]


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    for argv in (["diagnose", "."], ["diagnose", ".", str(root)], ["collect", "."], ["diagnose", "../x"], ["rules", "list"]):
        line = " ".join(f"'{part}'" for part in (*NEURONWATCH, *argv))
        done = subprocess.run(
            ["sh", "-c", f"mkdir '{tmp_path}/gone'; cd '{tmp_path}/gone'; rmdir '{tmp_path}/gone'; exec {line}"],
            capture_output=True, env=environment(), timeout=60,
        )  # fmt: skip
        assert done.returncode in (0, 2, 3, 64) and b"Traceback" not in done.stderr, (argv, done)


def test_names_that_are_too_long_for_every_verb(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    for name in ("x" * 4095, "x/" * 2047, "x" * 256):
        one_line_error(run("collect", name, "-o", tmp_path / "b.tgz"))
        one_line_error(run("collect", root, "-o", tmp_path / name))
        one_line_error(run("diagnose", name))
