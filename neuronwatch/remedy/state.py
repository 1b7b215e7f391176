"""What a job remembers of its remedies, and that as JSON (`<job>/state.json`). What comes back is checked; a damaged state raises
ValueError, and its owner goes on with `locked`: then nothing acts before a person has looked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from neuronwatch.model.dataclass import dataclass, field, replace
from neuronwatch.model.job import Change, JobSpec
from neuronwatch.model.plain import to_value
from neuronwatch.model.records import Value
from neuronwatch.remedy.api import Proposal

SCHEMA = "neuronwatch.remedies/1"
ALL = "*"
_MANY = 1000


@dataclass(frozen=True, slots=True)
class Pending:
    """A proposal that waits for a person. `spec`: what it was made for; another spec makes it void."""

    id: str
    fault: str
    action: str
    proposal: Proposal
    run: int
    since: float
    expires: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A remedy that was carried out and is being verified in the runs from `run` on. `before`: the spec that it is undone to.
    `records`: what the hands did, oldest first. `step`: where the fault was seen. `t_fault`: its first evidence."""

    id: str
    fault: str
    action: str
    run: int
    before: JobSpec
    began: float
    t_fault: float
    step: int | None = None
    times: int = 1
    records: tuple[Mapping[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Open:
    """A breaker that is open."""

    since: float
    why: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Recovered:
    """Times to recovery of one fault, seconds."""

    count: int = 0
    total: float = 0.0
    worst: float = 0.0


@dataclass(frozen=True, slots=True)
class State:
    """`used`: when each action was carried out (the last day). `breaker`: by action; `*` holds for all. `declined`: fault and
    action (`fault|action`) until when it is not proposed again. `said`: what was told of the newest run, each once."""

    used: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    breaker: Mapping[str, Open] = field(default_factory=dict)
    declined: Mapping[str, float] = field(default_factory=dict)
    pending: Pending | None = None
    trial: Trial | None = None
    recovered: Mapping[str, Recovered] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    count: int = 0


def locked(why: str, now: float) -> State:
    """Nothing acts until `breaker close JOB` says so."""
    return State(breaker={ALL: Open(now, why)})


def told(state: State, key: str) -> State:
    return replace(state, said=(*state.said[-199:], key))


def to_plain(state: State) -> dict[str, Any]:
    return {"schema": SCHEMA, **asdict(state)}


def of_plain(document: Mapping[str, Any]) -> State:
    """Raises ValueError for what is damaged, unknown, or of a newer version."""
    if not isinstance(document, Mapping):
        raise ValueError("no object")
    if document.get("schema") != SCHEMA:
        raise ValueError(f"schema {str(document.get('schema'))[:60]!r} is not {SCHEMA}")
    try:
        return _state(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"damaged: {error}") from error


def _state(document: Mapping[str, Any]) -> State:
    unknown = set(document) - {"schema", "used", "breaker", "declined", "pending", "trial", "recovered", "said", "count"}
    if unknown:
        raise ValueError(f"what is {sorted(unknown)[0][:60]!r}?")
    used = {_text(name): tuple(map(_number, times)) for name, times in _some(document["used"])}
    breaker = {
        _text(name): Open(_number(item["since"]), _text(item["why"]), _text(item.get("fault", "")))
        for name, item in _some(document["breaker"])
    }
    recovered = {
        _text(name): Recovered(_whole(item["count"]), _number(item["total"]), _number(item["worst"]))
        for name, item in _some(document["recovered"])
    }
    return State(
        used, breaker, {_text(name): _number(until) for name, until in _some(document["declined"])},
        _pending(document.get("pending")), _trial(document.get("trial")), recovered,
        tuple(map(_text, document["said"]))[-200:], _whole(document["count"]),
    )  # fmt: skip


def _pending(item: Any) -> Pending | None:
    if item is None:
        return None
    given = item["proposal"]
    changes = tuple(
        Change(
            _where(change["where"]), _text(change["name"]), to_value(change["old"]), to_value(change["new"]), _text(change["words"])
        )
        for change in given["changes"]
    )
    proposal = Proposal(
        _text(given["words"]), changes, None if given["spec"] is None else spec_of(given["spec"]), _hand(given["hand"]),
        _truth(given["restart"]), _text(given["undo"]),
    )  # fmt: skip
    return Pending(
        _text(item["id"]), _text(item["fault"]), _text(item["action"]), proposal, _whole(item["run"]), _number(item["since"]),
        _number(item["expires"]),
    )  # fmt: skip


def _trial(item: Any) -> Trial | None:
    if item is None:
        return None
    step = item.get("step")
    return Trial(
        _text(item["id"]), _text(item["fault"]), _text(item["action"]), _whole(item["run"]), spec_of(item["before"]),
        _number(item["began"]), _number(item["t_fault"]), None if step is None else _whole(step), _whole(item["times"]),
        tuple(map(_hand, item["records"])),
    )  # fmt: skip


def spec_of(item: Any) -> JobSpec:
    """A JobSpec as `asdict` wrote it. Raises ValueError, TypeError or KeyError."""
    known = set(JobSpec.__annotations__)
    if not isinstance(item, Mapping) or set(item) - known:
        raise ValueError("no spec of a job")
    argv = tuple(map(_text, item["argv"]))
    env = {_text(name): None if value is None else _text(value) for name, value in _some(item["env"])}
    config = {_text(name): to_value(value) for name, value in _some(item["config"])}
    if not argv:
        raise ValueError("no command")
    rest = {name: value for name, value in item.items() if name not in ("argv", "env", "config")}
    return JobSpec(**{**rest, "argv": argv, "env": env, "config": config})


def _some(item: Any) -> list[tuple[Any, Any]]:
    if not isinstance(item, Mapping) or len(item) > _MANY:
        raise ValueError("no object, or too large a one")
    return list(item.items())


def _hand(item: Any) -> Mapping[str, Value]:
    return {_text(name): to_value(value) for name, value in _some(item)}


def _where(item: Any) -> Any:
    if item not in ("argv", "env", "config"):
        raise ValueError("where")
    return item


def _text(item: Any) -> str:
    if not isinstance(item, str):
        raise ValueError(f"no text: {str(item)[:60]!r}")
    return item


def _truth(item: Any) -> bool:
    if not isinstance(item, bool):
        raise ValueError("neither true nor false")
    return item


def _number(item: Any) -> float:
    if isinstance(item, bool) or not isinstance(item, (int, float)) or not math.isfinite(item):
        raise ValueError(f"no number: {str(item)[:60]!r}")
    return float(item)


def _whole(item: Any) -> int:
    if isinstance(item, bool) or not isinstance(item, int):
        raise ValueError(f"no whole number: {str(item)[:60]!r}")
    return item
