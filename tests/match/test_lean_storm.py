"""Matchers made for one big log: whatever is compiled together or apart, kept or rebuilt, the same lines are found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_matchers import REGEXES, WORDS, by_re, patterns

from neuronwatch.judge.match import matcher_for, pattern_of

pytest.importorskip("hyperscan")

from neuronwatch.judge.match import cuts, fast, store
from neuronwatch.judge.match import database as db
from neuronwatch.judge.match.superset import Superset

SAMPLE = ("".join(f"step {n} failed, no model, timed, a bcde memory out zzz Requested\n" for n in range(400)) * 2).encode()


@pytest.fixture(autouse=True)
def _widened(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a log so big that everything is worth it."""
    monkeypatch.setattr(fast, "WORTH_WIDENING", 0)
    monkeypatch.setattr(fast, "WORTH_ONE", 0)


@given(
    st.lists(st.sampled_from(WORDS), max_size=40),
    st.lists(st.frozensets(st.integers(0, len(REGEXES) - 1), max_size=3), max_size=4),
    st.sampled_from([1, 1 << 20, 1 << 40]),
    st.booleans(),
)
def test_less_and_less_is_searched(words: list[str], steps: list[frozenset[int]], left: int, whole: bool) -> None:
    data = "".join(words).encode()
    matcher = matcher_for(patterns()).lean(frozenset(), (), SAMPLE, 1 << 40 if whole else 1 << 20)
    gone: frozenset[int] = frozenset()
    for step in (frozenset[int](), *steps):
        matcher = matcher.lean(step, left=left) if step else matcher
        gone |= step
        assert matcher.scan(data, 1000) == [hit for hit in by_re(data, 1000) if hit.pattern_id not in gone]
        assert gone.isdisjoint(matcher.tally(data, 0, len(data)))


def test_windows_and_expressions_apart(tmp_path: Path) -> None:
    chosen = [pattern_of(0, r"Model \S{1,60} loaded"), pattern_of(1, r"(?i)(?<!prefix )hit rate \d+"), pattern_of(2, r"needle")]
    sample = b"the model is loaded\nPrefix hit rate none\nPrefix hit rate 3\n" * 500
    text = b"needle\nModel qwen loaded hit rate 7 needle\nhit rate 12\nPrefix hit rate 12\nmodel x loaded\n"
    plain = matcher_for(chosen)
    for cache in (None, tmp_path, tmp_path):
        small = matcher_for(chosen, cache).lean(frozenset(), (), sample, 1 << 20)
        assert isinstance(small, fast.HyperMatcher) and isinstance(small._database, db.Both)
        big = matcher_for(chosen, cache).lean(frozenset(), (), sample)
        assert isinstance(big, fast.HyperMatcher) and not isinstance(big._database, db.Both)
        assert small.scan(text, 5) == big.scan(text, 5) == plain.scan(text, 5)
    kept = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for damage in (b"", b"{}", b'{"a": 7}\nxx', b"[" * 9999, b'{"a": true}\nx', b"\xff\n\xff"):
        for path in kept:
            store.save(tmp_path, path.name, damage)
        small = matcher_for(chosen, tmp_path).lean(frozenset(), (), sample, 1 << 20)
        assert small.scan(text, 5) == plain.scan(text, 5)


def test_tried_expressions_are_kept_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [Superset(f"word{number}".encode(), False) for number in range(20)]
    tried = cuts.Cuts(tmp_path)
    assert [tried.found(item, b"word3 word3 word3 word1", 2) for item in items[:4]] == [0, 1, 0, 2]
    tried.save()
    size = len(next(tmp_path.iterdir()).read_bytes())
    with monkeypatch.context() as patch:
        patch.setattr(db, "build", None)  # nothing is compiled
        assert cuts.Cuts(tmp_path).found(items[3], b"word3", 9) == 1
    monkeypatch.setattr(cuts, "MOST", size)
    tried = cuts.Cuts(tmp_path)
    for item in items:
        tried.found(item, b"", 1)
    tried.save()
    body = store.load(tmp_path, next(tmp_path.iterdir()).name)
    assert body is not None and 1 < len(json.loads(body.partition(b"\n")[0])) <= 5
