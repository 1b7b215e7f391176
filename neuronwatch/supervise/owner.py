"""The owner of a job: starts its runs or takes over one that lives, waits for the end, cleans up, starts again where it may."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch.model.job import Exit, JobSpec, Mode
from neuronwatch.supervise import launch, restarts
from neuronwatch.supervise.control import Control
from neuronwatch.supervise.directory import JobDirectory, Run
from neuronwatch.supervise.errors import JobError
from neuronwatch.supervise.look import tree_of
from neuronwatch.supervise.passthrough import Passthrough
from neuronwatch.supervise.prepared import Prepared
from neuronwatch.supervise.story import Story, runs_since
from neuronwatch.supervise.tree import Tree, process, send

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
TO_THE_GROUP = (signal.SIGINT, signal.SIGQUIT)
"""A terminal sends these to every process in front, so does who forwards them."""
LEFTOVER_GRACE = 3.0
"""Seconds that what a command left behind has to end by itself."""
CALM = 0.5
"""Seconds after a start until the next one is prepared: the command has the machine for itself while it begins."""
WRITES = 2.0
"""Seconds in which a shim writes the end of a command that is gone."""


class Options(NamedTuple):
    """How an owner works. `passes`: stdout and stderr of the job go to ours. `say` gets lines for people."""

    mode: Mode
    say: Callable[[str], None]
    passes: bool = True
    environ: Mapping[str, str] = {}


class Current(NamedTuple):
    """The run that lives: the pid and start time of its command and its shim. `shim`: ours, None for one that was taken over."""

    run: Run
    command: tuple[int, int]
    parent: tuple[int, int]
    shim: launch.Shim | None
    begun: float

    @property
    def tree(self) -> Tree:
        return Tree((self.parent, self.command), self.run.mark())


class Owner:
    """Use: `Owner(directory, spec, options).run()`. The directory is taken (`take`) by the caller."""

    def __init__(self, directory: JobDirectory, spec: JobSpec, options: Options) -> None:
        self.directory, self.spec, self.options = directory, spec, options
        self.history: list[restarts.Ended] = []
        self.current: Current | None = None
        self.first = 0
        """The number of the run that this owner started or took over first; 0: none yet."""
        self._ready: Prepared | None = None
        self._passing: list[Passthrough] = []
        self._asked = self._again = self._signalled = False
        """Whether it is told to end, whether the next run follows, whether the owner itself was signalled."""
        self._kill_at: float | None = None
        self._prepare_at: float | None = None
        self._selector = selectors.DefaultSelector()
        self._signals, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._signals, selectors.EVENT_READ, self._on_signals)
        self._control = Control(directory, self._do)
        self._selector.register(self._control.fileno(), selectors.EVENT_READ, self._control.serve)
        self._end: Exit | None = None
        self._left = True
        """Whether anything may be left of the run that ended: a shim that lives to the end knows."""

    def run(self) -> Exit:
        """Until the job is over; how its last run ended. Raises JobError."""
        with self._hearing():
            try:
                if not self._take_over():
                    self._start("asked for")
                while True:
                    ended = self._wait()
                    if self._asked and not self._again:
                        if not self._signalled:
                            self._over("it was told to end")
                        return ended.exit
                    answer = restarts.Again(0.0, "asked for") if self._again else restarts.after(self.history, self.options.mode)
                    if isinstance(answer, restarts.Enough):
                        self._tell(ended, answer)
                        self._over(answer.why)
                        return ended.exit
                    self._asked = self._again = False
                    if not self._pause(answer):
                        return ended.exit
                    self._start(answer.why)
            finally:
                self._close()

    def story(self, judged: bool) -> Story:
        """What there is to tell after `run`. `judged`: with a diagnosis of what the last run left behind."""
        runs = runs_since(self.directory, self.first or 1)
        last, found = self.directory.newest(), None
        if judged and last is not None:
            from neuronwatch.supervise import autopsy

            found = autopsy.autopsy(last, self.spec, self.history[-1].exit if self.history else None)
        return Story(
            self.directory.name, self.options.mode, self.directory.spec() or self.spec, self.spec,
            self.history[-1].exit, self._asked, runs, (), found.diagnosis if found else None,
            found.curves if found else {}, found.tokens_per_s if found else None,
        )  # fmt: skip

    def _over(self, why: str) -> None:
        with contextlib.suppress(OSError):  # a full disk: at worst somebody starts it again
            self.directory.over(why)

    def _tell(self, ended: restarts.Ended, answer: restarts.Enough) -> None:
        if not ended.exit.ok:
            how = f"after {ended.seconds:.0f} s with {restarts.describe(ended.exit)}"
            self.options.say(f"job {self.directory.name} ended {how}; {answer.why}")

    def _take_over(self) -> bool:
        """Goes on with a run whose owner died. False: there is none, whatever was left of it is gone. Raises JobError."""
        run = self.directory.newest()
        if run is None:
            return False
        if run.ended() is not None or run.given_up() is not None:
            self._end_all(run, tree_of(run))  # its owner was killed before it had ended what was left
            return False
        found = _settled(run)
        if run.held():
            if found is None:
                raise JobError(f"run {run.number} of job {self.directory.name} lives, but does not say as what", f"see {run.path}")
            self.options.say(f"job {self.directory.name} lives (pid {found.command[0]}): going on with it")
            self._begin(found, beginning=False)
            return True
        if run.ended() is not None:
            self._end_all(run, tree_of(run))
            return False
        tree = tree_of(run)
        if found is not None or tree.members():
            self.options.say(f"the parent of job {self.directory.name} died, its status is unknown; ending what is left of it")
            self._end_all(run, tree)
            end = run.give_up(time.time())
            self.history.append(restarts.Ended(end, max(0.0, end.time - (found.begun if found else end.time))))
        return False

    def _end_all(self, run: Run, tree: Tree) -> None:
        """Raises JobError where processes of a run remain."""
        if not tree.end(self.spec.grace):
            pids = sorted(item.pid for item in tree.members())
            said = f"processes of run {run.number} of job {self.directory.name} cannot be ended: {pids}"
            raise JobError(said, "end them by hand; nothing is started before")

    def _start(self, why: str) -> None:
        self._asked = self._again = False
        self._kill_at, self._left = None, True
        made, self._ready = self._ready, None
        if made is not None and (made.spec != self.spec or not made.alive()):
            made.discard()
            made = None
        made = made or Prepared(self.directory, self.spec, self.options.environ)
        answer = made.start(why)
        found = Current(made.run, (answer.get("pid", 0), answer.get("start", 0)), _identity(made.shim.pid), made.shim, time.time())
        if not answer:
            self._lost(_settled(made.run) or found)
        elif "pid" not in answer:  # the command cannot be started, and it has said how that ended
            self._end = _exit_of(answer)
        self._begin(found, beginning=True)
        if self.options.mode == "act":
            self._prepare_at = time.monotonic() + CALM

    def _begin(self, found: Current, beginning: bool) -> None:
        self.current = found
        self.first = self.first or found.run.number
        if found.shim is not None:
            self._selector.register(found.shim.socket, selectors.EVENT_READ, self._on_shim)
        for pid, start in (found.command, found.parent):
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(pid)
                if (item := process(pid)) is None or item.start != start:
                    os.close(descriptor)
                    continue
                self._selector.register(descriptor, selectors.EVENT_READ, lambda at=descriptor: self._on_gone(at))
        if self.options.passes:
            places = [item for item in ((found.run.stdout, 1), (found.run.stderr, 2)) if not _to_nowhere(item[1])]
            before = {item.target: item for item in self._passing}
            for old in self._passing:
                old.finish()
            self._passing = [
                Passthrough(path, target, 0 if beginning else _size(path), before.get(target)) for path, target in places
            ]

    def _wait(self) -> restarts.Ended:
        """Until the run has ended and nothing of it is left."""
        current = self.current
        assert current is not None
        if current.shim is not None and current.shim.says_more:
            self._on_shim()
        while self._end is None:
            due = min((at for at in (self._kill_at, self._prepare_at) if at is not None), default=None)
            self._turn(None if due is None else max(0.0, due - time.monotonic()))
            if self._prepare_at is not None and time.monotonic() >= self._prepare_at and self._end is None:
                self._prepare()
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._kill_at = None
                current.tree.end(0)
        self._prepare_at = None
        ended = restarts.Ended(self._end, max(0.0, time.time() - current.begun), asked=self._asked, settled=self.spec.settled)
        self.history.append(ended)
        self._end = None
        if self._left and not current.tree.end(LEFTOVER_GRACE):
            pids = sorted(item.pid for item in current.tree.members())
            self.options.say(f"what is left of run {current.run.number} cannot be ended: {pids}")
        self._forget(current)
        return ended

    def _prepare(self) -> None:
        self._prepare_at = None
        with contextlib.suppress(JobError):  # then it is made when it is needed, and said
            self._ready = Prepared(self.directory, self.spec, self.options.environ)

    def _forget(self, current: Current) -> None:
        for key in list(self._selector.get_map().values()):
            if key.fd not in (self._signals, self._control.fileno()):
                self._selector.unregister(key.fileobj)
                if isinstance(key.fileobj, int):
                    os.close(key.fileobj)
        if current.shim is not None:
            current.shim.dismiss(wait=self._left)
        self.current = None

    def _turn(self, timeout: float | None) -> None:
        for key, _ in self._selector.select(timeout):
            key.data()

    def _pause(self, answer: restarts.Again) -> bool:
        """Waits before a restart. False: told to end meanwhile."""
        if answer.delay:
            self.options.say(f"job {self.directory.name}: {answer.why}; starting again in {answer.delay:.0f} s")
        end = time.monotonic() + answer.delay
        while (left := end - time.monotonic()) > 0 and not self._asked:
            self._turn(left)
        return not self._asked

    def _on_shim(self) -> None:
        current = self.current
        assert current is not None and current.shim is not None
        told = current.shim.told()
        if told is not None:
            self._end, self._left = _exit_of(told), bool(told.get("left", True))
        elif current.shim.poll() is not None:
            self._lost(current)

    def _on_gone(self, descriptor: int) -> None:
        """The command or the shim is gone."""
        self._selector.unregister(descriptor)
        os.close(descriptor)
        current = self.current
        if current is None or self._end is not None:
            return
        if current.shim is None and _lives(current.command):
            self._lost(current)  # the shim is gone, the command is not
            return
        if current.shim is None or not _lives(current.parent):
            end = time.monotonic() + WRITES
            while self._end is None and time.monotonic() < end:
                if not _lives(current.parent):
                    self._lost(current)
                    return
                self._end = current.run.ended()
                time.sleep(0.0005)

    def _lost(self, current: Current) -> None:
        """The shim died: the status is unknown unless it was written, and the old tree must be gone."""
        written = current.run.ended()
        if written is not None:
            self._end = written
            return
        self.options.say(f"the parent of job {self.directory.name} died; ending what is left of the run")
        self._end_all(current.run, current.tree)
        self._end = current.run.ended() or current.run.give_up(time.time())

    def _do(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the control socket asks for."""
        what = asked.get("do")
        if what in ("stop", "restart"):
            self._again = what == "restart"
            self.stop(signal.SIGTERM)
            return {"ok": True}
        if what == "status":
            return {"ok": True, "owner": os.getpid(), "policy": self.options.mode, "lives": self.current is not None}
        return {"ok": False, "error": f"what is {str(what)[:40]!r}? one of stop, restart, status"}

    def stop(self, number: int) -> None:
        """Signals the command; what is left after the grace is killed."""
        if not self._asked and self.current is not None:
            self._kill_at = time.monotonic() + self.spec.grace
        elif self._asked:
            self._kill_at = time.monotonic()
        self._asked = True
        self._send(number)

    def _send(self, number: int) -> None:
        current = self.current
        if current is None or not current.command[0]:
            return
        if number in TO_THE_GROUP:
            with contextlib.suppress(OSError):
                if _lives(current.command):
                    os.killpg(current.command[0], number)
        else:
            send(*current.command, number)
        if number in ENDING:
            send(*current.command, signal.SIGCONT)

    def _on_signals(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for number in os.read(self._signals, 4096):
                if number in ENDING:
                    self._again, self._signalled = False, True
                    self.stop(number)
                elif number in FORWARDED:
                    self._send(number)

    @contextlib.contextmanager
    def _hearing(self) -> Any:
        before = {number: signal.signal(number, lambda *_: None) for number in FORWARDED}
        woken = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _close(self) -> None:
        if self._ready is not None:
            self._ready.discard()
        for item in self._passing:
            item.finish()
        for item in self._passing:
            item.join()
        self._control.close()
        self._selector.close()
        os.close(self._signals)
        os.close(self._wake)


def _settled(run: Run) -> Current | None:
    """The run as its shim says; a shim that has just begun has a moment to say it."""
    for _ in range(100):
        started = run.started()
        if started is not None:
            return Current(
                run, (started.command.pid, started.command.start), (started.shim.pid, started.shim.start), None, started.time
            )
        if not run.held():
            return None
        time.sleep(0.02)
    return None


def _to_nowhere(descriptor: int) -> bool:
    """Whether it is /dev/null: what is copied there costs the job time for nothing."""
    found = os.fstat(descriptor)
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == os.makedev(1, 3)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _identity(pid: int) -> tuple[int, int]:
    found = process(pid)
    return (pid, found.start if found else 0)


def _lives(item: tuple[int, int]) -> bool:
    found = process(item[0])
    return found is not None and found.start == item[1] and not found.dead


def _exit_of(told: Mapping[str, Any]) -> Exit:
    return Exit(told.get("status"), told.get("signal"), float(told.get("time") or 0.0), str(told.get("reason") or ""))
