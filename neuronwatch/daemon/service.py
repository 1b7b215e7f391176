"""The daemon: ties clock, loop, sources, judge, memory, socket and exporters together, and ends them in order."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch import __version__
from neuronwatch.daemon import allocator, exporters, methods, own, rules, sources, status
from neuronwatch.daemon.api import Server, SocketInUse
from neuronwatch.daemon.clock import clock_of
from neuronwatch.daemon.config import Config
from neuronwatch.daemon.exporters.api import Exporter
from neuronwatch.daemon.guard import PATIENCE, Guard, Taken
from neuronwatch.daemon.intake import Intake
from neuronwatch.daemon.keeping import Keeping
from neuronwatch.daemon.log import Level, Log, level_of
from neuronwatch.daemon.loop import READ, Loop, Timer
from neuronwatch.daemon.memory import Memory
from neuronwatch.daemon.notify import Notifier
from neuronwatch.daemon.process_details import Details
from neuronwatch.daemon.protocol import SCHEMA
from neuronwatch.daemon.recording import Recordings
from neuronwatch.judge.live import Change, Judged, Watch
from neuronwatch.model.dataclass import given
from neuronwatch.model.live import Delivery, Health, Incident
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.runner import Runner
from neuronwatch.source.live.watch import FileWatch
from neuronwatch.source.rule_reload import Reloaded

LOOK_AGAIN = 5.0
"""Real seconds between two looks at the files of rules and configuration, where the system does not tell of a change."""
SETTLED = 0.3
"""Real seconds after a change: an editor and a package write several files."""
LOOK_AFTER = 2.0
"""Real seconds between two looks at the state directory, and attempts to write what a disk did not take."""
START_JOBS = 10.0
"""Real seconds between two looks at the jobs that are written down."""
SWEEP = 60.0
"""Real seconds between two looks at what else may have changed: the history's health, what systemd is told."""
LOOSE = 1.0
"""Real seconds by which these looks may be late: sources make the loop go round each second, and a wake costs more than a look."""
NO_HURRY, LATER = 0.5, 0.25
"""A judgement that has more seconds than the former may come so many later."""
EVER = float("inf")


class Options(NamedTuple):
    """What the command line says. `state` and `socket` are prepared paths; `config` is the file of --config."""

    host_root: Path
    state: Path
    socket: Path
    config: Path | None = None
    rules: Sequence[Path] | None = None
    allow_exec: bool = False


