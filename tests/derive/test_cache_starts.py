"""Starts of one job that write to one log: a later one whose flags differ compiles what an earlier one had."""

from __future__ import annotations

from neuronwatch.judge.derive import compile_cache
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin

HIT, MISS = (
    "Using a cached neff at /c/MODULE_{0}/model.neff",
    "Call compiler with cmd: neuronx-cc compile /t/model.MODULE_{0}.hlo_module.pb",
)


def reading(name: str, key: str, second: int, pid: int, path: str = "job.log") -> Fact:
    text = f"2026-12-01 10:00:{second:02d}.000001: {pid} [INFO]: " + (HIT if name == "cache.hit" else MISS).format(key)
    return Fact(name, key, Origin(path, second, text))


def missed(*readings: Fact) -> object:
    return {fact.name: fact.value for fact in compile_cache.derive(FactsView(readings))}.get("cache.missed_by_flags")


def test_a_later_start_with_other_flags() -> None:
    before = [reading("cache.hit", f"{number}+aaaaaaaa", number, 100) for number in (1, 2, 3)]
    after = [reading("cache.miss", f"{number}+bbbbbbbb", 30 + number, 200) for number in (1, 2, 3)]
    assert missed(*before, *after) == 3
    assert missed(*after) is None


def test_one_start_may_have_a_graph_with_two_sets_of_flags() -> None:
    assert missed(reading("cache.hit", "1+aaaaaaaa", 1, 100), reading("cache.miss", "1+bbbbbbbb", 9, 100)) is None


def test_processes_at_the_same_time_are_one_start() -> None:
    ranks = [
        reading("cache.hit", "1+aaaaaaaa", 1, 100),
        reading("cache.miss", "1+bbbbbbbb", 5, 200),
        reading("cache.hit", "2+aaaaaaaa", 9, 100),
    ]
    assert missed(*ranks) is None


def test_the_same_flags_are_no_miss_by_flags() -> None:
    assert missed(reading("cache.hit", "1+aaaaaaaa", 1, 100), reading("cache.miss", "1+aaaaaaaa", 31, 200)) is None
