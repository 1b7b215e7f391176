"""What a condition is and stands on: its evidence by path and by value, and who can still see it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from neuronwatch.judge.engine import Judgement
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.evaluate import Outcome
from neuronwatch.judge.writers import Writers, pid_of
from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.live import ConditionState, Health, Now
from neuronwatch.model.records import Origin

CLOCK = "host:clock"


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


def states_of(out: Outcome, around: Around) -> frozenset[str]:
    """The texts as they are now of which one trigger alone is true."""
    found: set[str] = set()
    for trigger in out.triggers:
        paths = paths_of(trigger.evidence)
        if not any(path in around.writers for path in paths):
            found.update(paths)
    return frozenset(found)


def paths_of(evidence: Iterable[Origin]) -> list[str]:
    return [origin.path for origin in evidence if origin.path and origin.path != CLOCK]


def writing_of(out: Outcome, judgement: Judgement, writers: Mapping[str, Writers], now: Now) -> Iterable[tuple[str, Writing]]:
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
