"""Incidents: conditions grouped by the root that explains them, with a life cycle.

A cause is a root. Rules of one fault share an incident (sixteen devices, or two tools that show the same, are one), causes of
different faults are separate ones. A symptom joins the incident of the cause it follows from; without a cause it has one of its
own until a better root turns up, which then takes that incident over, with its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Literal, NamedTuple

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.diagnosis import Severity
from neuronwatch.model.live import Condition, Incident, IncidentState, Now, Revision

REOPEN = 1800.0
"""Seconds after its end in which the same fault opens the same incident again."""
MAX_REVISIONS = 50
GRACE, LONGEST_GRACE = 10.0, 75.0
"""Seconds that a symptom without a cause waits before it opens an incident: its cause is often told a moment later, by another
source. The longer one while a cause is known and must still last."""
BURST, REFILL = 8.0, 60.0
"""So many updates of an incident are told at once, then one each REFILL seconds with all that happened since: what flaps is
told, but not each time. Opened, resolved, reopened and acknowledged are told always."""
MAX_SAID = 32
OUTAGE = "env.source-unavailable"
"""Fault of the monitor's own blindness: it explains nothing else."""
_ID = re.compile(r"(\d{8}-\d{6})-(\d{3,6})")

What = Literal["opened", "updated", "acknowledged", "resolved", "reopened"]


class Change(NamedTuple):
    """What a step did to an incident, for journal, alerts and subscribers."""

    what: What
    text: str
    incident: Incident


class Member(NamedTuple):
    """A condition as grouping sees it: `rank` is its place in the order of cause (lower is better), `follows` the rule that it
    follows from, `paths` where its evidence lies."""

    condition: Condition
    rank: int
    follows: str
    paths: frozenset[str]

    @property
    def key(self) -> str:
        return self.condition.key

    @property
    def is_cause(self) -> bool:
        return self.condition.finding.role == "cause"


class Said(NamedTuple):
    what: What
    text: str
    wall: float


