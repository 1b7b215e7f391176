"""The daemon: ties clock, loop, sources, judge, memory and socket together, and ends them in order."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch import __version__
from neuronwatch.daemon import methods, status
from neuronwatch.daemon.api import Server
from neuronwatch.daemon.clock import clock_of
from neuronwatch.daemon.host_source import HostSource
from neuronwatch.daemon.intake import Intake
from neuronwatch.daemon.judging import Judging
from neuronwatch.daemon.log import Log
from neuronwatch.daemon.loop import READ, Loop, Timer
from neuronwatch.daemon.one import OnlyOne
from neuronwatch.daemon.protocol import SCHEMA
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.source import rule_files
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Source
from neuronwatch.source.live.runner import Runner

SOON = 0.1
"""Real seconds in which news is gathered before it is judged."""


class Places(NamedTuple):
    host_root: Path
    state: Path
    socket: Path


class Service:
    """One daemon. `run` returns when it was told to end."""

    def __init__(self, places: Places, log: Log, allow_exec: bool = False, rules: Sequence[Path] | None = None) -> None:
        self.log = log
        self.places = places
        self.root = HostRoot(places.host_root, allow_exec=allow_exec)
        self.loop = Loop(clock_of(self.root), self._defect)
        self.started = self.loop.clock.now()
        self._lock = OnlyOne(places.state)
        loaded, complaints = rule_files.load_rule_set(rules)
        for text in (*map(str, complaints.problems), *complaints.notes):
            log.warning("rule left out", why=text)
        self.judging = Judging(loaded)
        self.diagnosis = Diagnosis("unknown")
        self.intake = Intake(self.judging, self._news)
        self.runner = Runner(self._sources(), self.loop.clock, self.intake.take)
        self.server = Server(self.loop, places.socket, methods.table(self), self.hello)
        self._judge_soon: Timer | None = None
        self._next_turn: Timer | None = None

    def _sources(self) -> list[Source]:
        return [HostSource(self.root)]

    def run(self) -> None:
        self.loop.on_signal((signal.SIGTERM, signal.SIGINT), self.loop.stop)
        self.loop.watch(self.runner.fileno(), READ, lambda _events: self._turn())
        self._turn()
        self.log.info("watching", pid=os.getpid(), host_root=str(self.places.host_root), socket=str(self.places.socket),
                      rules=len(self.judging.rules.rules), version=__version__)  # fmt: skip
        try:
            self.loop.run()
        finally:
            self.close()
            self.log.info("ended")

    def close(self) -> None:
        self.server.close()
        self.runner.close()
        self.loop.close()
        self._lock.release()

    def hello(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "version": __version__, "pid": os.getpid(), "time": self.loop.clock.now().wall}

    def status(self) -> dict[str, Any]:
        return status.document(self)

    def _turn(self) -> None:
        """One turn of the sources, and the time of the next one."""
        self.runner.turn(self.loop.clock.now())
        if self._next_turn is not None:
            self._next_turn.cancel()
        self._next_turn = self.loop.at(self.runner.next_due(), self._turn)

    def _news(self) -> None:
        if self._judge_soon is None or self._judge_soon.cancelled:
            self._judge_soon = self.loop.after(SOON * self.loop.clock.rate, self._judge)

    def _judge(self) -> None:
        self._judge_soon = None
        self.diagnosis = self.judging.conclude()

    def _defect(self, error: Exception) -> None:
        import traceback

        where = "".join(traceback.format_exception(error)[-3:])
        self.log.error("a defect of neuronwatch; the daemon goes on", error=f"{type(error).__name__}: {error}", where=where)
