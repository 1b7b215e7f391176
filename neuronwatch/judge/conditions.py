"""Conditions: findings that last. Folded from successive judgements, the health of the sources, and time.

A condition is true as long as the newest judgement shows it. That it is not shown any more ends it only where somebody looks
(its sources are fresh) and its evidence was not merely forgotten (a rotation long ago, a restart of ours): such a condition is
*latched* and lasts on its own memory until its rule's end comes.
"""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.judge.ends import HOLD, QUIET, Ends, told_end
from neuronwatch.judge.engine import Judgement
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.evaluate import Outcome, Trigger
from neuronwatch.judge.rules.model import Rule
from neuronwatch.judge.standing import Around, Mark, Memory, mark_of, paths_of, states_of, writing_of
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.live import Condition, Now

MAX_HOLD = 600.0
SOON = 900.0
REMEMBERED = 3600.0
"""Seconds that a condition that ended is still told."""
GONE = ""
MAX_SOURCES = 64
LASTING = 60.0
"""Seconds for which a finding must be shown that stands on what is so at one moment: between two steps all workers sleep, at
the start of a job all cores are idle, while the driver is loaded anew there is no module, and then one device after another."""
MOMENTARY = {
    "process.workers": 1.0, "process.compilers": 1.0, "process.python_cpu": 1.0, "neuron.utilisation": 1.0,
    "neuron.cores_in_use": 1.0, "driver.module_listed": 1.0, "monitor.errors": 1.0, "instance.devices_missing": 0.1,
    "driver.on_disk": 0.5, "driver.package": 0.5,  # an upgrade writes the new one, then loads it
}  # fmt: skip
"""Names of such facts, or their beginnings, and for which part of LASTING."""
GATES = {"process.compilers": 0.5}
"""The same of facts that hold a rule back (`unless`): a compiler that has just begun stands in the log before it is listed."""


class Conditions:
    """All conditions of a host, one for each rule; a condition's entities are in its finding."""

    def __init__(self, quiet: float = QUIET, lasting: float = LASTING) -> None:
        self.memories: dict[str, Memory] = {}
        self._lasting = lasting
        self._waiting: dict[str, tuple[float, float, bool]] = {}
        """Findings that have not lasted yet: since when (monotonic) they are shown, when they have, and whether each is a cause."""
        self.ends = Ends(quiet)
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
            fades = memory.states and not (memory.asserted and states_of(judgement.outcomes[rule], around))
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
        if out.ended:  # what was over before it had lasted never began
            self._waiting.pop(out.rule.id, None)
            return False
        since, _, _ = self._waiting.get(out.rule.id, (now.mono, 0.0, False))
        if around.began > since:
            if all(path in around.writers for item in out.triggers for path in paths_of(item.evidence)):
                self._waiting.pop(out.rule.id, None)
                memory = Memory(out.rule.id, "false", now, finding, mark_of(out, judgement), now.mono, ())
                _end(memory, now, "the driver was loaded anew since")
                self.memories[out.rule.id] = memory
                return False
            since = around.began
        self._waiting[out.rule.id] = since, since + seconds, finding.role == "cause"
        return now.mono - since >= seconds

    def expects_cause(self) -> bool:
        """Whether a cause waits."""
        return any(cause for _, _, cause in self._waiting.values())

    def waiting(self, now: Now) -> dict[str, float]:
        """Rules whose findings have not lasted yet, and the seconds that they still must."""
        return {rule: max(0.0, until - now.mono) for rule, (_, until, _) in self._waiting.items()}

    def ripe(self) -> float:
        """When (monotonic) the first finding that waits may begin; infinite: none waits."""
        return min((until for _, until, _ in self._waiting.values()), default=float("inf"))

    def _assert(self, now: Now, finding: Finding, out: Outcome, judgement: Judgement, around: Around) -> None:
        mark = mark_of(out, judgement)
        memory = self.memories.get(finding.rule)
        follows = judgement.follows.get(finding.rule, "")
        proofs = tuple(frozenset(paths_of(trigger.evidence)) for trigger in out.triggers)
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
        memory.states = states_of(out, around) or memory.states
        memory.absent, memory.how = None, out.rule.ends.how
        for path in [path for path in memory.writing if path not in around.writers and len(memory.writing) > 1]:
            del memory.writing[path]
            if path in memory.latched:  # of a text that is gone: one name is enough for all of them
                memory.latched = {*memory.latched - {path}, GONE}
        for path, writing in writing_of(out, judgement, around.writers, now):
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
        over = self.ends.over(now, memory, rule, judgement, around)
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
