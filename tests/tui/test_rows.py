"""Rows are exactly as wide as they say, and no text of the host reaches the terminal as anything but text."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.tui.draw.row import Span, beside, cells, clipped, cut, fitted, plain, row, safe, span, width_of

ANY = st.text(alphabet=st.characters(), max_size=60)


@given(ANY)
def test_safe_text_moves_no_cursor(text: str) -> None:
    shown = safe(text)
    assert not any(unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") for c in shown)
    assert not any(c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u200b\ufeff" for c in shown)


@given(ANY, st.integers(0, 40))
def test_cut_and_fitted_hold_their_width(text: str, width: int) -> None:
    assert cells(cut(safe(text), width)) <= width
    assert cells(fitted(text, width)) == width


@given(st.lists(ANY, max_size=6), st.lists(ANY, max_size=3), st.integers(1, 60))
def test_a_clipped_row_is_exactly_as_wide_as_the_screen(left: list[str], right: list[str], width: int) -> None:
    assert width_of(clipped(tuple(map(span, left)), width)) == width
    assert width_of(clipped(beside(tuple(map(span, left)), tuple(map(span, right)), width), width)) == width


def test_escapes_markup_and_piled_marks_are_text() -> None:
    shown = plain(row("\x1b[31mred\x1b[0m [bold]x[/bold] a" + "\u0301" * 50 + " \u202eevil", Span("ok")))
    assert "\x1b" not in shown and "[bold]x[/bold]" in shown and "\u202e" not in shown
    assert shown.count("\u0301") <= 2


def test_a_line_of_ten_thousand_characters_is_cut() -> None:
    assert cells(fitted("x" * 10_000, 80)) == 80
    assert cells(fitted("\u754c" * 10_000, 80)) == 80
