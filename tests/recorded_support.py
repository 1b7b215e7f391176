"""A simulated host and the daemon's service in this process, moved by hand: what the daemon judges of an injected fault, and what
`diagnose` and `replay` say of its recording."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from case_support import diagnose, items, rules

from neuronwatch.daemon import service
from neuronwatch.daemon.config import Config
from neuronwatch.daemon.log import Log
from neuronwatch.daemon.loop import READ
from neuronwatch.daemon.replay import Replay
from neuronwatch.daemon.service import Options, Service
from neuronwatch.drill import faults, place
from neuronwatch.drill.host import DrillHost
from neuronwatch.judge import engine
from neuronwatch.judge.live import Watch
from neuronwatch.judge.state import State
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.source.live.api import Now
from neuronwatch.store import state_dir

RATE = 20.0
"""How much faster the tools of the host run; beyond that its time is moved by hand."""
LATER = 61.0
"""Seconds after which everything is judged anew, whatever changed (judge/pace.py)."""
NAMED, SETTLED, LOST = 900.0, 3.0, 75.0
"""Seconds of the host in which a fault is named, in which its first judgement settles, and that a failing source is watched."""
Finding = tuple[str, str, str, tuple[str, ...], str, int | None]
"""Rule, fault, role, entities, path and line of the first evidence."""


class Answers(NamedTuple):
    """What was found by the daemon and by `replay` of its recording, each beside what `diagnose` finds in the recording without the
    lines that this watch has forgotten; and what `diagnose` finds in all of it."""

    live: list[Finding]
    without_live: list[Finding]
    replayed: list[Finding]
    without_replayed: list[Finding]
    offline: list[Finding]
    verdicts: tuple[str, str, str, str]
    """In that order, without the last."""
    kind: str
    """What the daemon had forgotten: "nothing", "runs" that were over, lines of conditions that "ended", or both."""
    alike: bool
    """Whether the daemon and the replay had forgotten the same."""
    named: frozenset[str]
    """Faults of the incidents that the replay knows, also of those that are over."""
    waiting: frozenset[str]
    """Faults that the replay has found and that have not lasted long enough to be an incident."""

    def differences(self) -> list[str]:
        """What is not as docs/design/0008 says, in words."""
        found = [*_between("the daemon", self.live, "diagnose", self.without_live),
                 *_between("replay", self.replayed, "diagnose", self.without_replayed)]  # fmt: skip
        if self.kind == "nothing":
            found += _between("the daemon", self.live, "diagnose of all", self.offline)
        if self.alike:
            found += _between("the daemon", self.live, "replay", self.replayed)
        live, without_live, replayed, without_replayed = self.verdicts
        if live != without_live or replayed != without_replayed or (self.alike and live != replayed):
            found.append(f"verdicts {self.verdicts}")
        return found


class Forgotten:
    """What a watch has forgotten of followed texts, so that `diagnose` can be asked without it: up to which line everything (runs
    that are over), and up to which line the hits of a pattern (conditions that ended)."""

    def __init__(self, watch: Watch) -> None:
        self.runs: dict[str, int] = {}
        self.lines: dict[tuple[str, int], int] = {}
        self._watch = watch
        self._retire, self._drop_hits, self._shift = watch._retire, watch._drop_hits, watch._shift
        for name in ("retire", "drop_hits", "shift"):
            setattr(watch, f"_{name}", getattr(self, name))

    def retire(self, path: str, until: int) -> None:
        self.runs[path] = until
        self._retire(path, until)

    def drop_hits(self, path: str, numbers: Sequence[int]) -> None:
        file = self._watch._state.file(path)
        for number in numbers:
            hits = file.hits.get(number)
            if hits is not None and hits.last is not None:
                self.lines[path, number] = hits.last.number or 0
        self._drop_hits(path, numbers)

    def shift(self, path: str, now: Now) -> None:
        before = self._watch._writers[path].newest, self._watch._state.file(path).last_line()
        self._shift(path, now)
        by = max(before) + 1
        if by > 1:
            self.runs = {name: line - by * (name == path) for name, line in self.runs.items()}
            self.lines = {(name, number): line - by * (name == path) for (name, number), line in self.lines.items()}

    @property
    def kind(self) -> str:
        parts = [name for name, what in (("runs", self.runs), ("ended", self.lines)) if what]
        return " and ".join(parts) or "nothing"

    def diagnose(self, recording: Path, recorded: Mapping[str, str]) -> Diagnosis:
        """Of a recording without that. `recorded`: path on the host to the path of its recording."""
        state = engine.observe(State(), items(recording), rules())
        for path, until in self.runs.items():
            if path in recorded:
                state.file(recorded[path]).retire(until)
        for (path, number), until in self.lines.items():
            file = state.file(recorded[path])
            left = file.hits[number].after(until) if number in file.hits else None
            file.hits.pop(number, None)
            if left is not None:
                file.hits[number] = left
        return engine.conclude(state, rules())


class HostClock:
    """The clock of the host, for the service."""

    rate = RATE

    def __init__(self, host: DrillHost) -> None:
        self._clock = host.machine.clock

    def now(self) -> Now:
        wall = self._clock.wall()
        return Now(wall, wall - self._clock.begin + 100.0)

    def real(self, seconds: float) -> float:
        return seconds / RATE


class Watched:
    """A host and its daemon, started and with all sources fresh. `record`: from the first delivery on."""

    def __init__(self, directory: Path, instance: str = "trn1.2xlarge", load: str | None = None, record: bool = True,
                 driver: str | None = None) -> None:  # fmt: skip
        root, state = directory / "host", directory / "state"
        self.recording = directory / "recording"
        place.take(root)
        self.host = DrillHost(root, instance, driver=driver, workload=load, rate=RATE)
        self.host.prepare()
        state.mkdir(mode=0o700)
        options = Options(root, state, state_dir.socket_path(state, None))
        with mock.patch.object(service, "clock_of", lambda _root: HostClock(self.host)):
            self.service = Service(options, Config(), Log())
        self.forgotten = Forgotten(self.service.watch)
        self.service.loop.watch(self.service.runner.fileno(), READ, lambda _events: self.service._turn())
        if record:
            self.start()
        self.go(30)

    def start(self) -> None:
        self.service.recordings.start(self.recording, self.service.loop.clock.now().wall, self.service.intake)

    def go(self, seconds: float, step: float = 1.0) -> None:
        """Host time passes; each step waits for the polls that it began."""
        end = self.host.machine.clock.wall() + seconds
        while self.host.machine.clock.wall() < end:
            self.host.machine.clock.advance(step)
            self.host.tick()
            self._turn()

    def _turn(self) -> None:
        self.service._turn()
        patience = time.monotonic() + 1.0  # a hung source is not waited for
        while any(run.busy for run in self.service.runner._runs) and time.monotonic() < patience:
            self.service.loop.turn(0.002)
        self.service.loop.turn(0.0)

    def until(self, look: Callable[[], object], seconds: float) -> bool:
        """Whether it came true within so many seconds of the host."""
        end = self.host.machine.clock.wall() + seconds
        while not look():
            if self.host.machine.clock.wall() > end:
                return False
            self.go(2)
        return True

    def is_named(self, fault: str) -> bool:
        """Whether there is or was an incident of the fault."""
        judged = self.service.judged
        return judged is not None and any(item.fault == fault for item in judged.incidents)

    def ask(self, what: str, fault: str) -> None:
        self.host.answer({"do": what, "fault": fault})

    def answers(self) -> Answers:
        """Ends the recording, judges what the daemon has heard, and the recording by `diagnose` and by `replay`."""
        self.service.recordings.stop()
        now = self.service.loop.clock.now()
        self.service.intake.settle(now)
        live = self.service.watch._judge(now).diagnosis
        replay = Replay(str(self.recording), rules())
        again = Forgotten(replay.watch)
        for _ in replay.play(None, None):
            pass
        assert replay.judged is not None
        replayed = replay.watch._judge(now).diagnosis
        original = {item["path"]: item["original"] for item in self._manifest()["files"]}
        recorded = {path: name for name, path in original.items()}
        here = self.forgotten
        without, without_again = here.diagnose(self.recording, recorded), again.diagnose(self.recording, recorded)
        waiting = [item.fault for item in replayed.findings if item.rule in replay.watch._conditions._waiting]
        return Answers(
            _findings(live), _findings(without, original), _findings(replayed), _findings(without_again, original),
            _findings(diagnose(self.recording), original),
            (live.verdict, without.verdict, replayed.verdict, without_again.verdict), here.kind,
            (here.runs, here.lines) == (again.runs, again.lines), frozenset(item.fault for item in replay.judged.incidents),
            frozenset(waiting))  # fmt: skip

    def _manifest(self) -> dict[str, Any]:
        found = json.loads((self.recording / "manifest.json").read_bytes())
        assert isinstance(found, dict)
        return found

    def close(self) -> None:
        self.service.close()
        self.host.close()


@contextlib.contextmanager
def suffering(directory: Path, fault: str) -> Iterator[Watched]:
    """A host that is recorded from the first, with that fault injected: an instance and a load that has what it needs."""
    known = faults.all_faults().get(fault)
    needs = faults.needs(known) if known is not None else faults.Needs()
    watched = Watched(directory, needs.instance, needs.load or None, driver=needs.driver or None)
    try:
        watched.ask("inject", fault)
        yield watched
    finally:
        watched.close()


def _between(one: str, first: list[Finding], other: str, second: list[Finding]) -> Iterator[str]:
    for item in first:
        if item not in second:
            yield f"{one}, not {other}: {item}"
    for item in second:
        if item not in first:
            yield f"{other}, not {one}: {item}"


def _findings(diagnosis: Diagnosis, original: dict[str, str] | None = None) -> list[Finding]:
    """All findings in a fixed order, with the paths of the host."""
    found = []
    for item in diagnosis.findings:
        first = item.evidence[0] if item.evidence else None
        path = "" if first is None else (original or {}).get(first.path, first.path)
        found.append((item.rule, item.fault, item.role, item.entities, path, None if first is None else first.line))
    return sorted(found, key=repr)


def check_fault(directory: Path, fault: str) -> Answers:
    """When the incident of the fault is open, the daemon finds what `diagnose` finds in what it has not forgotten, the replay
    likewise, `diagnose` of all of it names the fault, and the replay has its incident or waits for it to last."""
    with suffering(directory, fault) as watched:
        assert watched.until(lambda: watched.is_named(fault), NAMED), f"{fault} was not named"
        watched.go(SETTLED)
        answers = watched.answers()
    assert not answers.differences()
    assert fault in {item[1] for item in answers.offline}
    still = fault in {item[1] for item in answers.replayed}
    assert fault in answers.named | answers.waiting or not still  # what lasts a moment may fall between two judgements
    return answers


def check_source_fault(directory: Path, fault: str) -> Answers:
    """The same of a source that fails, after a minute of it."""
    with suffering(directory, fault) as watched:
        watched.go(LOST)
        answers = watched.answers()
    assert not answers.differences()
    return answers
