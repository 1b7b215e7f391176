"""The queue of a server over time: requests that wait while one at a time is served, or while all slots are taken.

`running` and `waiting` (vLLM's Pending) are joined by the line that states both; `preempted` and `tokens_per_s`
(generated tokens) likewise. While requests run and no token comes, prompt or answer, the engine stands still: such
lines say nothing about batch sizes or limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from neuronwatch.judge.detectors import _stats as stats
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import Point, Run, SeriesView
from neuronwatch.model.records import Fact

MIN_WAITING = 2
"""Status lines with waiting requests before a queue is judged: a single one, however long its queue, may be the moment in
which a burst arrives."""
COLLAPSE = 5.0
"""Fall of the generation rate, with requests running, that is called a collapse."""
_CLOCK = re.compile(r"\b(\d\d):(\d\d):(\d\d)\b")
LIMITS = ("serve.batch_limit", "launch.max_num_seqs", "launch.batch_size", "artifact.batch_size")


class _Status(NamedTuple):
    point: Point
    running: float
    waiting: float
    preempted: float
    rate: float | None
    prompt: float | None

    @property
    def stalled(self) -> bool:
        return self.running > 0 and self.rate == 0 and not self.prompt


def detect(series: SeriesView, facts: FactsView) -> Iterable[Fact]:
    statuses = _statuses(series)
    if not statuses:
        return
    busiest = max(statuses, key=lambda item: item.running)
    longest = max(statuses, key=lambda item: item.waiting)
    yield stats.fact("serve.running_max", int(busiest.running), busiest.point)
    yield stats.fact("serve.waiting_max", int(longest.waiting), longest.point)
    yield stats.fact("serve.waiting_last", int(statuses[-1].waiting), statuses[-1].point)
    yield from _stall(statuses)
    statuses = [item for item in statuses if not item.stalled]
    queued = [item for item in statuses if item.waiting > 0]
    if len(statuses) >= 3:
        start, end = stats.thirds([item.waiting for item in statuses])
        yield stats.fact("serve.waiting_grows", end > start, longest.point)
    if len(queued) >= MIN_WAITING:
        yield stats.fact("serve.running_stuck_at_one", all(item.running <= 1 for item in queued), longest.point)
    if statuses:
        yield from _limit(statuses, facts)
        yield from _collapse(statuses)


def _statuses(series: SeriesView) -> list[_Status]:
    found = []
    names = ("waiting", "preempted", "tokens_per_s", "prompt_tokens_per_s")
    waiting, preempted, rates, prompts = (_Partner(series.get(name)) for name in names)
    for run in series.get("running"):
        for place, point in enumerate(run.points):
            queue, evicted, rate, prompt = (
                item.beside(run, place, point.origin.line) for item in (waiting, preempted, rates, prompts)
            )
            if abs(point.value) < stats.MAX_MAGNITUDE:
                found.append(_Status(point, point.value, queue or 0.0, evicted or 0.0, rate, prompt))
    return _last_life(found, series)


def _last_life(found: list[_Status], series: SeriesView) -> list[_Status]:
    """The statuses since the last start of the server in each log, where there are some: an earlier life had other settings."""
    begun: dict[str, int] = {}
    for run in series.get("server_start"):
        begun[run.path] = max(begun.get(run.path, 0), run.points[-1].origin.line or 0)
    since = [item for item in found if (item.point.origin.line or 0) > begun.get(item.point.origin.path, 0)]
    alive = {item.point.origin.path for item in since}
    return [item for item in found if item.point.origin.path not in alive] + since if begun else found


def _stall(statuses: list[_Status]) -> Iterator[Fact]:
    """Lines at the end of a run of status lines in which requests run and no token comes. One line more at the end, with
    nothing running, changes nothing: the clients gave up."""
    by_run: dict[str, list[_Status]] = {}
    for item in statuses:
        by_run.setdefault(item.point.origin.path, []).append(item)
    for run in by_run.values():
        while run and run[-1].running == 0 and not run[-1].rate:
            run.pop()
        last = len(run)
        while last and run[last - 1].stalled:
            last -= 1
        still = run[last:]
        if still:
            yield stats.fact("serve.stalled_lines", len(still), still[-1].point)
            lasted = _between(still[0].point, still[-1].point)
            if lasted is not None:
                yield stats.fact("serve.stalled_seconds", lasted, still[-1].point)


def _between(first: Point, last: Point) -> float | None:
    """Seconds from one status line to the other; vLLM writes month, day and clock without a year or zone."""
    if first.time is not None and last.time is not None:
        return max(0.0, last.time - first.time)
    begin, end = (_CLOCK.search(point.origin.text[:200]) for point in (first, last))
    if begin is None or end is None:
        return None
    moments = [int(at.group(1)) * 3600 + int(at.group(2)) * 60 + int(at.group(3)) for at in (begin, end)]
    return float((moments[1] - moments[0]) % 86_400)


class _Partner:
    """The other series of a status: the value on the same line, else (a metrics page has a line for each) the value
    at the same place of a run of the same length."""

    def __init__(self, runs: list[Run]) -> None:
        self._lines = stats.by_line(runs)
        self._runs = {(run.path, run.entity): run.points for run in runs}

    def beside(self, run: Run, place: int, line: int | None) -> float | None:
        point = self._lines.get((run.path, line, run.entity))
        others = self._runs.get((run.path, run.entity), [])
        if point is None and len(others) == len(run.points):
            point = others[place]
        return point.value if point is not None and abs(point.value) < stats.MAX_MAGNITUDE else None


def _limit(statuses: list[_Status], facts: FactsView) -> Iterator[Fact]:
    """`at_limit`: every slot is taken while requests wait or are preempted. A limit of 1 is the other fault."""
    limit = next((value for value in map(facts.get, LIMITS) if isinstance(value, int) and value > 0), None)
    if limit is None:
        return
    full = [item for item in statuses if item.running >= limit and (item.waiting > 0 or item.preempted > 0)]
    where = full[0].point if full else statuses[-1].point
    yield stats.fact("serve.at_limit", limit > 1 and len(full) >= MIN_WAITING, where)


def _collapse(statuses: list[_Status]) -> Iterator[Fact]:
    """The generation rate against the best earlier one, only over lines with at least as many requests running."""
    best: _Status | None = None
    low: _Status | None = None
    for item in statuses:
        if item.rate is None or item.running <= 0:
            continue
        if best is not None and best.rate is not None:
            busier = item.running >= best.running and item.waiting > 0
            if busier and 0 < COLLAPSE * item.rate <= best.rate:
                low = low or item
        if best is None or best.rate is None or item.rate > best.rate:
            best = item
    if best is not None:
        yield stats.fact("serve.throughput_collapses", low is not None, (low or best).point)
