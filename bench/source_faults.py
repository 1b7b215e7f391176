"""Every way in which a source can fail, against the real daemon: what it says of it, after how long, and what else it disturbs.

    python bench/source_faults.py [--rate 2] [--together 2] [--only SOURCE[.HOW] ...] [--write docs/daemon-sources.md]

The sources and the ways to fail are those of `neuronwatch drill faults` (`source.NAME.HOW`). Each source has a drill host and a
daemon of its own, as processes; its faults come one after the other to the same daemon, which is never restarted. As root both
run as another user, whom a mode of 0 stops. Each row: inject, watch the API until the fault was told (or had long had the time to
be) and then as long as a judgement of it may take, clear, watch until all is as before. Times are the host's own seconds. Exit
status 1 when a row is not right: a state that does not fit the fault or has no reason, told later than its budget, another
source disturbed that does not read the same files, an incident of hardware, a green verdict while the mandatory source is blind,
no recovery, or another process than at first.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import _made

from neuronwatch.daemon.client import Client
from neuronwatch.drill import control, outages

SOURCE = Path(__file__).resolve().parents[1]
STEP = 0.1
"""Seconds of ours between two looks."""
GRACE = 8.0
"""Host seconds beyond its budget in which a fault is told: a slow host answers only after 8 s, and a tick takes its time."""
LINGER = 20.0
"""Host seconds for which a fault that was told is watched."""
LOST = 75.0
"""The same of a mandatory source: after a minute its loss is a fault of the monitor."""
BACK = 240.0
"""Host seconds that a recovery may take."""
RIGHT: dict[str, frozenset[str]] = {
    "killed": frozenset(("missing", "failed")),
    "hung": frozenset(("stale", "failed")),
    "slow": frozenset(("stale", "failed")),
    "garbled": frozenset(("failed",)),
    "absent": frozenset(("missing",)),
    "denied": frozenset(("missing",)),
    "flapping": frozenset(("missing", "failed")),
}
"""States that fit."""
OFTEN = 60.0
"""A source with a budget below this is asked so often that it meets files that are away for two seconds."""
KEPT = {"kernel-log.denied"}
"""Who holds the file open goes on reading it, whatever its mode becomes."""
SAME_FILES = {"processes": ("host", "system", "driver")}
"""Sources that read the same files, and fail with them."""
HEAD = """\
# Sources that fail, and what the daemon says

Made by one run of `python bench/source_faults.py --rate {rate:g} --together {together} --write docs/daemon-sources.md`:
{made}.

Each source has a drill host (trn1.2xlarge, training) and a daemon of its own, both as an unprivileged user; its faults come one
after the other to the same daemon, which is never restarted. Times are the host's own seconds.

