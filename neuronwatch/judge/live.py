"""The judge of a watch: the same fold and the same rules as `diagnose`, for a state whose texts are replaced, grow and are
forgotten over months. Pure: time and everything else comes in as data; all calls come from one thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from neuronwatch.judge import engine, explain, memory, status
from neuronwatch.judge.conditions import LASTING, Conditions
from neuronwatch.judge.evidence import Evidence, path_of
from neuronwatch.judge.heard import Heard
from neuronwatch.judge.incidents import Change, Incidents, Member
from neuronwatch.judge.news import News
from neuronwatch.judge.pace import Pace
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.evaluate import Outcome
from neuronwatch.judge.series import Bounds, SeriesView
from neuronwatch.judge.standing import CLOCK, Around
from neuronwatch.judge.state import State
from neuronwatch.judge.writers import HOST_LOGS, SILENT, SILENT_FOR_GOOD, Writers, note_lines
from neuronwatch.model.dataclass import replace
from neuronwatch.model.diagnosis import Diagnosis, SourceReport, Verdict
from neuronwatch.model.live import Condition, Health, Incident, Now
from neuronwatch.model.records import Fact, Origin, Value

__all__ = ["Change", "Judged", "Watch"]

OURS = "(watch)"
"""The source of facts that the watch itself tells: the time, and which sources are not fresh."""
HEALTH_PATH = "neuronwatch:sources"
SWEEP = 30.0
LIVE = Bounds(8_000, 8_000, 100, 512)
"""Of a text that is followed for weeks so much of its series is kept: 62 points each of 128 cores, an hour of them in full. A point
takes 32 bytes, and all of them are gone through at each judgement in which one is new."""


class Judged(NamedTuple):
    """What the watch knows now. `changes`: what happened to incidents since the answer before. `reasons`: why the verdict is
    not healthy."""

    verdict: Verdict
    reasons: tuple[str, ...]
    diagnosis: Diagnosis
    conditions: tuple[Condition, ...]
    incidents: tuple[Incident, ...]
    changes: tuple[Change, ...]


class Followed(NamedTuple):
    """A followed text as the judge has it. `spoke`: when it last gained a line (the watch's monotonic time); `heard`: when its
    points came."""

    path: str
    facts: Mapping[str, Value]
    series: SeriesView
    spoke: float
    heard: Heard


class Watch:
    """`clock`: whether the rules are told the time (`host.now`); of a replayed capture its own dates tell it. `lasting`: see
    `conditions.LASTING`."""

    def __init__(self, rules: RuleSet, clock: bool = True, lasting: float = LASTING) -> None:
        self._rules = rules
        self._clock = clock
        self._state = State(LIVE, memos={})
        self._owners: dict[str, str] = {}
        self._writers: dict[str, Writers] = {}
        self._heard: dict[str, Heard] = {}
        self._alive: tuple[str, Mapping[int, float]] | None = None
        self._healths: dict[str, Health] = {}
        self._conditions = Conditions(lasting=lasting)
        self._incidents = Incidents()
        self._pace = Pace()
        self._changes: list[Change] = []
        self._judgement: engine.Judgement | None = None
        self._reported: dict[str, str] = {}
        self._news = News()
        self._unavailable: tuple[tuple[str, str], ...] | None = None
        self._blind: tuple[str, ...] = ()
        self._changed: dict[str, float] = {}
        self._shifted = False
        self._swept = 0.0

    # What the sources tell

    def replace(self, source: str, path: str, evidence: Iterable[Evidence], now: Now) -> None:
        """A text as it is now takes the place of the one before. No evidence: it is gone."""
        old = self._state.files.pop(path, None)
        file = self._state.file(path)
        if old is not None:
            file.said, file.told = old.said, old.told
            self._changed[path] = now.mono
        self._owners[path] = source
        engine.observe(self._state, evidence, self._rules)
        self._stamp(path, now)
        self._tidy(path)
        self._pace.urgent(now)

    def append(
        self, source: str, path: str, evidence: Iterable[Evidence], now: Now, fresh: bool = False, records: bool = False
    ) -> None:
        """Lines that a followed text gained, with their line numbers. `fresh`: it begins anew under this path, after what
        `LiveScan.end` told of its older part was given without. `records`: see `Appended`."""
        if path not in self._writers:
            self._writers[path] = Writers()
        self._owners[path] = source
        if fresh:
            self._shift(path, now)
        self._writers[path].spoke = now.mono
        self.observe(evidence, now)
        if records:
            self._state.file(path).keep_newest()

    def observe(self, evidence: Iterable[Evidence], now: Now) -> None:
        """Evidence of texts that are followed already, each item with its path (of `LiveScan.quiet`)."""
        items = list(evidence)
        paths = dict.fromkeys(map(path_of, items))
        known = {path: self._state.file(path).counts() for path in paths}
        facts = {path: len(self._state.file(path).facts) for path in paths}
        for item in items:
            writers = self._writers.get(path_of(item))
            if writers is not None:
                writers.of_host = item.format in HOST_LOGS if isinstance(item, SourceReport) else writers.of_host
                note_lines(writers, item, now.mono)
        engine.observe(self._state, items, self._rules)
        for path in paths:
            self._listen(path, now)
            self._stamp(path, now, known[path])
            if self._news.of(path, self._state.file(path), known[path], facts[path], self._rules, self._stands):
                self._pace.urgent(now)
            else:
                self._pace.lazy(now)
            self._tidy(path)

    def forget(self, path: str, now: Now) -> None:
        """Nobody reads this path any more. Conditions that stand on it last until their end comes."""
        file = self._state.files.pop(path, None)
        writers = self._writers.pop(path, None)
        self._heard.pop(path, None)
        if file is not None and writers is not None:
            self._conditions.latch(path, file.last_line())
        self._owners.pop(path, None)
        self._news.forget(path)
        self._changed[path] = now.mono
        self._pace.urgent(now)

    def facts(self, source: str, facts: Sequence[Fact], now: Now) -> None:
        """All facts without a text of their own that a source tells now; they take the place of its earlier ones."""
        grouped: dict[str, list[Fact]] = {}
        for fact in facts:
            grouped.setdefault(fact.origin.path, []).append(fact)
        changed = False
        for path, file in list(self._state.files.items()):
            if source in file.said and file.said[source] != grouped.get(path):
                del file.said[source]
                self._changed[path] = now.mono
                changed = True
                self._tidy(path)
        for path, found in grouped.items():
            file = self._state.file(path)
            changed = changed or file.said.get(source) != found
            file.said[source] = found
            self._owners.setdefault(path, source)
        if changed:
            self._pace.urgent(now)

    def reports(self, source: str, reports: Sequence[SourceReport], now: Now) -> None:
        """What a source says of what it could and could not read; it takes the place of its earlier reports."""
        told = {report.path: report for report in reports}
        for path, file in list(self._state.files.items()):
            if file.report is not None and self._reported.get(path) == source and path not in told:
                file.report = None
                del self._reported[path]
                self._tidy(path)
                self._pace.urgent(now)
        for path, report in told.items():
            file = self._state.file(path)
            if file.report != report:
                file.report = report
                self._pace.urgent(now)
            self._reported[path] = source

    def processes(self, source: str, alive: Mapping[int, float]) -> None:
        """Live processes: pid (of every namespace that the host sees) to a time at which it had not begun yet, seconds since
        the epoch (0: unknown). They count as long as the source is fresh."""
        self._alive = (source, alive)

    def _living(self) -> Mapping[int, float] | None:
        """None: nobody can tell."""
        if self._alive is None:
            return None
        health = self._healths.get(self._alive[0])
        return self._alive[1] if health is None or health.state == "fresh" else None

    def followed(self) -> list[Followed]:
        """The followed texts with what they told so far: the newest value of each fact, their series."""
        found = []
        for path, writers in self._writers.items():
            file = self._state.files.get(path)
            if file is not None:
                facts = {fact.name: fact.value for fact in file.facts}
                found.append(Followed(path, facts, file.series, writers.spoke, self._heard.get(path) or Heard()))
        return found

    # What follows from it

    def due(self, now: Now) -> float:
        """Seconds until `conclude` has something to do; 0: now."""
        return self._pace.conclude_in(now)

    def hurry(self, now: Now) -> None:
        """Something came that may decide: the rules are evaluated at the next `conclude`."""
        self._pace.urgent(now)

    def conclude(self, now: Now, healths: Iterable[Health]) -> Judged:
        """The judgement of this moment. Rules are evaluated only when something that they can see changed, at the watch's own
        pace; conditions age at each call."""
        self._hear(now, healths)
        judgement = self._judge(now) if self._judgement is None or self._pace.judge_in(now) <= 0 else None
        around = Around(self._rules, self._owners, self._healths, self._writers, self._living(), self._changed)
        ended = self._conditions.update(now, judgement, around)
        ended += self._end_cascades(now)
        self._changes += self._incidents.update(now, self._conditions.told(), self._members(), self._conditions.expects_cause())
        self._forget_ended(now, ended)
        if now.mono - self._swept >= SWEEP:
            self._swept = now.mono
            self._sweep(now)
        self._pace.ripe(self._conditions.ripe())
        self._pace.concluded(now)
        return self._judged(now)

    def acknowledge(self, incident: str, now: Now) -> None:
        """Raises KeyError for an id that is not open."""
        record = next((item for item in self._incidents.told() if item.id == incident), None)
        self._changes += self._incidents.acknowledge(now, incident)
        if record is not None:
            ended = self._conditions.acknowledge(now, [condition.key for condition in record.conditions])
            self._forget_ended(now, ended + self._end_cascades(now))

    def reload(self, rules: RuleSet, now: Now) -> tuple[str, ...]:
        """New rules. What was found by signatures that are the same stays; returns the paths of whole texts, which must be
        given again for the other ones."""
        ids = {(place.rule, place.signature, pattern.regex): pattern.id
               for place, pattern in zip(rules.places, rules.patterns, strict=True)}  # fmt: skip
        moved = {
            pattern.id: ids.get((place.rule, place.signature, pattern.regex))
            for place, pattern in zip(self._rules.places, self._rules.patterns, strict=True)
        }
        for part in self._state.parts():
            part.hits = {new: hits for old, hits in part.hits.items() if (new := moved[old]) is not None}
        self._rules = rules
        self._conditions.keep_rules(now, rules)
        self._pace.urgent(now)
        return tuple(path for path, file in self._state.in_order() if path not in self._writers and file.report is not None)

    def standings(self, now: Now) -> dict[str, explain.Standing]:
        """How each rule stands; empty before the first judgement."""
        if self._judgement is None:
            return {}
        return explain.standings(self._judgement, self._conditions.told(), self._conditions.waiting(now))

    def why(self, rule: str) -> Outcome | None:
        """Every condition of a rule with what became of it; None for a rule that was not judged yet."""
        if self._judgement is None or rule not in self._judgement.outcomes or rule not in self._rules.rules:
            return None
        return explain.checks(self._judgement, rule)

    def incidents(self) -> tuple[Incident, ...]:
        """As they are known now: open ones first."""
        return self._incidents.told()

    def dump(self, now: Now) -> dict[str, Any]:
        """What must survive a restart, as plain data."""
        return memory.dump(self._conditions, self._incidents, now)

    def load(self, plain: Any, now: Now) -> None:
        """Takes up what an earlier life knew. Raises ValueError for what is damaged; then nothing is taken."""
        memory.load(plain, self._conditions, self._incidents, now)

    # Inside

    def _judge(self, now: Now) -> engine.Judgement:
        if self._clock:
            self._state.file(CLOCK).said[OURS] = [Fact("host.now", now.wall, Origin(CLOCK))]
        self._pace.judged(now)  # also where it fails: a defect of ours must not be met again at once
        judgement = engine.judge(self._state, self._rules)
        if self._shifted:
            judgement = judgement._replace(diagnosis=_with_lines_that_are(judgement.diagnosis))
        self._judgement = judgement
        self._blind = tuple(f"{item.path}: {item.reason}" for item in engine.blind_spots(self._state))
        if self._state.files.keys() <= {CLOCK, HEALTH_PATH} or not engine.read_anything(self._state):
            self._blind += ("nothing has been read",)
        if not self._rules.rules:  # an empty directory, all of them bad or switched off: who looks for nothing finds nothing
            self._blind += ("no rule is in use",)
        return judgement

    def _judged(self, now: Now) -> Judged:
        assert self._judgement is not None
        conditions, changes = tuple(self._conditions.told().values()), tuple(self._changes)
        self._changes.clear()
        verdict, reasons = status.verdict(conditions, self._healths.values(), self._blind, now.wall)
        return Judged(verdict, reasons, self._judgement.diagnosis, conditions, self._incidents.told(), changes)

    def _members(self) -> list[Member]:
        assert self._judgement is not None
        ranks = {finding.rule: place for place, finding in enumerate(self._judgement.diagnosis.findings)}
        found = []
        for rule, item in self._conditions.memories.items():
            if item.active and item.finding.role != "note":
                paths = frozenset(origin.path for origin in item.finding.evidence)
                rank = ranks.get(rule, len(ranks))
                found.append(Member(self._conditions.condition(rule), rank, item.follows, paths))
        return found

    def _hear(self, now: Now, healths: Iterable[Health]) -> None:
        """The health of the sources; one that cannot be read for a while is a fact for the rules."""
        heard = {health.source: health for health in healths}
        states = {name: health.state for name, health in heard.items()}
        if states != {name: health.state for name, health in self._healths.items()}:
            self._pace.urgent(now)
        self._healths = heard
        bad = [item for item in heard.values() if status.outage(item, now.wall)]
        unavailable = tuple((item.source, item.state) for item in bad)
        if heard and unavailable != self._unavailable:
            self._unavailable = unavailable
            text = "; ".join(f"source {item.source} {item.state}: {item.reason}" for item in bad)
            value = tuple(f"{item.source}: {item.reason or item.state}" for item in bad)
            self.facts(OURS, [Fact("source.unavailable", value, Origin(HEALTH_PATH, None, text))], now)

    def _stands(self, rule: str) -> bool:
        """Whether there is a condition of this rule, or something that would be one if nothing spoke against it."""
        memory = self._conditions.memories.get(rule)
        outcome = self._judgement.outcomes.get(rule) if self._judgement is not None else None
        return (memory is not None and memory.active) or (outcome is not None and bool(outcome.triggers))

    def _listen(self, path: str, now: Now) -> None:
        """Keeps when the points of a followed text came."""
        writers, file = self._writers.get(path), self._state.files.get(path)
        if writers is None or file is None or writers.of_host:
            return
        newest, heard = file.series.last_line(), self._heard.get(path)
        if heard is None and newest:
            heard = self._heard[path] = Heard()
        if heard is not None:
            heard.note(newest, writers.starts[-1][:2] if writers.starts else None, now.wall, file.series.names)

    def _stamp(self, path: str, now: Now, known: Mapping[int, int] | None = None) -> None:
        file = self._state.file(path)
        for part in (file, *file.provisional.values()):
            for number, hits in part.hits.items():
                if known is None or part is not file or hits.count != known.get(number):
                    hits.seen = now.mono

    def _tidy(self, path: str) -> None:
        if self._state.files[path].is_empty() and path not in self._writers:
            del self._state.files[path]
            self._owners.pop(path, None)

    def _shift(self, path: str, now: Now) -> None:
        """A text begins anew under its path: what it said before stays, in front of it."""
        file, writers = self._state.file(path), self._writers[path]
        by = max(file.last_line(), writers.newest) + 1
        if by == 1:
            return
        file.shift(by)
        writers.shift(by)
        if path in self._heard:
            self._heard[path].shift(by)
        self._conditions.shift(path, by)
        self._pace.urgent(now)
        self._shifted = True

    def _end_cascades(self, now: Now) -> list[str]:
        """The symptoms of roots that ended go with them, unless new evidence tells of them."""
        found: list[str] = []
        for incident in self._incidents.told():
            root = self._conditions.memories.get(incident.root)
            if incident.state != "resolved" and root is not None and root.ended is not None and not root.revised:
                keys = [condition.key for condition in incident.conditions]
                found += self._conditions.end_symptoms(now, keys, root.ended)
        return found

    def _forget_ended(self, now: Now, rules: Sequence[str]) -> None:
        """Of conditions that ended the lines in followed texts are forgotten, with those that were held against no rule as long
        as they were true. A text as it is now still says what it says."""
        if not rules:
            return
        for path in self._writers:
            self._forget_runs(path, now)
        self._forget_weak(rules, now)
        outcomes = self._judgement.outcomes if self._judgement is not None else {}
        gated = {rule for rule, out in outcomes.items() if out.triggers and not out.fired and not self._conditions.lasts(rule)}
        numbers = [number for number, place in enumerate(self._rules.places) if place.rule in gated or place.rule in rules]
        for path in self._writers:
            self._drop_hits(path, numbers)
        for rule in rules:
            left = sum(file.hits[number].count for file in self._state.files.values() for number in numbers
                       if number in file.hits and self._rules.places[number].rule == rule)  # fmt: skip
            self._conditions.forgot(rule, left)
        self._pace.urgent(now)

    def _forget_weak(self, rules: Sequence[str], now: Now) -> None:
        """Of the texts of runs, of which a condition ended, also the lines in which other rules saw too little: these would be
        joined by facts of another time."""
        paths = {path for rule in rules for path in self._conditions.memories[rule].writing}
        for path in paths & self._writers.keys():
            if self._writers[path].of_host:
                continue
            hits = self._state.file(path).hits
            for number, item in list(hits.items()):
                if now.mono - item.seen >= SILENT and not self._conditions.lasts(self._rules.places[number].rule):
                    del hits[number]

    def _sweep(self, now: Now) -> None:
        """Forgets runs that are over, texts that fell silent, and old hits."""
        begun = [item.since.mono for item in self._conditions.memories.values() if item.active]
        oldest = min(begun, default=now.mono)
        self._changed = {path: when for path, when in self._changed.items() if when >= oldest}
        for path in self._writers:
            self._forget_runs(path, now)
            file = self._state.file(path)
            for number, hits in list(file.hits.items()):
                if now.mono - hits.seen >= SILENT_FOR_GOOD and hits.last is not None:
                    self._conditions.latch(path, hits.last.number or 0)
                    del file.hits[number]

    def _forget_runs(self, path: str, now: Now) -> None:
        """What lasts stands on its own memory from then on."""
        writers = self._writers[path]
        over = now.mono - writers.spoke >= SILENT_FOR_GOOD or writers.all_ended(self._living(), now.mono)
        until = writers.newest if over else writers.older_run(now.mono)
        if until is not None:
            self._retire(path, until)

    def _retire(self, path: str, until: int) -> None:
        """All that the lines up to `until` said is forgotten."""
        self._conditions.latch(path, until)
        self._state.file(path).retire(until)
        self._writers[path].retire(until)

    def _drop_hits(self, path: str, numbers: Sequence[int]) -> None:
        """Forgets the lines of these patterns."""
        file = self._state.file(path)
        for part in (file, *file.provisional.values()):
            for number in numbers:
                part.hits.pop(number, None)


def _with_lines_that_are(diagnosis: Diagnosis) -> Diagnosis:
    """Lines of a text before it began anew have no number any more."""

    def shown(origin: Origin) -> Origin:
        return origin if origin.line is None or origin.line > 0 else replace(origin, line=None)

    findings = tuple(replace(item, evidence=tuple(map(shown, item.evidence))) for item in diagnosis.findings)
    return replace(diagnosis, findings=findings)
