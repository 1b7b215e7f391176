"""Jobs as the pages draw them: their curves run by run, how old each number is."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import median
from typing import Any, Literal, NamedTuple

from neuronwatch.tui.view.picture import Picture, Plain
from neuronwatch.tui.view.values import UNKNOWN, Seen

OLD = 120.0
"""Seconds after which a number of a run is old: a step should have come."""
LATE = 20.0
"""Seconds after which what the daemon told of jobs is old: it is asked each five."""


class Curve(NamedTuple):
    """`runs`: the points of each run of the log as (x, value; None: no number); the last run is the current one. `axis`: what x is.
    `value` and `age` are those of the newest point; age None: not known."""

    name: str
    axis: Literal["step", "epoch", "time", "line"]
    runs: list[list[tuple[float, float | None]]]
    value: float | None
    age: float | None


def number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def of_kind(picture: Picture, *kinds: str) -> list[Plain]:
    return [job for job in picture.jobs if job.get("kind") in kinds]


def age(picture: Picture, item: Plain, what: str = "jobs") -> float | None:
    """Seconds since a job's last line, or since a process was read."""
    told = number(item.get("age"))
    return None if told is None else told + max(0.0, picture.now - picture.taken.get(what, picture.now))


def is_old(picture: Picture, job: Plain) -> bool:
    """Whether the numbers of a job are not of now: it says nothing any more, or nobody told of it for long."""
    told = age(picture, job)
    if job.get("phase") in ("silent", "ended", "load") or (told is not None and told > OLD):
        return True
    return late(picture)


def late(picture: Picture) -> bool:
    """Whether nobody has told of jobs for long."""
    return picture.now - picture.taken.get("jobs", picture.now) > LATE


def utilization(picture: Picture, job: Plain) -> Seen:
    """Of a job's cores, their mean, as the overview has it; as old as the oldest of them."""
    cores = job.get("cores")
    found = [picture.seen("core.utilization", name) for name in cores if isinstance(name, str)] if isinstance(cores, list) else []
    told = [seen for seen in found if seen.number is not None]
    if told:
        oldest = max(told, key=lambda seen: (seen.trust == "stale", seen.age))
        return oldest._replace(number=sum(seen.number or 0.0 for seen in told) / len(told))
    if found:
        return found[0]
    value = number(job.get("utilization"))
    return UNKNOWN if value is None else Seen(value, "stale" if is_old(picture, job) else "fresh", age(picture, job) or 0.0, "")


def curve_of(picture: Picture, job: Plain, name: str) -> Curve | None:
    """One curve of a job; None: nobody tells of it."""
    found = job.get("curves")
    points = found.get(name) if isinstance(found, dict) else None
    points = [point for point in points or () if isinstance(point, list) and len(point) == 3]
    if not points:
        return None
    axis = _axis(job, points)
    column = 2 if axis == "time" else 0
    runs: list[list[tuple[float, float | None]]] = []
    for part in _split(points, _restarts(job)):
        run = [(float(place if axis == "line" else point[column]), number(point[1])) for place, point in part]
        runs.append(_spread(run) if axis == "epoch" else run)
    last = number(points[-1][2])
    return Curve(name, axis, runs, number(points[-1][1]), None if last is None else max(0.0, picture.now - last))


def _spread(run: list[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """Points at one place (epochs are rounded in logs) side by side up to the next one."""
    found: list[tuple[float, float | None]] = []
    for place, (x, _) in enumerate(run):
        if place and run[place - 1][0] == x:
            continue
        same = next((later for later in range(place, len(run)) if run[later][0] != x), len(run))
        end = run[same][0] if same < len(run) else x
        found += [(x + (end - x) * at / (same - place), value) for at, (_, value) in enumerate(run[place:same])]
    return found


def _axis(job: Plain, points: list[Any]) -> Literal["step", "epoch", "time", "line"]:
    places = {number(point[0]) for point in points}
    rounded = job.get("epoch") is not None and len(places) < min(3, len(points))
    if None not in places and not rounded:
        return "epoch" if job.get("epoch") is not None else "step"
    return "time" if all(number(point[2]) is not None for point in points) else "line"


def _restarts(job: Plain) -> list[float]:
    found = job.get("restarts")
    return [time for item in found or () if isinstance(item, dict) and (time := number(item.get("time"))) is not None]


def _split(points: list[Any], restarts: list[float]) -> Iterable[list[tuple[int, Any]]]:
    """The points run by run: a run ends where the step falls back by more than ranks are apart, and at a restart."""
    steps = [step for point in points if (step := number(point[0])) is not None]
    usual = median([later - earlier for earlier, later in pairwise(steps) if later > earlier] or [0.0])
    run: list[tuple[int, Any]] = []
    for place, point in enumerate(points):
        if run:
            before = run[-1][1]
            back = before[0] is not None and point[0] is not None and before[0] - point[0] > 1.5 * usual
            anew = before[2] is not None and point[2] is not None and any(before[2] < time <= point[2] for time in restarts)
            if back or anew:
                yield run
                run = []
        run.append((place, point))
    yield run
