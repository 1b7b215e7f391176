"""The daemon for a day: an hour and 24 hours of a healthy simulated host under load, at accelerated time.

    python bench/long.py [--hours 24] [--rate 30] [--instance trn1.32xlarge] [--progress]

Told each `--every` minutes of host time: verdict, conditions, incidents, source states, memory, descriptors, threads and bytes on
disk. Exit status 1 where a healthy host was not called healthy all the time (after the first `--settle` minutes), where the daemon
did not keep up with its clock (nine of ten intervals of 10 s have readings), or where memory, descriptors, threads or disk were
not flat. The history keeps three hours here, so that a day shows whether what is older goes. A verdict of unknown is excused only
where the machine itself stood still (see Stalls).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from daemon import cpu, end, memory, start  # noqa: E402

from neuronwatch.daemon.client import Client, NoDaemon  # noqa: E402

DAYS_KEPT = 0.125
CONFIG = f"[history]\ndays = {DAYS_KEPT}\n[incidents]\ndays = {DAYS_KEPT}\n"
MB = 1_000_000


class Row(NamedTuple):
    """One look. `hour` of the host; `resident` in MB; `disk` in bytes by file."""

    hour: float
    verdict: str
    conditions: int
    incidents: int
    bad_sources: str
    resident: float
    descriptors: int
    threads: int
    cpu: float
    disk: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.disk.values())


def look(client: Client, pid: int, state: Path, begun: float) -> Row:
    told = client.call("status")
    bad = [f"{item['name']} {item['state']}: {item['reason']}" for item in told["sources"] if item["state"] in ("stale", "failed")]
    disk = {}
    for path in state.iterdir():
        with contextlib.suppress(OSError):
            disk[path.name] = path.lstat().st_size
    hour, descriptors, threads = (told["time"] - begun) / 3600, os.listdir(f"/proc/{pid}/fd"), os.listdir(f"/proc/{pid}/task")
    return Row(hour, told["verdict"], len(told["conditions"]), len(told["incidents"]), "; ".join(bad), memory(pid)[0],
               len(descriptors), len(threads), cpu(pid), disk)  # fmt: skip


def readings(client: Client, begun: float, hours: float) -> float:
    """The share of the intervals of 10 s of an hour before the end for which the history has a reading of the first core."""
    last = begun + hours * 3600 - 300
    found = client.call("history", metric="core.utilization", entities=["nd0:nc0"], start=last - 2400, end=last, points=240)
    row = found["columns"]["nd0:nc0"]["mean"]
    return sum(value is not None for value in row) / max(1, len(row))


class Stalls(threading.Thread):
    """Notes when the machine let nobody of ours run: this thread wants to wake each 50 ms. Times are seconds since the epoch."""

    LEAST = 0.5

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.found: list[tuple[float, float]] = []

    def run(self) -> None:
        before = time.monotonic()
        while True:
            time.sleep(0.05)
            now = time.monotonic()
            if now - before > self.LEAST:
                self.found.append((time.time(), now - before))
            before = now


def watch(options: argparse.Namespace) -> tuple[list[Row], dict[str, Any]]:
    python = [sys.executable, "-m", "neuronwatch"]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="nw", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        root, state, config, log = Path(place, "h"), Path(place, "s"), Path(place, "config.toml"), Path(place, "log")
        config.write_text(CONFIG)
        host = start([*python, "drill", "host", "--dir", str(root), "--instance", options.instance, "--rate", str(options.rate)])
        daemon: subprocess.Popen[bytes] | None = None
        try:
            while not (root / ".neuronwatch-drill-host").exists():
                time.sleep(0.1)
            argv = [*python, "daemon", "--host-root", str(root), "--state-dir", str(state), "--config", str(config)]
            with log.open("wb") as said:
                daemon = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=said, env={**os.environ, "PYTHONPATH": str(ROOT)})
            more = follow(options, state, daemon, rows)
            more["log"] = log.read_text(errors="replace")
            return rows, more
        finally:
            if daemon is not None:
                end(daemon)
            end(host)
            if options.keep:
                Path(options.keep).write_bytes(log.read_bytes())


def follow(options: argparse.Namespace, state: Path, daemon: subprocess.Popen[bytes], rows: list[Row]) -> dict[str, Any]:
    """Looks until the hours are over."""
    while True:
        with contextlib.suppress(NoDaemon), Client(state / "neuronwatch.sock") as client:
            begun = client.call("status")["daemon"]["started"]
            break
        if daemon.poll() is not None:
            raise SystemExit("the daemon did not start")
        time.sleep(0.2)
    real, pause = time.monotonic(), options.every * 60 / options.rate
    while not rows or rows[-1].hour < options.hours:
        time.sleep(pause)
        with Client(state / "neuronwatch.sock", timeout=60) as client:
            rows.append(look(client, daemon.pid, state, begun))
        row = rows[-1]
        if options.progress:
            words = (
                f"{row.hour:6.2f} h {row.verdict:8} {row.conditions} conditions {row.incidents} incidents {row.resident:5.1f} MB"
            )
            words += f" {row.descriptors} fds {row.threads} threads {row.total / MB:6.2f} MB on disk, cpu {row.cpu:.1f} s"
            print(words, row.bad_sources, file=sys.stderr, flush=True)
    with Client(state / "neuronwatch.sock", timeout=60) as client:
        incidents = client.call("incidents", limit=100)
        events = client.call("events", limit=1000)
        seen = readings(client, begun, rows[-1].hour)
    return {"real": time.monotonic() - real, "incidents": incidents, "events": events, "seen": seen}


def calm(log: str) -> tuple[list[str], list[str]]:
    """From the daemon's log: changes of incidents, and changes of the verdict after the first healthy one."""
    lines = log.splitlines()
    first = next((number for number, line in enumerate(lines) if "verdict verdict=healthy" in line), len(lines))
    verdicts = [line for line in lines[first + 1 :] if " verdict verdict=" in line]
    return [line for line in lines if " incident " in line], verdicts


