"""Both matchers find exactly the lines that `re` finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronwatch.judge.match import OVERLAP, PIECE, Hit, Matcher, Pattern, matcher_for, pattern_of, pure_matcher
from neuronwatch.judge.match.confirm import line_text

REGEXES = (
    r"NeuronCore\(s\) not available - Requested:(?P<r>\S+)",
    r"(?i)out of memory|oom-kill",
    r"NRT_(?:EXEC|LOAD)_[A-Z]+ failed",
    r"error.{0,20}timed out",
    r"\bstep \d+\b",
    r"[Ff]ailed to (?:load|open) (?:the )?model",
    r"a+bcde",
    r"(?<=foo: )bars?\b",
    r"x{3}y?zzz",
    r"Traceback \(most recent|Fatal Python error",
    r"caf\u00e9 (?:closed|open)",
)
WORDS = (
    "NeuronCore(s) not available - Requested:", "nc1-nc1", "OUT OF memory", "oom-kill", "NRT_EXEC_BAD failed", "error", "timed out", "step 12",
    "steps 12", "Failed to load model", "failed to open the model", "aaabcde", "foo: bar", "foo: bars", "xxxyzzz", "xxxzzz",
    "Traceback (most recent", "Fatal Python error", "caf\u00e9 open", "\x1b[31m", "\x1b[0m", " ", "\0", "\r", "\n", "\n", "\r\n", "\ufffd", "[0m",
)  # fmt: skip


def patterns() -> tuple[Pattern, ...]:
    return tuple(pattern_of(number, regex) for number, regex in enumerate(REGEXES))


def by_re(data: bytes, base: int) -> list[Hit]:
    hits = []
    for found in re.finditer(rb"[^\r\n]+", data):
        text = line_text(found.group())
        for number, regex in enumerate(REGEXES):
            if re.search(regex, text):
                hits.append(Hit(number, base + found.start(), base + found.end()))
    return hits


def both() -> list[Matcher]:
    made = [pure_matcher(patterns())]
    pytest.importorskip("hyperscan")
    fast = matcher_for(patterns())
    return [*made, fast, fast.lean(frozenset(), (), b"step 12 failed to load the model\n" * 50)]


MATCHERS: list[Matcher] = []


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.binary(max_size=20))
def test_matchers_find_what_re_finds(words: list[str], noise: bytes) -> None:
    if not MATCHERS:
        MATCHERS.extend(both())
    data = "".join(words).encode() + noise
    expected = by_re(data, 1000)
    for matcher in MATCHERS:
        assert matcher.scan(data, 1000) == expected


def test_part_of_a_buffer_is_scanned() -> None:
    data = bytearray(b"step 1\nstep 2\nstep 3\n")
    for matcher in both():
        assert matcher.scan(data, 100, 7, 14) == [Hit(4, 107, 113)]


@pytest.mark.parametrize("at", [0, PIECE - 8, PIECE - OVERLAP + 3, 3 * PIECE, 5 * PIECE + 17])
def test_long_lines_are_searched_in_pieces(at: int) -> None:
    line = bytearray(b"-" * (6 * PIECE))
    line[at : at + 8] = b" step 5 "
    for matcher in both():
        hits = matcher.scan(bytes(line), 0)
        assert {hit.pattern_id for hit in hits} == {4}
        assert all(hit.line_start <= at + 1 and at + 7 <= hit.line_end <= hit.line_start + PIECE for hit in hits)
    assert len({tuple(matcher.scan(bytes(line), 0)) for matcher in both()}) == 1


def test_many_hits_in_one_long_line_cost_one_search_a_piece() -> None:
    line = b"step 5 " * (PIECE // 7 * 8)
    results = {tuple(matcher.scan(line, 0)) for matcher in both()}
    assert len(results) == 1
    assert len(results.pop()) == -(-(len(line) - OVERLAP) // (PIECE - OVERLAP))


def test_a_pattern_without_literals_is_tried_everywhere() -> None:
    chosen = [Pattern(3, r"\d{4}", ()), Pattern(1, "needle", ("needle",))]
    for matcher in (pure_matcher(chosen), matcher_for(chosen)):
        assert matcher.scan(b"needle 1234\nnothing\n5678", 0) == [Hit(1, 0, 11), Hit(3, 0, 11), Hit(3, 20, 24)]


def test_without_leaves_patterns_out() -> None:
    for matcher in both():
        assert [hit.pattern_id for hit in matcher.lean(frozenset({4})).scan(b"step 1 aabcde oom-kill", 0)] == [1, 6]
