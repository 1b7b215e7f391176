"""What is known of the host at a moment: the daemon's status, the newest values with their age, what led up to them.

Events come in through `apply`; everything else only reads. `now` is the daemon's clock as far as it is known here, so that ages
are right on a drill host at accelerated time and in a recording.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args

from neuronwatch.model.diagnosis import Verdict
from neuronwatch.tui.view.logs import Logs
from neuronwatch.tui.view.values import ODD, UNKNOWN, Seen, Value

Plain = dict[str, Any]
TRAIL = 300
"""Points of a line of history."""
OLD_STATUS = 20.0
"""Seconds after which a status is too old to be believed: it is asked for each five."""
TRAILED = ("core.utilization", "host.cpu", "host.memory.used", "host.network.receive", "host.network.transmit")
PER_DEVICE = 10.0
"""Seconds of a point in a device's own line of utilisation."""
_ENDED = ("resolved",)


class Link(NamedTuple):
    """How the picture gets its news. `what`: live, private (of a daemon of our own), demo (on a simulated host), paused, past (time
    travel), replay, waiting (no answer yet), lost."""

    what: Literal["live", "private", "demo", "paused", "past", "replay", "waiting", "lost"] = "waiting"
    since: float = 0.0
    reason: str = ""


class Picture:
    def __init__(self) -> None:
        self.link = Link()
        self.odd, self.oddest = 0, ""
        """How many events could not be understood, and the last one of them."""
        self.lacks: set[str] = set()
        """Methods that the daemon does not know: it is older than we are."""
        self.now = 0.0
        self.status: Plain = {}
        self.facts: Plain = {}
        self.incidents: list[Plain] = []
        self.processes: list[Plain] = []
        self.jobs: list[Plain] = []
        self.proposals: list[Plain] = []
        """What owners of jobs may not do without a person."""
        self.taken: dict[str, float] = {}
        """`jobs`, `processes`: when they were told, since they are looked at each few seconds only."""
        self.rules: list[Plain] = []
        self.why: Plain = {}
        """Of the rule that was asked for last: every condition with what became of it."""
        self.evidence: dict[str, list[Plain]] = {}
        """Incident to the texts that its findings stand on: `path`, `text`."""
        self.logs = Logs()
        self.until = 0
        """Seconds since the epoch; lines of logs behind it are not of the moment that is shown. 0: all are."""
        self.trails: dict[str, deque[tuple[float, float | None]]] = {}
        """`metric` or `metric entity` to its last values: (time, mean of all entities or value)."""
        self._told: dict[str, int] = {}
        """Device to how many values its newest point of history is the mean of."""
        self.caption = ""
        """What the footer says of the moment: the story of a demonstration, the place in a recording."""
        self.version = 0
        """Grows with each change, so that what is derived can be kept."""
        self._values: dict[str, dict[str, Value]] = {}
        self._heard: dict[str, float] = {}
        """Source to when it last told samples: the status is asked for each few seconds only."""
        self._budgets: dict[str, tuple[float, str, str]] = {}
        """Source to its budget in seconds, state and reason."""

    # What comes in

    def apply(self, event: str, data: Any) -> None:
        """One event of a feed. Unknown events change nothing; odd data is counted and said, and ends nothing."""
        take = getattr(self, f"_take_{event}", None)
        if take is None or data is None:
            return
        try:
            take(data)
        except ODD as error:
            self.odd += 1
            self.oddest = f"`{event}` of the daemon cannot be understood ({type(error).__name__}: {str(error)[:80]})"
        self.version += 1

    def _take_link(self, link: Link) -> None:
        """A loss began when it was first told, by the clock of what is shown."""
        if link.what == "lost":
            link = link._replace(since=self.link.since if self.link.what == "lost" else self.now)
        self.link = link

    def _take_lacks(self, name: str) -> None:
        """A method that this daemon does not know."""
        self.lacks.add(name)

    def _take_anew(self, _: bool) -> None:
        """A recording goes to another moment: nothing of this one stays."""
        for kept in (self._values, self._heard, self._budgets, self.trails, self.evidence):
            kept.clear()
        self.status, self.facts, self.why = {}, {}, {}
        self.incidents, self.processes, self.jobs, self.rules, self.proposals = [], [], [], [], []
        self.logs = Logs()
        self.taken.clear()

    def _take_caption(self, text: str) -> None:
        self.caption = text

    def _take_time(self, now: float) -> None:
        self.now = float(now)

    def _take_status(self, document: Plain) -> None:
        document = _whole_status(document)
        self.status = document
        self._take_health(document["sources"])
        open_ids = {item["id"] for item in document.get("incidents") or []}
        ended = [item for item in self.incidents if item["state"] in _ENDED and item["id"] not in open_ids]
        self.incidents = [*map(_whole_incident, document.get("incidents") or []), *ended]

    def _take_health(self, sources: list[Plain]) -> None:
        if self.status:
            self.status["sources"] = sources
        self._budgets = {item["name"]: (item["budget"], item["state"], item["reason"]) for item in sources}

    def _take_incidents(self, found: list[Plain]) -> None:
        """Incidents that changed, or all of them."""
        known = {item["id"]: item for item in self.incidents}
        known.update({item["id"]: item for item in map(_whole_incident, found)})
        self.incidents = sorted(known.values(), key=_worst_first)

    def _take_facts(self, facts: Plain) -> None:
        if not isinstance(facts, dict):
            raise TypeError("facts are no object")
        self.facts = facts

    def _take_processes(self, found: list[Plain]) -> None:
        self.processes = found
        self.taken["processes"] = self.now

    def _take_jobs(self, found: list[Plain]) -> None:
        self.jobs = found
        self.taken["jobs"] = self.now

    def _take_proposals(self, found: list[Plain]) -> None:
        self.proposals = [item for item in found if isinstance(item["id"], str)]

    def _take_rules(self, found: list[Plain]) -> None:
        self.rules = found

    def _take_why(self, data: Plain) -> None:
        self.why = data

    def _take_evidence(self, data: Plain) -> None:
        """Of one incident; only the last one asked for is kept."""
        for item in data["incidents"]:
            self.evidence = {item["id"]: data["files"]}

    def _take_logs(self, tails: list[Plain]) -> None:
        """The last lines of all followed texts."""
        self.logs.take(tails, self.now, tails=True)

    def _take_lines(self, items: list[Plain]) -> None:
        """Lines that texts gained."""
        self.logs.take(items, self.now)

    def _take_snapshot(self, data: Plain) -> None:
        now = data["time"]
        for metric, entities in data["metrics"].items():
            self._values[metric] = {
                entity: Value(_number(value), now - age, reason or "", source)
                for entity, (value, age, reason, source) in entities.items()
            }

    def _take_samples(self, data: Plain) -> None:
        time, source = float(data["time"]), data["source"]
        self._heard[source] = time
        for metric, columns in data["metrics"].items():
            reasons = columns.get("reasons") or ()
            told = self._values.setdefault(metric, {})
            for place, (entity, value) in enumerate(zip(columns["entities"], columns["values"], strict=False)):
                told[entity] = Value(_number(value), time, reasons[place] if place < len(reasons) else "", source)
            if metric in TRAILED:
                values = [value for value in map(_number, columns["values"]) if value is not None]
                self.trail(metric).append((time, sum(values) / len(values) if values else None))
            if metric == "core.utilization":
                self._by_device(time, zip(columns["entities"], columns["values"], strict=False))

    def _by_device(self, time: float, values: Iterable[tuple[str, Any]]) -> None:
        """Each device's own line of history: the mean of what came in the same PER_DEVICE seconds."""
        sums: dict[str, tuple[float, int]] = {}
        for entity, value in values:
            if value is not None:
                device = entity.partition(":")[0]
                total, count = sums.get(device, (0.0, 0))
                sums[device] = (total + float(value), count + 1)
        begin = time // PER_DEVICE * PER_DEVICE
        for device, (total, count) in sums.items():
            trail = self.trail(f"core.utilization {device}")
            if trail and trail[-1][0] == begin:
                told = self._told.get(device, 0) + 1
                before = trail[-1][1] or 0.0
                trail[-1] = (begin, before + (total / count - before) / told)
            else:
                told = 1
                trail.append((begin, total / count))
            self._told[device] = told

    def _take_series(self, data: Plain) -> None:
        """The last minutes of a metric, at the beginning: the mean over all entities."""
        columns = list(data["columns"].values())
        trail = self.trail(data["metric"])
        trail.clear()
        for place, time in enumerate(data["times"]):
            values = [column[place] for column in columns if column[place] is not None]
            trail.append((time, sum(values) / len(values) if values else None))
            if data["metric"] == "core.utilization":
                self._by_device(float(time), ((entity, column[place]) for entity, column in data["columns"].items()))

    # What is read

    def trail(self, metric: str) -> deque[tuple[float, float | None]]:
        return self.trails.setdefault(metric, deque(maxlen=TRAIL))

    def trust_budgets(self) -> None:
        """For an earlier moment: a value that was within the budget of its source then was fresh, whatever the source is now."""
        self._budgets = {name: (budget, "fresh", "") for name, (budget, _, _) in self._budgets.items()}

    def seen(self, metric: str, entity: str = "") -> Seen:
        """A value with the trust it deserves now."""
        value = self._values.get(metric, {}).get(entity)
        if value is None:
            return UNKNOWN
        age = max(0.0, self.now - value.time)
        if value.value is None:
            return Seen(None, "absent", age, value.reason or f"{value.source} tells none")
        budget, state, reason = self._budgets.get(value.source, (0.0, "unknown", "its source is not known"))
        if state in ("fresh", "starting") and (budget <= 0 or age <= budget):
            return Seen(value.value, "fresh", age, "")
        return Seen(value.value, "stale", age, reason or f"{value.source} is {state}")

    def told_by(self, source: str) -> dict[str, int]:
        """The metrics that a source tells, and how many values of each."""
        found = {name: sum(value.source == source for value in values.values()) for name, values in self._values.items()}
        return {name: count for name, count in found.items() if count}

    def entities(self, metric: str) -> list[str]:
        return list(self._values.get(metric, {}))

    @property
    def verdict(self) -> Verdict:
        """Unknown where nobody is left to tell."""
        told = None if self.link.what in ("lost", "waiting") or self._doubts() else self.status.get("verdict")
        return next((verdict for verdict in get_args(Verdict) if verdict == told), "unknown")

    def reasons(self) -> list[str]:
        if self.link.what in ("lost", "waiting"):
            return [self.link.reason or "waiting for the daemon"]
        told = [str(item) for item in self.status.get("reasons") or []]
        return [*self._doubts(), *([self.oddest] if self.oddest else []), *told]

    def _doubts(self) -> list[str]:
        """Why the daemon's own verdict is not believed any more: a client must not be green on old news."""
        if not self.status or self.link.what in ("past", "replay"):
            return []
        found = []
        age = self.now - float(self.status.get("time") or 0.0)
        if age > OLD_STATUS:
            found.append(f"the daemon's last status is {age:.0f} s old")
        for item in self.sources():
            last, budget = item.get("last"), item.get("budget")
            if not isinstance(last, (int, float)) or not isinstance(budget, (int, float)):
                continue
            if item.get("mandatory") and self.now - last > budget + OLD_STATUS:
                found.append(f"nothing new from {item['name']} for {self.now - last:.0f} s")
        return found

    def sources(self) -> list[Plain]:
        """As the status has them, with what came since. Nobody vouches for a state while there is no daemon."""
        lost = self.link.what in ("lost", "waiting")
        found = []
        for item in self.status.get("sources") or []:
            last = item.get("last")
            heard = self._heard.get(item["name"])
            if heard is not None and isinstance(last, (int, float)):
                last = max(last, heard)
            age = None if last is None else round(max(0.0, self.now - last), 3)
            more: Plain = {}
            if lost:
                more = {"state": "stale", "reason": "the daemon is lost: this is how it was"}
            elif age is not None and 0 < item["budget"] < age and item["state"] == "fresh":
                more = {"state": "stale"}
            found.append({**item, "last": last, "age": age, **more})
        return found

    def open_incidents(self) -> list[Plain]:
        return [item for item in self.incidents if item["state"] not in _ENDED]

    def daemon(self) -> Mapping[str, Any]:
        return self.status.get("daemon") or {}


