"""What is remembered of derivations and detectors is what they would find: never a stale answer, and no work where nothing changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from case_support import CASES, NAMES, items, rules

from neuronwatch.daemon.intake import Intake
from neuronwatch.judge import engine
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.live import Watch
from neuronwatch.judge.memo import Memo, Step, found_by
from neuronwatch.judge.series import SeriesView
from neuronwatch.judge.state import State
from neuronwatch.model.live import Appended, Delivery, Now
from neuronwatch.model.records import Fact, Origin, Sample


def judged(state: State) -> list[str]:
    facts, series = engine.gather(state)
    return [*(repr(facts.all(name)) for name in sorted(facts.names())), *sorted(series.names())]  # NaN is not equal to itself


def both(state: State) -> None:
    """Remembered twice (what it remembers of itself, too) and asked anew."""
    fresh = judged(State(state.bounds, state.files))
    assert judged(state) == fresh
    assert judged(state) == fresh


@pytest.mark.parametrize("part", range(8))
def test_it_is_as_if_all_were_asked_again_whatever_comes(part: int) -> None:
    """The evidence of the public cases, one file after the other, some of it taken away again."""
    state = State(memos={})
    for name in NAMES[part::24]:
        for path in list(state.files)[::2]:
            del state.files[path]
        engine.observe(state, items(CASES / name), rules())
        both(state)
        for file in state.files.values():
            file.shift(100)
        both(state)
        for file in state.files.values():
            file.retire(20)
        both(state)


class Nowhere:
    def add(self, *_args: object) -> None: ...


def test_where_nothing_changed_no_step_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(rules())
    intake = Intake(rules(), watch, Nowhere())
    asked: list[str] = []
    steps = {
        (package, name): tuple(counted(step, asked) for step in engine._steps(package, name))
        for package, name in (("neuronwatch.judge.derive", "derive"), ("neuronwatch.judge.detectors", "detect"))
    }
    monkeypatch.setattr(engine, "_steps", lambda package, name: steps[package, name])
    watch.facts("packages", [Fact("pkg.torch-neuronx", "2.8.0", Origin("pip"))], Now(1.8e9, 0.0))
    told = []
    for minute in range(4):
        now = Now(1.8e9 + 60 * minute, 60.0 * minute)
        line = json.dumps({"neuron_runtime_data": [{"pid": 7, "report": {"neuroncore_counters": {
            "neuroncores_in_use": {"0": {"neuroncore_utilization": 50.0 + minute}}}}}]}).encode() + b"\n"  # fmt: skip
        if minute < 2:
            intake.take(Delivery("monitor", now.wall, appended=[Appended("m", line, not minute, records=True)]), now)
        watch.conclude(now, ())
        told.append(list(asked))
        asked.clear()
    assert len(told[0]) == 2 * len(steps["neuronwatch.judge.derive", "derive"]) + len(
        steps["neuronwatch.judge.detectors", "detect"]
    )
    assert "utilisation" in told[1] and "compat_driver" not in told[1]
    assert len(told[2]) < 6  # who asks for the time
    assert told[3] == told[2]


def counted(step: Step, asked: list[str]) -> Step:
    def ask(*views: Any) -> Iterable[Fact]:
        asked.append(step.__module__.rpartition(".")[2])
        return step(*views)

    ask.__module__ = step.__module__
    return ask


@pytest.mark.parametrize(
    "ask",
    [
        lambda series: [list(run.points) for run in series.get("loss")],
        lambda series: [list(run.points) for run in series.of_last_run("loss")],
        lambda series: series.tails("loss", 3),
        lambda series: series.lines(),
        lambda series: sorted(series.names()),
    ],
)
def test_every_way_to_ask_for_series_is_remembered(ask: Callable[[SeriesView], object]) -> None:
    def step(series: SeriesView, _facts: FactsView) -> Iterable[Fact]:
        yield Fact("loss.seen", repr(ask(series)), Origin("x"))

    memos: dict[tuple[int, Step], Memo] = {}
    series, facts = SeriesView([Sample("grad_norm", 1.0, Origin("log", 1))]), FactsView()
    for number in range(4):
        found = found_by(step, memos, 0, facts, series)
        assert found == found_by(step, None, 0, facts, series)
        assert found_by(step, memos, 0, facts, series) is found
        series.add(Sample("loss", float(number), Origin("log", number + 2)))
