"""A simulated host and the daemon's service in this process, moved by hand: what the daemon judges of an injected fault, and what
`diagnose` and `replay` say of its recording."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from case_support import diagnose, rules

from neuronwatch.daemon import service
from neuronwatch.daemon.config import Config
from neuronwatch.daemon.log import Log
from neuronwatch.daemon.loop import READ
from neuronwatch.daemon.replay import Replay
from neuronwatch.daemon.service import Options, Service
from neuronwatch.drill import faults, place
from neuronwatch.drill.host import DrillHost
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
    """What was found by the daemon, by `diagnose` of its recording and by `replay` of it. `ended`: rules of conditions that ended
    meanwhile in one of the two watches: these forget what `diagnose` still reads."""

    live: list[Finding]
    offline: list[Finding]
    replayed: list[Finding]
    verdicts: tuple[str, str, str]
    ended: frozenset[str]
    named: frozenset[str]
    """Faults of the incidents that the replay knows, also of those that are over."""
    retired: bool
    """A run of a job ended in a log that goes on, and was forgotten: `diagnose` still reads it."""

    def differences(self) -> list[str]:
        """What is not as docs/design/0008 says, in words."""
        if self.retired:
            return []
        if not self.ended:
            return [*_between("the daemon", self.live, "diagnose", self.offline),
                    *_between("the daemon", self.live, "replay", self.replayed),
                    *([f"verdicts {self.verdicts}"] if len(set(self.verdicts)) > 1 else [])]  # fmt: skip
        known = {item[:2] for item in self.offline}
        return [f"only the daemon has {item}" for item in (*self.live, *self.replayed) if item[:2] not in known]


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
        """Ends the recording, lets the daemon judge what it has heard, and judges the recording twice."""
        self.service.recordings.stop()
        now = self.service.loop.clock.now()
        self.service.intake.settle(now)
        live = self.service.watch.conclude(Now(now.wall, now.mono + LATER), self.service.runner.health())
        offline = diagnose(self.recording)
        replay = Replay(str(self.recording), rules())
        for _ in replay.play(None, None):
            pass
        assert replay.judged is not None
        original = {item["path"]: item["original"] for item in self._manifest()["files"]}
        ended = frozenset(item.key for item in (*live.conditions, *replay.judged.conditions) if item.state == "false")
        return Answers(_findings(live.diagnosis), _findings(offline, original), _findings(replay.judged.diagnosis),
                       (live.diagnosis.verdict, offline.verdict, replay.judged.diagnosis.verdict), ended,
                       frozenset(item.fault for item in replay.judged.incidents),
                       any(item.retired for item in self.service.watch._writers.values()))  # fmt: skip

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


def check_fault(directory: Path, fault: str) -> None:
    """Live, offline and replayed are equal when the incident of the fault is open."""
    with suffering(directory, fault) as watched:
        assert watched.until(lambda: watched.is_named(fault), NAMED), f"{fault} was not named"
        watched.go(SETTLED)
        answers = watched.answers()
    assert not answers.differences()
    assert answers.retired or fault in {item[1] for item in answers.offline}
    assert fault in answers.named or answers.ended  # what lasts a moment may fall between two judgements of the replay


def check_source_fault(directory: Path, fault: str) -> None:
    """The same of a source that fails, after a minute of it."""
    with suffering(directory, fault) as watched:
        watched.go(LOST)
        answers = watched.answers()
    assert not answers.differences()
