"""Conditions: findings that last. Folded from successive judgements, the health of the sources, and time.

A condition is true as long as the newest judgement shows it. That it is not shown any more ends it only where somebody looks
(its sources are fresh) and its evidence was not merely forgotten (a rotation long ago, a restart of ours): such a condition is
*latched* and lasts on its own memory until its rule's end comes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from neuronwatch.judge.engine import Judgement
from neuronwatch.judge.rules.compiled import ENDS, RuleSet
from neuronwatch.judge.rules.evaluate import Outcome, Trigger, end_is_fact
from neuronwatch.judge.rules.model import Rule
from neuronwatch.judge.writers import SILENT, SILENT_FOR_GOOD, Writers, all_gone, pid_of
from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.live import Condition, ConditionState, Health, Now
from neuronwatch.model.records import Origin

HOLD = 10.0
"""Seconds that a finding must be absent before its condition ends; doubled each time it comes back soon."""
MAX_HOLD = 600.0
MAX_WAIT = 180.0
"""The same for a run that is over: the next start of a crash loop comes sooner."""
FADED = 30.0
"""Seconds without the counters or states that showed it, after which a condition that waits for a person ends all the same."""
OF_DEVICES = ("hw", "runtime", "symptom")
"""Stages of rules whose conditions are states of a device: they end when the driver is loaded anew."""
SOON = 900.0
QUIET = 900.0
"""Seconds without new evidence after which a condition with `exit` ends, where no process can be watched."""
REMEMBERED = 3600.0
"""Seconds that a condition that ended is still told."""
CLOCK = "host:clock"
GONE = ""
MAX_SOURCES = 64
LASTING = 60.0
"""Seconds for which a finding must be shown that stands on what is so at one moment: between two steps all workers sleep, at
the start of a job all cores are idle, while the driver is loaded anew there is no module, and then one device after another."""
MOMENTARY = {
    "process.workers": 1.0, "process.compilers": 1.0, "process.python_cpu": 1.0, "neuron.utilisation": 1.0,
    "neuron.cores_in_use": 1.0, "driver.module_listed": 1.0, "monitor.errors": 1.0, "instance.devices_missing": 0.15,
    "neuron.holders": 0.5,
}  # fmt: skip
"""Names of such facts, or their beginnings, and for which part of LASTING."""
GATES = {"process.compilers": 0.5}
"""The same of facts that hold a rule back (`unless`): a compiler that has just begun stands in the log before it is listed."""


class Writing(NamedTuple):
    """The last line of evidence in a followed text: its number, the processes of its run, and when it came."""

    line: int
    pids: frozenset[int]
    came: Now


@dataclass(frozen=True)
class Mark:
    """What the evidence of a condition is: hashes of its facts and lines, and how many lines there are."""

    items: frozenset[int] = frozenset()
    count: int = 0

    def is_news(self, before: Mark) -> bool:
        return self.count > before.count or not self.items <= before.items


@dataclass
class Memory:
    """Of one rule. `proofs`: for each trigger the paths that it needs. `latched`: followed paths whose part of the evidence is
    no longer in the state. `absent`: since when (monotonic) the judgement does not show it."""

    rule: str
    state: ConditionState
    since: Now
    finding: Finding
    mark: Mark
    news: float
    proofs: tuple[frozenset[str], ...]
    writing: dict[str, Writing] = field(default_factory=dict)
    latched: set[str] = field(default_factory=set)
    follows: str = ""
    absent: float | None = None
    ended: float | None = None
    flaps: int = 0
    reason: str = ""
    how: str = ""
    asserted: bool = True
    sources: dict[str, str] = field(default_factory=dict)
    """Who reads the paths of proofs and states, also when they are gone."""
    states: frozenset[str] = frozenset()
    """Paths of texts as they are now that once showed it by themselves (counters, listings)."""
    faded: float | None = None
    """Since when (monotonic) none of them shows it."""
    revised: bool = False
    """It ended because the same evidence is judged otherwise now."""
    shown_over: bool = False
    """The evidence shows that it ended; `diagnose` still calls it a cause where the run failed."""
    leaving: float | None = None
    """Since when (monotonic) its runs are over."""

    @property
    def active(self) -> bool:
        return self.state != "false"


@dataclass
class Around:
    """What a condition needs to know besides the judgement. `owners`: path to the source that reads it. `writers`: followed
    texts. `alive`: pid to start of process, None where nobody looks."""

    rules: RuleSet
    owners: Mapping[str, str]
    healths: Mapping[str, Health]
    writers: Mapping[str, Writers]
    alive: Mapping[int, float] | None
    changed: Mapping[str, float] = field(default_factory=dict)
    """When (monotonic) a text as it is now, or facts, last took the place of others under a path."""

    @property
    def began(self) -> float:
        """When (monotonic) the driver, or the kernel, last began anew."""
        return max((writers.driver[1] for writers in self.writers.values() if writers.driver is not None), default=float("-inf"))

    def blind(self, paths: Iterable[str], sources: Mapping[str, str]) -> str:
        """Why one of the paths cannot be seen now, or "" where all can. `sources`: who read them."""
        for path in sorted(paths):
            health = self.healths.get(sources.get(path, ""))
            if health is not None and health.state != "fresh":
                return f"source {health.source} is {health.state}" + (f": {health.reason}" if health.reason else "")
        return ""


class Conditions:
    """All conditions of a host, one for each rule; a condition's entities are in its finding."""

    def __init__(self, quiet: float = QUIET, lasting: float = LASTING) -> None:
        self.memories: dict[str, Memory] = {}
        self._lasting = lasting
        self._waiting: dict[str, tuple[float, float]] = {}
        """Findings that have not lasted yet: since when (monotonic) they are shown, and when they have."""
        self.taken_up = float("-inf")
        """When (monotonic) these conditions came from an earlier life: what was written since is still to be read."""
        self._quiet = quiet

    def update(self, now: Now, judgement: Judgement | None, around: Around) -> list[str]:
        """One step. `judgement` None: nothing was judged anew. Returns the rules whose conditions ended in this step, because what
        they stood on is over."""
        before = {rule for rule, memory in self.memories.items() if memory.active}
        if judgement is not None:
            self._asserted(now, judgement, around)
        for memory in self.memories.values():
            if memory.active:
                self._age(now, memory, judgement, around)
        for rule in [rule for rule, memory in self.memories.items() if self._forgotten(memory, now)]:
            del self.memories[rule]
        known = [self.memories[rule] for rule in sorted(before) if rule in self.memories]
        return [memory.rule for memory in known if not memory.active and not memory.revised]

    def told(self) -> dict[str, Condition]:
        """All conditions for people, by key."""
        return {rule: self.condition(rule) for rule in sorted(self.memories)}

    def forgot(self, rule: str, left: int) -> None:
        """Lines of a condition that ended were forgotten; `left` remain. Further ones are news."""
        memory = self.memories.get(rule)
        if memory is not None:
            memory.mark = Mark(memory.mark.items, left)

    def condition(self, rule: str) -> Condition:
        memory = self.memories[rule]
        return Condition(rule, memory.state, memory.since.wall, memory.finding, memory.reason, told_end(memory.how, self._quiet))

    def acknowledge(self, now: Now, rules: Iterable[str]) -> list[str]:
        """Ends those of the conditions that end by hand; returns their rules."""
        ended = []
        for rule in rules:
            memory = self.memories.get(rule)
            if memory is not None and memory.active and memory.how == "manual":
                _end(memory, now, "acknowledged")
                ended.append(rule)
        return ended

    def end_symptoms(self, now: Now, rules: Iterable[str], root_ended: float) -> list[str]:
        """Ends those that are symptoms and stand on nothing newer than the end of what they follow from."""
        found = [self.memories[rule] for rule in rules if self.lasts(rule)]
        old = [item for item in found if item.finding.role == "symptom" and item.news <= min(root_ended, now.mono - HOLD)]
        for memory in old:
            _end(memory, now, "what it follows from ended")
        return [memory.rule for memory in old]

    def lasts(self, rule: str) -> bool:
        """Whether there is a condition of this rule that is not false."""
        return rule in self.memories and self.memories[rule].active

    def keep_rules(self, now: Now, rules: RuleSet) -> list[str]:
        """After a reload: conditions of rules that are gone end; returns their rules."""
        gone = [rule for rule, memory in self.memories.items() if rule not in rules.rules and memory.active]
        for rule in gone:
            _end(self.memories[rule], now, "its rule was removed")
        return gone

    def latch(self, path: str, until: int) -> None:
        """The evidence in the lines up to `until` of a followed text is about to leave the state."""
        for memory in self.memories.values():
            writing = memory.writing.get(path)
            if memory.active and writing is not None and writing.line <= until:
                memory.latched.add(path)

    def shift(self, path: str, by: int) -> None:
        """The text under `path` began anew."""
        for memory in self.memories.values():
            writing = memory.writing.get(path)
            if writing is not None:
                memory.writing[path] = writing._replace(line=writing.line - by)

    def _asserted(self, now: Now, judgement: Judgement, around: Around) -> None:
        shown = set()
        for finding in judgement.diagnosis.findings:
            out = judgement.outcomes[finding.rule]
            if out.ended and finding.role == "note" and out.rule.role != "note":
                continue
            shown.add(finding.rule)
            if self._has_lasted(now, finding, out, judgement, around):
                self._assert(now, finding, out, judgement, around)
        self._waiting = {rule: times for rule, times in self._waiting.items() if rule in shown and not self.lasts(rule)}
        for rule, memory in self.memories.items():
            memory.asserted = rule in shown
            fades = memory.states and not (memory.asserted and _states(judgement.outcomes[rule], around))
            if not fades or around.blind(memory.states, memory.sources):
                memory.faded = None
            elif memory.faded is None:
                memory.faded = now.mono

    def _has_lasted(self, now: Now, finding: Finding, out: Outcome, judgement: Judgement, around: Around) -> bool:
        """Whether a finding may begin: at once, or when what it stands on was so for a while. When the driver begins anew the
        wait does too; lines of before then tell of a driver that is gone."""
        part = max(min((_momentary(item) for item in out.triggers), default=0.0), _gated(out.rule))
        seconds = 0.0 if self.lasts(out.rule.id) else self._lasting * part
        if not seconds:
            self._waiting.pop(out.rule.id, None)
            return True
        since, _ = self._waiting.get(out.rule.id, (now.mono, 0.0))
        if around.began > since:
            if all(path in around.writers for item in out.triggers for path in _paths(item.evidence)):
                self._waiting.pop(out.rule.id, None)
                memory = Memory(out.rule.id, "false", now, finding, mark_of(out, judgement), now.mono, ())
                _end(memory, now, "the driver was loaded anew since")
                self.memories[out.rule.id] = memory
                return False
            since = around.began
        self._waiting[out.rule.id] = since, since + seconds
        return now.mono - since >= seconds

    def waiting(self, now: Now) -> dict[str, float]:
        """Rules whose findings have not lasted yet, and the seconds that they still must."""
        return {rule: max(0.0, until - now.mono) for rule, (_, until) in self._waiting.items()}

    def ripe(self) -> float:
        """When (monotonic) the first finding that waits may begin; infinite: none waits."""
        return min((until for _, until in self._waiting.values()), default=float("inf"))

    def _assert(self, now: Now, finding: Finding, out: Outcome, judgement: Judgement, around: Around) -> None:
        mark = mark_of(out, judgement)
        memory = self.memories.get(finding.rule)
        follows = judgement.follows.get(finding.rule, "")
        proofs = tuple(frozenset(_paths(trigger.evidence)) for trigger in out.triggers)
        if memory is None:
            memory = self.memories[finding.rule] = Memory(finding.rule, "true", now, finding, mark, now.mono, proofs)
        elif not memory.active:
            if not mark.is_news(memory.mark) and not memory.revised:
                return
            soon = memory.ended is not None and now.mono - memory.ended < SOON
            memory.flaps = memory.flaps + 1 if soon else 0
            memory.state, memory.since, memory.reason, memory.ended = "true", now, "", None
            memory.latched.clear()
            memory.writing.clear()
            memory.states, memory.faded, memory.leaving, memory.revised = frozenset(), None, None, False
            memory.news = now.mono
        elif mark.is_news(memory.mark):
            memory.news = now.mono
        if memory.mark != mark:
            memory.mark = mark
        memory.finding, memory.proofs, memory.follows = finding, proofs, follows
        memory.shown_over = out.ended
        for path in {path for proof in (*proofs, memory.states) for path in proof} & around.owners.keys():
            memory.sources[path] = around.owners[path]
        if len(memory.sources) > MAX_SOURCES:
            memory.sources = {path: memory.sources[path] for proof in (*proofs, memory.states) for path in proof
                              if path in memory.sources}  # fmt: skip
        memory.states = _states(out, around) or memory.states
        memory.absent, memory.how = None, out.rule.ends.how
        for path in [path for path in memory.writing if path not in around.writers and len(memory.writing) > 1]:
            del memory.writing[path]
            if path in memory.latched:  # of a text that is gone: one name is enough for all of them
                memory.latched = {*memory.latched - {path}, GONE}
        for path, writing in _writing(out, judgement, around.writers, now):
            old = memory.writing.get(path)
            if old is None or writing.line > old.line:
                memory.writing[path] = writing
                memory.latched.discard(path)

    def _age(self, now: Now, memory: Memory, judgement: Judgement | None, around: Around) -> None:
        blind = [around.blind(proof, memory.sources) for proof in memory.proofs]
        unseen = blind[0] if blind and all(blind) else ""
        rule = around.rules.rules.get(memory.rule)
        if rule is None:
            _end(memory, now, "its rule was removed")
            return
        over = self._over(now, memory, rule, judgement, around)
        if over:
            _end(memory, now, over)
            return
        if not memory.asserted and not memory.latched and not any(blind):
            memory.absent = now.mono if memory.absent is None else memory.absent
            out = judgement.outcomes.get(memory.rule) if judgement is not None else None
            if out is not None and out.fired and out.ended:
                _end(memory, now, "the evidence shows that it is over")
            elif now.mono - memory.absent >= min(MAX_HOLD, HOLD * 2**memory.flaps):
                stood = {path for proof in (*memory.proofs, memory.states) for path in proof}
                memory.revised = not any(around.changed.get(path, float("-inf")) >= memory.since.mono for path in stood)
                _end(memory, now, "judged otherwise now" if memory.revised else "no longer shown by its sources")
            return
        memory.absent = None
        memory.state, memory.reason = ("unknown", unseen) if unseen else ("true", "")

    def _over(self, now: Now, memory: Memory, rule: Rule, judgement: Judgement | None, around: Around) -> str:
        """How the condition ended by its rule's `ends`, or ""."""
        if now.mono - self.taken_up < SILENT:
            return ""
        how = rule.ends.how
        if how == "manual" and memory.finding.role == "note":
            how = "exit"  # a note is no incident: nobody could acknowledge it
        if how == "ttl" and now.mono - memory.news >= (rule.ends.seconds or 0.0):
            return f"no new evidence for {rule.ends.seconds:g} s"
        if memory.latched and judgement is not None:
            if how == "fact" and end_is_fact(judgement.case, rule):
                return "the facts show that it is over"
            if how == "pattern" and any(hits.seen > memory.news for hits in judgement.case.hits.get((rule.id, ENDS), ())):
                return "a later line shows that it is over"
        if now.mono - memory.since.mono < SILENT:
            return ""
        if memory.asserted and memory.shown_over and memory.finding.role != "note":
            return "the evidence shows that it is over"
        if how == "manual" and memory.faded is not None and now.mono - memory.faded >= FADED:
            return "the counters and states that showed it no longer do"
        if how == "manual" and rule.stage in OF_DEVICES and _driver_began(memory, around):
            return "the driver was loaded anew since"
        shown = memory.asserted and memory.states and memory.faded is None  # by what is so now, whoever wrote lines of it
        if how in ("manual", "ttl") or not memory.writing or shown:
            return ""
        reason = self._runs_over(now, memory, around)
        if reason:
            memory.leaving = now.mono if memory.leaving is None else memory.leaving
            wait = min(MAX_WAIT, HOLD * 2**memory.flaps) if memory.flaps else 0.0
            return reason if now.mono - memory.leaving >= wait else ""
        memory.leaving = None
        watched = around.alive is not None and any(writing.pids for writing in memory.writing.values())
        if how == "exit" and not watched and now.mono - memory.news >= self._quiet and memory.proofs[:1] != (frozenset(),):
            on_texts = all(path in memory.writing for path in memory.proofs[0]) if memory.proofs else True
            if on_texts:
                return f"no new evidence for {self._quiet / 60:g} min, and no process to watch"
        return ""

    def _runs_over(self, now: Now, memory: Memory, around: Around) -> str:
        """Why the runs that wrote the evidence are over, or "". A text that tells of no process, and a log of the kernel, goes with
        the others once it brought nothing new for a while."""
        reasons = {path: self._run_over(now, path, writing, around) for path, writing in memory.writing.items()}
        lasting = [path for path, reason in reasons.items() if not reason]
        if not lasting:
            return next(iter(reasons.values()))
        told = [reason for reason in reasons.values() if reason]
        silent = not any(memory.writing[path].pids for path in lasting) and now.mono - memory.news >= SILENT
        return told[0] if told and silent else ""

    def _run_over(self, now: Now, path: str, writing: Writing, around: Around) -> str:
        writers = around.writers.get(path)
        if all_gone(writing.pids, around.alive, writing.came.wall) and (writers is None or writers.silent(writing.pids, now.mono)):
            return "the process that wrote it is gone"
        if writers is None:
            return "its log is gone" if now.mono - max(writing.came.mono, self.taken_up) >= self._quiet else ""
        anew = writers.began_anew(writing.line, writing.pids, now.mono)
        if anew is not None and now.mono - anew[1] >= SILENT:  # time for the new run to meet the same
            return "a new run began in the same log"
        if not writers.of_host and now.mono - writers.spoke >= SILENT_FOR_GOOD:
            return "its log has been silent for a day"
        return ""

    @staticmethod
    def _forgotten(memory: Memory, now: Now) -> bool:
        old = memory.ended is not None and now.mono - memory.ended >= REMEMBERED
        return not memory.active and old and not memory.asserted


