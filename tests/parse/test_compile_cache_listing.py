from __future__ import annotations

import pytest
from hypothesis import given
from parse_support import check_golden, check_never_raises, damaged, facts, fixture, fixtures, records, summary, triggered

from neuronwatch.judge.derive.compile_cache import derive
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin
from neuronwatch.parse.compile_cache_listing import FORMAT

FOLDER = "compile_cache_listing"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def counted(text: str, **more: float) -> dict[str, object]:
    view = FactsView(record for record in records(FORMAT, text) if isinstance(record, Fact))
    for name, value in more.items():
        view.add(Fact(name.replace("_", ".", 1), value, Origin("now")))
    return {fact.name: fact.value for fact in derive(view)}


def test_recursive_ls() -> None:
    text = fixture("compile_cache_listing/ls-long-recursive.txt")
    found = facts(records(FORMAT, text))
    assert found["cache.failed_entry"].endswith("MODULE_9920104471188301255+e30acd3a")
    assert found["cache.compilers"] == ("2.24.5133.0+58f8de22",)
    counts = counted(text, host_now=1776944527.0)  # Thu Apr 23 11:42:07 UTC 2026
    assert (counts["cache.locks"], counts["cache.empty_neffs"], counts["cache.failed_entries"]) == (1, 1, 1)
    assert counts["cache.lock_age"] == pytest.approx(97 * 60 + 7)


def test_find_and_tree() -> None:
    assert counted(fixture("compile_cache_listing/tree-modern.txt"))["cache.locks"] == 1
    tree = counted(fixture("compile_cache_listing/tree.txt"))
    assert (tree["cache.locks"], tree["cache.failed_entries"]) == (0, 1)


def test_a_search_for_locks_says_nothing_about_failures() -> None:
    counts = counted(fixture("compile_cache_listing/find-ls-locks.txt"), host_now=1776944527.0)
    assert counts["cache.locks"] == 2
    assert "cache.failed_entries" not in counts
    assert counts["cache.lock_age"] == pytest.approx(17 * 3600 + 41 * 60 + 7)


def test_logs_are_no_listings() -> None:
    for item in fixtures("compile_cache_log"):
        text = item.read_text()
        assert records(FORMAT, text) == []
        assert triggered(FORMAT, text) == []


@pytest.mark.parametrize("name", [item.name for item in fixtures(FOLDER)])
def test_windows(name: str) -> None:
    text = fixture(f"{FOLDER}/{name}")
    assert summary(FORMAT.parse(triggered(FORMAT, text))) == summary(records(FORMAT, text))
