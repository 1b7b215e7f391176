"""Curves of braille and of ASCII."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.tui.draw.curve import curve, scale_of, short
from neuronwatch.tui.draw.glyphs import ASCII, UNICODE
from neuronwatch.tui.draw.row import plain, width_of

POINTS = st.lists(st.tuples(st.floats(-1e9, 1e9), st.none() | st.floats(-1e300, 1e300)), max_size=40)


@given(st.lists(POINTS, max_size=3), st.integers(1, 60), st.integers(1, 12), st.booleans(), st.booleans())
def test_a_curve_holds_its_room(
    runs: list[list[tuple[float, float | None]]], width: int, height: int, log: bool, ascii: bool
) -> None:
    rows = curve(runs, width, height, ASCII if ascii else UNICODE, log)
    assert len(rows) <= height
    assert all(width_of(row) <= width for row in rows[:-1])
    assert not ascii or all(plain(row).isascii() for row in rows)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_at_an_axis_fits_its_cells(value: float) -> None:
    assert len(short(value)) <= 8


def test_a_falling_line_falls() -> None:
    rows = [plain(row)[9:] for row in curve([[(float(x), 10.0 - x) for x in range(10)]], 30, 6, UNICODE)]
    assert rows[0][0] not in " ⠀" and rows[0][-1] == " " and rows[4][-1] not in " ⠀" and rows[4][0] == " "


def test_what_is_no_number_parts_the_line_and_is_marked() -> None:
    rows = curve([[(0.0, 1.0), (1.0, None), (2.0, 1.0)]], 30, 6, UNICODE)
    assert "✗" in plain(rows[0]) and any(part.style == "error" for part in rows[0])


def test_a_logarithm_shows_decades_evenly_and_leaves_out_what_has_none() -> None:
    scale = scale_of([[(0.0, 1.0), (1.0, 100.0), (2.0, 0.0)]], True)
    assert scale is not None and round(scale.value(0.5)) == 10
    assert scale_of([[(0.0, 0.0)]], True) is None
    assert "no number" in plain(curve([[(0.0, None)]], 40, 6, UNICODE)[0])


def test_earlier_runs_are_drawn_behind_the_last_one() -> None:
    rows = curve([[(0.0, 2.0), (9.0, 2.0)], [(0.0, 1.0), (9.0, 1.0)]], 40, 8, UNICODE)
    assert {part.style for part in rows[0] if part.text.strip()} >= {"dim"} and any(
        part.style == "spark" for row in rows for part in row
    )
