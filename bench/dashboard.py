"""What the dashboard costs in a terminal: processor, memory, first frame, bytes, beside glances, btop and a naive page.

    python bench/dashboard.py [--seconds 60] [--only top,btop,...] [--repeat 5]

128 cores, each of which changes with each sample, at 1 Hz and at 4 Hz, told by a small daemon without a host
(tests/tui/fake_daemon.py). Each program runs in a pty of its own, one after the other. Processor time is the scheduler's count of
the process and its threads, children not. The first frame is measured apart, and the best and the median of `--repeat` starts are
told. Peers that are not installed are left out: `apt-get install btop`, `pip install glances`.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from _live import spent

ROOT = Path(__file__).resolve().parent.parent
ROWS, COLUMNS = 45, 160
WARM = 6.0
"""Seconds that a program has to start; what it costs then is not counted."""


class Program(NamedTuple):
    """`shown`: bytes that stand on its first frame with numbers; b"": what fills two thousand bytes."""

    name: str
    argv: list[str]
    shown: bytes = b""


class Cost(NamedTuple):
    cpu: float
    resident: float
    rate: float


def spawn(program: Program) -> tuple[int, int]:
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        environ.pop("COLUMNS", None)
        environ.pop("LINES", None)
        try:
            os.execvpe(program.argv[0], program.argv, environ)
        finally:
            os._exit(127)
    return pid, terminal


def end(pid: int, terminal: int) -> None:
    """Asks it to quit, then ends it."""
    with contextlib.suppress(OSError):
        os.write(terminal, b"q")
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        if number:
            os.kill(pid, number)
        limit = time.monotonic() + 3
        while time.monotonic() < limit:
            _read(terminal, 0.05)
            if os.waitpid(pid, os.WNOHANG)[0]:
                os.close(terminal)
                return
    os.close(terminal)


def _read(terminal: int, seconds: float) -> bytes:
    if not select.select([terminal], [], [], seconds)[0]:
        return b""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def cost(program: Program, seconds: float) -> Cost:
    pid, terminal = spawn(program)
    try:
        begin = time.monotonic()
        while time.monotonic() - begin < WARM:
            _read(terminal, 0.2)
        begin, before, size = time.monotonic(), spent(pid), 0
        while time.monotonic() - begin < seconds:
            size += len(_read(terminal, 0.2))
        passed = time.monotonic() - begin
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
        return Cost(100 * (spent(pid) - before) / passed, resident, size / passed)
    finally:
        end(pid, terminal)


def first_frame(program: Program) -> tuple[float, float]:
    """Milliseconds until the first frame, and until the first one with numbers."""
    begin = time.monotonic()
    pid, terminal = spawn(program)
    try:
        found, drawn = b"", 0.0
        while time.monotonic() - begin < 20:
            found += _read(terminal, 0.5)
            drawn = drawn or (time.monotonic() - begin if len(found) > 1000 else 0.0)
            if program.shown in found if program.shown else len(found) > 2000:
                return 1e3 * drawn, 1e3 * (time.monotonic() - begin)
        return 1e3 * drawn, float("nan")
    finally:
        end(pid, terminal)


def programs(directory: Path) -> tuple[list[Program], list[list[str]]]:
    """What is measured, and the daemons that it needs."""
    daemons, found = [], []
    for hz in (1, 4):
        path = directory / f"{hz}.sock"
        daemons.append([sys.executable, str(ROOT / "tests/tui/fake_daemon.py"), str(path), "--hz", str(hz)])
        argv = [sys.executable, "-m", "neuronwatch", "top", "--socket", str(path), "--rate", str(hz)]
        found.append(Program(f"neuronwatch top, {hz} Hz", argv, b"HEALTHY"))
    naive = str(ROOT / "bench/naive_dashboard.py")
    found += [Program(f"naive page of 128 widgets, {hz} Hz", [sys.executable, naive, str(hz)], b"nc127") for hz in (1, 4)]
    glances = Path(sys.executable).parent / "glances"
    if glances.exists():
        found.append(Program("glances, 1 Hz", [str(glances), "--disable-check-update", "-t", "1"]))
    if shutil.which("btop"):
        found.append(Program("btop, 0.5 Hz (its default)", ["btop", "--utf-force"]))
    return found, daemons


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="", help="words, one of which the name must contain")
    args = parser.parse_args()
    words = [word for word in args.only.split(",") if word]
    with tempfile.TemporaryDirectory(prefix="nw") as name:
        found, commands = programs(Path(name))
        daemons = [subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) for command in commands]
        try:
            for daemon in daemons:
                assert daemon.stdout is not None and daemon.stdout.readline()
            print(f"| program ({COLUMNS}x{ROWS}) | CPU, % of a core | RSS, MB | tty, KB/s | first frame, ms | with numbers, ms |")
            print("| --- | --: | --: | --: | --: | --: |")
            for program in found:
                if words and not any(word in program.name for word in words):
                    continue
                frames = [first_frame(program) for _ in range(args.repeat)]
                drawn, told = ([item[place] for item in frames] for place in (0, 1))
                spend = cost(program, args.seconds)
                times = " | ".join(f"{min(times):.0f} to {statistics.median(times):.0f}" for times in (drawn, told))
                print(f"| {program.name} | {spend.cpu:.2f} | {spend.resident:.1f} | {spend.rate / 1e3:.1f} | {times} |", flush=True)
        finally:
            for daemon in daemons:
                daemon.kill()
                daemon.wait()


if __name__ == "__main__":
    main()
