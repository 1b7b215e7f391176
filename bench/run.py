"""Speed of the scan as ratios against ripgrep and the decompressors, side by side in one run on one pinned core.

    python bench/run.py [--size 1G] [--repeat 3] [--only NAME ...] [--dir DIR]

What is compared: the real rule table against `rg -c -F -f` with the literals that its signatures cannot do without (rg has no
lookarounds, and with the regular expressions themselves it takes minutes for 64 MiB: see `regexes`). Each pair is run in turn
and the best of `--repeat` runs counts; seconds are wall time with the interpreter's start and the loading of the rules.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import make_log

from neuronwatch.judge.match import required_literals
from neuronwatch.source import rule_files

HERE = Path(__file__).parent


class Took(NamedTuple):
    """Wall seconds, processor seconds, and the greatest resident memory in MiB."""

    wall: float
    cpu: float
    memory: float


class Bench:
    def __init__(self, directory: Path, size: int, repeat: int) -> None:
        self.directory = directory
        self.size = size
        self.repeat = repeat
        self.log = self.file(f"mixed-{size}.log", lambda path: make_log.write(path, size, 7, 0.0001))
        self.patterns = [pattern.regex for pattern in rule_files.load_rule_set(None)[0].patterns]

    def file(self, name: str, make: Callable[[Path], object]) -> Path:
        path = self.directory / name
        if not path.exists():
            make(path)
        path.read_bytes() if path.stat().st_size < 1 << 20 else _warm(path)
        return path

    def literals(self, count: int = 0) -> Path:
        """A file with the literals of the first `count` signatures (all: 0), one a line."""
        regexes = self.patterns[:count] if count else self.patterns
        texts = {text for regex in regexes if (found := required_literals(regex)) for text in found[0]}
        path = self.directory / f"literals-{len(regexes)}.txt"
        path.write_text("\n".join(sorted(texts)) + "\n")
        return path

    def piped(self, unpack: str, packed: Path) -> list[str]:
        return ["sh", "-c", f"{unpack} '{packed}' | rg -c -F -f '{self.literals()}'"]

    def scan(self, mode: str, file: Path, *more: str) -> list[str]:
        return [sys.executable, str(HERE / "scan.py"), mode, str(file), *more]

    def pair(self, name: str, ours: Sequence[str], theirs: Sequence[str], goal: float, cores: int = 1) -> None:
        """Prints how many times as fast as `theirs` ours is, against the goal."""
        mine, other = [], []
        for _ in range(self.repeat):
            mine.append(run(ours, cores))
            other.append(run(theirs, cores))
        best, rival = min(mine), min(other)
        ratio = rival.wall / best.wall
        verdict = "ok" if ratio >= goal else "MISSED"
        print(f"{name:<34} {best.wall:7.2f} s {best.cpu:7.2f} cpu {best.memory:6.0f} MiB   {Path(theirs[0]).name:<7}{rival.wall:7.2f} s "  # noqa: E501 (a row of a table)
              f"{rival.cpu:7.2f} cpu   {ratio:5.2f} times as fast ({rival.cpu / best.cpu:.2f} by cpu, goal {goal})  {verdict}",
              flush=True)  # fmt: skip


def run(command: Sequence[str], cores: int) -> Took:
    """Runs a command on the first `cores` of our processors with its output thrown away."""
    allowed = sorted(os.sched_getaffinity(0))[-cores:]
    begun = time.perf_counter()
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, allowed)
    )
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return Took(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _warm(path: Path) -> None:
    with path.open("rb", buffering=0) as handle:
        while handle.read(1 << 22):
            pass


def signatures(bench: Bench) -> None:
    theirs = ["rg", "-c", "-F", "-f", str(bench.literals()), str(bench.log)]
    bench.pair("signatures alone", bench.scan("signatures", bench.log), theirs, 1.7)


def everything(bench: Bench) -> None:
    theirs = ["rg", "-c", "-F", "-f", str(bench.literals()), str(bench.log)]
    bench.pair("with series and formats", bench.scan("formats", bench.log), theirs, 1.0)
    bench.pair("the whole diagnosis", bench.scan("judge", bench.log), theirs, 1.0)


def workers(bench: Bench) -> None:
    theirs = ["rg", "-j2", "-c", "-F", "-f", str(bench.literals()), str(bench.log)]
    bench.pair("signatures, two workers", bench.scan("signatures", bench.log, "--workers", "2"), theirs, 1.7, cores=2)
    bench.pair("formats, two workers", bench.scan("formats", bench.log, "--workers", "2"), theirs, 1.0, cores=2)


def rules(bench: Bench) -> None:
    """Growth with the number of signatures."""
    for count in (50, 200, len(bench.patterns)):
        theirs = ["rg", "-c", "-F", "-f", str(bench.literals(count)), str(bench.log)]
        bench.pair(f"{count} signatures", bench.scan("signatures", bench.log, "--rules", str(count)), theirs, 1.7)


def sizes(bench: Bench) -> None:
    """Growth with the file's size."""
    for part in (16, 4, 1):
        size = bench.size // part
        file = bench.file(f"mixed-{size}.log", lambda path, size=size: make_log.write(path, size, 7, 0.0001))  # type: ignore[misc]  # mypy cannot infer the default
        theirs = ["rg", "-c", "-F", "-f", str(bench.literals()), str(file)]
        bench.pair(f"{size >> 20} MiB", bench.scan("signatures", file), theirs, 1.0)


