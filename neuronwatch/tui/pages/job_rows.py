"""Jobs as single rows: for the overview and for the lists of the pages Jobs and Serving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.curve import short
from neuronwatch.tui.draw.row import Row, Span, fitted, row, span, width_of
from neuronwatch.tui.pages.api import Frame
from neuronwatch.tui.pages.words import number as written
from neuronwatch.tui.view.jobs import age, is_old, late, number, utilization
from neuronwatch.tui.view.picture import Picture, Plain

PHASES = {"step": ("ok", "ok"), "serve": ("ok", "ok"), "compile": ("dot", "info"), "load": ("dot", "info"),
          "silent": ("warning", "warning"), "ended": ("dot", "dim")}  # fmt: skip
"""Phase to its mark and style."""


class Column(NamedTuple):
    """Of a list of runs: its title, its cells, and what stands there for a run."""

    title: str
    width: int
    show: Callable[[Plain], Span]


NAME = 34
"""Cells of the name and the phase, in front of the columns."""


def fit(columns: Sequence[Column], weights: str, room: int) -> list[Column]:
    """The columns for which there is room, those that `weights` names first rather than others."""
    width = {column.title: column.width for column in columns}
    chosen = set()
    for title in weights.split():
        if width[title] <= room:
            room -= width[title]
            chosen.add(title)
    return [column for column in columns if column.title in chosen]


def head(what: str, columns: Sequence[Column]) -> Row:
    names = "".join(f"{column.title:>{column.width}}" for column in columns)
    return row(span(f"  {what:<22} {'phase':<11}{names}", "dim"))


def line(picture: Picture, job: Plain, columns: Sequence[Column], frame: Frame) -> Row:
    name = span(fitted(job["name"], 22), "title")
    return (name, Span(" "), phase(picture, job, frame), Span(" "), *(column.show(job) for column in columns))


def silence(picture: Picture, job: Plain, width: int, frame: Frame) -> Span:
    """How long ago a run said something."""
    told = age(picture, job)
    shown = units.span(told) if told is not None else frame.glyphs.unknown
    return Span(f"{shown:>{width}}", "stale" if is_old(picture, job) else "dim")


def phase(picture: Picture, job: Plain, frame: Frame, width: int = 8) -> Span:
    """What a run does; as it was told long ago, it is stale whatever it was."""
    word = str(job.get("phase") or "unknown")
    sign, style = PHASES.get(word, ("unknown", "unknown"))
    if picture.link.what == "lost" or late(picture):
        sign, style = "stale", "stale"
    return span(f"{getattr(frame.glyphs, sign)} {fitted(word, width)}", style)


def cell(picture: Picture, job: Plain, name: str, shown: str, width: int, frame: Frame, style: str = "value") -> Span:
    """A number of a job in its cells. A NaN is told as one; what nobody told is a mark."""
    value = number(job.get(name))
    if value is None:
        told = isinstance(job.get("curves"), dict) and name in job["curves"]
        return Span(f"{'NaN' if told else frame.glyphs.unknown:>{width}}", "error" if told else "unknown")
    return span(f"{shown:>{width}}", "stale" if is_old(picture, job) else style)


def cores(picture: Picture, job: Plain, width: int, frame: Frame) -> Span:
    """The utilisation of its cores, in its cells."""
    seen = utilization(picture, job)
    return written(seen, units.percent(seen.number or 0.0), frame.glyphs, width, "value")


def step(job: Plain) -> str:
    """`1200/4000`, `~1200/4000` where the step follows from the epoch, `epoch 0.30`."""
    at, most = number(job.get("step")), number(job.get("max_steps"))
    if at is None:
        epoch = number(job.get("epoch"))
        return f"epoch {epoch:.2f}" if epoch is not None else ""
    return f"{'~' if job.get('step_estimated') else ''}{at:.0f}" + (f"/{most:.0f}" if most is not None else "")


def job_line(picture: Picture, job: Plain, frame: Frame) -> Row:
    """One job for the overview: name, phase, how far, how well, how fast, time left. What is not known is left out."""
    parts: list[Span] = [Span("  "), span(fitted(job["name"], 22), "title"), Span(" "), phase(picture, job, frame, 7)]
    style = "stale" if is_old(picture, job) else "value"

    def add(label: str, text: str, how: str = "") -> None:
        name, value = Span(f"  {label} " if label else "  ", "dim"), span(text, how or style)
        if width_of((*parts, name, value)) <= frame.width:  # a number is never cut
            parts.extend((name, value))

    if job.get("kind") == "serve":
        _serving(job, frame, add)
    else:
        if step(job):
            add("" if step(job).startswith("epoch") else "step", step(job))
        for name, label in (("loss", "loss"), ("grad_norm", "grad")):
            value = number(job.get(name))
            if value is not None:
                add(label, f"{value:.4g}")
            elif name in (job.get("curves") or {}):
                add(label, f"{frame.glyphs.fault} NaN", "error")
    speed, pace, left = (number(job.get(name)) for name in ("tokens_per_s", "seconds_per_step", "seconds_left"))
    if speed is not None:
        add("", f"{units.count(speed)} tok/s")
    if pace is not None:
        add("", f"{short(pace)} s/step")
    busy = utilization(picture, job)
    if busy.number is not None:
        mark = frame.glyphs.stale if busy.trust == "stale" else ""
        add("cores", units.percent(busy.number) + mark, "stale" if mark else "")
    if left is not None:
        add("", f"{units.span(left)} left")
    restarts = job.get("restarts")
    if restarts:
        add("", f"{frame.glyphs.warning} {len(restarts)} restart{'s' if len(restarts) > 1 else ''}", "warning")
    told = age(picture, job)
    if told is not None and is_old(picture, job):
        add("", f"last line {units.span(told)} ago", "stale")
    return tuple(parts)


def _serving(job: Plain, frame: Frame, add: object) -> None:
    assert callable(add)
    running, waiting, limit = (number(job.get(name)) for name in ("running", "waiting", "batch_limit"))
    if running is not None:
        add("batch", f"{running:.0f}" + (f"/{limit:.0f}" if limit is not None else ""))
    if waiting is not None:
        add("queue", f"{waiting:.0f}", "warning" if waiting > 0 else "")
    kv, p50, p99 = (number(job.get(name)) for name in ("kv_usage", "p50", "p99"))
    if kv is not None:
        add("KV", units.percent(kv), "warning" if kv >= 90 else "")
    if p50 is not None and p99 is not None:
        add("p50/p99", f"{units.seconds(p50)}/{units.seconds(p99)}")
