"""Lines of the progress protocol of jobs (`neuronwatch/emit.py`): one JSON object each, `v` 1, `t`, `rank`, `ev`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuronwatch.model.records import Record, Sample
from neuronwatch.parse.api import Line, LineFormat

EVENTS = frozenset(("phase", "step", "metric", "checkpoint", "note"))
SERIES: Mapping[str, tuple[str, str]] = {
    "loss": ("loss", ""), "eval_loss": ("eval_loss", ""), "grad_norm": ("grad_norm", ""),
    "learning_rate": ("learning_rate", ""), "tokens_per_s": ("tokens_per_s", "tokens/s"), "step_time": ("step_time", "s"),
    "running": ("running", ""), "waiting": ("waiting", ""), "kv_usage": ("kv_usage", ""),
}  # fmt: skip
NO_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def event_of(text: str) -> dict[str, Any] | None:
    """The object of one line; None: it is none of this protocol, or torn."""
    if '"ev"' not in text:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("v") != 1:
        return None
    kind = found.get("ev")
    return found if isinstance(kind, str) and kind in EVENTS else None  # a list or an object has no hash


def number(value: object) -> float | None:
    """A number of an event, also one that is none; None: something else."""
    if isinstance(value, str):
        return NO_NUMBERS.get(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def count(value: object) -> int | None:
    """A number of things of an event (steps, graphs); None: none, or one that cannot be (NaN, infinite, negative, absurd)."""
    found = number(value)
    return int(found) if found is not None and 0 <= found < 1e15 else None


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        event = event_of(line.body)
        if event is None:
            continue
        rank = event.get("rank")
        entity = f"rank{rank}" if isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < 1 << 20 else line.entity
        time, step = number(event.get("t")), number(event.get("step"))
        if event["ev"] == "step" and step is not None:
            yield Sample("progress", step, line.origin, "", entity, time, step)
        for name, (series, unit) in SERIES.items():
            value = number(event.get(name))
            if value is not None:
                yield Sample(series, value, line.origin, unit, entity, time, step)


FORMAT = LineFormat(
    name="emit",
    kind="log",
    triggers=(r'\{"v": ?1, ?"t": ?\d',),
    parse=_parse,
    series=True,
)