def split(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """The looks of the first hour in which everything is full (the ring after 15 minutes, the history after its three hours of a
    day), and those of the last hour."""
    last = rows[-1].hour
    start = 24 * DAYS_KEPT + 1 if last > 24 * DAYS_KEPT + 3 else 0.3
    first = [row for row in rows if start <= row.hour < start + 1]
    return first or rows[:1], [row for row in rows if row.hour > last - 1]


class Judgement(NamedTuple):
    what: str
    first: float
    last: float
    allowed: float

    @property
    def flat(self) -> bool:
        return self.last - self.first <= self.allowed


def judgements(rows: list[Row]) -> list[Judgement]:
    """Medians of the first and the last hour. Allowed is what one hour may differ from another by chance."""
    first, last = split(rows)

    def of(what: str, value: Any, allowed: float) -> Judgement:
        return Judgement(what, statistics.median(map(value, first)), statistics.median(map(value, last)), allowed)

    return [
        of("resident memory, MB", lambda row: row.resident, 2.0),
        of("descriptors", lambda row: row.descriptors, 4),
        of("threads", lambda row: row.threads, 0),
        of("state directory, MB", lambda row: row.total / MB, 0.5),
        of("of it history, MB", lambda row: row.disk.get("history.sqlite", 0) / MB, 0.5),
        of("of it all else, MB", lambda row: (row.total - row.disk.get("history.sqlite", 0)) / MB, 0.1),
    ]


def report(options: argparse.Namespace, rows: list[Row], more: dict[str, Any]) -> bool:
    """Prints what was seen; whether all is as it should be."""
    hours, real = rows[-1].hour, more["real"]
    incidents, verdicts = calm(more["log"])
    unhealthy = [row for row in rows if row.verdict != "healthy" and row.hour * 60 > options.settle]
    used = 100 * (rows[-1].cpu - rows[0].cpu) / (3600 * (hours - rows[0].hour))
    print(f"{options.instance}, {hours:.1f} h of host time at rate {options.rate:g} ({real / 60:.0f} min); {len(rows)} looks")
    print(f"incidents {len(incidents)}, conditions at most {max(row.conditions for row in rows)}, looks that were not healthy "
          f"{len(unhealthy)}, changes of the verdict {len(verdicts)}")  # fmt: skip
    longest = max((seconds for _, seconds in more["stalls"]), default=0.0)
    print(f"stalls of the machine above {Stalls.LEAST} s: {len(more['stalls'])}, the longest {longest:.1f} s")
    print(f"intervals of 10 s with readings, last hour: {100 * more['seen']:.0f} %; {used:.2f} % of a core in host time; at most "
          f"{max(row.resident for row in rows):.1f} MB")  # fmt: skip
    for line in (*incidents, *verdicts):
        print(f"  {line[:200]}")
    print("\n| | first full hour | last hour | |\n|---|---|---|---|")
    flat = True
    for item in judgements(rows):
        flat = flat and item.flat
        print(f"| {item.what} | {item.first:.1f} | {item.last:.1f} | {'flat' if item.flat else 'NOT FLAT'} |")
    blind = [line for line in verdicts if "verdict=unknown" in line and " is stale" in line]
    excused = len(blind) <= len(more["stalls"])  # who is not let run cannot read; what it then says is right
    strange = [line for line in verdicts if line not in blind and "verdict=healthy" not in line]
    return flat and not incidents and not strange and excused and more["seen"] > 0.9 and not (unhealthy and not more["stalls"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--rate", type=float, default=30.0)
    parser.add_argument("--instance", default="trn1.32xlarge")
    parser.add_argument("--every", type=float, default=6.0, help="minutes of host time between two looks")
    parser.add_argument("--settle", type=float, default=10.0, help="minutes of host time in which the daemon may still be starting")
    parser.add_argument("--progress", action="store_true", help="each look on stderr")
    parser.add_argument("--keep", metavar="FILE", help="where the daemon's log goes")
    parser.add_argument("--json", metavar="FILE", help="where all looks go")
    parser.add_argument("--again", metavar="FILE", help="report what an earlier run wrote with --json")
    options = parser.parse_args()
    if options.again:
        told = json.loads(Path(options.again).read_text())
        rows, more = [Row(**row) for row in told["rows"]], told["more"]
    else:
        stalls = Stalls()
        stalls.start()
        rows, more = watch(options)
        more["stalls"] = stalls.found
    if options.json:
        Path(options.json).write_text(json.dumps({"rows": [row._asdict() for row in rows], "more": more}))
    fine = report(options, rows, more)
    print("\nas it should be" if fine else "\nNOT as it should be")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
