"""All pages, in the order of their number keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from neuronwatch.tui.pages.api import Page
from neuronwatch.tui.pages.incidents import Incidents
from neuronwatch.tui.pages.jobs import Jobs
from neuronwatch.tui.pages.logs import LogsPage
from neuronwatch.tui.pages.overview import Overview
from neuronwatch.tui.pages.processes import Processes
from neuronwatch.tui.pages.rules import Rules
from neuronwatch.tui.pages.serving import Serving
from neuronwatch.tui.pages.sources import Sources


def pages() -> list[Page]:
    return [Overview(), Incidents(), LogsPage(), Jobs(), Serving(), Processes(), Rules(), Sources()]


class Tab(NamedTuple):
    """What stands on a tab, blanks included: its number, its name."""

    number: str
    name: str


def tabs(pages: Sequence[Page], chosen: Page, width: int) -> list[Tab]:
    """All tabs of a width, as much as fits: whole titles, the same closer together, short titles, numbers alone; the title of the
    chosen page stays."""
    found: list[Tab] = []
    for close, names in (
        (False, [item.title for item in pages]),
        (True, [item.title for item in pages]),
        (True, [item.title if item is chosen else item.brief or item.title for item in pages]),
        (True, [item.title if item is chosen else "" for item in pages]),
    ):
        found = [Tab(f"{number}" if close else f" {number}", f" {name} " if name else " ") for number, name in enumerate(names, 1)]
        if sum(len(tab.number + tab.name) for tab in found) <= width:
            break
    return found


def tab_at(pages: Sequence[Page], chosen: Page, x: int, width: int) -> str:
    """The page whose tab stands at column `x`."""
    at = 0
    for item, tab in zip(pages, tabs(pages, chosen, width), strict=True):
        at += len(tab.number + tab.name)
        if x < at:
            return item.name
    return chosen.name
