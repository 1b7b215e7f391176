"""The owner of a job: starts its runs or takes over one that lives, waits for the end, cleans up, starts again where it may."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from neuronwatch.model.dataclass import replace
from neuronwatch.model.job import Exit, JobSpec, Mode
from neuronwatch.remedy.api import Case
from neuronwatch.remedy.policy import Policy
from neuronwatch.supervise import restarts, takeover
from neuronwatch.supervise.care import Care
from neuronwatch.supervise.carry_out import Carrying, Todo
from neuronwatch.supervise.control import Control
from neuronwatch.supervise.current import Current, exit_of, identity, lives, settled, size_of, to_nowhere
from neuronwatch.supervise.directory import JobDirectory
from neuronwatch.supervise.errors import JobError
from neuronwatch.supervise.passthrough import Passthrough
from neuronwatch.supervise.prepared import Prepared
from neuronwatch.supervise.signals import Signals
from neuronwatch.supervise.story import Story, runs_since
from neuronwatch.supervise.tree import process, send

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
TO_THE_GROUP = (signal.SIGINT, signal.SIGQUIT)
"""A terminal sends these to every process in front, so does who forwards them."""
LEFTOVER_GRACE = 3.0
"""Seconds that what a command left behind has to end by itself."""
SOON = 0.05
"""Seconds beyond the time after which a run counts as begun, so that it is counted."""
CALM = 0.5
"""Seconds after a start until the next one is prepared: the command has the machine for itself while it begins."""
WRITES = 2.0
"""Seconds in which a shim writes the end of a command that is gone."""


class Options(NamedTuple):
    """How an owner works. `passes`: stdout and stderr of the job go to ours. `say` gets lines for people."""

    policy: Policy
    say: Callable[[str], None]
    passes: bool = True
    environ: Mapping[str, str] = {}

    @property
    def mode(self) -> Mode:
        return self.policy.mode


class Owner:
    """Use: `Owner(directory, spec, options).run()`. The directory is taken (`take`) by the caller."""

    def __init__(self, directory: JobDirectory, spec: JobSpec, options: Options) -> None:
        """`spec`: as asked for. Raises JobError where what is on disk of the job is torn."""
        self.directory, self.options = directory, options
        self.carrying = Carrying(directory, spec, options.policy, options.say)
        self.care = Care(spec, options.environ, directory.path.parent)
        self.spec = self.carrying.spec
        self.history: list[restarts.Ended] = []
        self.current: Current | None = None
        self.first = 0
        """The number of the run that this owner started or took over first; 0: none yet."""
        self._ready: Prepared | None = None
        self._passing: list[Passthrough] = []
        self._asked = self._again = self._signalled = False
        """Whether it is told to end, whether the next run follows, whether the owner itself was signalled."""
        self._todo: tuple[Case, Todo] | None = None
        """What is done when the run that is being ended has ended."""
        self._monitor = -1
        """The descriptor of the monitor, which is not ours to close."""
        self._kill_at: float | None = None
        self._look_at: float | None = None
        self._prepare_at: float | None = None
        self._selector = selectors.DefaultSelector()
        self._signals = Signals(FORWARDED)
        self._selector.register(self._signals.descriptor, selectors.EVENT_READ, lambda: self._signals.read(self._on_signal))
        self._control = Control(directory, self._do)
        self._selector.register(self._control.fileno(), selectors.EVENT_READ, self._control.serve)
        self._end: Exit | None = None
        self._left = True
        """Whether anything may be left of the run that ended: a shim that lives to the end knows."""

    def run(self) -> Exit:
        """Until the job is over; how its last run ended. Raises JobError."""
        with self._signals.heard():
            try:
                if not self._take_over():
                    self._start("asked for")
                while True:
                    ended = self._wait()
                    answer = self._after(ended)
                    if isinstance(answer, restarts.Enough):
                        return ended.exit
                    self._asked = self._again = False
                    if not self._pause(answer):
                        return ended.exit
                    self._start(answer.why)
                    if answer.judge:
                        self._started_at_once(ended, answer.why)
            finally:
                self._close()

    def story(self, judged: bool) -> Story:
        """What there is to tell after `run`. `judged`: with a diagnosis of what the last run left behind."""
        runs, last, end = runs_since(self.directory, self.first or 1), self.directory.newest(), self.history[-1].exit
        self.carrying.over()
        found = self.care.last[1] if self.care.last is not None and last and self.care.last[0] == last.number else None
        if judged and last is not None and found is None:
            from neuronwatch.supervise.autopsy import autopsy

            found = autopsy(last, self.spec, end)
        return Story(
            self.directory.name, self.options.mode, self.carrying.asked, self.spec, end, self._asked, runs,
            tuple(self.carrying.remedies), found.diagnosis if found else None, found.curves if found else {},
            found.tokens_per_s if found else None,
        )  # fmt: skip

    def _after(self, ended: restarts.Ended) -> restarts.Again | restarts.Enough:
        """What follows on the end of a run; why nothing does was said."""
        todo, self._todo = self._todo, None
        if self._asked and not self._again:
            self.carrying.consider(replace(self._judged(ended), asked_to_end=True))
            if not self._signalled:
                self._over("it was told to end")
            return restarts.Enough("it was told to end")
        if todo is not None:
            found = self._carry_out(*todo)
            return restarts.Again(0.0, found.why)  # it was ended for this: however it ended, it goes on
        if self._again:
            return restarts.Again(0.0, "asked for")
        if self._killed(ended) and self.carrying.restarts_at_once and not self.care.accused:
            answer = restarts.after(self.history, "act")
            if isinstance(answer, restarts.Again) and not answer.delay:
                return answer._replace(judge=True)
        case = self._judged(ended)
        found = self._decided(case)
        self.care.over(case)
        if isinstance(found, restarts.Enough):
            self._tell(ended, found)
            self._over(found.why)
        return found

    def _decided(self, case: Case) -> restarts.Again | restarts.Enough:
        todo = self.carrying.consider(case)
        self.spec = self.carrying.spec
        while todo.kind == "wait":
            self._turn(max(0.1, min(60.0, todo.decision.expires - time.time())))
            if self._asked:
                return restarts.Again(0.0, "asked for") if self._again else restarts.Enough("it was told to end")
            todo = self.carrying.consider(case)
        if todo.kind == "act":
            return self._carry_out(case, todo)
        if todo.kind == "stop" or todo.decision.why:
            return restarts.Enough(todo.decision.why)
        answer = restarts.after(self.history, self.options.mode)
        return answer if isinstance(answer, restarts.Enough) else restarts.Enough("no remedy is left")

    def _carry_out(self, case: Case, todo: Todo) -> restarts.Again | restarts.Enough:
        if todo.kind != "act":  # a remedy was undone while the run lived
            return restarts.Again(0.0, "as before the remedy")
        if not self.carrying.carry_out(case, todo.decision):
            return self._decided(case)
        self.spec, proposal = self.carrying.spec, todo.decision.proposal
        why = todo.decision.action + (f": {proposal.words}" if proposal is not None else "")
        if proposal is not None and proposal.spec is not None:
            del self.history[:-1]  # what was changed has not failed yet
            return restarts.Again(0.0, why)
        answer = restarts.after(self.history, "act")
        return answer._replace(why=why) if isinstance(answer, restarts.Again) else answer

    def _judged(self, ended: restarts.Ended) -> Case:
        run = self.directory.newest()
        assert run is not None
        failed = not ended.exit.ok and not self._asked
        return self.care.ended(run, self.spec, ended.exit.time - ended.seconds, ended.exit, judged=failed)

    @staticmethod
    def _killed(ended: restarts.Ended) -> bool:
        """By somebody: what its output says explains nothing."""
        return ended.exit.signal in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

    def _started_at_once(self, ended: restarts.Ended, why: str) -> None:
        """The next run has begun; now there is time to write down why."""
        before = self.directory.runs()[-2:-1]
        if before:
            case = self.care.ended(before[0], self.spec, ended.exit.time - ended.seconds, ended.exit, judged=False)
            self.carrying.restarted_at_once(case, why)
            self.care.over(case)

    def _look(self) -> None:
        """At the run that lives: verifies, decides, and ends it where that is to be done."""
        current = self.current
        if current is None or self._asked or self._end is not None:
            return
        case = self.care.alive(current.run, self.spec, current.begun)
        todo = self.carrying.consider(case)
        if todo.kind == "act" and todo.decision.proposal is not None and not todo.decision.proposal.restart:
            self.carrying.carry_out(case, todo.decision)
        elif todo.kind == "act" or todo.undone:
            self.options.say(f"job {self.directory.name}: ending run {current.run.number}: {todo.decision.why or 'undone'}")
            self._todo = case, todo
            self._end_for_next()

    def _end_for_next(self) -> None:
        self._again = True
        self._kill_at = time.monotonic() + self.spec.grace
        self._send(signal.SIGTERM)

    def _over(self, why: str) -> None:
        with contextlib.suppress(OSError):  # a full disk: at worst somebody starts it again
            self.directory.over(why)

    def _tell(self, ended: restarts.Ended, answer: restarts.Enough) -> None:
        if not ended.exit.ok:
            how = f"after {ended.seconds:.0f} s with {restarts.describe(ended.exit)}"
            self.options.say(f"job {self.directory.name} ended {how}; {answer.why}")

    def _take_over(self) -> bool:
        """Goes on with a run whose owner died. False: there is none, whatever was left of it is gone. Raises JobError."""
        found = takeover.find(self.directory, self.spec.grace, self.options.say)
        if found.lost is not None:
            self.history.append(restarts.Ended(*found.lost))
        if found.current is None:
            return False
        self.options.say(f"job {self.directory.name} lives (pid {found.current.command[0]}): going on with it")
        self._begin(found.current, beginning=False)
        self._prepare_at = time.monotonic()
        return True

    def _start(self, why: str) -> None:
        self._asked = self._again = False
        self._kill_at, self._left = None, True
        made, self._ready = self._ready, None
        if made is not None and (made.spec != self.spec or not made.alive()):
            made.discard()
            made = None
        made = made or Prepared(self.directory, self.spec, self.options.environ)
        answer = made.start(why)
        found = Current(made.run, (answer.get("pid", 0), answer.get("start", 0)), identity(made.shim.pid), made.shim, time.time())
        if not answer:
            self._lost(settled(made.run) or found)
        elif "pid" not in answer:  # the command cannot be started, and it has said how that ended
            self._end = exit_of(answer)
        self._begin(found, beginning=True)
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
            places = [item for item in ((found.run.stdout, 1), (found.run.stderr, 2)) if not to_nowhere(item[1])]
            before = {item.target: item for item in self._passing}
            for old in self._passing:
                old.finish()
            self._passing = [
                Passthrough(path, target, 0 if beginning else size_of(path), before.get(target)) for path, target in places
            ]

    def _wait(self) -> restarts.Ended:
        """Until the run has ended and nothing of it is left."""
        current = self.current
        assert current is not None
        if current.shim is not None and current.shim.says_more:
            self._on_shim()
        while self._end is None:
            due = min((at for at in (self._kill_at, self._prepare_at, self._look_at) if at is not None), default=None)
            self._turn(None if due is None else max(0.0, due - time.monotonic()))
            if self._prepare_at is not None and time.monotonic() >= self._prepare_at and self._end is None:
                self._prepare(current)
            if self._look_at is not None and time.monotonic() >= self._look_at:
                self._look_at = None
                self._look()
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._kill_at = None
                current.tree.end(0)
        self._prepare_at = self._look_at = None
        self.care.read()
        ended = restarts.Ended(self._end, max(0.0, time.time() - current.begun), asked=self._asked, settled=self.spec.settled)
        self.history.append(ended)
        self._end = None
        if self._left and not current.tree.end(LEFTOVER_GRACE):
            pids = sorted(item.pid for item in current.tree.members())
            self.options.say(f"what is left of run {current.run.number} cannot be ended: {pids}")
        self._forget(current)
        return ended

    def _prepare(self, current: Current) -> None:
        """What the run needs when it has begun: a monitor, and its successor."""
        self._prepare_at = None
        self._monitor = descriptor = self.care.watch(current.run, self.spec, (current.parent, current.command))
        if descriptor >= 0:
            self._selector.register(descriptor, selectors.EVENT_READ, lambda: self._on_monitor(descriptor))
        self._look_at = time.monotonic() + max(0.0, self.spec.settled - (time.time() - current.begun)) + SOON
        if self.options.mode != "act":
            return
        with contextlib.suppress(JobError):  # then it is made when it is needed, and said
            self._ready = Prepared(self.directory, self.spec, self.options.environ)

    def _forget(self, current: Current) -> None:
        for key in list(self._selector.get_map().values()):
            if key.fd not in (self._signals.descriptor, self._control.fileno()):
                self._selector.unregister(key.fileobj)
                if isinstance(key.fileobj, int) and key.fd != self._monitor:
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

    def _on_monitor(self, descriptor: int) -> None:
        if self.care.read():
            self._look()
        if self.care.blind:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(descriptor)

    def _on_shim(self) -> None:
        current = self.current
        assert current is not None and current.shim is not None
        told = current.shim.told()
        if told is not None:
            self._end, self._left = exit_of(told), bool(told.get("left", True))
        elif current.shim.poll() is not None:
            self._lost(current)

    def _on_gone(self, descriptor: int) -> None:
        """The command or the shim is gone."""
        self._selector.unregister(descriptor)
        os.close(descriptor)
        current = self.current
        if current is None or self._end is not None:
            return
        if current.shim is None and lives(current.command):
            self._lost(current)  # the shim is gone, the command is not
            return
        if current.shim is None or not lives(current.parent):
            end = time.monotonic() + WRITES
            while self._end is None and time.monotonic() < end:
                if not lives(current.parent):
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
        takeover.end_all(current.run, current.tree, self.spec.grace)
        self._end = current.run.ended() or current.run.give_up(time.time())

    def _do(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the control socket asks for."""
        what = asked.get("do")
        if what == "hear":  # a person answered, or closed a breaker
            self._look_at = time.monotonic()
            return {"ok": True}
        if what in ("stop", "restart"):
            self.carrying.note("person", {"did": what})
            self._again = what == "restart"
            self.stop(signal.SIGTERM)
            return {"ok": True}
        if what == "status":
            return {"ok": True, "owner": os.getpid(), "policy": self.options.mode, "lives": self.current is not None}
        return {"ok": False, "error": f"what is {str(what)[:40]!r}? one of stop, restart, status, hear"}

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
                if lives(current.command):
                    os.killpg(current.command[0], number)
        else:
            send(*current.command, number)
        if number in ENDING:
            send(*current.command, signal.SIGCONT)

    def _on_signal(self, number: int) -> None:
        if number in ENDING:
            self._again, self._signalled = False, True
            self.stop(number)
        else:
            self._send(number)

    def _close(self) -> None:
        self.care.close()
        if self._ready is not None:
            self._ready.discard()
        for item in self._passing:
            item.finish()
        for item in self._passing:
            item.join()
        self._control.close()
        self._selector.close()
        self._signals.close()
