"""The program itself, driven by keys."""

from __future__ import annotations

import asyncio
from typing import Any

from tui import pictures

from neuronwatch.tui.app import Dashboard
from neuronwatch.tui.canvas import Canvas
from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.feed.api import Tell
from neuronwatch.tui.view.picture import Link


class Told:
    """A feed of a test: tells what the test wants."""

    def __init__(self) -> None:
        self.tell: Tell | None = None
        self.needs: tuple[str, ...] = ()
        self.closed = False

    def start(self, tell: Tell) -> None:
        self.tell = tell

    def need(self, names: tuple[str, ...]) -> None:
        self.needs = names

    def call(self, method: str, **params: Any) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        self.closed = True


def text(app: Dashboard) -> str:
    canvas = app.query_one(Canvas)
    return "\n".join(canvas.render_line(y).text for y in range(canvas.size.height))


async def begin(app: Dashboard, feed: Told) -> None:
    assert feed.tell is not None
    events = [("time", pictures.NOW), ("status", pictures.status()), ("facts", pictures.facts())]
    await asyncio.to_thread(
        feed.tell, [*events, *(("samples", item) for item in pictures.samples()), ("link", Link("live", pictures.NOW))]
    )


def test_pages_open_by_number_and_the_program_ends_with_q() -> None:
    async def go() -> None:
        feed = Told()
        app = Dashboard(feed, UNICODE)
        async with app.run_test(size=(100, 30)) as pilot:
            await begin(app, feed)
            await pilot.pause()
            assert "HEALTHY" in text(app) and "nd1" in text(app)
            await pilot.press(str([page.name for page in app.pages].index("sources") + 1))
            assert "neuron-monitor" in text(app)
            await pilot.press("?")
            assert "Keys" in text(app) and "held but idle" in text(app)
            await pilot.press("escape")
            assert "neuron-monitor" in text(app)
            await pilot.press("q")
        assert feed.closed

    asyncio.run(go())


def test_pause_holds_the_picture_and_loses_nothing() -> None:
    async def go() -> None:
        feed = Told()
        app = Dashboard(feed, UNICODE)
        async with app.run_test(size=(100, 30)) as pilot:
            await begin(app, feed)
            await pilot.press("space")
            assert "PAUSED" in text(app)
            assert feed.tell is not None
            await asyncio.to_thread(feed.tell, [("status", pictures.status("warning", ("later",)))])
            await pilot.pause()
            assert "later" not in text(app)
            await pilot.press("space")
            await pilot.pause(1.2)
            assert "later" in text(app)

    asyncio.run(go())


def test_only_rows_that_changed_are_drawn() -> None:
    async def go() -> None:
        feed = Told()
        app = Dashboard(feed, UNICODE, rate=0.01)
        async with app.run_test(size=(100, 30)) as pilot:
            await begin(app, feed)
            await pilot.pause()
            canvas = app.query_one(Canvas)
            before = canvas.drawn
            app.draw()
            assert canvas.drawn == before
            app.picture.apply("status", pictures.status("warning", ("later",)))
            app.draw()
            assert 1 <= canvas.drawn - before <= 4

    asyncio.run(go())
