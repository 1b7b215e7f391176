"""Every page looks as it did: golden files, in two sizes, on five kinds of host."""

from __future__ import annotations

import difflib
from xml.etree import ElementTree

import pytest
from tui import hosts, snapshots

from neuronwatch.tui.draw.row import Span
from neuronwatch.tui.svg import svg
from neuronwatch.tui.theme import THEMES

RENEW = "if it is meant, renew: python tests/tui/snapshots.py"


@pytest.mark.parametrize("name", [*snapshots.names(), "help"])
def test_pages_look_as_they_did(name: str) -> None:
    made = dict(snapshots.all_files(name))
    assert made
    for file, content in made.items():
        path = snapshots.FILES / file
        assert path.exists(), f"{file} is new; {RENEW}"
        old = path.read_text(encoding="utf-8")
        if old != content:
            diff = "\n".join(
                list(difflib.unified_diff(old.splitlines(), content.splitlines(), "golden", "now", lineterm="", n=1))[:40]
            )
            pytest.fail(f"{file} differs; {RENEW}\n{diff}")


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in snapshots.FILES.iterdir()} == {name for name, _ in snapshots.all_files()}


def test_blind_and_lost_hosts_look_healthy_nowhere() -> None:
    for case in ("blind", "lost"):
        for name in snapshots.names():
            assert "HEALTHY" not in snapshots.text(snapshots.shown(case, name, (160, 45)))


def test_hosts_are_the_same_each_time() -> None:
    for case in hosts.CASES:
        assert snapshots.shown(case, "overview", (80, 24)) == snapshots.shown(case, "overview", (80, 24))


def test_an_svg_is_xml_whatever_the_text() -> None:
    rows = [(Span('<&>" ]]> 界 ▁▂█░', "error"), Span("x", "fill"), Span("\ufffe", "dim"))]
    for theme in THEMES.values():
        ElementTree.fromstring(svg([rows, rows], theme, "#000000", "<title>"))