class Service:
    """One daemon. `run` returns when it was told to end. Raises StoreError (another daemon), SocketInUse."""

    def __init__(self, options: Options, config: Config, log: Log) -> None:
        self.options = options
        self.config = config
        self.log = log
        self.guard = Guard(options.state)
        self.failed = ""
        """Why the daemon ended by itself, "" when it did not."""
        self.root = HostRoot(options.host_root, allow_exec=options.allow_exec)
        self.loop = Loop(clock_of(self.root), self._defect)
        self.started = self.loop.clock.now()
        self._started_real = time.time()
        self._table = rules.Table(options.rules, log)
        self.rules = rules.without(self._table.all, config.rules.disabled)
        self.watch = Watch(self.rules)
        self.keeping = Keeping(options.state, config.incidents.days, self.started.wall, log)
        self.recordings = Recordings(log)
        self.keeping.restore(self.watch, self.started)
        self.memory = Memory(options.state, config.history, self.started.wall, log)
        self.intake = Intake(self.rules, self.watch, self.memory)
        self.runner = Runner(sources.of(self.root, config, options.state, self.intake.sieve), self.loop.clock, self._deliver)
        self.details = Details(self.root)
        self.judged: Judged | None = None
        self.last_reload: str = ""
        """Why the last reload was refused, "" when it was not."""
        self.notifier = Notifier(os.environ)
        self._reloading = self._reload_again = False
        self._deaf = ""
        """Why there is no socket, as it was said."""
        self._healths: list[Health] = []
        self._states: list[str] = []
        self._timers: dict[str, Timer] = {}
        self._fingerprint = rules.Fingerprint(self._watched_files())
        self._files = FileWatch(self._watched_files())
        self.exporters: list[Exporter] = []
        try:
            self.server = Server(self.loop, options.socket, methods.table(self), self.hello)
            self.exporters = exporters.all_wanted(self)
        except Exception:
            self.close()
            raise

    # its life

    def run(self) -> None:
        loop = self.loop
        loop.on_signal((signal.SIGTERM, signal.SIGINT), loop.stop)
        loop.on_signal((signal.SIGHUP,), self.reload)
        loop.watch(self.runner.fileno(), READ, lambda _events: self._turn())
        if self._files.active:
            loop.watch(self._files.descriptor, READ, lambda _events: self._files_changed())
        else:
            loop.every(LOOK_AGAIN * loop.clock.rate, self._look_again)
        loop.every(SWEEP * loop.clock.rate, self._look_at_history, LOOSE * loop.clock.rate)
        loop.every(LOOK_AFTER * loop.clock.rate, self._look_after_state, LOOSE * loop.clock.rate)
        if self.options.host_root == Path("/"):
            from neuronwatch.daemon.job_starts import JobStarts

            self.job_starts = JobStarts(self.options.state, self.log)
            loop.every(START_JOBS * loop.clock.rate, self.job_starts.look, LOOSE * loop.clock.rate)
            self.job_starts.look()
        if self.notifier.feeding:
            loop.every(self.notifier.feeding * loop.clock.rate, self._feed)
        self._turn()
        self.notifier.ready()
        self.log.info("watching", pid=os.getpid(), host_root=str(self.options.host_root), socket=str(self.options.socket),
                      rules=len(self.rules.rules), version=__version__)  # fmt: skip
        try:
            loop.run()
        finally:
            self.close()
            self.log.info("ended", **({"why": self.failed} if self.failed else {}))

    def close(self) -> None:
        """Ends children and threads, writes what is only in memory, removes the socket."""
        self.notifier.stopping()
        steps: list[Callable[[], None]] = [item.close for item in self.exporters]
        steps.append(lambda: self.keeping.save(self.watch, self.loop.clock.now()))
        if hasattr(self, "server"):
            steps.append(self.server.close)
        steps += [self._files.close, self.runner.close, self.recordings.close, self.memory.close, self.keeping.close]
        for step in (*steps, self.loop.close):
            try:
                step()
            except Exception as error:
                self._defect(error)
        self.guard.release()

    def reload(self) -> None:
        """Reads rules and configuration again, in a thread: samples of new rules take seconds. When anything is wrong with them
        nothing changes, and that is said."""
        if self._reloading:
            self._reload_again = True
            return
        self._reloading = True
        self._fingerprint = rules.Fingerprint(self._watched_files())

        def look() -> None:
            try:
                config = rules.config_again(self.options.config, sources.NAMES)
                found = self._table.look()
            except Exception as error:
                reason = str(error) if isinstance(error, rules.Refused) else f"{type(error).__name__}: {error}"
                self.loop.post(lambda: self._reloaded(reason))
            else:
                self.loop.post(lambda: self._reloaded(self._take(config, found)))

        threading.Thread(target=look, name="reload", daemon=True).start()

    def _take(self, config: Config, found: Reloaded) -> str:
        """Takes what is new at once; "" or why not."""
        try:
            self._table.take(found)
        except rules.Refused as error:
            return str(error)
        fresh = rules.without(self._table.all, config.rules.disabled)
        if found.is_new or config.rules != self.config.rules:
            self.rules = fresh
            self.intake.renew(fresh, self.loop.clock.now())
        restart = [name for name in given(config) if name != "rules" and getattr(config, name) != getattr(self.config, name)]
        self.config = config
        self.log.info("reloaded", rules=len(fresh.rules), added=" ".join(found.added), changed=" ".join(found.changed),
                      removed=" ".join(found.removed), needs_a_restart=" ".join(restart))  # fmt: skip
        return ""

    def _reloaded(self, refused: str) -> None:
        self._reloading, self.last_reload = False, refused
        if refused:
            self.log.error("not reloaded; the last good rules and configuration stay", why=refused)
        self.keeping.note(self.loop.clock.now().wall, "rules.reload", refused or "reloaded")
        rules.forget_making()
        if self._reload_again:
            self._reload_again = False
            self.reload()
        self._judge_when_due()

    def _look_at_history(self) -> None:
        self.memory.health()
        allocator.trim()

    def _look_after_state(self) -> None:
        """The state directory may be deleted, replaced or full at any time."""
        now = self.loop.clock.now()
        before = self.guard.state
        try:
            anew = self.guard.look()
        except Taken as error:
            self._end_with(str(error))
            return
        if self.guard.state != before and self.guard.reason:
            self.log.error("the state directory is gone; nothing is kept", why=self.guard.reason)
        if anew:
            self.log.error("the state directory was deleted or replaced; it is written anew", directory=str(self.options.state))
            self.keeping.anew(self.watch, now)
            self.keeping.note(now.wall, "state.anew", "the state directory was deleted or replaced while the daemon ran")
            for exporter in self.exporters:
                exporter.keep()
        if not self.server.listens():
            self._listen_again()
        if self.guard.lost_for > PATIENCE and "INVOCATION_ID" in os.environ:  # systemd makes it before it starts us again
            self._end_with(f"the state directory is gone: {self.guard.reason}")
        self.keeping.tick(now.wall)
        self.memory.health()

    def _listen_again(self) -> None:
        try:
            self.server.listen_again()
        except SocketInUse as error:
            if str(error) != self._deaf:
                self.log.error("the socket is gone and cannot be made again", why=str(error))
            self._deaf = str(error)
        else:
            self._deaf = ""
            self.log.warning("the socket was gone and is made anew", socket=str(self.options.socket))

    def _end_with(self, why: str) -> None:
        self.failed = why
        self.log.error("the daemon ends", why=why)
        self.loop.stop()

    def _files_changed(self) -> None:
        if self._files.changed():
            self._at("files", SETTLED * self.loop.clock.rate, self._look_again)

    def _look_again(self) -> None:
        if self._fingerprint.changed():
            self.reload()

    def _watched_files(self) -> list[Path]:
        from neuronwatch.daemon import config_file

        config = [self.options.config] if self.options.config is not None else config_file.default_paths()
        return [*config, *self._table.places()]

    # its turns

    def _at(self, name: str, seconds: float, call: Any, loose: float = 0.0) -> None:
        """One timer by name, `seconds` of the clock from now; the one before is forgotten."""
        if name in self._timers:
            self._timers[name].cancel()
        self._timers[name] = self.loop.at(self.loop.clock.now().mono + seconds, call, loose)

    def _turn(self) -> None:
        """One turn of the sources, and the time of the next one."""
        now = self.loop.clock.now()
        self.runner.turn(now)
        self._at("turn", self.runner.next_due() - now.mono, self._turn)
        self._hear()
        self._quiet_when_due()
        self._judge_when_due()

    def _deliver(self, delivery: Delivery) -> None:
        self.intake.take(delivery, self.loop.clock.now())
        self.recordings.add(delivery)
        if delivery.readings and self.server.wanted("samples"):
            self.server.publish("samples", status.samples(delivery, self.memory.splitter))
        if delivery.appended and self.server.wanted("logs"):
            self.server.publish("logs", status.lines(delivery, self.intake.tails))

    def _quiet_when_due(self) -> None:
        wait = self.intake.quiet_in()
        if wait < EVER:
            self._at("quiet", wait * self.loop.clock.rate, self._quiet)

    def _quiet(self) -> None:
        self.intake.quiet(self.loop.clock.now())
        self._quiet_when_due()
        self._judge_when_due()

    def _judge_when_due(self) -> None:
        wait = self.watch.due(self.loop.clock.now())
        if wait <= 0:
            self._judge()
        elif wait < EVER:
            self._at("judge", wait, self._judge, LATER if wait > NO_HURRY else 0.0)

    def _judge(self) -> None:
        before = self.judged
        judged = self.judged = self.watch.conclude(self.loop.clock.now(), self.runner.health())
        if judged.changes or (before is not None and before.conditions != judged.conditions):
            # First: who is told of an incident must find it under the same id after a kill.
            self.keeping.save(self.watch, self.loop.clock.now(), wait=bool(judged.changes))
        for change in judged.changes:
            self._tell(change)
        if (before is None or before.conditions != judged.conditions) and self.server.wanted("conditions"):
            self.server.publish("conditions", [status.condition(item) for item in judged.conditions])
        if before is None or before.verdict != judged.verdict:
            self.notifier.status(f"{judged.verdict}: {'; '.join(judged.reasons)}" if judged.reasons else judged.verdict)
            self.log.info("verdict", verdict=judged.verdict, why="; ".join(judged.reasons)[:500])
        wait = self.watch.due(self.loop.clock.now())
        if wait < EVER:
            self._at("judge", max(wait, 0.001), self._judge, LATER if wait > NO_HURRY else 0.0)

    def _tell(self, change: Change) -> None:
        incident = change.incident
        text = status.hidden(change.text)
        level: Level = "info" if incident.state == "resolved" else level_of(incident.severity)
        self.log.say(level, f"incident {change.what}", id=incident.id, fault=incident.fault, change=text)
        self.keeping.keep([incident], self.loop.clock.now().wall)
        for exporter in self.exporters:
            exporter.incident(change.what, change.text, incident)
        if self.server.wanted("incidents"):
            self.server.publish("incidents", {"what": change.what, "text": text, "incident": status.incident(incident)})

    def _hear(self) -> None:
        """The health of the sources, told where a state changed."""
        states = self.runner.states()
        if states == self._states:
            return
        self._states = states
        healths = self.runner.health()
        before = {item.source: item.state for item in self._healths}
        changed = [item for item in healths if before.get(item.source) != item.state]
        self._healths = healths
        for item in changed:
            say = self.log.info if item.state in ("fresh", "starting") else self.log.warning
            say("source is " + item.state, source=item.source, why=status.reason(item.reason))
            self.keeping.note(self.loop.clock.now().wall, "source.state", f"{item.state}: {item.reason}", item.source)
            for exporter in self.exporters:
                exporter.source(item)
        if changed and self.server.wanted("health"):
            self.server.publish("health", [status.source(item, self.loop.clock.now().wall) for item in changed])

    def _feed(self) -> None:
        starving = self.notifier.feed(self.runner.health())
        if starving:
            self.log.warning("the watchdog is not fed", why=starving)

    # what it tells

    def hello(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "version": __version__, "pid": os.getpid(), "time": self.loop.clock.now().wall}

    def incidents(self) -> list[Incident]:
        """The incidents of now and those of earlier days."""
        return self.keeping.incidents(self.judged.incidents if self.judged else ())

    def acknowledge(self, incident: str) -> None:
        """Raises KeyError for an id that is not open."""
        self.watch.acknowledge(incident, self.loop.clock.now())
        self._judge()

    def own_numbers(self) -> dict[str, float]:
        return {**own.numbers(self._started_real), "neuronwatch_api_clients": float(self.server.clients)}

    def _defect(self, error: Exception) -> None:
        import traceback

        where = "".join(traceback.format_exception(error)[-3:])
        self.log.error("a defect of neuronwatch; the daemon goes on", error=f"{type(error).__name__}: {error}", where=where)
