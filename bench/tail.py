"""Following a log: ours beside `tail -F | rg`, watchdog, and `open()` + `read()` every 100 ms, all at the same time.

    python bench/tail.py [--rate 10000] [--seconds 30] [--only cost|lost]

Cost: one writer appends lines one by one, each with the time at which it was written; every reader follows the same file.
CPU is the reader's own processor time over the run, in per cent of one core; the delay is from the write of a line to its
delivery (in rg's case: to its line on rg's output), of the first and the last line of each delivery. Ours does all that the
daemon does with a log: the source under its runner, flood control, and the scan for all rules and formats. watchdog and the
polling reader only read; they do not match anything.

Lost: a writer rotates the file twice a second, by rename, late rename (it goes on in the renamed file for 0.2 s) and
copytruncate; lines that a reader never gave, and lines that it gave twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _live

SETTLES = 2.0
"""Seconds that readers have after the last line."""


# ------------------------------------------------------------------------------------------------------------------ writing


def write(path: str, rate: int, seconds: float, mode: str, dense: bool) -> None:
    """Appends numbered lines, one `write` each, in bundles of a millisecond, and rotates."""
    out = open(path, "ab", buffering=0)  # noqa: SIM115 (it is opened anew at rotations)
    chance, start = random.Random(1), time.monotonic()
    rotated, late, number = 0, 0.0, 0
    while True:
        passed = time.monotonic() - start
        if passed >= seconds:
            break
        while number < passed * rate:
            of = number * (10 if dense else 1)
            text = _live.ERROR if of % _live.ERRORS == 0 else _live.STEP if of % _live.STEPS == 0 else chance.choice(_live.WORDS)
            out.write(b"%d %08d %s\n" % (time.monotonic_ns(), number, text.encode()))
            number += 1
        if mode and passed - rotated / 2 > 0.5:
            rotated += 1
            copy = f"{path}.{rotated}"
            if mode == "copytruncate":
                shutil.copyfile(path, copy)
                os.truncate(path, 0)
            else:
                Path(path).rename(copy)
                open(path, "ab").close()
                late = passed
                if mode == "rename":
                    out = open(path, "ab", buffering=0)  # noqa: SIM115
        if mode == "late rename" and late and passed - late > 0.2:
            out, late = open(path, "ab", buffering=0), 0.0  # noqa: SIM115
        time.sleep(0.001)
    print(number)


# ------------------------------------------------------------------------------------------------------------------ readers


class Told:
    """What a reader saw: delays in milliseconds, or the numbers of all lines."""

    def __init__(self, lines: bool) -> None:
        self.lines = lines
        self.delays: list[float] = []
        self.numbers: Counter[int] = Counter()

    def see(self, data: bytes) -> None:
        """Whole lines."""
        if self.lines:
            for line in data.splitlines():
                field = line.strip(b"\0").split(b" ", 2)
                if len(field) == 3 and field[1].isdigit():
                    self.numbers[int(field[1])] += 1
            return
        now = time.monotonic_ns()
        for line in (data[: data.find(b" ")], data[data.rfind(b"\n", 0, -1) + 1 :].split(b" ", 1)[0]):
            if line.isdigit():
                self.delays.append((now - int(line)) / 1e6)


def ours(path: Path, told: Told, stop: Callable[[], bool]) -> dict[str, Any]:
    matches = 0

    def match(_rules: Any, _found: Any) -> None:
        nonlocal matches
        matches += 1

    reader = _live.Ours([str(path)], lambda item: told.see(item.data), None if told.lines else match)
    ready()
    spent = [(time.monotonic(), _live.spent())]
    while not stop():
        if time.monotonic() - spent[-1][0] > 1.0:
            spent.append((time.monotonic(), _live.spent()))
        reader.turn()
    reader.close()
    half = spent[len(spent) // 2 : -3] or spent
    steady = (half[-1][1] - half[0][1]) / max(1e-9, half[-1][0] - half[0][0])
    return {"dropped": reader.source.flood.dropped, "matches": matches, "steady": steady}


def tail(path: Path, told: Told, stop: Callable[[], bool]) -> dict[str, Any]:
    """`tail -F`, into rg with the literals of the rules unless all lines are wanted."""
    from neuronwatch.judge.match import required_literals
    from neuronwatch.source import rule_files

    first = subprocess.Popen(["tail", "-n", "0", "-F", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    last, literals = first, None
    if not told.lines:
        regexes = [pattern.regex for pattern in rule_files.load_rule_set(None)[0].patterns]
        texts = {text for regex in regexes if (found := required_literals(regex)) for text in found[0] if len(text) > 3}
        literals = tempfile.NamedTemporaryFile("w", suffix=".txt")  # noqa: SIM115 (as long as rg)
        literals.write("\n".join(sorted(texts)) + "\n")
        literals.flush()
        last = subprocess.Popen(
            ["rg", "--line-buffered", "-F", "-f", literals.name, "-"], stdin=first.stdout, stdout=subprocess.PIPE
        )
    assert last.stdout is not None
    os.set_blocking(last.stdout.fileno(), False)
    time.sleep(0.3)
    ready()
    rest = b""
    while not stop():
        if select.select([last.stdout], [], [], 0.1)[0]:
            data = rest + (os.read(last.stdout.fileno(), 1 << 20) or b"")
            cut = data.rfind(b"\n") + 1
            rest = data[cut:]
            if cut:
                told.see(data[:cut])
    for process in (first, last):
        process.kill()
        process.wait()
    return {"children": True}


def read_by_name(path: Path, told: Told, state: dict[str, Any]) -> None:
    """The usual way: open anew when the inode differs, from the start when the file became shorter."""
    try:
        status = path.stat()
    except OSError:
        return
    if state.get("inode") != status.st_ino:
        if "file" in state:
            state["file"].close()
        state.update(file=open(path, "rb"), inode=status.st_ino, rest=b"")  # noqa: SIM115 (kept open)
    if status.st_size < state["file"].tell():
        state["file"].seek(0)
    data = state["rest"] + state["file"].read()
    cut = data.rfind(b"\n") + 1
    state["rest"] = data[cut:]
    if cut:
        told.see(data[:cut])


def watchdog(path: Path, told: Told, stop: Callable[[], bool]) -> dict[str, Any]:
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers import Observer

    state: dict[str, Any] = {}

    class Handler(FileSystemEventHandler):  # type: ignore[misc]
        def on_any_event(self, event: Any) -> None:
            if event.event_type in ("modified", "created", "moved"):
                read_by_name(path, told, state)

    observer = Observer()
    observer.schedule(Handler(), str(path.parent))
    observer.start()
    ready()
    while not stop():
        time.sleep(0.1)
    observer.stop()
    observer.join()
    return {}


def poll(path: Path, told: Told, stop: Callable[[], bool]) -> dict[str, Any]:
    state: dict[str, Any] = {}
    ready()
    while not stop():
        read_by_name(path, told, state)
        time.sleep(0.1)
    return {}


READERS: dict[str, Callable[[Path, Told, Callable[[], bool]], dict[str, Any]]] = {
    "neuronwatch": ours, "tail -F": tail, "watchdog": watchdog, "poll 100 ms": poll,
}  # fmt: skip


def ready() -> None:
    """The reader is set up: from here on its processor time counts."""
    global _before
    _before = _live.spent()
    print("ready", flush=True)


_before = 0.0


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def follow(name: str, path: Path, lines: bool) -> None:
    """The process of one reader: until its input ends."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    told = Told(lines)
    more = READERS[name](path, told, ended.is_set)
    cpu = _children() if more.pop("children", False) else _live.spent() - _before
    print(json.dumps({"cpu": cpu, "delays": told.delays, "numbers": [*told.numbers.items()], **more}))


