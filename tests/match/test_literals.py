"""Literals that a pattern cannot match without."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronwatch.judge.match import required_literals


@pytest.mark.parametrize(
    ("regex", "literals", "ignore_case"),
    [
        (r"out of memory", ("out of memory",), False),
        (r"(?i)Out Of Memory", ("out of memory",), True),
        (r"foo(bar|baz)qux", ("foobarqux", "foobazqux"), False),
        (r"a+bcd", ("abcd",), False),
        (r"(?:ab){2,3}cdef", ("abcdef",), False),
        (r"x{3}y?zed", ("xxxyzed", "xxxzed"), False),
        (r"(?<=needle )\d+", ("needle ",), False),
        (r"(?:never|always)\s+(?:Compilation|Execution)Failure", ("CompilationFailure", "ExecutionFailure"), False),
        (r"[Ff]ailed to (?i:Load) x", ("failed to load x",), True),
        (r"longer literal|literal", ("literal",), False),
    ],
)
def test_literals(regex: str, literals: tuple[str, ...], ignore_case: bool) -> None:
    assert required_literals(regex) == (literals, ignore_case)


@pytest.mark.parametrize("regex", [r"\d+", r"(?:abc)?", r"abc|\d", r".*", r"[^a]", r"(?!abc)", r""])
def test_no_literal(regex: str) -> None:
    assert required_literals(regex) is None


def test_bad_pattern_is_an_error() -> None:
    with pytest.raises(re.error):
        required_literals("(")


ATOMS = st.sampled_from(
    ["a", "bc", "[xy]", ".", r"\d", "(?:ab|cd)", "(?:ab|c?)", "e+", "f?", "g{2}", "(?=h)h", r"\b", "[^k]", "(?P<n>mn)"]
)


@st.composite
def regexes(draw: st.DrawFn) -> str:
    parts = draw(st.lists(ATOMS, min_size=1, max_size=6))
    if parts.count("(?P<n>mn)") > 1:
        parts = [part for part in parts if part != "(?P<n>mn)"] or ["a"]
    flag = draw(st.sampled_from(["", "(?i)"]))
    return flag + "".join(parts)


@settings(max_examples=500, deadline=None)
@given(regexes(), st.text(alphabet="abcdxyefghkmnABC 01", max_size=30))
def test_a_line_that_matches_holds_a_literal(regex: str, text: str) -> None:
    found = required_literals(regex)
    if found is not None and re.search(regex, text):
        literals, ignore_case = found
        assert any(literal in (text.lower() if ignore_case else text) for literal in literals)
