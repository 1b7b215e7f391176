"""All pages, in the order of their number keys."""

from __future__ import annotations

from collections.abc import Sequence

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


def tab_names(pages: Sequence[Page], chosen: Page, width: int) -> list[str]:
    """What stands on the tabs: whole titles where all fit, else only the chosen one's is whole. A tab is four cells wider."""
    long = sum(len(item.title) + 4 for item in pages) <= width
    short = max(3, width // max(1, len(pages)) - 4)
    return [item.title if long or item is chosen else item.title[:short] for item in pages]


def tab_at(pages: Sequence[Page], chosen: Page, x: int, width: int) -> str:
    """The page whose tab stands at column `x`."""
    at = 0
    for item, name in zip(pages, tab_names(pages, chosen, width), strict=True):
        at += len(name) + 4
        if x < at:
            return item.name
    return chosen.name
