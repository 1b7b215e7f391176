"""The frame around the pages: tabs, footer, the largest and smallest terminals."""

from __future__ import annotations

import asyncio

import pytest
from tui import hosts
from tui.test_dashboard import Told, begin, text

from neuronwatch.tui.app import Dashboard
from neuronwatch.tui.canvas import Canvas
from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.draw.row import plain
from neuronwatch.tui.frame import MOST, compose
from neuronwatch.tui.pages import book


@pytest.mark.parametrize("width", range(40, 301, 4))
def test_no_tab_and_no_key_is_cut_in_half(width: int) -> None:
    picture, pages = hosts.faulty(), book.pages()
    for page in pages:
        rows = compose(picture, page, pages, width, 24, UNICODE)
        tabs, footer = plain(rows[1]), plain(rows[-1]).rstrip()
        assert page.title in tabs and [sign for sign in tabs if sign.isdecimal()] == list("12345678")
        for number, item in enumerate(pages):
            at = tabs.index(str(number + 1))
            assert book.tab_at(pages, page, at, width) == item.name
        hints = {
            f"{key} {what}" for key, what in (*page.hints(), ("space", "pause"), ("[ ]", "time"), ("/", "filter"), ("y", "copy"))
        }
        assert footer.endswith(" ? help  q quit")
        assert {part for part in footer.strip().split("  ") if part} <= {*hints, "? help", "q quit"}


def test_a_caption_leaves_room_for_the_way_out() -> None:
    picture, pages = hosts.faulty(), book.pages()
    picture.apply("caption", "a long word on the moment " * 5)
    for width in (40, 80, 120):
        assert plain(compose(picture, pages[0], pages, width, 24, UNICODE)[-1]).rstrip().endswith("? help  q quit")


def test_a_huge_terminal_is_drawn_up_to_a_size() -> None:
    async def go() -> None:
        feed = Told()
        app = Dashboard(feed, UNICODE)
        async with app.run_test(size=(100, 30)) as pilot:
            await begin(app, feed)
            await pilot.pause()
            await pilot.resize_terminal(1500, 900)
            await pilot.pause()
            canvas = app.query_one(Canvas)
            assert (canvas.size.width, canvas.size.height) == MOST
            assert "HEALTHY" in text(app) and "nd1" in text(app)

    asyncio.run(go())
