"""A simulated host and the daemon's service in this process, moved by hand: what the daemon judges of an injected fault, and what
`diagnose` and `replay` say of its recording."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
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
from neuronwatch.drill import place
from neuronwatch.drill.host import DrillHost
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.source.live.api import Now
from neuronwatch.store import state_dir

RATE = 20.0
"""How much faster the tools of the host run; beyond that its time is moved by hand."""
LATER = 61.0
"""Seconds after which everything is judged anew, whatever changed (judge/pace.py)."""
Finding = tuple[str, str, str, tuple[str, ...], str, int | None]
"""Rule, fault, role, entities, path and line of the first evidence."""


class Answers(NamedTuple):
    """What was found by the daemon, by `diagnose` of its recording and by `replay` of it."""

    live: list[Finding]
    offline: list[Finding]
    replayed: list[Finding]
    verdicts: tuple[str, str, str]


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

    def __init__(self, directory: Path, instance: str = "trn1.2xlarge", load: str | None = None, record: bool = True) -> None:
        root, state = directory / "host", directory / "state"
        self.recording = directory / "recording"
        place.take(root)
        self.host = DrillHost(root, instance, workload=load, rate=RATE)
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

    def is_open(self, fault: str) -> bool:
        judged = self.service.judged
        return judged is not None and any(item.fault == fault and item.state != "resolved" for item in judged.incidents)

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
        return Answers(_findings(live.diagnosis), _findings(offline, original), _findings(replay.judged.diagnosis),
                       (live.diagnosis.verdict, offline.verdict, replay.judged.diagnosis.verdict))  # fmt: skip

    def _manifest(self) -> dict[str, Any]:
        found = json.loads((self.recording / "manifest.json").read_bytes())
        assert isinstance(found, dict)
        return found

    def close(self) -> None:
        self.service.close()
        self.host.close()


def _findings(diagnosis: Diagnosis, original: dict[str, str] | None = None) -> list[Finding]:
    """All findings in a fixed order, with the paths of the host."""
    found = []
    for item in diagnosis.findings:
        first = item.evidence[0] if item.evidence else None
        path = "" if first is None else (original or {}).get(first.path, first.path)
        found.append((item.rule, item.fault, item.role, item.entities, path, None if first is None else first.line))
    return sorted(found, key=repr)
