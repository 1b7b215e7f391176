"""Lines that hold an escape are found as the plain expression finds them, and in time that grows with the text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.judge.match import ansi

PLAIN = re.compile(rb"[^\r\n]*\x1b[^\r\n]*")


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\x1b", b"[31m"]), max_size=40), st.integers(0, 40), st.integers(0, 80))
def test_like_the_expression(parts: list[bytes], start: int, size: int) -> None:
    text = b"".join(parts)
    start = min(start, len(text))
    end = min(start + size, len(text))
    assert list(ansi._lines(text, start, end)) == [found.span() for found in PLAIN.finditer(text, start, end)]


def test_long_lines_without_an_escape() -> None:
    """With the expression this takes minutes: it looks through the line once from each of its bytes."""
    text = b"x" * 2_000_000 + b"\n\x1b[31mred\n" + b"y" * 2_000_000
    assert list(ansi._lines(text, 0, len(text))) == [(2_000_001, 2_000_009)]
