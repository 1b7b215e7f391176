"""The command palette: everything by its name, by keys and by mouse."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tui import pictures
from tui.test_dashboard import Told, begin, text

from neuronwatch.tui.app import Dashboard
from neuronwatch.tui.draw.glyphs import ASCII, UNICODE
from neuronwatch.tui.draw.row import plain, width_of
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages import book
from neuronwatch.tui.pages.palette import Palette, match, score
from neuronwatch.tui.theme import THEMES


@given(st.text(max_size=8), st.text(max_size=40))
def test_letters_are_found_where_they_are(wanted: str, shown: str) -> None:
    places = match(wanted, shown)
    if places:
        assert places == sorted(set(places))
        assert score(wanted, shown) is not None


def test_letters_that_stand_together_come_first() -> None:
    near, far = score("sour", "page: Sources"), score("sour", "show our rules")
    assert near is not None and far is not None and near < far
    assert score("xyz", "page: Sources") is None and score("", "anything") == 0


@pytest.mark.parametrize("size", [(40, 8), (80, 24), (300, 80)])
def test_it_fits_every_terminal_with_ten_thousand_incidents(size: tuple[int, int]) -> None:
    picture, pages = pictures.picture(), book.pages()
    picture.apply("incidents", [pictures.incident(f"x\x1b[31m.{number}", number=number) for number in range(10_000)])
    palette = Palette(pages, THEMES, picture)
    for glyphs in (UNICODE, ASCII):
        for key in ("end", "home", "x", "down"):
            palette.key(key, key if len(key) == 1 else None)
            rows = compose(picture, pages[0], pages, *size, glyphs, palette=palette)
            assert {width_of(row) for row in rows} == {size[0]} and len(rows) == size[1]
            assert "\x1b" not in "".join(map(plain, rows))


def test_pages_themes_actions_and_incidents_are_chosen() -> None:
    async def go() -> None:
        feed = Told()
        app = Dashboard(feed, UNICODE)
        async with app.run_test(size=(100, 40)) as pilot:
            await begin(app, feed)
            assert feed.tell is not None
            item = pictures.incident("runtime.cores-busy")
            await asyncio.to_thread(feed.tell, [("status", pictures.status("fault", ("x",), (item,)))])
            await pilot.pause(1.2)
            await pilot.press(":", *"sourc")
            assert "page: Sources" in text(app)
            await pilot.press("enter")
            assert app.page.name == "sources" and "neuron-monitor" in text(app)
            await pilot.press("ctrl+p", *"cores-b", "enter")
            assert app.page.name == "incidents" and "runtime.cores-busy" in text(app)
            await pilot.press(":", *"theme: light", "enter")
            assert "theme light" in text(app)
            await pilot.press("T")
            assert "theme sixteen" in text(app)
            await pilot.press(":", *"pause", "enter")
            assert "PAUSED" in text(app)
            await pilot.press(":", *"zzzz")
            assert "nothing is called so" in text(app)
            await pilot.press("enter", "escape")
            assert "nothing is called so" not in text(app)
            await pilot.press(":")
            await pilot.click(offset=(5, 3))
            assert app.page.name == "overview"
            await pilot.press(":", *"quit", "enter")
        assert feed.closed

    asyncio.run(go())
