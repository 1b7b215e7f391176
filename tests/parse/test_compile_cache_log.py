from __future__ import annotations

import pytest
from hypothesis import given
from parse_support import (
    check_golden,
    check_interleaving,
    check_never_raises,
    check_prefixes,
    damaged,
    events,
    facts,
    fixture,
    fixtures,
    readings,
    records,
    samples,
    summary,
    triggered,
)

from neuronwatch.judge.derive.compile_cache import derive
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact
from neuronwatch.parse.compile_cache_log import FORMAT

FOLDER = "compile_cache_log"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_generations() -> None:
    found = records(FORMAT, fixture("compile_cache_log/log-failed-and-retry.txt"))
    assert len(readings(found, "cache.failed")) == 1  # two lines tell one failure
    assert len(readings(found, "cache.cached_failure")) == 2
    new = records(FORMAT, fixture("compile_cache_log/log-hit-2026.txt"))
    assert facts(new)["cache.waited"] == 5.3
    assert facts(new)["compiler.version"] == "2.24.5133.0+58f8de22"
    assert len(samples(new, "compile")) == 1  # this wrapper says nothing when it starts
    old = records(FORMAT, fixture("compile_cache_log/wrapper-2022.txt"))
    assert facts(old)["cache.miss"] == "MODULE_7223055628515330524"
    assert facts(old)["compiler.version"] == "1.0.48875.0+7437fbf18"


def test_glued_records() -> None:
    found = records(FORMAT, fixture("compile_cache_log/glued-2024.txt"))
    assert readings(found, "cache.hit") == ["MODULE_1+d41d8cd9", "MODULE_2+d41d8cd9"]
    assert readings(found, "cache.dir") == ["/tmp/tmpjacdmeb0", "/var/tmp/neuron-compile-cache"]
    cached = events(found, "compile.cached")[0]
    assert cached.fields["path"].endswith("/MODULE_1+d41d8cd9/model.neff")
    assert cached.time == 1712905988.296  # six digits that are milliseconds


def test_parallel_compile() -> None:
    found = records(FORMAT, fixture("compile_cache_log/parallel-compile.txt"))
    assert facts(found) == {"cache.graphs": 9, "cache.graphs_failed": 1}
    assert events(found, "compile.progress")[0].fields["locked"] == 1


def test_counts_over_all_readings() -> None:
    texts = [fixture(f"compile_cache_log/{name}") for name in ("log-hit-2026.txt", "glued-2024.txt", "log-failed-and-retry.txt")]
    view = FactsView(record for text in texts for record in records(FORMAT, text) if isinstance(record, Fact))
    counted = {fact.name: fact.value for fact in derive(view)}
    assert counted["cache.hits"] == 3
    assert counted["cache.cached_failures"] == 2
    assert counted["cache.misses"] == 3  # two that ended well and one that failed
    assert counted["cache.wait_minutes"] == 5.3


@pytest.mark.parametrize("name", [item.name for item in fixtures(FOLDER)])
def test_prefixes_interleaving_and_windows(name: str) -> None:
    text = fixture(f"{FOLDER}/{name}")
    check_prefixes(FORMAT, text)
    check_interleaving(FORMAT, text)
    assert summary(FORMAT.parse(triggered(FORMAT, text))) == summary(records(FORMAT, text))