- *Told*: from the injection to the first state that is not fresh, against the source's budget. "fresh" is right where the answers
  come late but within the budget, where a log holds rubbish between its lines, where nobody reads what a file holds (the compile
  cache's), where a file that is kept open is denied to others, and where files that are read each half minute are away for two
  seconds.
- *Reason*: of the last of the states; what is wrong, then what to do.
- *Verdict*: all that was said while the fault lasted; the first is that of the moment before it was told.
- *Incident*: only the monitor's own outage may be one; with a fault of a device, of the cache or of a job the command fails.
- *Others*: sources that were not fresh meanwhile; `host`, `system` and `driver` read `/proc` as `processes` does.
- *Back*: from the clearing until it, all other sources and the incidents are as before.

| source | fault | state | told / budget | reason | verdict | incident | others | back |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


class Row(NamedTuple):
    source: str
    how: str
    states: tuple[str, ...]
    """Those that are not fresh, in the order in which they came."""
    told: float | None
    budget: float
    reason: str
    verdicts: tuple[str, ...]
    incidents: tuple[str, ...]
    others: tuple[str, ...]
    back: float | None
    wrong: tuple[str, ...]


def somebody(directory: Path) -> tuple[str, dict[str, Any]]:
    """The Python and the options for Popen of a user whom modes stop, who gets that directory: nobody where we are root. Raises
    SystemExit where no Python can be run by others."""
    path = [str(SOURCE), sysconfig.get_path("purelib")]
    environment = {**os.environ, "HOME": str(directory), "XDG_CACHE_HOME": str(directory / "cache"), "OMP_NUM_THREADS": "1",
                   "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(path)}  # fmt: skip
    options: dict[str, Any] = {"env": environment, "cwd": "/"}
    if os.geteuid() != 0:
        return sys.executable, options
    user = pwd.getpwnam("nobody")
    os.chown(directory, user.pw_uid, user.pw_gid)
    options.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    for program in (sys.executable, "/usr/bin/python3"):  # ours may lie in root's home
        with contextlib.suppress(OSError):
            tried = subprocess.run([program, "-m", "neuronwatch", "--version"], capture_output=True, check=False, **options)
            if tried.returncode == 0:
                return program, options
    raise SystemExit("no Python here can be run by the user nobody; run this as an ordinary user")


class Place:
    """One drill host and one daemon, both as another user where we are root."""

    def __init__(self, directory: Path, rate: float) -> None:
        self.root, self.rate = directory / "host", rate
        self._program, self._options = somebody(directory)
        self._processes = [self._start("drill", "host", "--dir", str(self.root), "--instance", "trn1.2xlarge", "--rate", str(rate))]
        _until(lambda: (self.root / ".drill" / "control.sock").exists(), 60)
        self._processes.append(self._start("daemon", "--host-root", str(self.root)))
        self._client: Client | None = None
        socket = self.root / "var/lib/neuronwatch/neuronwatch.sock"
        found = _until(socket.exists, 60)
        if not found:
            self.close()
            raise SystemExit(f"{self.root}: the daemon did not start")
        self._client = Client(socket, 60.0)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.root.parent / f"{arguments[0]}.log").open("wb")
        with log:
            return subprocess.Popen(
                [self._program, "-m", "neuronwatch", *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._options
            )

    def status(self) -> dict[str, Any]:
        assert self._client is not None
        found = self._client.call("status")
        assert isinstance(found, dict)
        return found

    def ask(self, what: str, fault: str) -> float:
        """Injects or clears; the host's time at which it was done."""
        answer = control.ask(self.root, {"do": what, "fault": fault})
        if "error" in answer:
            raise SystemExit(f"{fault}: {answer['error']}")
        return float(control.ask(self.root, {"do": "state"})["time"])

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _until(look: Any, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if look():
            return True
        time.sleep(STEP)
    return False


@contextlib.contextmanager
def place(rate: float) -> Iterator[Place]:
    directory = Path(tempfile.mkdtemp(prefix="sf-", dir="/tmp"))
    made = None
    try:
        made = Place(directory, rate)
        yield made
    finally:
        if made is not None:
            made.close()
        shutil.rmtree(directory, ignore_errors=True)


class Watcher:
    """What the API says of one source and of all others while time passes."""

    def __init__(self, here: Place, source: str) -> None:
        self._here, self._source = here, source
        self.normal: dict[str, str] = {}
        self.forget()

    def forget(self) -> None:
        self.states: dict[str, float] = {}
        """Each state of the source to the host's time at which it began."""
        self.reasons: dict[str, str] = {}
        """Of each state and reason the last."""
        self.others: dict[str, str] = {}
        self.verdicts: dict[str, None] = {}
        self.incidents: dict[str, None] = {}
        self.pids: set[int] = set()

    def look(self) -> dict[str, Any]:
        found = self._here.status()
        for item in found["sources"]:
            if item["name"] == self._source:
                self.states.setdefault(item["state"], item["since"])
                self.reasons[item["state"]] = item["reason"]
            elif item["state"] not in ("fresh", self.normal.get(item["name"], item["state"])):
                self.others[item["name"]] = f"{item['state']}: {item['reason']}"
        self.verdicts[found["verdict"]] = None
        self.incidents.update((f"{item['fault'] or item['title']}", None) for item in found["incidents"])
        self.pids.add(found["daemon"]["pid"])
        return found

    def normal_now(self, found: dict[str, Any]) -> bool:
        return not found["incidents"] and {item["name"]: item["state"] for item in found["sources"]} == self.normal

    def settle(self, wanted: str, seconds: float) -> None:
        """Waits until that source is fresh and nothing starts; what is so then is normal."""
        end = time.monotonic() + seconds / self._here.rate
        while time.monotonic() < end:
            found = self._here.status()
            states = {item["name"]: item["state"] for item in found["sources"]}
            if states[wanted] == "fresh" and "starting" not in states.values() and not found["incidents"]:
                self.normal = states
                return
            time.sleep(STEP)
        raise SystemExit(f"{wanted} does not become fresh: {found['sources']}")


def measure(here: Place, watcher: Watcher, source: str, how: str) -> Row:
    found = here.status()
    mine = next(item for item in found["sources"] if item["name"] == source)
    budget, mandatory = float(mine["budget"]), bool(mine["mandatory"])
    watcher.forget()
    injected = here.ask("inject", f"source.{source}.{how}")
    told: float | None = None
    while True:
        found = watcher.look()
        now = found["time"] - injected
        bad = [at for state, at in watcher.states.items() if state not in ("fresh", "starting")]
        told = max(0.0, min(bad) - injected) if bad and told is None else told
        if now > (told + (LOST if mandatory else LINGER) if told is not None else budget + GRACE + LINGER):
            break
        time.sleep(STEP)
    cleared = here.ask("clear", f"source.{source}.{how}")
    lasted, before, back = tuple(watcher.verdicts), tuple(watcher.states), None
    while back is None and found["time"] - cleared < BACK:
        found = watcher.look()
        if watcher.normal_now(found):
            back = max(0.0, found["time"] - cleared)
        time.sleep(STEP)
    states = tuple(state for state in before if state not in ("fresh", "starting"))
    reason = next((watcher.reasons[state] for state in reversed(states) if watcher.reasons[state]), "")
    if how != "flapping" and reason.startswith("flapping: "):  # the faults before it count too
        reason = reason.partition("; ")[2]
    row = Row(source, how, states, told, budget, reason, lasted, tuple(watcher.incidents), tuple(sorted(watcher.others)), back, ())
    return row._replace(wrong=tuple(_wrong(row, watcher, mandatory)))


def _wrong(row: Row, watcher: Watcher, mandatory: bool) -> Iterator[str]:
    name = f"{row.source}.{row.how}"
    bad = [state for state in row.states if state not in RIGHT[row.how]]
    if bad:
        yield f"state {', '.join(bad)}"
    if row.told is not None and row.told > row.budget + GRACE:
        yield "told late"
    if row.states and not all(watcher.reasons[state] for state in row.states):
        yield "no reason"
    if (
        row.told is None
        and row.how not in ("slow", "garbled")
        and not (row.how == "killed" and row.budget > OFTEN)
        and name not in KEPT
    ):
        yield "not told"
    for other in row.others:
        if other not in SAME_FILES.get(row.source, ()):
            yield f"{other} disturbed ({watcher.others[other]})"
    for fault in row.incidents:
        if fault != "env.source-unavailable":
            yield f"incident {fault}"
    if mandatory and row.told is not None and "unknown" not in row.verdicts and "fault" not in row.verdicts:
        yield "green while blind"
    if row.back is None:
        yield "not back"
    if len(watcher.pids) != 1:
        yield "another process"


def of_source(source: str, hows: list[str], rate: float) -> list[Row]:
    rows = []
    with place(rate) as here:
        watcher = Watcher(here, source)
        watcher.settle("neuron-monitor", 300.0)
        if source == "neuron-top":  # it is read only where there is no neuron-monitor
            here.ask("inject", "source.neuron-monitor.absent")
        watcher.settle(source, 300.0)
        for how in hows:
            rows.append(measure(here, watcher, source, how))
            print(line(rows[-1]) + (f"  <-- {'; '.join(rows[-1].wrong)}" if rows[-1].wrong else ""), flush=True)
            if rows[-1].back is None:
                break
    return rows


def line(row: Row) -> str:
    told = "-" if row.told is None else f"{row.told:.0f} s"
    cells = (
        row.source,
        row.how,
        ", ".join(row.states) or "fresh",
        f"{told} / {row.budget:g} s",
        row.reason.replace("|", "\\|") or "-",
        ", ".join(row.verdicts),
        ", ".join(row.incidents) or "-",
        ", ".join(row.others) or "-",
        "never" if row.back is None else f"{row.back:.0f} s",
    )
    return f"| {' | '.join(cells)} |"


def wanted(only: list[str]) -> dict[str, list[str]]:
    """What to measure, of all that the drill can inject."""
    found: dict[str, list[str]] = {}
    for name in outages.names():
        source, how = outages.named(name)
        if not only or source in only or f"{source}.{how}" in only:
            found.setdefault(source, []).append(how)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rate", type=float, default=2.0, help="how much faster the hosts' time runs (default: 2)")
    parser.add_argument("--together", type=int, default=2, help="so many hosts at a time (default: 2)")
    parser.add_argument("--only", nargs="+", default=[], metavar="SOURCE[.HOW]", help="these")
    parser.add_argument("--write", metavar="FILE", help="the table also goes here, after each source")
    args = parser.parse_args()
    done: list[Row] = []
    begun = _made.begin()
    with ThreadPoolExecutor(args.together) as pool:
        for rows in pool.map(lambda item: of_source(*item, args.rate), wanted(args.only).items()):
            done += rows
            if args.write:
                head = HEAD.format(rate=args.rate, together=args.together, made=_made.made(begun))
                text = "\n".join([head, *map(line, done)]) + "\n"
                Path(args.write).write_text(text, encoding="utf-8")
    wrong = [row for row in done if row.wrong]
    for row in wrong:
        print(f"{row.source}.{row.how}: {'; '.join(row.wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
