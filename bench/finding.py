"""From a line in a log to the condition, through the whole daemon: alone, and beside a log with 10,000 lines/s.

    python bench/finding.py [--samples 200] [--rate 10000]

A daemon watches a simulated host with the shipped rules and one more for each sample. The line that this one looks for is
appended to a log that was quiet, another one each time; the time is until a subscriber of the daemon's socket has its
condition, so it holds all there is: inotify, scan, judgement of all rules, the fsync of what must outlive a kill, socket.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import _live

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 30.0
RULE = """{head}[ends]
how = "exit"

[[signature]]
name = "said"
pattern = '''{words}'''
confidence = 0.9

[[sample]]
expect = "fires"
text = '''{words}'''

[[sample]]
expect = "silent"
text = '''the bench says nothing'''
"""
PAUSE = (0.5, 1.5)
"""Seconds between two samples: they are news, and news are judged at most so often."""


def write(path: str, rate: int, marker: str) -> None:
    """The busy log: until the marker is gone."""
    number, start, chance = 0, time.monotonic(), random.Random(1)
    with open(path, "ab", buffering=0) as out:
        while os.path.exists(marker):
            while number < (time.monotonic() - start) * rate:
                text = _live.STEP if number % _live.STEPS == 0 else chance.choice(_live.WORDS)
                out.write(b"%08d %s\n" % (number, text.encode()))
                number += 1
            time.sleep(0.001)


def rule_id(number: int) -> str:
    return f"runtime.bench-{number:04d}"


def write_rules(place: Path, count: int) -> None:
    shutil.copytree(ROOT / "rules", place)
    pattern = (ROOT / "rules/runtime/cores-busy.toml").read_text()

    for number in range(count):
        head = pattern[: pattern.index("yields_to")].replace('id = "runtime.cores-busy"', f'id = "{rule_id(number)}"')
        text = RULE.format(head=head, words=f"the bench says {rule_id(number)}")
        (place / f"runtime/bench-{number:04d}.toml").write_text(text)


def samples(client: object, logs: Path, first: int, count: int) -> tuple[list[float], list[float]]:
    """Seconds from a write to the event of the line itself, and to that of its condition."""
    chance, read, found = random.Random(first), [], []
    for number in range(first, first + count):
        time.sleep(chance.uniform(*PAUSE))
        rule = rule_id(number)
        begun = time.monotonic()
        with (logs / f"{number:04d}.log").open("ab", buffering=0) as out:
            out.write(b"the bench says %s\n" % rule.encode())
        end = begun + PATIENCE
        while (event := client.event(max(0.0, end - time.monotonic()))) is not None:  # type: ignore[attr-defined]
            passed = time.monotonic() - begun
            if event.get("event") in ("conditions", "logs") and rule in json.dumps(event):
                read.append(passed) if event["event"] == "logs" else found.append(passed)
                if event["event"] == "conditions":
                    break
        else:
            raise SystemExit(f"nobody told of {rule} within {PATIENCE:g} s")
    return read, found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--dir", help="where host and state are (a file system in memory: no fsync to wait for)")
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--marker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        return write(args.write, args.rate, args.marker)
    with tempfile.TemporaryDirectory(prefix="nwf", dir=args.dir) as place, contextlib.ExitStack() as stack:
        measure(Path(place), args.samples, args.rate, stack)


def started(stack: contextlib.ExitStack, argv: list[str], place: Path) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": f"{place}/cache", "XDG_STATE_HOME": f"{place}/state"}
    process = subprocess.Popen(
        [sys.executable, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


def measure(place: Path, count: int, rate: int, stack: contextlib.ExitStack) -> None:
    from neuronwatch.daemon.client import Client, NoDaemon

    host, socket = place / "h", place / "s"
    write_rules(place / "rules", 2 * count)
    started(stack, ["-m", "neuronwatch", "drill", "host", "--dir", str(host), "--instance", "trn1.32xlarge"], place)
    while not (host / ".neuronwatch-drill-host").exists():
        time.sleep(0.1)
    logs = host / "var/log/jobs"
    logs.mkdir(parents=True, exist_ok=True)
    for number in range(2 * count):
        (logs / f"{number:04d}.log").touch()
    (logs / "busy.log").touch()
    daemon = started(
        stack,
        [
            "-m",
            "neuronwatch",
            "daemon",
            "--host-root",
            str(host),
            "--state-dir",
            f"{place}/st",
            "--socket",
            str(socket),
            "--rules",
            f"{place}/rules",
        ],
        place,
    )
    client = None
    while client is None:
        with contextlib.suppress(NoDaemon):
            client = Client(socket)
        time.sleep(0.2)
    with client:
        client.call("subscribe", topics=["conditions", "logs"])
        time.sleep(5.0)
        print("| beside | samples | line read p50 | p99 | its condition p50 | p99 | the daemon |\n|" + " --- |" * 7)
        row("nothing", client, logs, 0, count, daemon)
        marker = place / "go"
        marker.touch()
        started(stack, [__file__, "--write", str(logs / "busy.log"), "--rate", str(rate), "--marker", str(marker)], place)
        time.sleep(5.0)
        row(f"{rate:,} lines/s in another log", client, logs, count, count, daemon)
        marker.unlink()


def row(beside: str, client: object, logs: Path, first: int, count: int, daemon: subprocess.Popen[bytes]) -> None:
    before, begun = _live.spent(daemon.pid), time.monotonic()
    read, found = samples(client, logs, first, count)
    share = 100 * (_live.spent(daemon.pid) - before) / (time.monotonic() - begun)
    cells = [f"{1000 * _live.at(times, part):.0f} ms" for times in (read, found) for part in (0.5, 0.99)]
    print(f"| {beside} | {len(found)} | {' | '.join(cells)} | {share:.1f} % of a core |", flush=True)


if __name__ == "__main__":
    main()
