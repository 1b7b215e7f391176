"""Jobs: the training runs, and the curves of the one under the cursor."""

from __future__ import annotations

from collections.abc import Callable

from neuronwatch.tui.draw import units
from neuronwatch.tui.draw.curve import short
from neuronwatch.tui.draw.row import Row, Span, clipped, row, span
from neuronwatch.tui.pages.api import Frame, Page, Request
from neuronwatch.tui.pages.job_rows import NAME, Column, cell, cores, fit, head, line, silence, step
from neuronwatch.tui.pages.listing import Listing
from neuronwatch.tui.pages.plots import Plot, grid
from neuronwatch.tui.pages.words import heading
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
            return _none(picture, frame, self._text, "training run", "loss or a progress bar")
        columns = _columns(picture, frame)
        rows, job = self._listed(found, frame, head("job", columns), lambda job: line(picture, job, columns, frame))
        notes = _notes(job, picture, frame)
        name = heading(f"{job['name']}", frame, f"{job['id']}")
        return [
            *rows,
            name,
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


def _none(picture: Picture, frame: Frame, text: str, what: str, tells: str) -> list[Row]:
    if text:
        return [row(span(f"  no {what} contains the filter", "dim"))]
    if picture.link.what == "past":
        why = "is known of this moment: of each run only the newest points are kept, and none of them is as old"
        return [row(span(f"  {frame.glyphs.unknown} no {what} {why}", "unknown"))]
    if picture.link.what in ("lost", "waiting") or "jobs" not in picture.taken:
        return [row(span(f"  {frame.glyphs.unknown} nothing is known of jobs: the daemon has not told of any", "unknown"))]
    since = "the recording" if picture.link.what == "replay" else "the daemon"
    return [row(span(f"  no {what} is known: no followed log has told of a {tells} since {since} began", "dim"))]


WEIGHTS = "step loss left cores age grad tok/s s/step restarts lr"


def _columns(picture: Picture, frame: Frame) -> list[Column]:
    def told(title: str, width: int, name: str, show: Callable[[float], str]) -> Column:
        return Column(title, width, lambda job: cell(picture, job, name, show(number(job.get(name)) or 0.0), width, frame))

    def at(job: Plain) -> Span:
        style = "stale" if is_old(picture, job) else "value"
        return span(f"{step(job) or frame.glyphs.unknown:>13}", style if step(job) else "unknown")

    def pace(job: Plain) -> Span:
        name = "seconds_per_step" if number(job.get("seconds_per_step")) is not None else "step_time"
        return cell(picture, job, name, f"{number(job.get(name)) or 0.0:.3g}", 8, frame)

    def restarts(job: Plain) -> Span:
        count = len(job.get("restarts") or ())
        return Span(f"{f'{frame.glyphs.warning} {count}' if count else '-':>10}", "warning" if count else "dim")

    columns = [
        Column("step", 13, at), told("loss", 9, "loss", "{:.4g}".format), told("grad", 9, "grad_norm", "{:.3g}".format),
        told("lr", 10, "learning_rate", "{:.3g}".format), Column("s/step", 8, pace), told("tok/s", 8, "tokens_per_s", units.count),
        Column("cores", 6, lambda job: cores(picture, job, 6, frame)), told("left", 6, "seconds_left", units.span),
        Column("age", 6, lambda job: silence(picture, job, 6, frame)), Column("restarts", 10, restarts),
    ]  # fmt: skip
    return fit(columns, WEIGHTS, frame.width - 2 - NAME)


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