# ---------------------------------------------------------------------------------------------------------------- measuring


def together(
    path: Path, rate: int, seconds: float, mode: str, lines: bool, dense: bool = False
) -> tuple[int, dict[str, dict[str, Any]]]:
    """Runs all readers on one writer; the number of lines and what each reader says."""
    path.touch()
    me = [sys.executable, __file__]
    readers = {
        name: subprocess.Popen(
            [*me, "--follow", name, str(path), *(["--lines"] if lines else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in READERS
    }  # fmt: skip
    for process in readers.values():
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    writer = subprocess.run(
        [*me, "--write", str(path), "--rate", str(rate), "--seconds", str(seconds), "--mode", mode,
         *(["--dense"] if dense else [])],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    time.sleep(SETTLES)
    said = {name: json.loads(process.communicate()[0]) for name, process in readers.items()}
    return int(writer.stdout), said


def cost(directory: Path, rate: int, seconds: float) -> None:
    count, said = together(directory / "busy.log", rate, seconds, "", False)
    print(f"\n{count / seconds:,.0f} lines/s for {seconds:g} s, all at the same time\n")
    print("| reader | % of a core | delay p50 | p99 | what it does |\n| --- | --- | --- | --- | --- |")
    does = {"neuronwatch": "reads, scans for all rules and formats", "tail -F": "reads, rg with the literals of the rules"}
    for name, item in said.items():
        share = 100 * item["cpu"] / seconds
        shown = "tail -F \\| rg" if name == "tail -F" else name
        delays = item["delays"]
        times = f"{_live.at(delays, 0.5):.2f} ms | {_live.at(delays, 0.99):.1f} ms"
        print(f"| {shown} | {share:.1f} | {times} | {does.get(name, 'reads')} |")
    steady = 100 * said["neuronwatch"]["steady"]
    print(f"\nOurs in the second half of the run: {steady:.1f} % of a core (it has made a matcher for this text by then), "
          f"{said['neuronwatch']['matches']:,} matches told, {said['neuronwatch']['dropped']} lines dropped.")  # fmt: skip
    mine, theirs = said["neuronwatch"]["cpu"], said["tail -F"]["cpu"]
    print(
        f"\n`tail -F | rg` takes {theirs / mine:.1f} times our processor time, watchdog {said['watchdog']['cpu'] / mine:.1f} times."
    )
    count, said = together(directory / "dense.log", rate, seconds, "", False, dense=True)
    own, rival = said["neuronwatch"], said["tail -F"]
    print("\nA dense log (a tenth of the lines are training steps, a hundredth errors): ours "
          f"{100 * own['cpu'] / seconds:.1f} % of a core, in the second half {100 * own['steady']:.1f} %; "
          f"tail -F | rg {100 * rival['cpu'] / seconds:.1f} %.")  # fmt: skip
    count, said = together(directory / "quiet.log", 20, seconds, "", False)
    delays = said["neuronwatch"]["delays"]
    print(f"\nA quiet log (20 lines/s): ours p50 {_live.at(delays, 0.5):.2f} ms, p99 {_live.at(delays, 0.99):.1f} ms, "
          f"{100 * said['neuronwatch']['cpu'] / seconds:.1f} % of a core.")  # fmt: skip


def lost(directory: Path, rate: int, seconds: float) -> None:
    print(f"\nlines lost / given twice, {rate:,} lines/s for {seconds:g} s, two rotations a second\n")
    print("| reader | rename | late rename | copytruncate |\n| --- | --- | --- | --- |")
    rows: dict[str, list[str]] = {name: [] for name in READERS}
    for mode in ("rename", "late rename", "copytruncate"):
        place = directory / mode.replace(" ", "-")
        place.mkdir()
        count, said = together(place / "a.log", rate, seconds, mode, True)
        for name, item in said.items():
            numbers = dict(item["numbers"])
            missing = count - len(numbers)
            twice = sum(seen - 1 for seen in numbers.values())
            rows[name].append(f"{missing:,} ({100 * missing / count:.0f} %) / {twice:,}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", (__doc__ or "").split("\n")[0]))
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--only", choices=("cost", "lost"))
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--mode", default="", help=argparse.SUPPRESS)
    parser.add_argument("--follow", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--dense", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--lines", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        return write(args.write, args.rate, args.seconds, args.mode, args.dense)
    if args.follow:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return follow(args.follow[0], Path(args.follow[1]), args.lines)
    with tempfile.TemporaryDirectory(prefix="neuronwatch-tail-") as name:
        if args.only != "lost":
            cost(Path(name), args.rate, args.seconds)
        if args.only != "cost":
            lost(Path(name), args.rate, min(10.0, args.seconds))


if __name__ == "__main__":
    main()
