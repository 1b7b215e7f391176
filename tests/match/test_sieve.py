"""The finer pass over the lines of frequent windows leaves out no hit, and does leave out what is found for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_matchers import REGEXES, WORDS, by_re, patterns

from neuronwatch.judge.match import matcher_for, pattern_of

pytest.importorskip("hyperscan")

from neuronwatch.judge.match import fast, sieve

SAMPLE = ("".join(f"step {n} failed, no model, timed, a bcde memory out zzz Requested\n" for n in range(400)) * 2).encode()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sieve is made after each scan, for each window that was found."""
    monkeypatch.setattr(sieve, "WORTH", 1)
    monkeypatch.setattr(sieve, "OFTEN", 1)


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=30), min_size=2, max_size=4),
    st.lists(st.frozensets(st.integers(0, len(REGEXES) - 1), max_size=2), max_size=2),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_same_hits(texts: list[list[str]], steps: list[frozenset[int]], rarely: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "RARELY", rarely)
        matcher = matcher_for(patterns()).lean(frozenset(), (), SAMPLE, 1 << 20)
        matcher.sieving = True
        gone: frozenset[int] = frozenset()
        for step in (frozenset[int](), *steps):
            matcher = matcher.lean(step, left=1) if step else matcher
            gone |= step
            for words in texts:
                data = "".join(words).encode()
                assert matcher.scan(data, 7) == [hit for hit in by_re(data, 7) if hit.pattern_id not in gone]


def test_what_is_found_for_nothing_is_passed_by() -> None:
    chosen = [pattern_of(0, r"cach\w{0,4} at 80%"), pattern_of(1, r"^Model \S+ gone"), pattern_of(2, r"(?i)needle$")]
    flood = b" at 80%|####| 4000/5000\rModel shard at 80%\r\n" * 300
    rare = b"x at 80%\rcache at 80%\r 81%\nModel qwen gone\n" + b"y" * 70_000 + b" cache at 80% " + b"y" * 70_000 + b"\nNEEDLE"
    matcher = matcher_for(chosen).lean(frozenset(), (), b"nothing of it here\n" * 100)
    assert isinstance(matcher, fast.HyperMatcher) and matcher._sieve is None
    matcher.sieving = True
    assert matcher.scan(flood, 0) == []
    assert matcher._sieve is not None and matcher._sieve.windows
    expected = matcher_for(chosen).scan(rare, 3)
    assert [hit.pattern_id for hit in expected] == [0, 1, 0, 2]
    assert matcher.scan(rare, 3) == expected
    asked = matcher.confirm.asked
    assert matcher.scan(flood * 20, 0) == []
    assert matcher.confirm.asked == asked
    less = matcher.lean(frozenset((1,)), left=1)
    assert isinstance(less, fast.HyperMatcher) and less._sieve is not None
    assert less.scan(rare, 3) == [hit for hit in expected if hit.pattern_id != 1]


def test_lines_that_only_a_guard_looks_for() -> None:
    """Those that hold none of the wanted texts are passed by together, those that hold one are found."""
    lines = [f"{n} error: no way to {'SAVE' if n == 70 else 'open'} it\n" for n in range(99)]
    data = "".join(lines).encode()
    matcher = matcher_for([pattern_of(0, "way to SAVE"), pattern_of(5, "(?i)error|fatal")]).lean(frozenset(), (), b"quiet\n" * 9)
    matcher.confirm.guard = 5
    matcher.sieving = True
    told: list[int] = []
    for texts, expected in (((b"save",), [0, 5]), ((b"shut",), [0]), ((), [0]), (None, [0, *[5] * 99])):
        matcher.confirm.guard_texts = lambda lines, texts=texts: told.append(lines) or texts  # type: ignore[misc]  # a default
        assert sorted(hit.pattern_id for hit in matcher.scan(data, 0)) == expected
    assert told == [99] * 4
