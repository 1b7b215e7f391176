"""What a run is doing and what is wrong with it, while it lives: its output goes through the engine of the daemon, its processes
are looked at now and then. Reads only; decides nothing.
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
import shlex

from neuronwatch.judge.detectors import hang
from neuronwatch.judge.detectors.hang import Signs, Stall
from neuronwatch.judge.live import Watch
from neuronwatch.judge.phases import Phases
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.job import JobSpec, Progress
from neuronwatch.model.live import Appended, Now, Whole
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source import formats, rule_files
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.flood import Flood
from neuronwatch.source.live.follow import Follower
from neuronwatch.source.live.scan import LiveScan
from neuronwatch.supervise import activity, stacks
from neuronwatch.supervise.directory import Run
from neuronwatch.supervise.observed import Observed
from neuronwatch.supervise.tree import Tree

LOOK = 5.0
"""Seconds between two looks at the processes of a run."""
SOURCE, HERE = "job", "(job)"
WHOLE = 1 << 62
ROUND = 60.0
STACKS = "stacks.txt"
SECOND = 60.0
"""Seconds between the two dumps of a stall."""
SHOWN = ("loss", "tokens_per_s", "step_time")


class Monitor:
    """Of one run. Call `turn` when `descriptor` is readable, and at `due`. Not for several threads."""

    def __init__(self, run: Run, spec: JobSpec, tree: Tree, now: Now, rules: RuleSet | None = None) -> None:
        self._run, self._spec, self._tree = run, spec, tree
        self._rules = rules or rule_files.load_rule_set()[0]
        self._watch = Watch(self._rules, lasting=LOOK)
        self._scan = LiveScan(self._rules, *formats.shipped())
        self._names = {os.fspath(path): path.name for path in (run.stdout, run.stderr, run.emit)}
        self._emit = run.emit.name
        flood = Flood(lambda path, data, at: self._scan.sieve(path, data, at))
        patterns = list(map(glob.escape, self._names))
        self._follower = Follower(HostRoot("/"), patterns, history=WHOLE, flood=flood)
        self._phases = Phases(Progress(phase="unknown", since=now.wall))
        self._seen: activity.Seen | None = None
        self._look_at, self._looked, self._worked = now.mono, now.mono, now.wall
        self._gaps: dict[str, float] = {}
        self._dumps: list[tuple[float, stacks.Stacks]] = []
        self._told = Observed(self._phases.progress)
        self._told_steps = ""
        self._odd: set[str] = set()
        words = [f"{name}={shlex.quote(value)}" for name, value in sorted(spec.env.items()) if value is not None]
        command = " ".join([*words, *map(shlex.quote, spec.argv)]) + "\n"
        path = "command.sh"
        self._watch.replace(SOURCE, path, self._scan.whole(Whole(path, command.encode("utf-8", "surrogateescape"))), now)

    @property
    def descriptor(self) -> int | None:
        """Readable when a file of the run grew; None: only `due` tells."""
        return self._follower.descriptor

    def due(self, now: Now) -> float:
        """Seconds until `turn` has something to do whatever happens."""
        if self._follower.more:
            return 0.0
        waits = (self._look_at - now.mono, self._follower.due() - now.mono, self._follower.rest_over() - now.mono,
                 self._scan.due() - now.mono, self._watch.due(now))  # fmt: skip
        return max(0.0, min(waits))

    def turn(self, now: Now) -> Observed:
        """What is known now."""
        for appended in self._follower.read(now.mono, now.wall):
            self._take(appended, now)
        if self._scan.due() <= now.mono:
            self._watch.observe(self._scan.quiet(now.mono), now)
        self._steps(now)
        if now.mono >= self._look_at:
            self._look(now)
        stall = self._stall(now)
        if stall is not None:
            self._dump(now)
        elif self._dumps:
            self._dumps = []
            self._watch.replace(SOURCE, STACKS, (), now)
        return self._judged(now, stall)

    def close(self) -> None:
        self._follower.close()

    def _take(self, appended: Appended, now: Now) -> None:
        real = appended.path.removeprefix("host:")
        name = self._names.get(real)
        if name is None:
            return
        item = Appended(name, appended.data, appended.fresh, appended.dropped, appended.line, appended.records)
        gap = now.wall - max(self._phases.progress.moved or 0.0, self._phases.progress.since)
        phase = self._phases.progress.phase
        self._gaps[phase] = max(self._gaps.get(phase, 0.0), gap)
        if name == self._emit:
            for line in item.data.decode("utf-8", "replace").splitlines():
                self._phases.line(line, now.wall)
        else:
            self._phases.piece(item.data, now.wall)
        self._watch.append(SOURCE, name, self._scan.feed(item, now.mono), now, False)

    def _steps(self, now: Now) -> None:
        """Steps that a log told of; where events are spoken, theirs count."""
        if self._phases.spoken:
            return
        newest, told = -1.0, dict[str, float]()
        most: float | None = None
        for text in self._watch.followed():
            for series in ("progress", *SHOWN):
                for points in text.series.tails(series, 1).values():
                    step, value, _time, _line = points[-1]
                    if series != "progress":
                        told[series] = value
                    if step is not None and series in ("progress", "loss"):
                        newest = max(newest, step)
            asked = text.facts.get("launch.max_steps")
            most = float(asked) if isinstance(asked, (int, float)) and not isinstance(asked, bool) else most
        key = repr((newest, sorted(told.items())))  # a NaN is equal to none
        if key != self._told_steps and (newest >= 0 or told):
            self._told_steps = key
            whole = newest if newest >= 0 and newest == int(newest) else None  # an epoch is no step
            self._phases.stepped(whole, now.wall, max_steps=most, **told)
            odd = {name for name, value in told.items() if not math.isfinite(value)}
            if odd - self._odd:  # of a series the watch judges further points when it has time
                self._watch.hurry(now)
            self._odd |= odd

    def _look(self, now: Now) -> None:
        """At the processes."""
        self._look_at = now.mono + LOOK
        seen = activity.look(self._tree.members())
        if self._seen is None or activity.worked(self._seen, seen, max(0.001, now.mono - self._looked)) is not False:
            self._worked = now.wall
        self._seen, self._looked = seen, now.mono
        self._phases.compiling(seen.compilers > 0, now.wall)

    def _stall(self, now: Now) -> Stall | None:
        progress, seen = self._phases.progress, self._seen
        if seen is None:
            return None
        signs = Signs(progress.phase, progress.since, progress.moved or progress.since, self._worked, seen.compilers,
                      self._gaps.get(progress.phase, 0.0))  # fmt: skip
        return hang.stalled(signs, now.wall, self._spec.hang_limits)

    def _dump(self, now: Now) -> None:
        """Stacks at the beginning of a stall and some time later: what stands still in both is stuck."""
        if len(self._dumps) >= 2 or (self._dumps and now.mono < self._dumps[0][0] + SECOND):
            return
        made = stacks.dump(self._tree.members())
        self._dumps.append((now.mono, made))
        with contextlib.suppress(OSError):
            (self._run.path / f"stacks-{len(self._dumps)}.txt").write_text(made.text, encoding="utf-8")
        self._watch.replace(SOURCE, STACKS, self._scan.whole(Whole(STACKS, made.text.encode())), now)

    def _judged(self, now: Now, stall: Stall | None) -> Observed:
        facts: list[Fact] = []
        if self._seen is not None:
            said = f"{self._seen.compilers} compiler processes of the job live"
            facts.append(Fact("process.compilers", self._seen.compilers, Origin(HERE, None, said)))
        if stall is not None:
            seconds = stall.seconds // ROUND * ROUND or min(stall.seconds, stall.limit)  # told anew each minute, not each turn
            said = f"no progress for {seconds:.0f} s in phase {stall.phase}, which may take {stall.limit:.0f} s"
            facts.append(Fact("job.no_progress", seconds, Origin(HERE, None, said)))
        elif self._told.stall is not None:
            facts.append(Fact("job.no_progress", 0, Origin(HERE, None, "it moves again")))
        if len(self._dumps) == 2 and (same := stacks.equal(self._dumps[0][1], self._dumps[1][1])) is not None:
            said = f"two dumps of all stacks, {SECOND:.0f} s apart, are {'equal' if same else 'not equal'}"
            facts.append(Fact("job.stacks_equal", same, Origin(HERE, None, said)))
        self._watch.facts(SOURCE, facts, now)
        findings, ended = self._told.findings, tuple[str, ...]()
        if self._watch.due(now) <= 0:
            judged = self._watch.conclude(now, ())
            held = {item.finding.rule for item in judged.conditions if item.state == "true"}
            findings = tuple(item for item in judged.diagnosis.findings if item.rule in held)
            ended = tuple(sorted({item.rule for item in self._told.findings} - {item.rule for item in findings}))
        stopped = self._seen.stopped if self._seen is not None else ()
        self._told = Observed(self._phases.progress, findings, ended, stall, stopped)
        return self._told
