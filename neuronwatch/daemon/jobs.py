"""Jobs as the host's logs tell of them: a followed text with steps is a training run, one with a queue is a server.

The owner of a job (the supervisor) will know more; this is what can be known of any job that only writes a log.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from neuronwatch.daemon import status
from neuronwatch.judge.live import Followed
from neuronwatch.judge.series import SeriesView

POINTS = 240
"""Points of a curve that are told."""
TRAINS = ("loss", "progress", "step_time")
SERVES = ("running", "waiting", "kv_usage", "prompt_tokens_per_s")
CURVES = ("loss", "grad_norm", "tokens_per_s", "step_time", "learning_rate", "running", "waiting", "kv_usage")
SILENT = 120.0
"""Seconds without a line after which a run is called silent: a step or a report of its server should have come."""
_PLAIN = frozenset(("train", "training", "log", "logs", "output", "out", "stdout", "stderr", "server", "serve", "run", "main"))
MOST = 64
Point = list[float | None]


def jobs(texts: Iterable[Followed], mono: float) -> list[dict[str, Any]]:
    """The runs, the one that spoke last first."""
    found = sorted((text for text in texts if _kind(text.series)), key=lambda text: (-text.spoke, text.path))
    return [_job(text, mono) for text in found[:MOST]]


def _kind(series: SeriesView) -> str:
    names = series.names()
    return "train" if names.intersection(TRAINS) else "serve" if names.intersection(SERVES) else ""


def _job(text: Followed, mono: float) -> dict[str, Any]:
    """One run. `age`: seconds since its last line; `curves`: name to points of (step, value, time); null is not known."""
    curves = {name: points for name in CURVES if (points := _curve(text.series, name))}
    steps = _curve(text.series, "progress")
    step = steps[-1][1] if steps else next((points[-1][0] for points in curves.values()), None)
    limit = text.facts.get("launch.max_steps")
    known = isinstance(limit, (int, float)) and not isinstance(limit, bool) and limit > 0
    age = max(0.0, mono - text.spoke)
    kind = _kind(text.series)
    return {
        "id": status.hidden(text.path), "name": status.hidden(_name(text.path)), "kind": kind,
        "phase": "silent" if age > SILENT else "serve" if kind == "serve" else "step", "age": round(age, 3),
        "step": step if steps or (step is not None and step == int(step)) else None,
        "epoch": step if not steps and step is not None and step != int(step) else None,
        "max_steps": float(limit) if known and isinstance(limit, (int, float)) else None,
        "ranks": len(text.series.tails("loss", 1)), "curves": curves,
        **{name: points[-1][1] for name, points in curves.items()},
    }  # fmt: skip


def _curve(series: SeriesView, name: str) -> list[Point]:
    """The points of the rank that has the most: ranks tell the same loss."""
    runs = series.tails(name, POINTS)
    longest = max(runs.values(), key=len, default=[])
    return [[_number(step), _number(value), _number(time)] for step, value, time in longest]


def _number(value: float | None) -> float | None:
    return value if value is None or math.isfinite(value) else None


def _name(path: str) -> str:
    """The file's name, or its directory's where the file is called as all are."""
    place = PurePosixPath(path.partition(":")[2] or path)
    stem = place.name.partition(".")[0]
    return stem if stem.lower() not in _PLAIN or not place.parent.name else place.parent.name
