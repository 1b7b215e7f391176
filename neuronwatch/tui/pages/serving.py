"""Serving: queue, batch, latency, KV cache and tokens per second of the servers whose logs or processes tell of them."""

from __future__ import annotations

from collections.abc import Callable

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.charts import bar
from neuronwatch.tui.draw.curve import short
from neuronwatch.tui.draw.row import Row, Span, clipped, row, span
from neuronwatch.tui.pages.api import Frame
from neuronwatch.tui.pages.job_rows import NAME, Column, cell, cores, fit, head, line, silence
from neuronwatch.tui.pages.jobs import Jobs, _none, _notes
from neuronwatch.tui.pages.plots import Plot, grid
from neuronwatch.tui.pages.words import heading
from neuronwatch.tui.view import jobs as view
from neuronwatch.tui.view.jobs import is_old, number
from neuronwatch.tui.view.picture import Picture, Plain


class Serving(Jobs):
    name = "serving"
    title = "Serving"
    brief = "Serve"
    kinds = ("serve",)

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        found = self._shown(picture)
        if not found:
            return _none(picture, frame, self._text, "server", "queue or a throughput")
        columns = _columns(picture, frame)
        rows, job = self._listed(found, frame, head("server", columns), lambda job: line(picture, job, columns, frame))
        rows += [heading(f"{job['name']}", frame, f"{job['id']}"), *_notes(job, picture, frame), *_fill(picture, job, frame)]
        room = frame.height - len(rows)
        histogram = _histogram(picture, job, frame, max(0, room // 3)) if room >= 14 else []
        most = {"kv_usage": 100.0, "utilization": 100.0, "running": number(job.get("batch_limit"))}
        plots = [
            Plot(curve, text, how, 0.0, ceiling=most.get(name))
            for name, text, how in _CURVES
            if (curve := view.curve_of(picture, job, name))
        ]
        return [*rows, *grid(plots, picture.now, frame, room - len(histogram)), *histogram]


_CURVES = (
    ("tokens_per_s", "Generated tokens/s", units.count), ("running", "Running requests", short),
    ("waiting", "Queue", short),
    ("kv_usage", "KV cache", units.percent), ("prompt_tokens_per_s", "Prompt tokens/s", units.count),
    ("utilization", "Utilisation of its cores", units.percent), ("preempted", "Preempted", units.count),
)  # fmt: skip


WEIGHTS = "running queue KV p99 age tok/s p50 cores prompt"


def _columns(picture: Picture, frame: Frame) -> list[Column]:
    def told(title: str, width: int, name: str, show: Callable[[float], str], high: float | None = None) -> Column:
        def shown(job: Plain) -> Span:
            value = number(job.get(name)) or 0.0
            return cell(picture, job, name, show(value), width, frame, "warning" if high is not None and value >= high else "value")

        return Column(title, width, shown)

    def batch(job: Plain) -> Span:
        limit = number(job.get("batch_limit"))
        text = units.count(number(job.get("running")) or 0.0) + (f"/{limit:.0f}" if limit is not None else "")
        return cell(picture, job, "running", text, 9, frame)

    columns = [
        Column("running", 9, batch), told("queue", 7, "waiting", units.count, 1.0), told("KV", 6, "kv_usage", units.percent, 90.0),
        told("tok/s", 8, "tokens_per_s", units.count), told("prompt", 8, "prompt_tokens_per_s", units.count),
        told("p50", 8, "p50", units.seconds), told("p99", 8, "p99", units.seconds),
        Column("cores", 6, lambda job: cores(picture, job, 6, frame)),
        Column("age", 6, lambda job: silence(picture, job, 6, frame)),
    ]  # fmt: skip
    return fit(columns, WEIGHTS, frame.width - 2 - NAME)


def _fill(picture: Picture, job: Plain, frame: Frame) -> list[Row]:
    """How full the batch and the KV cache are, and the buckets that the server compiled."""
    running, limit, kv = (number(job.get(name)) for name in ("running", "batch_limit", "kv_usage"))
    room = max(8, min(30, frame.width // 4))
    old = "stale" if is_old(picture, job) else ""
    share = running / limit if running is not None and limit else None
    spans: list[Span] = [Span("  batch ", "dim"), *bar(share, room, frame.glyphs, old)]
    spans.append(
        Span(
            f" {units.percent(100 * share)}" if share is not None else " its limit is not known",
            old or ("value" if share is not None else "unknown"),
        )
    )
    spans += [Span("   KV cache ", "dim"), *bar(kv / 100 if kv is not None else None, room, frame.glyphs, old)]
    spans.append(
        Span(f" {units.percent(kv)}" if kv is not None else " not told", old or ("value" if kv is not None else "unknown"))
    )
    rows: list[Row] = [clipped(tuple(spans), frame.width)]
    buckets = job.get("buckets")
    if isinstance(buckets, list) and buckets:
        rows.append(
            clipped(
                row(
                    Span("  buckets ", "dim"),
                    span(", ".join(f"{size:.0f}" for size in buckets if number(size) is not None), "value"),
                ),
                frame.width,
            )
        )
    return rows


def _histogram(picture: Picture, job: Plain, frame: Frame, room: int) -> list[Row]:
    """How often which number of requests ran together, of the current run's reports."""
    curve = view.curve_of(picture, job, "running")
    values = [value for _, value in curve.runs[-1] if value is not None] if curve is not None else []
    if not values or room < 3:
        return []
    lines = room - 1
    limit = number(job.get("batch_limit"))
    top = max(max(values), limit or 1.0)
    size = max(1, -(-int(top + 1) // lines))
    counts = [0] * (int(top) // size + 1)
    for value in values:
        counts[min(len(counts) - 1, int(value) // size)] += 1
    rows = [row(Span(" Batch size ", "title"), span(f" in how many of {len(values)} reports so many requests ran together", "dim"))]
    most, width = max(counts), max(4, min(60, frame.width - 24))
    for number_, found in list(enumerate(counts))[:lines]:
        low, high = number_ * size, min(int(top), number_ * size + size - 1)
        name = f"{low}-{high}" if high > low else f"{low}"
        full = -(-found * width // most) if found else 0
        rows.append(
            row(span(f"{name:>8} ", "dim"), Span(frame.glyphs.full * full, "spark"), span(f" {found}" if found else "", "value"))
        )
    return rows
