"""The rules: how each stands, the filters, and why one did not fire."""

from __future__ import annotations

from typing import Any

import pytest
from tui import pictures

from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.draw.row import plain
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages.rules import STANDS, Rules
from neuronwatch.tui.view.picture import Picture


def rule(id: str, state: str, severity: str = "error", **more: Any) -> dict[str, Any]:
    return {"id": id, "fault": id, "title": f"title of {id}", "role": "cause", "severity": severity, "stage": id.split(".")[0], "ends": "exit",
            "signatures": ["line"], "joins": [], "path": "x.toml", "state": state, "reason": f"reason of {id}", "since": 0.0} | more  # fmt: skip


def told() -> Picture:
    picture = pictures.picture()
    rules = [rule(f"env.{number}", state) for number, state in enumerate(reversed(STANDS))]
    picture.apply("rules", [*rules, rule("hw.memory", "never seen", "critical")])
    return picture


def text(page: Rules, picture: Picture, width: int = 120, height: int = 40) -> str:
    return "\n".join(plain(row) for row in compose(picture, page, [page], width, height, UNICODE))


def test_what_is_true_comes_first_and_every_state_is_counted() -> None:
    shown = text(Rules(), told())
    lines = shown.split("\n")
    assert "✗ true" in lines[4] and "? unknown" in lines[5]
    for stand in STANDS:
        assert f"{2 if stand == 'never seen' else 1} {stand}" in lines[2]


def test_a_rule_that_is_not_true_carries_no_mark_of_a_fault() -> None:
    lines = text(Rules(), told()).split("\n")[6:13]
    assert not any("✗" in line for line in lines)


@pytest.mark.parametrize(
    ("keys", "wanted", "others"), [("ff", "hw.memory", "env.0"), ("s", "hw.memory", "env.0"), ("v", "env.6", "env.0")]
)
def test_filters_by_stage_severity_and_state(keys: str, wanted: str, others: str) -> None:
    page, picture = Rules(), told()
    for key in keys:
        page.key(key, picture)
    shown = text(page, picture)
    assert wanted in shown and others not in shown and "only" in shown


def test_why_a_rule_did_not_fire() -> None:
    page, picture = Rules(), told()
    text(page, picture)
    page.key("enter", picture)
    assert page.needs() == ("rules", "why env.6")
    assert "has not told" in text(page, picture)
    checks = [{"what": "signature line", "state": "true", "detail": "x.log:3"}, {"what": "join a: facts.x > 3", "state": "unknown", "detail": "not in the evidence: x"},
              {"what": "join b: facts.y", "state": "false", "detail": ""}]  # fmt: skip
    why = {"rule": "env.6", "state": "held back", "reason": "not this fault: it ended well", "since": 0.0, "fired": False, "confidence": 0.0,
           "cause": "the cause", "checks": checks, "notes": ["not this fault: it ended well"], "evidence": []}  # fmt: skip
    picture.apply("why", why)
    shown = text(page, picture)
    assert "✓ seen" in shown and "? source blind" in shown and "· not seen" in shown
    assert "What held it back" in shown and "it ended well" in shown and "not in the evidence: x" in shown
    page.key("n", picture)
    assert page.needs() == ("rules", "why env.5") and "has not told" in text(page, picture)
    page.key("escape", picture)
    assert page.needs() == ("rules",)


def test_no_rules_is_said_and_is_not_green() -> None:
    assert "nothing is known of the rules" in text(Rules(), Picture())
    picture = pictures.picture()
    assert "no rule is in use" in text(Rules(), picture)
