"""Jobs: the training runs, and the curves of the one under the cursor."""

from __future__ import annotations

from collections.abc import Callable

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.curve import short
from neuronwatch.tui.draw.row import Row, Span, clipped, fitted, row, span
from neuronwatch.tui.pages.api import Frame, Page, Request
from neuronwatch.tui.pages.job_rows import cell, cores, phase, step
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.pages.plots import Plot, grid
from neuronwatch.tui.view import jobs as view
from neuronwatch.tui.view.jobs import is_old, number
from neuronwatch.tui.view.picture import Picture, Plain

LOGS = ("loss", "grad_norm", "learning_rate")
"""Curves that `l` draws by their logarithm."""


class Jobs(Page):
    name = "jobs"
    title = "Jobs"
    filters = True
    kinds: tuple[str, ...] = ("train",)
    """Of the runs, those that the page shows."""

    def __init__(self) -> None:
        self._list = Listing()
        self._text = ""
        self._log = self._large = False
        self._chosen = ""
        """Id of the job under the cursor: its curves are told in full."""
        self._first = 1

    def needs(self) -> tuple[str, ...]:
        return (f"jobs {self._chosen}".strip(),)

    def show(self, subject: str) -> None:
        self._chosen, self._large = subject, True

    def filter(self, text: str) -> None:
        self._text = text.casefold()

    def _shown(self, picture: Picture) -> list[Plain]:
        return [
            job
            for job in view.of_kind(picture, *self.kinds)
            if self._text in f"{job['name']} {job['id']} {job.get('phase')}".casefold()
        ]

    def _listed(self, found: list[Plain], frame: Frame, head: Row, line: Callable[[Plain], Row]) -> tuple[list[Row], Plain]:
        """The list above the curves, a third of the room at most, and the run under the cursor; large shows that one alone."""
        names = [job["id"] for job in found]
        if self._chosen in names and self._large:
            self._list.cursor = names.index(self._chosen)
        rows = [] if self._large else [head]
        self._first = len(rows)
        room = 1 if self._large else max(1, min(len(found), frame.height // 3))
        for place in self._list.window(len(found), room):
            rows.append(clipped((self._list.sign(place, frame.glyphs), *line(found[place])), frame.width))
        job = found[self._list.cursor]
        self._chosen = job["id"]
        return rows, job

    def rows(self, picture: Picture, frame: Frame) -> list[Row]:
        found = self._shown(picture)
        if not found:
            return _none(picture, self._text, "training run", "loss or a progress bar")
        rows, job = self._listed(found, frame, _head(frame), lambda job: _line(job, picture, frame))
        notes = _notes(job, picture, frame)
        heading = title(f"{job['name']}", f"{job['id']}", frame)
        return [
            *rows,
            heading,
            *notes,
            *grid(self._plots(picture, job), picture.now, frame, frame.height - len(rows) - len(notes) - 1),
        ]

    def _plots(self, picture: Picture, job: Plain) -> list[Plot]:
        kinds = (
            ("loss", "Loss", short, None), ("grad_norm", "Gradient norm", short, None),
            ("utilization", "Utilisation of its cores", units.percent, 0.0),
            ("tokens_per_s", "Tokens/s", units.count, 0.0), ("step_time", "Step time", units.seconds, 0.0),
            ("learning_rate", "Learning rate", short, 0.0), ("eval_loss", "Evaluation loss", short, None),
        )  # fmt: skip
        found = []
        for name, shown, how, floor in kinds:
            curve = view.curve_of(picture, job, name)
            if curve is not None:
                ceiling = 100.0 if name == "utilization" else None
                found.append(Plot(curve, shown, how, floor, self._log and name in LOGS, ceiling))
        return found

    def key(self, key: str, picture: Picture) -> Request | None:
        if key == "l":
            self._log = not self._log
        elif key == "enter":
            self._large = not self._large
        elif key == "escape":
            self._large = False
        elif key in ("n", "p"):
            self._list.key("down" if key == "n" else "up")
            self._follow(picture)
        elif key == "o":
            return Request("open", ("logs", self._chosen)) if self._chosen else None
        elif self._list.key(key):
            self._follow(picture)
        return None

    def _follow(self, picture: Picture) -> None:
        """The cursor has moved: the job under it is the chosen one."""
        found = self._shown(picture)
        self._chosen = found[min(self._list.cursor, len(found) - 1)]["id"] if found else ""

    def click(self, x: int, y: int, picture: Picture) -> Request | None:
        room = self._list.room
        if self._first <= y < self._first + room and self._list.choose(self._list.top + y - self._first):
            self._follow(picture)
        return None

    def copied(self, picture: Picture) -> str:
        found = self._shown(picture)
        return str(found[min(self._list.cursor, len(found) - 1)]["id"]) if found else ""

    def hints(self) -> tuple[tuple[str, str], ...]:
        return (("l", "log scale"), ("enter", "list" if self._large else "larger"), ("n p", "next, previous"), ("o", "its log"))


def title(text: str, more: str, frame: Frame) -> Row:
    line = frame.glyphs.rule
    left = f"{line}{line} {text} "
    tail = f" {more} " if len(left) + len(more) + 4 <= frame.width else ""
    return row(span(left + line * max(0, frame.width - len(left) - len(tail)) + tail, "rule"))


def _none(picture: Picture, text: str, what: str, tells: str) -> list[Row]:
    if text:
        return [row(span(f"  no {what} contains the filter", "dim"))]
    if picture.link.what in ("lost", "waiting") or "jobs" not in picture.taken:
        return [row(span("  nothing is known of jobs: the daemon has not told of any", "unknown"))]
    return [row(span(f"  no {what} is known: no followed log has told of a {tells} since the daemon began", "dim"))]


def _head(frame: Frame) -> Row:
    columns = {"step": 14, "loss": 9, "grad": 9, "lr": 10, "s/step": 8, "tok/s": 8, "cores": 6, "left": 6, "age": 6}
    names = "".join(f"{name:>{width}}" for name, width in columns.items())
    return row(span(f"  {'job':<22} {'phase':<10}{names}  restarts", "dim"))


def _line(job: Plain, picture: Picture, frame: Frame) -> Row:
    def text(name: str, how: str = "{:.4g}") -> str:
        value = number(job.get(name))
        return "" if value is None else how.format(value)

    left, told = number(job.get("seconds_left")), view.age(picture, job)
    pace = "seconds_per_step" if number(job.get("seconds_per_step")) is not None else "step_time"
    at = step(job)
    restarts = len(job.get("restarts") or ())
    return (
        span(fitted(job["name"], 22), "title"), Span(" "), phase(job, frame),
        span(f"{at or frame.glyphs.unknown:>14}", "unknown" if not at else "stale" if is_old(picture, job) else "value"),
        cell(picture, job, "loss", text("loss"), 9, frame), cell(picture, job, "grad_norm", text("grad_norm", "{:.3g}"), 9, frame),
        cell(picture, job, "learning_rate", text("learning_rate", "{:.3g}"), 10, frame),
        cell(picture, job, pace, text(pace, "{:.3g}"), 8, frame),
        cell(picture, job, "tokens_per_s", units.count(number(job.get("tokens_per_s")) or 0.0), 8, frame),
        cores(picture, job, 6, frame),
        cell(picture, job, "seconds_left", units.span(left or 0.0), 6, frame),
        Span(f"{units.span(told) if told is not None else '?':>6}", "stale" if is_old(picture, job) else "dim"),
        Span(f"  {frame.glyphs.warning} {restarts}" if restarts else "  -", "warning" if restarts else "dim"),
    )  # fmt: skip


def _notes(job: Plain, picture: Picture, frame: Frame) -> list[Row]:
    """What the run runs on, and why it was started anew."""
    parts = [Span("  ")]
    cores = job.get("cores")
    for label, shown in (
        ("processes", len(job["pids"]) if job.get("pids") else None),
        ("cores", len(cores) if isinstance(cores, list) and cores else None),
        ("owner", job.get("owner")), ("model", job.get("model")),
    ):  # fmt: skip
        if shown is not None:
            parts += [Span(f"{label} ", "dim"), span(f"{shown}", "value"), Span("  ")]
    rows: list[Row] = [clipped(tuple(parts), frame.width)] if len(parts) > 1 else []
    for item in (job.get("restarts") or [])[-3:]:
        reason, when = item.get("reason"), number(item.get("time"))
        clock = units.clock(when) + "Z" if when is not None else "(time not known)"
        rows.append(clipped(row(span(f"  {frame.glyphs.warning} started anew {clock}", "warning"),
                                span(f"  {reason}" if reason else "  the reason is not known", "" if reason else "unknown"),
                                span(f"  {item.get('incident') or ''}", "dim")), frame.width))  # fmt: skip
    return rows
