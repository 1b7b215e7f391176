"""A daemon of another version, or a broken one: nothing that it tells ends the dashboard or makes it green."""

from __future__ import annotations

import asyncio
import copy
import random
from typing import Any

import pytest
from tui import pictures

from neuronwatch.cli.top import PAGES
from neuronwatch.tui.canvas import Canvas
from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.draw.row import plain
from neuronwatch.tui.frame import UNDRAWN, compose
from neuronwatch.tui.pages import book
from neuronwatch.tui.view.picture import Link, Picture

ODD: tuple[Any, ...] = (None, "NaN", float("nan"), -1, [], {}, [1], {"a": 1}, True, "x" * 5000, 1e308)


def shown(picture: Picture, page: str = "overview") -> str:
    pages = book.pages()
    return "\n".join(map(plain, compose(picture, next(item for item in pages if item.name == page), pages, 100, 30, UNICODE)))


def mutated(value: Any, chance: random.Random) -> Any:
    """The value with one place of it replaced by something odd, or left out."""
    value = copy.deepcopy(value)
    place, key = {"": value}, ""
    here: Any = value
    while isinstance(here, (dict, list)) and here and chance.random() < 0.8:
        place = here
        key = chance.choice(list(here) if isinstance(here, dict) else range(len(here)))  # type: ignore[assignment]
        here = here[key]
    if isinstance(place, dict) and key and chance.random() < 0.3:
        del place[key]
    else:
        place[key] = chance.choice(ODD)
    return value if "" not in place or place.get("") is value else place[""]


@pytest.mark.parametrize("seed", range(40))
def test_odd_answers_end_nothing(seed: int) -> None:
    chance = random.Random(seed)
    items = (pictures.incident("hw.uncorrectable-memory", "critical", ("nd1",)),)
    events: list[tuple[str, Any]] = [("status", pictures.status("fault", ("x",), items)), ("facts", pictures.facts())]
    events += [("samples", item) for item in pictures.samples()] + [("incidents", list(items))]
    picture = pictures.picture()
    for name, data in events:
        picture.apply(name, mutated(data, chance))
    for page in PAGES:
        assert len(shown(picture, page).splitlines()) == 30


def test_what_cannot_be_understood_is_said() -> None:
    picture = pictures.picture()
    picture.apply("samples", {"source": "sysfs"})
    assert picture.odd == 1 and "`samples` of the daemon cannot be understood" in shown(picture)


def test_no_page_is_undrawn_for_what_a_daemon_really_tells() -> None:
    for page in PAGES:
        assert UNDRAWN not in shown(pictures.picture(), page)


def test_old_news_is_never_green() -> None:
    picture = pictures.picture()
    picture.apply("time", pictures.NOW + 60)
    text = shown(picture)
    assert picture.verdict == "unknown" and "60 s old" in text and "HEALTHY" not in text


def test_a_mandatory_source_that_says_nothing_more_is_not_green_though_the_status_is_new() -> None:
    picture = pictures.picture()
    picture.apply("time", pictures.NOW + 60)
    document = pictures.status()
    document["time"] = pictures.NOW + 60
    picture.apply("status", document)
    assert picture.verdict == "unknown" and "nothing new from sysfs" in picture.reasons()[0]


def test_sources_of_a_lost_daemon_are_not_called_fresh() -> None:
    picture = pictures.picture()
    picture.apply("link", Link("lost", 0.0, "gone"))
    assert "fresh" not in shown(picture, "sources") and "this is how it was" in shown(picture, "sources")


def test_an_older_daemon_is_said_where_it_matters() -> None:
    picture = pictures.picture()
    picture.apply("lacks", "rules")
    assert "it does not know rules; update it" in shown(picture, "rules")
    assert "older" not in shown(picture, "incidents")


def test_the_pages_of_the_command_line_are_those_of_the_book() -> None:
    assert tuple(page.name for page in book.pages()) == PAGES


def test_without_colour_the_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from test_dashboard import Told, begin, text

    from neuronwatch.tui.app import Dashboard

    monkeypatch.setenv("NO_COLOR", "1")

    async def go() -> None:
        feed = Told()
        app = Dashboard(feed, UNICODE, theme="plain")
        async with app.run_test(size=(100, 30)) as pilot:
            await begin(app, feed)
            await pilot.pause()
            assert "HEALTHY" in text(app) and app.query_one(Canvas).size.width == 100

    asyncio.run(go())
