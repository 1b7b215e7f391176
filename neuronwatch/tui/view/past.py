"""The host at an earlier moment, from what was kept of it. What was not kept is not known, never as of now."""

from __future__ import annotations

from typing import Any

from neuronwatch.tui.view.picture import Link, Picture, Plain

_RANK = ("critical", "error", "warning", "info")


def earlier(
    now: Picture, at: float, snapshot: Plain, incidents: list[Plain], source_events: list[Plain], trails: list[Plain]
) -> Picture:
    """`snapshot`: of the API with `at`; `incidents`: all that are known; `source_events`: the journal's changes of sources;
    `trails`: series of the minutes before. Facts are as of now: they change with an upgrade or a restart only, and are marked."""
    found = Picture()
    found.apply("link", Link("past", at))
    found.apply("time", at)
    found.apply("facts", now.facts)
    then = [item for item in (incident_at(item, at) for item in incidents) if item is not None]
    sources = [source_at(item, source_events, at) for item in now.sources()]
    verdict, reasons = _verdict(then, sources, bool(snapshot["metrics"]))
    found.apply("status", {**now.status, "verdict": verdict, "reasons": reasons, "time": at, "conditions": [], "unknown": [],
                           "incidents": [item for item in then if item["state"] != "resolved"], "sources": sources})  # fmt: skip
    found.apply("incidents", then)
    found.apply("snapshot", snapshot)
    for trail in trails:
        found.apply("series", trail)
    found.trust_budgets()
    found.evidence = now.evidence
    found.logs, found.until = now.logs, max(1, int(at))
    found.apply("jobs", [job for job in (job_at(item, at) for item in now.jobs) if job is not None])
    found.apply("processes", processes_at(snapshot, now))
    lasting = {part["key"] for item in then if item["state"] != "resolved" for part in item["conditions"]}
    found.rules = [rule_at(item, lasting) for item in now.rules]
    return found


_OF_NOW = (
    "step",
    "epoch",
    "utilization",
    "device_memory",
    "p50",
    "p99",
    "pids",
    "cores",
    "owner",
    "seconds_left",
    "seconds_per_step",
)


def job_at(item: Plain, at: float) -> Plain | None:
    """A run as its curves tell: their points up to that moment. None: none of those that are kept is so old. What only its
    processes tell was not kept."""
    curves: dict[str, list[Any]] = {}
    for name, points in (item.get("curves") or {}).items():
        kept = [
            point for point in points if isinstance(point, list) and len(point) == 3 and point[2] is not None and point[2] <= at
        ]
        if kept:
            curves[name] = kept
    if not curves:
        return None
    last = max((points[-1] for points in curves.values()), key=lambda point: float(point[2]))
    restarts = [part for part in item.get("restarts") or () if isinstance(part.get("time"), (int, float)) and part["time"] <= at]
    place = "epoch" if item.get("epoch") is not None else "step"
    return {
        **item, **dict.fromkeys(item.get("curves") or ()), **dict.fromkeys(_OF_NOW),
        **{name: points[-1][1] for name, points in curves.items()},
        "curves": curves, "phase": "unknown", place: last[0], "age": max(0.0, at - float(last[2])), "restarts": restarts,
    }  # fmt: skip


_VALUES = {
    "process.cpu": "cpu", "process.rss": "rss", "process.threads": "threads", "process.memory.device": "device_memory",
    "process.latency.p50": "p50", "process.latency.p99": "p99", "process.executions": "executions", "process.failures": "failures",
}  # fmt: skip


def processes_at(snapshot: Plain, now: Picture) -> list[Plain]:
    """The processes of which values were kept; command and owner are those of now, where the process still lives. Who held which
    device was not kept."""
    known: dict[int, Plain] = {}
    for metric, name in _VALUES.items():
        for entity, (value, age, _, _) in snapshot["metrics"].get(metric, {}).items():
            if entity.startswith("pid") and entity[3:].isdecimal():
                row = known.setdefault(int(entity[3:]), {"pid": int(entity[3:]), "age": 0.0})
                row[name], row["age"] = value, max(row["age"], age)
    alive = {item["pid"]: item for item in now.processes}
    lasts = ("command", "owner", "parent", "tag")
    return [
        {**row, **{name: alive.get(pid, {}).get(name) for name in lasts}, "state": None, "devices": None, "cores": None,
         "kept": False}
        for pid, row in known.items()
    ]  # fmt: skip


def rule_at(item: Plain, lasting: set[str]) -> Plain:
    """A rule fired where an incident of then says so; how the others stood was not kept."""
    fired = item["id"] in lasting
    return {**item, "state": "true" if fired else "unknown", "since": 0.0, "reason": "" if fired else "not kept of that moment"}


def incident_at(item: Plain, at: float) -> Plain | None:
    """An incident as it was then, None: it had not been opened."""
    if item["opened"] > at:
        return None
    revisions = [part for part in item["revisions"] if part["time"] <= at]
    over = item["resolved"] is not None and item["resolved"] <= at
    known = any("acknowledged" in part["what"] for part in revisions)
    kept = [
        place for place, part in enumerate(item["conditions"])
        if part["key"] == item["root"] or part["since"] <= at or part["state"] == "false"
    ]  # fmt: skip
    conditions = [item["conditions"][place] for place in kept]
    if not over:  # what has ended since had not ended
        conditions = [part | {"state": "true", "since": item["opened"]} if part["since"] > at else part for part in conditions]
    return item | {
        "state": "resolved" if over else "acknowledged" if known else "open",
        "resolved": item["resolved"] if over else None,
        "updated": max([part["time"] for part in revisions], default=item["opened"]),
        "revisions": revisions,
        "conditions": conditions,
        "findings": [item["findings"][place] for place in kept if place < len(item["findings"])],
    }


def source_at(item: Plain, events: list[Plain], at: float) -> Plain:
    """A source as the journal tells of it: its last change before that moment."""
    told = [event for event in events if event["subject"] == item["name"] and event["time"] <= at]
    if not told:
        return item | {"state": "unknown", "reason": "nothing was kept of it", "since": at, "last": None, "age": None}
    last = max(told, key=lambda event: float(event["time"]))
    state, _, reason = str(last["text"]).partition(": ")
    return item | {"state": state, "reason": reason, "since": last["time"], "last": at if state == "fresh" else None, "age": None}


def _verdict(incidents: list[Plain], sources: list[Plain], values: bool) -> tuple[str, list[str]]:
    """Healthy only where it is known that everything that must be read was read."""
    lasting = [item for item in incidents if item["state"] != "resolved"]
    lasting.sort(key=lambda item: _RANK.index(item["severity"]) if item["severity"] in _RANK else len(_RANK))
    if lasting:
        worst = lasting[0]["severity"] in ("critical", "error")
        return "fault" if worst else "warning", [str(item["title"]) for item in lasting]
    if not values:
        return "unknown", ["nothing was kept of that moment"]
    blind = [item["name"] for item in sources if item["mandatory"] and item["state"] != "fresh"]
    if blind or not sources:
        return "unknown", [f"{', '.join(blind) or 'every source'} was not fresh"]
    return "healthy", []


def trail_of(metric: str, answer: dict[str, Any]) -> Plain:
    """An answer of `history` as one of `series`: the means."""
    columns = {entity: column["mean"] for entity, column in answer["columns"].items()}
    return {"metric": metric, "times": answer["times"], "columns": columns}
