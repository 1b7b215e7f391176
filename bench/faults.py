"""Every fault of the simulated host against the real daemon: named or not, after how long, and over after how long.

    python bench/faults.py [--rate 20] [--only ID ...] [--write FILE]

Each fault gets a host and a daemon of its own, as processes. First its near miss, which must open no incident with a cause, then
the fault itself until its incident is open, then `clear` until the incident is resolved. Times are the host's own seconds, from
the injection to the incident's `opened`, and from the clearing to its `resolved`. They depend on what the fault waits for (the
job's next start comes 45 s after its end) more than on the daemon. Exit status 1 when one is not named, not over, or when a near
miss was not silent.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from neuronwatch.drill import control, faults

Found = TypeVar("Found")
PROGRAM = (sys.executable, "-m", "neuronwatch")
INSTANCE = {"hw.device-missing": "inf2.24xlarge", "runtime.unsupported-core-topology": "trn1.32xlarge"}
LOAD = {"serve.max-batch-size-unset": "serve", "serve.concurrency-at-limit": "serve"}
NEAR = 150.0
"""Host seconds of a near miss."""
SLOWEST = {"runtime.collective-peer-missing": 300.0}
NAMED, OVER = 900.0, 1500.0
"""Host seconds that are waited for."""
STEP = 0.25
HEAD = """\
# Faults of the simulated host, and what the daemon says

Made by `python bench/faults.py --rate {rate:g} --write docs/drill-faults.md`; times in the host's own seconds, each fault on a
host and a daemon of its own. Most of a time to finding is the wait for the job's next start, 45 s after its end. Where the near
miss reloads the driver or reboots, the missing sysfs tree is told as `env.source-unavailable` while it lasts: nobody can see the
devices then, and it is no fault of theirs.

| fault | seen as | time to finding | time to clear | near miss |
| --- | --- | --- | --- | --- |"""


class Row(NamedTuple):
    fault: str
    seen_as: str
    named: float | None
    over: float | None
    near: str


class Place:
    """One drill host and one daemon."""

    def __init__(self, root: Path, instance: str, load: str | None, rate: float) -> None:
        self.root, self.rate = root, rate
        host = ["drill", "host", "--dir", str(root), "--instance", instance, "--rate", str(rate)]
        self._processes = [self._start([*host, *(["--load", load] if load else [])])]
        self._wait(lambda: (root / ".drill" / "control.sock").exists() or None, 30)
        self._processes.append(self._start(["daemon", "--host-root", str(root)]))
        self._wait(lambda: self._healthy() or None, 60)

    def _start(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def _healthy(self) -> bool:
        answer = self._json("status")
        return bool(answer) and answer.get("verdict") == "healthy"

    def _wait(self, look: Callable[[], Found | None], seconds: float) -> Found | None:
        """What `look` gives first, None when it gave nothing for so many of our seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = look()
            if found is not None:
                return found
            time.sleep(STEP)
        return None

    def _json(self, verb: str) -> dict[str, Any]:
        done = subprocess.run([*PROGRAM, verb, "--host-root", str(self.root), "--format", "json"], capture_output=True, check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def now(self) -> float:
        return float(control.ask(self.root, {"do": "state"})["time"])

    def ask(self, what: str, fault: str, near: bool = False) -> float:
        """The host's time at which it was done."""
        answer = control.ask(self.root, {"do": what, "fault": fault, "near_miss": near})
        if "error" in answer:
            raise SystemExit(f"{fault}: {answer['error']}")
        return self.now()

    def incidents(self, since: float) -> list[dict[str, Any]]:
        """Those with a cause that lasted or changed after that time, the host's: one that was opened for a symptom may find its
        cause later."""
        found = self._json("incidents").get("incidents", ())
        return [item for item in found if item["fault"] and (item["resolved"] is None or item["resolved"] >= since)]

    def until(self, look: Callable[[], Found | None], host_seconds: float) -> Found | None:
        return self._wait(look, host_seconds / self.rate)

    def close(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def place(fault: str, rate: float) -> Iterator[Place]:
    root = Path(tempfile.mkdtemp(prefix="faults-"))
    made = None
    try:
        made = Place(root / "host", INSTANCE.get(fault, "trn1.2xlarge"), LOAD.get(fault), rate)
        yield made
    finally:
        if made is not None:
            made.close()
        shutil.rmtree(root, ignore_errors=True)


def measure(fault: str, rate: float) -> Row:
    with place(fault, rate) as here:
        since = here.ask("inject", fault, near=True)
        time.sleep(SLOWEST.get(fault, NEAR) / rate)
        heard = here.incidents(since)
        near = "silent" if not heard else heard[0]["fault"]
        here.ask("clear", fault)
        time.sleep(150.0 / rate)
        since = here.ask("inject", fault)

        def named() -> dict[str, Any] | None:
            return next((item for item in here.incidents(since) if item["fault"] == fault), None)

        found = here.until(named, NAMED)
        if found is None:
            others = ", ".join(sorted({item["fault"] for item in here.incidents(since)}))
            return Row(fault, others or "nothing", None, None, near)
        told = found["opened"] if found["opened"] >= since else here.now()
        cleared = here.ask("clear", fault)

        def over() -> dict[str, Any] | None:
            open_ones = [item for item in here.incidents(since) if item["fault"] == fault]
            return open_ones[-1] if open_ones and all(item["resolved"] is not None for item in open_ones) else None

        ended = here.until(over, OVER)
        return Row(fault, fault, told - since, None if ended is None else ended["resolved"] - cleared, near)


def table(rows: list[Row], rate: float) -> str:
    def seconds(value: float | None) -> str:
        return "never" if value is None else f"{max(0.0, value):.0f} s"

    lines = [HEAD.format(rate=rate)]
    lines += [f"| {row.fault} | {row.seen_as} | {seconds(row.named)} | {seconds(row.over)} | {row.near} |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rate", type=float, default=20.0, help="how much faster the hosts' time runs (default: 20)")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these faults")
    parser.add_argument("--write", metavar="FILE", help="the table also goes here, after each fault")
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    rows: list[Row] = []
    for fault in args.only or faults.all_faults():
        rows.append(measure(fault, args.rate))
        print(table(rows[-1:], args.rate).splitlines()[-1], flush=True)
        if args.write:
            Path(args.write).write_text(table(rows, args.rate), encoding="utf-8")
    return 0 if all(row.seen_as == row.fault and row.over is not None and row.near == "silent" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