def _momentary(trigger: Trigger) -> float:
    """For which part of LASTING what it stands on must be so; 0: it is not of a moment."""
    parts = (part for fact in trigger.used for name, part in MOMENTARY.items()
             if fact.name.startswith(name) and not (name == "driver.module_listed" and fact.value))  # fmt: skip
    return max(parts, default=0.0)


def _gated(rule: Rule) -> float:
    """For which part of LASTING it must be so that nothing holds the rule back."""
    asked = [source for item in rule.unless for source in item.when]
    return max((part for name, part in GATES.items() if any(name in source for source in asked)), default=0.0)


def _end(memory: Memory, now: Now, reason: str) -> None:
    memory.state, memory.reason, memory.ended = "false", reason, now.mono
    memory.absent = None


def _states(out: Outcome, around: Around) -> frozenset[str]:
    """The texts as they are now of which one trigger alone is true."""
    found: set[str] = set()
    for trigger in out.triggers:
        paths = _paths(trigger.evidence)
        if not any(path in around.writers for path in paths):
            found.update(paths)
    return frozenset(found)


def _driver_began(memory: Memory, around: Around) -> bool:
    """Whether the driver (or the kernel) started after the last evidence."""
    for path, writers in around.writers.items():
        if writers.driver is not None:
            writing = memory.writing.get(path)
            line, came = writers.driver
            if line > writing.line if writing is not None else came > memory.news:
                return True
    return False


