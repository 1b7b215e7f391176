"""Every fault of the simulated host against the real daemon: seen, named, over, each after how long; and its near miss.

    python bench/faults.py [--rate 20] [--jobs 2] [--only ID ...] [--write docs/drill-faults.md]

Each fault gets a host and a daemon of its own, as processes. First its near miss, which must open no incident with a cause, then
the fault itself until its incident is open, then `clear` until that is resolved and the host is healthy. Times are the host's own
seconds: from the injection to the first incident (seen) and to the condition of the right fault (named), from the clearing to the
end of the incident. They depend on what the fault waits for (the job's next start is 45 s after its end) more than on the daemon.

`--write` puts the table between the two marks of the file; with `--only` the other rows stay, when they were made at the same rate.
Exit status 1, and each miss in bold and on stderr: a fault not named, an incident that does not end, a near miss with a cause.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import _made

from neuronwatch.daemon.client import Client, NoDaemon
from neuronwatch.daemon.protocol import ApiError
from neuronwatch.drill import control, faults

Found = TypeVar("Found")
PROGRAM = (sys.executable, "-m", "neuronwatch")
SETTLE = 300.0
"""Host seconds for the host to be healthy again after the near miss."""
NEAR, NAMED, OVER = 20.0, 600.0, 900.0
"""Host seconds: of a near miss beyond what the fault needs to show, for naming beyond it, for the end."""
STEP = 0.3
BEGIN, END = "<!-- made by bench/faults.py: begin -->", "<!-- made by bench/faults.py: end -->"
HEAD = """\
`python bench/faults.py --rate {rate:g} --jobs {jobs} --write docs/drill-faults.md`{made}: {count} faults, {misses}.

| fault | seen | named | as | over | near miss |
| --- | --- | --- | --- | --- | --- |"""


class Row(NamedTuple):
    """Seconds of the host; None: never. `near`: what was said of the near miss."""

    fault: str
    seen: float | None
    named: float | None
    said: str
    over: float | None
    near: str

    @property
    def missed(self) -> bool:
        return self.named is None or self.over is None or not self.near.startswith("silent")

    def cells(self) -> str:
        def seconds(value: float | None) -> str:
            return "**never**" if value is None else f"{max(0.0, value):.0f} s"

        said = self.said if self.named is not None else f"**{self.said}**"
        near = self.near if self.near.startswith("silent") else f"**{self.near}**"
        return f"| {self.fault} | {seconds(self.seen)} | {seconds(self.named)} | {said} | {seconds(self.over)} | {near} |"


class Place:
    """One drill host and one daemon."""

    def __init__(self, root: Path, fault: faults.Fault, rate: float) -> None:
        self.root, self.rate = root, rate
        needs = faults.needs(fault)
        host = ["drill", "host", "--dir", str(root), "--instance", needs.instance, "--rate", str(rate)]
        host += ["--load", needs.load] if needs.load else []
        host += ["--driver", needs.driver] if needs.driver else []
        self._processes = [self._start(host)]
        self._client: Client | None = None
        self._wait(lambda: (root / ".drill" / "control.sock").exists() or None, 60)
        self._processes.append(self._start(["daemon", "--host-root", str(root)]))
        if not self._wait(lambda: self.healthy() or None, 120):
            raise RuntimeError(f"{fault.ID}: the host is not healthy at the start: {self._call('status')}")

    def _start(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def healthy(self) -> bool:
        return bool(self._call("status").get("verdict") == "healthy")

    def _wait(self, look: Callable[[], Found | None], seconds: float) -> Found | None:
        """What `look` gives first, None when it gave nothing for so many of our seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = look()
            if found is not None:
                return found
            time.sleep(STEP)
        return None

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        try:
            if self._client is None:
                self._client = Client(self.root / "var/lib/neuronwatch/neuronwatch.sock", timeout=30)
            found = self._client.call(method, **params)
        except (NoDaemon, ApiError, TimeoutError):
            self._client = None
            return {}
        return found if isinstance(found, dict) else {}

    def now(self) -> float:
        return float(control.ask(self.root, {"do": "state"})["time"])

    def ask(self, what: str, fault: str, near: bool = False) -> float:
        """The host's time at which it was asked for."""
        before = self.now()
        answer = control.ask(self.root, {"do": what, "fault": fault, "near_miss": near})
        if "error" in answer:
            raise RuntimeError(f"{fault}: {answer['error']}")
        return before

    def incidents(self, since: float) -> list[dict[str, Any]]:
        """Those that began or lasted after that time, the oldest first; what was opened for a symptom may find its cause later."""
        found = self._call("incidents").get("incidents", ())
        return sorted(
            (item for item in found if item["resolved"] is None or item["resolved"] >= since), key=lambda item: item["opened"]
        )

    def left(self, since: float) -> str:
        """What still stands, for people."""
        status = self._call("status")
        lasting = [(item["id"], item["fault"], [(part["key"], part["state"], part["reason"]) for part in item["conditions"]])
                   for item in self.incidents(since) if item["resolved"] is None]  # fmt: skip
        return f"{status.get('verdict')} {status.get('reasons')} {lasting}"

    def until(self, look: Callable[[], Found | None], host_seconds: float) -> Found | None:
        return self._wait(look, host_seconds / self.rate)

    def close(self) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def place(fault: faults.Fault, rate: float) -> Iterator[Place]:
    root = Path(tempfile.mkdtemp(prefix="faults-"))
    made = None
    try:
        made = Place(root / "host", fault, rate)
        yield made
    finally:
        if made is not None:
            made.close()
        shutil.rmtree(root, ignore_errors=True)


