"""What a derivation or detector found, remembered with what it had asked: they are pure, so with the same answers it finds the
same. Of a host that goes on as before nearly all of them are told the same at each judgement of a watch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import Run, SeriesView
from neuronwatch.model.records import Fact, Value

Step = Callable[..., Iterable[Fact]]
Question = tuple[str, str]
"""What was asked for and its name."""


class Memo(NamedTuple):
    """Questions with their answers, and what was found."""

    facts: dict[Question, Any]
    series: dict[Question, Any]
    found: list[Fact]

    def holds(self, facts: FactsView, series: SeriesView | None) -> bool:
        """Whether the same questions have the same answers now."""
        if any(_of_facts(facts, question) != answer for question, answer in self.facts.items()):
            return False
        return series is None or all(_of_series(series, question) == answer for question, answer in self.series.items())


def found_by(
    step: Step, memos: dict[tuple[int, Step], Memo] | None, place: int, facts: FactsView, series: SeriesView | None
) -> list[Fact]:
    """What a step finds. `memos` None: it is asked in any case. `place`: a step that is asked several times in one judgement is
    another one each time. What the step raises is not held back, and nothing is remembered then."""
    if memos is None:
        return list(step(facts) if series is None else step(series, facts))
    known = memos.get((place, step))
    if known is not None and known.holds(facts, series):
        return known.found
    asked = _Facts(facts)
    if series is None:
        memo = Memo(asked.asked, {}, list(step(asked)))
    else:
        of_series = _Series(series)
        found = list(step(of_series, asked))
        memo = Memo(asked.asked, of_series.asked, found)
    memos[place, step] = memo
    return memo.found


class _Facts(FactsView):
    """The same facts; remembers what was asked of them."""

    def __init__(self, facts: FactsView) -> None:
        self._by_name, self._past = facts._by_name, facts._past
        self.asked: dict[Question, Any] = {}

    def get(self, name: str, default: Value = None) -> Value:
        self.first(name)
        return super().get(name, default)

    def first(self, name: str) -> Fact | None:
        found = super().first(name)
        self.asked["first", name] = found
        return found

    def all(self, name: str) -> list[Fact]:
        self.asked["all", name] = super().all(name)
        return super().all(name)

    def names(self) -> Iterator[str]:
        self.asked["names", ""] = tuple(super().names())
        return super().names()

    def with_prefix(self, prefix: str) -> dict[str, list[Fact]]:
        self.asked["prefix", prefix] = super().with_prefix(prefix)
        return super().with_prefix(prefix)


def _of_facts(facts: FactsView, question: Question) -> Any:
    what, name = question
    if what == "first":
        return facts.first(name)
    if what == "all":
        return facts.all(name)
    return tuple(facts.names()) if what == "names" else facts.with_prefix(name)


class _Series(SeriesView):
    """The same series; remembers of which names they were asked for, and how their points were."""

    def __init__(self, series: SeriesView) -> None:
        super().__init__()
        self._runs, self._begun = series._runs, series._begun
        self._seen = series
        self.asked: dict[Question, Any] = {}

    def get(self, name: str) -> list[Run]:
        self.asked["runs", name] = self._seen.marks(name)
        return super().get(name)

    def names(self) -> set[str]:
        self.asked["names", ""] = super().names()
        return super().names()

    def tails(self, name: str, count: int) -> dict[str, list[tuple[float | None, float, float | None, int]]]:
        self.get(name)
        return super().tails(name, count)

    def lines(self, but: Collection[str] = ()) -> list[int]:
        for name in self.names():
            self.get(name)
        return super().lines(but)


def _of_series(series: SeriesView, question: Question) -> Any:
    what, name = question
    return series.marks(name) if what == "runs" else series.names()
