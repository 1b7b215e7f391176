"""What the methods of the API do. One function each, by the name that clients call; `table` is the list."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuronwatch.daemon import jobs, past, processes, rule_rows, status, texts
from neuronwatch.daemon.api import Method, Peer, topics_of
from neuronwatch.daemon.protocol import SCHEMA, ApiError, version_of
from neuronwatch.daemon.texts import MAX_TAIL
from neuronwatch.model import metrics
from neuronwatch.model.live import Incident
from neuronwatch.store.errors import StoreError

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service

MAX_ENTITIES = 4096
MAX_RECORDING = 7 * 86400.0
Params = dict[str, Any]


def table(service: Service) -> dict[str, Method]:
    return {name: _bound(call, service) for name, call in CALLS.items()}


def _bound(call: Callable[[Service, Peer, Params], Any], service: Service) -> Method:
    return lambda peer, params: call(service, peer, params)


def _hello(service: Service, _peer: Peer, params: Params) -> Any:
    """`schema`: what the client speaks; a newer one is an error."""
    if version_of(params.get("schema", SCHEMA)) > version_of(SCHEMA):
        raise ApiError("version", f"this daemon speaks {SCHEMA}: update it, or use an older client")
    return service.hello()


def _status(service: Service, _peer: Peer, _params: Params) -> Any:
    """`neuronwatch.status/1`."""
    return status.document(service)


def _health(service: Service, _peer: Peer, _params: Params) -> Any:
    """How the daemon itself is."""
    return {
        "loop_turns": service.loop.turns, "clients": service.server.clients, "refused": service.server.refused,
        "own": service.own_numbers(), "watchdog": service.notifier.feeding > 0,
    }  # fmt: skip


def _sources(service: Service, _peer: Peer, _params: Params) -> Any:
    now = service.loop.clock.now().wall
    return {"sources": [status.source(item, now) for item in service.runner.health()]}


def _snapshot(service: Service, _peer: Peer, params: Params) -> Any:
    """The newest readings: per metric and entity `[value, age, reason, source]`; a value is null where it is absent. `metrics`:
    only these. `at`: how they were at that time (seconds since the epoch), from memory or disk."""
    now, ring = service.loop.clock.now().wall, service.memory.ring
    wanted = _texts(params, "metrics") or ring.metrics()
    if "at" in params:
        at = min(now, _number(params, "at", now))
        return {"time": at, "metrics": past.snapshot(ring, service.memory.history, wanted, at)}
    found: dict[str, Any] = {}
    for name in wanted:
        points = ring.latest(name)
        found[name] = {
            entity: [point.value, round(now - point.time, 3), point.reason, point.source] for entity, point in points.items()
        }
    return {"time": now, "metrics": found}


def _metrics(_service: Service, _peer: Peer, _params: Params) -> Any:
    """The catalogue of metrics."""
    return {"metrics": [item._asdict() for item in metrics.ALL]}


def _series(service: Service, _peer: Peer, params: Params) -> Any:
    """The last minutes of one metric from memory: `times`, and a column per entity (null: absent). `entities`: only these;
    `since`, `until`: only later than this, and not later (seconds since the epoch)."""
    span = _number(params, "since", 0.0), _number(params, "until", 1e14)
    found = service.memory.ring.series(_text(params, "metric"), _entities(params), *span)
    return {"times": list(found.times), "columns": {name: _nulls(column) for name, column in found.columns.items()}}


def _history(service: Service, _peer: Peer, params: Params) -> Any:
    """One metric over time from disk: `low`, `high` and `mean` per entity in at most `points` equal intervals from `start` to
    `end` (default: the last day)."""
    history = service.memory.history
    if history is None:
        raise ApiError("unavailable", f"no history is kept: {service.memory.reason}")
    end = _number(params, "end", service.loop.clock.now().wall)
    start = _number(params, "start", end - 86400.0)
    points = int(_number(params, "points", 288.0))
    try:
        found = history.query(_text(params, "metric"), _entities(params), start, end, points)
    except StoreError as error:
        raise ApiError("unavailable", str(error)) from error
    columns = {
        name: {"low": _nulls(column.low), "high": _nulls(column.high), "mean": _nulls(column.mean)}
        for name, column in found.columns.items()
    }
    gaps = [list(gap) for gap in found.gaps[:MAX_TAIL]]
    return {"times": list(found.times), "width": found.width, "columns": columns, "gaps": gaps, "damaged": found.damaged}


def _conditions(service: Service, _peer: Peer, _params: Params) -> Any:
    return {"conditions": [status.condition(item) for item in service.judged.conditions] if service.judged else []}


def _incidents(service: Service, _peer: Peer, params: Params) -> Any:
    """`state`: only these (open, acknowledged, resolved); `limit`: at most so many, the newest first."""
    states, limit = _texts(params, "state"), int(_number(params, "limit", 100.0))
    found = [item for item in service.incidents() if not states or item.state in states]
    found.sort(key=lambda item: item.opened, reverse=True)
    return {"schema": status.INCIDENTS, "incidents": [status.incident(item) for item in found[: max(0, limit)]]}


def _incident(service: Service, _peer: Peer, params: Params) -> Any:
    return {"schema": status.INCIDENTS, "incidents": [status.incident(_named(service, params))]}


def _evidence(service: Service, _peer: Peer, params: Params) -> Any:
    """An incident with the texts that its findings stand on: as they are now, or their last lines. Secrets are hidden."""
    return texts.evidence(_named(service, params), service.intake)


def _ack(service: Service, _peer: Peer, params: Params) -> Any:
    item = _named(service, params)
    if item.state == "resolved":
        raise ApiError("refused", f"incident {item.id} is resolved already")
    service.acknowledge(item.id)
    return {"schema": status.INCIDENTS, "incidents": [status.incident(_named(service, params))]}


def _named(service: Service, params: Params) -> Incident:
    """The incident of an id, or of its unique beginning or end."""
    wanted = _text(params, "id")
    incidents = service.incidents()
    exact = [item for item in incidents if item.id == wanted]
    near = exact or [item for item in incidents if len(wanted) >= 3 and (item.id.startswith(wanted) or item.id.endswith(wanted))]
    if len(near) != 1:
        why = "no incident" if not near else f"{len(near)} incidents"
        raise ApiError("not-found", f"{why} {wanted[:80]!r}; `neuronwatch incidents` lists them")
    return near[0]


def _facts(service: Service, _peer: Peer, params: Params) -> Any:
    """Facts by name; `prefix`: only these."""
    prefix = str(params.get("prefix", ""))
    facts = service.judged.diagnosis.facts if service.judged else {}
    return {"facts": {name: status.shown_value(name, value) for name, value in facts.items() if name.startswith(prefix)}}


def _logs(service: Service, _peer: Peer, params: Params) -> Any:
    """The followed texts; with `path` the last `lines` lines of one, secrets hidden. `line`: the number of the first of them,
    `unfinished`: the last one still waits for its end."""
    tails = service.intake.tails
    if "path" not in params:
        return {"paths": tails.paths()}
    path = _text(params, "path")
    if path not in tails.paths():
        raise ApiError("not-found", f"{path[:200]!r} is not followed, or has said nothing since the start")
    count = min(max(1, int(_number(params, "lines", 50.0))), MAX_TAIL)
    return texts.tail(tails, path, count)


def _jobs(service: Service, _peer: Peer, params: Params) -> Any:
    """Training and serving runs, as their followed logs and processes tell of them: step, loss, speed, queue, cores, restarts, and
    their last points. `detail`: the id of one that is told with the history of its cores' utilisation."""
    return {"jobs": jobs.of(service, str(params.get("detail", "")))}