@dataclass
class _Life:
    """One incident while it is in memory. `ended`: monotonic time of its end."""

    id: str
    root: str
    opened: float
    updated: float
    conditions: dict[str, Condition] = field(default_factory=dict)
    state: IncidentState = "open"
    resolved: float | None = None
    ended: float | None = None
    revisions: list[Revision] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    """What is still to be told."""
    tokens: float = BURST
    refilled: float = 0.0

    @property
    def fault(self) -> str:
        return self.conditions[self.root].finding.fault

    @property
    def severity(self) -> Severity:
        return self.conditions[self.root].finding.severity

    @property
    def is_open(self) -> bool:
        return self.state != "resolved"

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(origin.path for item in self.conditions.values() for origin in item.finding.evidence)

    def say(self, now: Now, what: What, text: str) -> None:
        self.updated = now.wall
        if not any(item.what == what and item.text == text for item in self.said):
            self.said.append(Said(what, text, now.wall))
            del self.said[MAX_SAID // 2 : -MAX_SAID // 2]

    def tell(self, now: Now) -> Change | None:
        """What happened since the last time; None: nothing, or only updates while too many were told."""
        self.tokens = min(BURST, self.tokens + (now.mono - self.refilled) / REFILL)
        self.refilled = now.mono
        whats = [item.what for item in self.said]
        if not whats or (set(whats) == {"updated"} and self.tokens < 1.0):
            return None
        self.tokens = max(0.0, self.tokens - 1.0)
        self.revisions += [Revision(item.wall, item.text) for item in self.said]
        if len(self.revisions) > MAX_REVISIONS:
            del self.revisions[1 : len(self.revisions) - MAX_REVISIONS + 1]
        # Several things at one time are one change, called by the weightiest.
        order: tuple[What, ...] = ("resolved", "opened", "reopened", "acknowledged", "updated")
        what = next(item for item in order if item in whats)
        text = "; ".join(item.text for item in self.said)[:2000]
        self.said.clear()
        return Change(what, text, self.record())

    def record(self) -> Incident:
        conditions = tuple(sorted(self.conditions.values(), key=lambda item: (item.key != self.root, item.since, item.key)))
        return Incident(
            self.id, self.fault, self.severity, self.state, self.opened, self.root, conditions, self.updated, self.resolved,
            tuple(self.revisions),
        )  # fmt: skip


class Incidents:
    """All incidents that are open, or were until a short time ago."""

    def __init__(self) -> None:
        self._lives: dict[str, _Life] = {}
        self._last_id = ""
        self._alone: dict[str, float] = {}
        """Symptoms that wait for their cause, and since when (monotonic)."""

    def update(
        self, now: Now, conditions: Mapping[str, Condition], members: Iterable[Member], expected: bool = False
    ) -> list[Change]:
        """One step. `conditions`: all by key; `members`: those that are not false and accuse (no notes). `expected`: a cause is
        known that has not lasted yet."""
        self._drop(now)
        ordered = sorted(members, key=lambda item: (item.rank, item.key))
        placed: dict[str, _Life] = {}
        for member in ordered:
            if member.is_cause:
                placed[member.key] = self._life_of_cause(now, member, ordered, placed)
        self._alone = {member.key: self._alone.get(member.key, now.mono) for member in ordered if not member.is_cause}
        ready = {key for key, since in self._alone.items() if now.mono - since >= (LONGEST_GRACE if expected else GRACE)}
        for member in ordered:
            life = None if member.is_cause else self._life_of_symptom(member, ordered, placed)
            if life is None and member.key in ready and not member.is_cause:
                life = self._new(now, member)
            if life is not None:
                placed[member.key] = life
        ordered = [member for member in ordered if member.key in placed]
        self._move(now, ordered, placed)
        for life in self._lives.values():
            if life.is_open:
                self._refresh(now, life, conditions, [member for member in ordered if placed[member.key] is life])
        return self._changes(now)

    def acknowledge(self, now: Now, incident: str) -> list[Change]:
        """Raises KeyError for an id that is not open."""
        life = self._lives[incident]
        if not life.is_open:
            raise KeyError(incident)
        if life.state != "acknowledged":
            life.state = "acknowledged"
            life.say(now, "acknowledged", "acknowledged")
        return self._changes(now)

    def told(self) -> tuple[Incident, ...]:
        """Open ones first, each group by id."""
        return tuple(life.record() for life in sorted(self._lives.values(), key=lambda item: (not item.is_open, item.id)))

    def restore(self, incidents: Iterable[Incident], last_id: str, ended: Mapping[str, float]) -> None:
        """After a restart. `ended`: monotonic times of the ends of resolved ones."""
        for item in incidents:
            if item.root not in {condition.key for condition in item.conditions}:
                continue
            self._lives[item.id] = _Life(
                item.id, item.root, item.opened, item.updated, {condition.key: condition for condition in item.conditions},
                item.state, item.resolved, ended.get(item.id), list(item.revisions),
            )  # fmt: skip
        self._last_id = max([last_id, *self._lives]) if self._lives else last_id

    @property
    def last_id(self) -> str:
        return self._last_id

    def ended(self) -> dict[str, float]:
        """Monotonic times of the ends of resolved incidents."""
        return {life.id: life.ended for life in self._lives.values() if life.ended is not None}

    def _life_of_cause(self, now: Now, member: Member, ordered: Sequence[Member], placed: Mapping[str, _Life]) -> _Life:
        fault = member.condition.finding.fault
        for key, life in placed.items():  # another rule of the same fault, better in order
            if life.conditions[key].finding.fault == fault if key in life.conditions else False:
                return life
        open_ones = [life for life in self._lives.values() if life.is_open]
        for life in open_ones:
            if life.root == member.key or life.fault == fault:
                return life
        for life in open_ones:
            if life not in placed.values() and self._explains(member, life, ordered):
                return life
        closed = [life for life in self._lives.values() if not life.is_open and life.fault == fault]
        if closed:
            life = max(closed, key=lambda item: item.ended or 0.0)
            life.state, life.resolved, life.ended = "open", None, None
            life.say(now, "reopened", f"came back: {member.condition.finding.title}")
            return life
        return self._new(now, member)

    @staticmethod
    def _explains(member: Member, life: _Life, ordered: Sequence[Member]) -> bool:
        """Whether a cause that has no incident takes over one whose root follows from it, or had no cause."""
        root = next((item for item in ordered if item.key == life.root), None)
        if member.condition.finding.fault == OUTAGE or root is None or root.is_cause:
            return False
        return root.follows == member.key or (not root.follows and bool(member.paths & life.paths))

    def _life_of_symptom(self, member: Member, ordered: Sequence[Member], placed: Mapping[str, _Life]) -> _Life | None:
        """The incident of its cause, else the one that it is in, else that of a symptom in the same text; None: none."""
        if member.follows in placed:
            return placed[member.follows]
        causes = [item for item in ordered if item.is_cause and item.condition.finding.fault != OUTAGE]
        lives = {placed[item.key].id for item in causes}
        known = next((life for life in self._lives.values() if life.is_open and member.key in life.conditions), None)
        if known is not None and known.id in lives:
            return known
        near = [item for item in causes if item.paths & member.paths] or causes
        if near:
            return placed[near[0].key]
        if known is not None:
            return known
        for life in self._lives.values():
            if life.is_open and life.paths & member.paths and life.fault == "":
                return life
        return None

    def _new(self, now: Now, member: Member) -> _Life:
        life = _Life(self._next_id(now), member.key, now.wall, now.wall, {member.key: member.condition})
        life.say(now, "opened", member.condition.finding.title)
        self._lives[life.id] = life
        return life

    def _next_id(self, now: Now) -> str:
        """UTC time and a number: ids sort by age, also where the clock was set back."""
        stamp = datetime.fromtimestamp(max(0.0, now.wall), timezone.utc).strftime("%Y%m%d-%H%M%S")
        last = _ID.fullmatch(self._last_id)
        count = 1
        if last and last.group(1) >= stamp:
            stamp, count = last.group(1), int(last.group(2)) + 1
        self._last_id = f"{stamp}-{count:03d}"
        return self._last_id

    def _move(self, now: Now, ordered: Sequence[Member], placed: Mapping[str, _Life]) -> None:
        """Members leave the incidents that they were in until now, where these are others."""
        for member in ordered:
            for life in self._lives.values():
                if life is placed[member.key] or not life.is_open or member.key not in life.conditions:
                    continue
                if life.root != member.key:
                    del life.conditions[member.key]
                    continue
                rest = [item for item in ordered if placed[item.key] is life]
                if rest:
                    for item in rest:
                        self._take(now, life, item)
                    self._choose_root(now, life, rest)
                    del life.conditions[member.key]
                    continue
                life.conditions[member.key] = member.condition
                better = placed[member.key]
                self._resolve(now, life, f"follows from {better.fault or 'another one'}: incident {better.id}")

    def _refresh(self, now: Now, life: _Life, conditions: Mapping[str, Condition], members: Sequence[Member]) -> None:
        active = {member.key: member for member in members}
        for key, old in list(life.conditions.items()):
            new = conditions.get(key)
            if key in active or new is None:
                continue
            if old.state != "false":
                why = f" ({new.reason})" if new.reason else ""
                life.say(now, "updated", f"ended: {new.finding.title}{why}")
            life.conditions[key] = new
        for member in members:
            self._take(now, life, member)
        self._choose_root(now, life, members)
        if not members:
            gone = [key for key in life.conditions if key not in conditions]
            for key in gone:
                condition = life.conditions[key]
                life.conditions[key] = Condition(key, "false", condition.since, condition.finding, condition.reason, condition.ends)
            self._resolve(now, life, life.conditions[life.root].reason or "its conditions ended")

    @staticmethod
    def _take(now: Now, life: _Life, member: Member) -> None:
        old, new = life.conditions.get(member.key), member.condition
        life.conditions[member.key] = new
        title = new.finding.title
        if old is None:
            life.say(now, "updated", f"also: {title}" if member.is_cause else f"follows: {title}")
        elif old.state == "false" and not any(item.what == "reopened" and item.text == f"came back: {title}" for item in life.said):
            life.say(now, "updated", f"again: {title}")
        elif old.state != new.state and old.state != "false":
            text = f"not known now: {title} ({new.reason})" if new.state == "unknown" else f"seen again: {title}"
            life.say(now, "updated", text)
        if old is not None:
            more = [name for name in new.finding.entities if name not in old.finding.entities]
            if more:
                life.say(now, "updated", f"{title}: also {', '.join(more[:16])}")

    @staticmethod
    def _choose_root(now: Now, life: _Life, members: Sequence[Member]) -> None:
        """The best cause; a symptom only while there is none. An active root stays unless a better kind turns up."""
        causes = [member for member in members if member.is_cause]
        best = (causes or list(members))[:1]
        if not best:
            return
        root = next((member for member in members if member.key == life.root), None)
        left = life.root in life.conditions and root is None and life.conditions[life.root].state != "false"
        if root is not None and (root.is_cause or not causes):
            return
        if root is None and not causes and not left:
            return  # the root ended, what follows from it lasts
        if best[0].key != life.root:
            was = life.conditions[life.root].finding.title
            life.root = best[0].key
            life.say(now, "updated", f"root cause: {best[0].condition.finding.title} (before: {was})")

    @staticmethod
    def _resolve(now: Now, life: _Life, why: str) -> None:
        life.state, life.resolved, life.ended = "resolved", now.wall, now.mono
        life.say(now, "resolved", f"resolved: {why}")

    def _drop(self, now: Now) -> None:
        old = [life.id for life in self._lives.values() if life.ended is not None and now.mono - life.ended > REOPEN]
        for name in old:
            del self._lives[name]

    def _changes(self, now: Now) -> list[Change]:
        told = (life.tell(now) for life in sorted(self._lives.values(), key=lambda item: item.id))
        return [change for change in told if change is not None]