_RANK = {"critical": 0, "error": 1, "warning": 2, "info": 3}
_STATE = {"open": 0, "acknowledged": 1, "resolved": 2}


def _whole_status(document: Plain) -> Plain:
    """With all that is read of it. Raises TypeError and ValueError for what is no status: then the one before stays, and ages."""
    kinds = {"reasons": list, "sources": list, "incidents": list, "conditions": list, "unknown": list}
    found: Plain = {**document, "time": float(document["time"])}
    for name, kind in kinds.items():
        found[name] = found.get(name) or []
        if not isinstance(found[name], kind):
            raise TypeError(f"{name} is no {kind.__name__}")
    found["sources"] = [_whole_source(item) for item in found["sources"]]
    return found


def _whole_source(item: Plain) -> Plain:
    last = item.get("last")
    return {
        "reason": "",
        "mandatory": False,
        **item,
        "name": str(item["name"]),
        "state": str(item["state"]),
        "last": None if last is None else float(last),
        "since": float(item["since"]),
        "budget": float(item["budget"]),
    }


_INCIDENT: Plain = {
    "fault": "",
    "severity": "warning",
    "state": "open",
    "resolved": None,
    "title": "",
    "findings": (),
    "conditions": (),
    "revisions": (),
}


def _whole_incident(item: Plain) -> Plain:
    """With all that pages read. Raises KeyError for one without id or time."""
    found = {**_INCIDENT, **item, "id": str(item["id"]), "opened": float(item["opened"])}
    for name in ("findings", "conditions", "revisions"):
        if not isinstance(found[name], (list, tuple)) or not all(isinstance(part, dict) for part in found[name]):
            raise TypeError(f"{name} of an incident are no objects")
    return found


def _number(value: Any) -> float | None:
    """A number, None where there is none. Raises ValueError for what is neither."""
    if value is None:
        return None
    number = float(value)
    if number != number or isinstance(value, (bool, str)):
        raise ValueError(f"{value!r} is no number")
    return number


def _worst_first(item: Plain) -> tuple[int, int, float]:
    return _STATE.get(item["state"], 3), _RANK.get(item["severity"], 4), -float(item["opened"])