def _proposals(service: Service, _peer: Peer, _params: Params) -> Any:
    """What owners of jobs propose and may not do without a person: with a preview of the change."""
    from neuronwatch.supervise import proposals

    return {"proposals": [proposals.document(item) for item in proposals.waiting(service.options.state)]}


def _answer(service: Service, _peer: Peer, params: Params) -> Any:
    """`id` of a proposal, `answer`: approve or decline. `heard`: whether the job has an owner now, who does it at once."""
    from neuronwatch.supervise import proposals

    wanted, what = _text(params, "id"), _text(params, "answer")
    if what not in ("approve", "decline"):
        raise ApiError("bad-request", "answer must be approve or decline")
    item = next((item for item in proposals.waiting(service.options.state) if item.pending.id == wanted), None)
    if item is None:
        raise ApiError("not-found", f"no proposal {wanted!r} waits")
    try:
        heard = proposals.answer(item, "approve" if what == "approve" else "decline", time.time())
    except OSError as error:
        raise ApiError("unavailable", f"the answer cannot be written: {error.strerror}") from error
    if heard is None:
        raise ApiError("refused", f"proposal {wanted} has expired")
    return {"heard": heard}


def _processes(service: Service, _peer: Peer, _params: Params) -> Any:
    """Processes of interest: who holds which device and core, memory, CPU, command (secrets hidden)."""
    return {"processes": processes.processes(service)}


