"""A flood of lines in one log while another one is written to at its ease: what is kept, what it costs, who else suffers.

    python bench/flood.py [--rate 100000] [--seconds 60]

The daemon's way of reading logs (source under its runner, flood control with the sieve of the rules, scan) follows both. In
the middle of the flood there is one error that a rule looks for.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import _live

BUNDLE = 0.010


def write(directory: Path, rate: int, seconds: float) -> None:
    """The flood, and 50 lines a second in the other log, each with the time of its writing."""
    number, start = 0, time.monotonic()
    with open(directory / "flood.log", "ab", buffering=0) as flood, open(directory / "other.log", "ab", buffering=0) as other:
        told = False
        while (passed := time.monotonic() - start) < seconds:
            last = number
            number = int(passed * rate)
            flood.write(
                b"".join(
                    b"%09d retrying the connection to the peer, attempt failed again and again\n" % n for n in range(last, number)
                )
            )
            if not told and passed > seconds / 2:
                told = True
                flood.write(b"%s\n" % _live.ERROR.encode())
            if number // (rate // 50) != last // (rate // 50):
                other.write(b"%d all is well\n" % time.monotonic_ns())
            time.sleep(BUNDLE)
    print(number + told)


def main() -> None:
    parser = argparse.ArgumentParser(description="A flood of lines in one log.")
    parser.add_argument("--rate", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        return write(Path(args.write), args.rate, args.seconds)
    with tempfile.TemporaryDirectory(prefix="neuronwatch-flood-") as name:
        measure(Path(name), args.rate, args.seconds)


def measure(directory: Path, rate: int, seconds: float) -> None:
    delays: list[float] = []
    edges: list[bytes] = []
    kept, found = 0, set()

    def see(item: Any) -> None:
        nonlocal kept
        if item.path.endswith("other.log"):
            now = time.monotonic_ns()
            delays.extend((now - int(line.split()[0])) / 1e6 for line in item.data.splitlines())
        elif item.data:
            edges[1:] = [item.data]
            if len(edges) == 1 and not kept:
                edges.insert(0, item.data)
            kept += item.data.count(b"\n")

    def match(rules: Any, piece: Any) -> None:
        if _live.ERROR in piece.line.text:
            found.add(rules.places[piece.pattern_id].rule)

    for log in ("flood.log", "other.log"):
        (directory / log).touch()
    reader = _live.Ours([f"{directory}/*.log"], see, match)
    writer = subprocess.Popen(
        [sys.executable, __file__, "--write", str(directory), "--rate", str(rate), "--seconds", str(seconds)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    marks: list[float] = []
    before, start, ended = _live.spent(), time.monotonic(), 0.0
    while not ended or time.monotonic() - ended < 2.0:
        reader.turn()
        if len(marks) < time.monotonic() - start:
            marks.append(_live.memory())
        if not ended and writer.poll() is not None:
            ended = time.monotonic()
    cpu = (_live.spent() - before) / seconds
    assert writer.stdout is not None
    count, dropped = int(writer.stdout.read()), reader.source.flood.dropped
    reader.close()
    third = len(marks) // 3
    print(f"{count:,} lines in {seconds:g} s: {kept:,} delivered, {dropped:,} counted, "
          f"{'exact' if kept + dropped == count else f'WRONG by {count - kept - dropped}'}")  # fmt: skip
    print(f"first line delivered: {edges[0][:9].decode() == '0' * 9}, last line delivered: "
          f"{int(edges[-1].splitlines()[-1][:9]) == count - 2}, the error in the middle: {sorted(found)}")  # fmt: skip
    print(f"{100 * cpu:.0f} % of a core; memory after a third {marks[third]:.1f} MiB, at the end {marks[-1]:.1f} MiB")
    print(f"the other log meanwhile: {len(delays)} lines, p50 {_live.at(delays, 0.5):.1f} ms, p99 {_live.at(delays, 0.99):.1f} ms")


if __name__ == "__main__":
    main()