def compressed(bench: Bench) -> None:
    """Against the decompressors alone (1.2 times their time is the goal), and against what they are usually piped to."""
    packed = bench.file(f"mixed-{bench.size}.log.gz", lambda path: _pack(["gzip", "-c", "-6"], bench.log, path))
    bench.pair("gz", bench.scan("signatures", packed), ["gzip", "-dc", str(packed)], 0.83, cores=2)
    bench.pair("gz, piped to rg", bench.scan("signatures", packed), bench.piped("gzip -dc", packed), 1.0, cores=2)
    if shutil.which("zstd"):
        packed = bench.file(f"mixed-{bench.size}.log.zst", lambda path: _pack(["zstd", "-c", "-q"], bench.log, path))
        bench.pair("zst", bench.scan("signatures", packed), ["zstd", "-dc", str(packed)], 0.83, cores=2)
        bench.pair("zst, piped to rg", bench.scan("signatures", packed), bench.piped("zstd -dc", packed), 1.0, cores=2)


def storm(bench: Bench) -> None:
    """Five per cent of the lines match; a tenth of the size shows what the start costs."""
    for size in (bench.size, bench.size // 10):
        file = bench.file(f"storm-{size}.log", lambda path, size=size: make_log.write(path, size, 8, 0.05))  # type: ignore[misc]  # mypy cannot infer the default
        theirs = ["rg", "-n", "-F", "-f", str(bench.literals()), str(file)]
        bench.pair(f"storm {size >> 20} MiB, signatures", bench.scan("signatures", file), theirs, 1.0)
        bench.pair(f"storm {size >> 20} MiB, formats", bench.scan("formats", file), theirs, 1.0)


def regexes(bench: Bench) -> None:
    """rg with the signatures themselves, as far as it knows their syntax, on 4 MiB: it is that slow."""
    file = bench.file("small.log", lambda path: make_log.write(path, 4 << 20, 7, 0.0001))
    usable = [
        re.sub(r"\(\?P<\w+>", "(?:", regex) for regex in bench.patterns[:50] if not re.search(r"\(\?(?:<?[=!]|P=)|\\Z", regex)
    ]
    path = bench.directory / "regexes.txt"
    path.write_text("\n".join(usable) + "\n")
    theirs = ["rg", "-c", "--no-unicode", "-f", str(path), str(file)]
    bench.pair(f"4 MiB, rg with {len(usable)} regexes", bench.scan("signatures", file, "--rules", "50"), theirs, 1.7)


def _pack(command: Sequence[str], source: Path, target: Path) -> None:
    with target.open("wb") as out:
        subprocess.run([*command, str(source)], stdout=out, check=True)


ALL = (signatures, everything, workers, rules, sizes, compressed, storm, regexes)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--size", type=make_log.bytes_of, default=1 << 30)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=[bench.__name__ for bench in ALL])
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "neuronwatch-bench")
    options = parser.parse_args()
    if not shutil.which("rg"):
        sys.exit("bench: ripgrep is missing (apt-get install ripgrep)")
    options.dir.mkdir(exist_ok=True)
    bench = Bench(options.dir, options.size, options.repeat)
    run(bench.scan("formats", bench.literals()), 1)  # compiles what is compiled once
    run(bench.scan("signatures", bench.literals()), 1)
    for function in ALL:
        if not options.only or function.__name__ in options.only:
            function(bench)


if __name__ == "__main__":
    main()
