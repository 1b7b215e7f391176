"""How soon a death is noticed and the command started again, and what the output of a job costs, beside other supervisors.

    python bench/respawn.py [--times 20] [--bin DIR] [--size BYTES]

A command that says its pid and the time in a file is killed with SIGKILL; the time until the next one says its own, less the time
that the command needs to begin. Those that are not installed are left out: runsv (Debian: runit), supervisord, circusd, torchrun.
The output of a job: 1 GB written through `neuronwatch run` into a pipe that is read, against the same into a plain file.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SCRIPT = "import os,time\nf=open({place!r},'a')\nf.write(f'{{os.getpid()}} {{time.monotonic()}}\\n')\nf.flush()\ntime.sleep(1000)\n"
PATIENCE = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--bin", action="append", default=[], metavar="DIR", help="look for the other supervisors here too")
    parser.add_argument("--size", type=int, default=1 << 30, help="bytes of output")
    options = parser.parse_args()
    os.environ["PATH"] = os.pathsep.join([*options.bin, os.environ["PATH"]])
    print(f"| respawn after kill -9, {options.times} times | median ms | worst ms |\n|---|---|---|")
    tell("neuronwatch run", ours(options.times))
    for supervisor, slow in OTHERS:
        tell(supervisor.__name__, theirs(supervisor, min(options.times, 5) if slow else options.times))
    output(options.size)


def tell(name: str, found: list[float]) -> None:
    cells = f"{statistics.median(found):.2f} | {max(found):.2f}" if found else "not installed |"
    print(f"| {name} | {cells} |", flush=True)


def output(size: int) -> None:
    """A job that writes `size` bytes in lines, into a file of its own and through us."""
    script = f"import os\nline = b'x' * 127 + b'\\n'\npart = line * 64\nfor _ in range({size} // len(part)): os.write(1, part)"
    times: dict[str, list[float]] = {"a plain file": [], "neuronwatch run": []}
    with tempfile.TemporaryDirectory() as place:
        for turn in range(5):
            for name, found in times.items():
                os.sync()
                end = f"open({place!r} + '/took', 'w').write(str(time.monotonic() - begun))"
                timed = f"import time\nbegun = time.monotonic()\n{script}\n{end}"
                command = [sys.executable, "-c", timed]
                if name == "neuronwatch run":
                    command = [*neuronwatch(f"{place}/state{turn}"), "--", *command]
                    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as reader:
                        subprocess.run(command, stdout=reader.stdin, check=True)
                        reader.stdin.close()
                else:
                    with open(f"{place}/plain", "wb") as file:
                        subprocess.run(command, stdout=file, check=True)
                    Path(place, "plain").unlink()
                found.append(float(Path(place, "took").read_text()))
                shutil.rmtree(f"{place}/state{turn}", ignore_errors=True)
    plain, ours = (min(found) for found in times.values())
    print(f"\n{size >> 20} MiB of output, seconds of the job, best of 5: into a plain file {plain:.3f}, "
          f"through `neuronwatch run` {ours:.3f}: "
          f"{100 * (ours / plain - 1):+.1f} %")  # fmt: skip


def neuronwatch(state: str) -> list[str]:
    return [sys.executable, "-m", "neuronwatch", "run", "--name", "bench", "--state-dir", state]


def beginning(directory: Path) -> float:
    """Seconds from the start of the command to its first line, started by hand: this is nobody's merit."""
    found = []
    for _ in range(7):
        place = directory / "alone"
        begun = time.monotonic()
        with subprocess.Popen(command(place)) as process:
            found.append(_line(place, 0)[1] - begun)
            process.kill()
        place.unlink()
    return statistics.median(found)


def command(place: Path) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", SCRIPT.format(place=str(place))]


def _line(place: Path, number: int) -> tuple[int, float]:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            lines = place.read_text().splitlines(keepends=True)
            if len(lines) > number and lines[number].endswith("\n"):
                pid, at = lines[number].split()
                return int(pid), float(at)
        time.sleep(0.0005)
    raise SystemExit(f"no restart within {PATIENCE} s")


def measured(supervisor: list[str], place: Path, times: int, alone: float) -> list[float]:
    """Milliseconds from the kill to the next one's first line, less `alone`."""
    with subprocess.Popen(supervisor, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        found = []
        try:
            for number in range(times):
                pid, _ = _line(place, number)
                time.sleep(1.2)  # supervisord and circus count a shorter life as a failed start
                killed = time.monotonic()
                os.kill(pid, signal.SIGKILL)
                found.append((_line(place, number + 1)[1] - killed - alone) * 1e3)
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError, UnboundLocalError):
                os.kill(pid, signal.SIGKILL)
    return found


def ours(times: int) -> list[float]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name, "said")
        words = [*neuronwatch(f"{name}/state"), "--policy", "act", "--settled", "1", "--", *command(place)]
        return measured(words, place, times, beginning(Path(name)))


def theirs(supervisor: Callable[[Path, Path, int], list[str]], times: int) -> list[float]:
    """Empty where the program is not installed."""
    if not shutil.which(supervisor.__name__):
        return []
    with tempfile.TemporaryDirectory() as name:
        directory, place, script = Path(name), Path(name, "said"), Path(name, "job.py")
        script.write_text(SCRIPT.format(place=str(place)))
        return measured(supervisor(directory, script, times), place, times, beginning(directory))


def runsv(directory: Path, script: Path, _times: int) -> list[str]:
    run = directory / "run"
    run.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {script}\n")
    run.chmod(0o755)
    return ["runsv", str(directory)]


def supervisord(directory: Path, script: Path, _times: int) -> list[str]:
    config = directory / "supervisord.conf"
    config.write_text(f"[supervisord]\nnodaemon=true\nlogfile={directory}/log\npidfile={directory}/pid\n[program:job]\n"
                      f"command={sys.executable} -I -S {script}\nautorestart=true\n")  # fmt: skip
    return ["supervisord", "-c", str(config)]


def circusd(directory: Path, script: Path, _times: int) -> list[str]:
    config = directory / "circus.ini"
    config.write_text(f"[circus]\nendpoint = ipc://{directory}/e\npubsub_endpoint = ipc://{directory}/p\n[watcher:job]\n"
                      f"cmd = {sys.executable} -I -S {script}\n")  # fmt: skip
    return ["circusd", str(config)]


def torchrun(_directory: Path, script: Path, times: int) -> list[str]:
    return ["torchrun", "--nproc_per_node", "1", "--max_restarts", str(times + 1), str(script)]


OTHERS: tuple[tuple[Callable[[Path, Path, int], list[str]], bool], ...] = (
    (runsv, False), (supervisord, True), (circusd, True), (torchrun, True),
)  # fmt: skip
"""Named as their programs; whether one is slow, and killed five times only."""

if __name__ == "__main__":
    main()
