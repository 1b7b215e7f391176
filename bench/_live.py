"""What the benches of live logs share: lines as services write them, percentiles, processor time, our way of reading."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ERROR = "NeuronCore(s) not available - Requested:nc1-nc1 Available:0"
STEP = "step 120/5000 loss=2.1834 lr=4.5e-05 throughput 1234 tokens/s"
ERRORS, STEPS = 1000, 100
"""One line in so many is an error that rules look for, or a step of a training; of a dense log ten times as many."""
WORDS = (
    "INFO worker heartbeat ok queue=3 inflight=1",
    "DEBUG fetched batch shard=17 size=4096 in 12.1 ms", "GET /health 200 0.4 ms", "INFO checkpoint saved to /data/run/step-100",
)  # fmt: skip


def at(values: list[float], share: float) -> float:
    """A percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def spent(pid: int | None = None) -> float:
    """Seconds of processor time of this process, or of the threads that another one has (its children not), by the
    scheduler's own count: ticks miss who is on for less than one."""
    if pid is None:
        return time.process_time()
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:  # a thread that ended meanwhile
            continue
    return total / 1e9


def memory() -> float:
    """Resident MiB of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Ours:
    """The daemon's way of reading logs: the source under its runner, flood control with the sieve of the rules, the scan.

    `see` is called with each delivered piece before it is scanned, `match` with each match."""

    def __init__(self, patterns: list[str], see: Callable[[Any], None], match: Callable[[Any, Any], None] | None) -> None:
        from neuronwatch.daemon.clock import Clock
        from neuronwatch.judge.evidence import Match
        from neuronwatch.source import formats, rule_files
        from neuronwatch.source.host.root import HostRoot
        from neuronwatch.source.live.logs import RuntimeLogs
        from neuronwatch.source.live.runner import Runner
        from neuronwatch.source.live.scan import LiveScan

        self.rules = rule_files.load_rule_set(None)[0]
        self._scan = scan = LiveScan(self.rules, *formats.shipped())
        self._clock = Clock()

        def deliver(delivery: Any) -> None:
            for item in delivery.appended:
                see(item)
                if match is not None:
                    for found in scan.feed(item, time.monotonic()):
                        if isinstance(found, Match):
                            match(self.rules, found)

        self.source = RuntimeLogs(HostRoot("/"), patterns, sieve=scan.sieve)
        self._runner = Runner([self.source], self._clock, deliver)
        self._runner.turn(self._clock.now())

    def turn(self, longest: float = 0.5) -> None:
        """Waits for what comes next, and does it."""
        until = min(self._runner.next_due(), self._scan.due(), time.monotonic() + longest)
        select.select([self._runner.fileno()], [], [], max(0.0, until - time.monotonic()))
        self._runner.turn(self._clock.now())
        if self._scan.due() <= time.monotonic():
            for _ in self._scan.quiet(time.monotonic()):
                pass

    def close(self) -> None:
        self._runner.close()