def measure(name: str, rate: float) -> Row:
    fault = faults.all_faults()[name]
    with place(fault, rate) as here:
        near = _near_miss(here, fault)
        since = here.ask("inject", name)

        def named() -> dict[str, Any] | None:
            return next((item for item in here.incidents(since) if item["fault"] == name), None)

        found = here.until(named, faults.needs(fault).shows + NAMED)
        heard = [item for item in here.incidents(since) if item["opened"] >= since]
        seen = heard[0]["opened"] - since if heard else None
        if found is None:
            return Row(name, seen, None, ", ".join(_causes(heard)) or "nothing", None, near)
        told = max(found["opened"], next(item["since"] for item in found["conditions"] if item["key"] == found["root"]))
        time.sleep(30.0 / rate)  # what else is said of it
        said = ", ".join(dict.fromkeys((name, *_causes([item for item in here.incidents(since) if item["opened"] >= since]))))
        cleared = here.ask("clear", name)

        def over() -> float | None:
            # a later start may find a cause in what the fault left behind: the incident is the same
            mine = [item for item in here.incidents(since) if item["fault"] == name or item["id"] == found["id"]]
            done = mine and all(item["resolved"] is not None for item in mine) and here.healthy()
            return max(item["resolved"] for item in mine) if done else None

        ended = here.until(over, OVER)
        if ended is None:
            print(f"{name}: not over: {here.left(since)}", file=sys.stderr, flush=True)
        return Row(name, seen, told - since, said or name, None if ended is None else ended - cleared, near)


def _causes(incidents: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(item["fault"] for item in incidents if item["fault"]))


def _near_miss(here: Place, fault: faults.Fault) -> str:
    since = here.ask("inject", fault.ID, near=True)
    time.sleep((faults.needs(fault).shows + NEAR) / here.rate)
    here.ask("clear", fault.ID)
    here.until(lambda: here.healthy() or None, SETTLE)
    time.sleep(100.0 / here.rate)  # the jobs' next start is part of it
    here.until(lambda: here.healthy() or None, SETTLE)
    heard = [item for item in here.incidents(since) if item["opened"] >= since]
    causes = _causes(heard)
    if causes:
        found = [(part["rule"], [(place["path"], place["text"][:200]) for place in part["evidence"][:3]])
                 for item in heard for part in item["findings"][:1] if item["fault"]]  # fmt: skip
        print(f"{fault.ID}: its near miss: {found}", file=sys.stderr, flush=True)
        return ", ".join(causes)
    return "silent" if not heard else f"silent (a symptom without a cause: {heard[0]['title']})"


def table(rows: list[Row], rate: float, jobs: int, made: str) -> str:
    missed = [row for row in rows if row.missed]
    head = HEAD.format(
        rate=rate, jobs=jobs, made=made, count=len(rows), misses=f"**{len(missed)} missed**" if missed else "none missed"
    )
    return "\n".join([head, *(row.cells() for row in sorted(rows))]) + "\n"


def read(text: str, rate: float) -> dict[str, Row]:
    """The rows of a table that was made at this rate."""
    _, _, rest = text.partition(BEGIN)
    part, _, _ = rest.partition(END)
    if f"--rate {rate:g} " not in part:
        return {}
    rows = {}
    for line in part.splitlines():
        cells = [cell.strip().strip("*") for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 6 and "." in cells[0]:
            times = [None if cell == "never" else float(cell.split()[0]) for cell in (cells[1], cells[2], cells[4])]
            rows[cells[0]] = Row(cells[0], times[0], times[1], cells[3], times[2], cells[5])
    return rows


def write(path: Path, rows: list[Row], rate: float, jobs: int, made: str) -> None:
    text = path.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{path}: no line {BEGIN!r} and {END!r}")
    made = f"{BEGIN}\n{table(rows, rate, jobs, made)}{END}"
    path.write_text(re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: made, text, flags=re.DOTALL), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rate", type=float, default=20.0, help="how much faster the hosts' time runs (default: 20)")
    parser.add_argument("--jobs", type=int, default=2, help="hosts at the same time (default: 2)")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these faults")
    parser.add_argument(
        "--write", metavar="FILE", type=Path, help="the table goes between the marks of this file, after each fault"
    )
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    wanted = args.only or list(faults.all_faults())
    if unknown := [name for name in wanted if name not in faults.all_faults()]:
        parser.error(f"no such fault: {', '.join(unknown)}")
    rows = read(args.write.read_text(encoding="utf-8"), args.rate) if args.write and args.only else {}
    lock, begun = threading.Lock(), _made.begin()
    with ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(measure, name, args.rate): name for name in wanted}
        for future in as_completed(futures):
            try:
                row = future.result()
            except Exception as error:  # one host that breaks must not end the others
                print(f"broke: {error}", file=sys.stderr, flush=True)
                row = Row(futures[future], None, None, "the host was not healthy before", None, "not played")
            with lock:
                rows[row.fault] = row
                print(row.cells(), flush=True)
                if args.write:
                    part = ", some rows by themselves," if args.only else ", one run,"
                    write(args.write, list(rows.values()), args.rate, args.jobs, f"{part} {_made.made(begun)}")
    for row in sorted(rows.values()):
        if row.missed:
            print(f"missed: {row.cells()}", file=sys.stderr)
    return 1 if any(row.missed for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