def _paths(evidence: Iterable[Origin]) -> list[str]:
    return [origin.path for origin in evidence if origin.path and origin.path != CLOCK]


def _writing(out: Outcome, judgement: Judgement, writers: Mapping[str, Writers], now: Now) -> Iterable[tuple[str, Writing]]:
    """The last line of evidence of each followed text, with the processes of its run."""
    last: dict[str, int] = {}
    pids: dict[str, set[int]] = {}

    def saw(path: str, number: int | None, text: str) -> None:
        if path in writers and number is not None:
            last[path] = max(number, last.get(path, number))
            pid = pid_of(text)
            if pid is not None:
                pids.setdefault(path, set()).add(pid)

    for trigger in out.triggers:
        for origin in trigger.evidence:
            saw(origin.path, origin.line, origin.text)
        for hits in judgement.case.hits.get((out.rule.id, trigger.name), ()):
            if hits.last is not None:
                saw(hits.last.path, hits.last.number, hits.last.text)
    for path, line in last.items():
        yield path, Writing(line, frozenset(pids.get(path) or writers[path].at(line)), now)


def mark_of(out: Outcome, judgement: Judgement) -> Mark:
    """What the triggers of an outcome stand on: the lines of their signatures, and facts by value (not by the line that told
    them)."""
    items: set[int] = set()
    count = 0
    for trigger in out.triggers:
        items.update(_hash(f"{fact.name}={fact.value!r}") for fact in trigger.used if fact.origin.path != CLOCK)
        for hits in judgement.case.hits.get((out.rule.id, trigger.name), ()):
            lines = hits.lines if hits.last is None else (*hits.lines, hits.last)
            items.update(_hash(f"{trigger.name}:{line.path}:{line.text}") for line in lines)
    for signature in out.rule.signatures:
        count += judgement.case.count(out.rule.id, signature.name)
    return Mark(frozenset(items), count)


def _hash(text: str) -> int:
    """The same in each life."""
    return zlib.crc32(text.encode("utf-8", "replace"))


def told_end(how: str, quiet: float = QUIET) -> str:
    """How a condition will end, for people."""
    return {
        "exit": f"with the process or run that wrote it, or after {quiet / 60:g} min without new evidence",
        "pattern": "when a later line says so",
        "fact": "when the facts say so",
        "ttl": "after its time without new evidence",
        "manual": "when a person acknowledges it",
    }.get(how, "")