def _rules(service: Service, _peer: Peer, _params: Params) -> Any:
    """The rules in use and what each watches: its fault, signatures, how its condition ends, and how it stands now (`state`,
    `reason`, `since`; see judge/explain.py)."""
    found = rule_rows.rules(service.watch, service.rules, service.loop.clock.now())
    return {"rules": found, "last_reload": service.last_reload}


def _why(service: Service, _peer: Peer, params: Params) -> Any:
    """Why `rule` fires or does not: each of its conditions with `state` (true, false, unknown: its source is blind) and
    `detail`, as `neuronwatch rules why-not` tells it; `notes` says what held it back."""
    name = _text(params, "rule")
    found = rule_rows.why(service.watch, service.rules, name, service.loop.clock.now())
    if found is None:
        raise ApiError("not-found", f"no rule {name[:80]!r} is in use; `neuronwatch rules list` shows them")
    return found


def _reload(service: Service, _peer: Peer, _params: Params) -> Any:
    """As SIGHUP: begun. `rules` says later what came of it (`last_reload`, "" when all is well)."""
    service.reload()
    return {"begun": True}


def _record(service: Service, peer: Peer, params: Params) -> Any:
    """`do`: start (with `directory`, an absolute path that is new or empty), stop, or state. It ends with the connection that
    started it, or, with `seconds`, after so long a time, whoever is connected."""
    what = params.get("do", "state")
    try:
        if what == "start":
            directory = Path(_text(params, "directory"))
            if not directory.is_absolute():
                raise ApiError("bad-request", "directory must be an absolute path")
            seconds = _number(params, "seconds", 0.0)
            if not 0.0 <= seconds <= MAX_RECORDING:
                raise ApiError("bad-request", f"seconds must be between 0 and {MAX_RECORDING:g}")
            service.recordings.start(directory, service.loop.clock.now().wall, service.intake)
            end = service.recordings.ending()
            if "seconds" in params:
                service.loop.after(seconds, lambda: end("its time is over"))
            else:
                peer.gone = lambda: end("who asked for it is gone")
        elif what == "stop":
            return service.recordings.stop()
        elif what != "state":
            raise ApiError("bad-request", "do is start, stop or state")
    except StoreError as error:
        raise ApiError("refused", f"{error}; {error.mend}" if error.mend else str(error)) from error
    return service.recordings.health()


def _events(service: Service, _peer: Peer, params: Params) -> Any:
    """The journal's events, the newest first; `kind`, `subject`: only these, `limit`: at most so many."""
    if service.keeping.journal is None:
        raise ApiError("unavailable", "no journal is kept")
    limit = min(MAX_TAIL, max(1, int(_number(params, "limit", 100.0))))
    try:
        found = service.keeping.journal.events(
            kind=str(params.get("kind", "")), subject=str(params.get("subject", "")), limit=limit
        )
    except StoreError as error:
        raise ApiError("unavailable", str(error)) from error
    return {"events": [item._asdict() for item in found]}


def _subscribe(_service: Service, peer: Peer, params: Params) -> Any:
    """Sends events of `topics` from now on; an empty list ends that."""
    names = params.get("topics", [])
    if not isinstance(names, list):
        raise ApiError("bad-request", "topics must be a list")
    peer.topics = topics_of(names)
    return {"topics": sorted(peer.topics)}


CALLS: dict[str, Callable[[Service, Peer, Params], Any]] = {
    "hello": _hello, "status": _status, "health": _health, "sources": _sources, "snapshot": _snapshot, "metrics": _metrics,
    "series": _series, "history": _history, "conditions": _conditions, "incidents": _incidents, "incident": _incident,
    "ack": _ack, "evidence": _evidence, "facts": _facts, "logs": _logs, "jobs": _jobs, "processes": _processes,
    "proposals": _proposals, "answer": _answer,
    "rules": _rules, "why": _why, "reload": _reload, "subscribe": _subscribe, "record": _record, "events": _events,
}  # fmt: skip


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise ApiError("bad-request", f"{name} must be a text")
    return value


def _texts(params: Params, name: str) -> list[str]:
    value = params.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value) or len(value) > MAX_ENTITIES:
        raise ApiError("bad-request", f"{name} must be a list of texts")
    return value


def _entities(params: Params) -> list[str] | None:
    return _texts(params, "entities") if "entities" in params else None


def _number(params: Params, name: str, default: float) -> float:
    value = params.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e15:
        raise ApiError("bad-request", f"{name} must be a number")
    return float(value)


def _nulls(column: Any) -> list[float | None]:
    """NaN is JSON's null."""
    return [None if value != value else value for value in column]
