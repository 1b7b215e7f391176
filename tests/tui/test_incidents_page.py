"""The incident: chain, evidence in context, fix, acknowledgement."""

from __future__ import annotations

from typing import Any

from tui import hosts, pictures

from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.draw.row import plain
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages.api import Frame, Request
from neuronwatch.tui.pages.incident_detail import Detail
from neuronwatch.tui.pages.incidents import Incidents
from neuronwatch.tui.view.picture import Picture


def faulty(*faults: str) -> Picture:
    items = tuple(pictures.incident(fault, number=number, entities=("nd1",)) for number, fault in enumerate(faults))
    return pictures.picture(pictures.status("fault", faults, items))


def text(page: Incidents, picture: Picture, height: int = 60) -> str:
    return "\n".join(plain(row) for row in compose(picture, page, [page], 100, height, UNICODE))


def test_from_the_list_to_one_and_back() -> None:
    page, picture = Incidents(), faulty("hw.uncorrectable-memory", "runtime.cores-busy")
    assert "hw.uncorrectable-memory" in text(page, picture) and "runtime.cores-busy" in text(page, picture)
    page.key("j", picture)
    page.key("enter", picture)
    shown = text(page, picture)
    assert "do this" in shown and "What followed from what" in shown and "host:/x.log:3" in shown and "opened" in shown
    assert page.needs() == ("proposals", f"evidence {picture.incidents[1]['id']}")
    page.key("escape", picture)
    assert page.needs() == ("proposals",) and "age" in text(page, picture)


def test_evidence_stands_in_its_context() -> None:
    page, picture = Incidents(), faulty("hw.uncorrectable-memory")
    page.show(picture.incidents[0]["id"])
    lines = "\n".join(["one", "two", "the line of it", "four", "five"])
    picture.incidents[0]["findings"][0]["evidence"][0]["text"] = "the line of it"
    picture.apply("evidence", {"incidents": picture.incidents[:1], "files": [{"path": "host:/x.log", "text": lines}]})
    shown = text(page, picture)
    assert "two" in shown and "▸ the line of it" in shown and "four" in shown


def test_acknowledging_asks_the_daemon_once() -> None:
    page, picture = Incidents(), faulty("hw.uncorrectable-memory")
    text(page, picture)
    asked = page.key("a", picture)
    assert asked == Request("call", ("ack", asked.arguments[1]), (("id", picture.incidents[0]["id"]),)) if asked else False
    picture.incidents[0]["state"] = "acknowledged"
    again = page.key("a", picture)
    assert again is not None and again.do == "say"


def test_the_command_of_a_step_is_what_is_copied() -> None:
    page, picture = Incidents(), faulty("driver.too-old")
    picture.incidents[0]["findings"][0]["fix"] = ["run `sudo apt-get install aws-neuronx-dkms` and reboot"]
    page.show(picture.incidents[0]["id"])
    text(page, picture)
    copied = set()
    for _ in range(40):
        page.key("down", picture)
        text(page, picture)
        copied.add(page.copied(picture))
    assert "sudo apt-get install aws-neuronx-dkms" in copied


def test_an_incident_without_findings_of_now_and_a_gone_one_are_said() -> None:
    page, picture = Incidents(), pictures.picture()
    page.show("gone")
    assert "no incident gone is known any more" in text(page, picture)


def test_a_filter_leaves_what_contains_it() -> None:
    page, picture = Incidents(), faulty("hw.uncorrectable-memory", "runtime.cores-busy")
    page.filter("CORES")
    assert (
        "runtime.cores-busy" in text(page, picture)
        and "hw.uncorrectable-memory" not in text(page, picture).split("Incidents", 1)[1]
    )
    page.filter("nothing like it")
    assert "no incident contains 'nothing like it'" in text(page, picture)


def test_ten_thousand_incidents_draw_as_many_rows_as_fit() -> None:
    items: list[dict[str, Any]] = [pictures.incident("runtime.cores-busy", number=number) for number in range(10_000)]
    picture = pictures.picture()
    picture.apply("incidents", items)
    page = Incidents()
    assert len(compose(picture, page, [page], 100, 30, UNICODE)) == 30
    page.key("G", picture)
    assert "▸" in text(page, picture, 30)


def test_a_command_that_goes_over_several_lines_is_lit_up_as_a_whole() -> None:
    item = pictures.incident("x.y")
    item["findings"][0]["fix"] = [
        "drain it: `kubectl drain NODE --ignore-daemonsets --delete-emptydir-data --force` or else `reboot` now"
    ]
    picture = pictures.picture(pictures.status("fault", ("x",), (item,)))
    lines = [
        line
        for line in Detail(item["id"]).preview(picture, Frame(50, 60, UNICODE))
        if any(part.style == "command" for part in line)
    ]
    told = " ".join(part.text.strip() for line in lines for part in line if part.style == "command")
    assert len(lines) > 1 and told == "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data --force reboot"


def asking() -> Picture:
    found = faulty("hw.uncorrectable-memory")
    found.apply("proposals", [hosts.PROPOSAL])
    found.apply("time", hosts.NOW)
    return found


def test_what_waits_for_a_person_stands_first_with_its_change() -> None:
    page, picture = Incidents(), asking()
    shown = text(page, picture)
    assert shown.index("approve?") < shown.rindex("hw.uncorrectable-memory")
    assert "--per_device_train_batch_size 8 -> 4" in shown and "expires in" in shown
    page.key("enter", picture)
    assert "What would change" in text(page, picture) and page.copied(picture) == "0a1b2c3d"
    page.key("escape", picture)
    page.key("j", picture)
    page.key("enter", picture)
    assert "What followed from what" in text(page, picture)


def test_an_answer_is_given_twice() -> None:
    for opens in ((), ("enter",)):
        page, picture = Incidents(), asking()
        text(page, picture)
        for key in opens:
            page.key(key, picture)
        first = page.key("A", picture)
        assert first is not None and first.do == "say" and "A again" in first.arguments[0]
        assert page.key("D", picture).do == "say", "another answer asks anew"  # type: ignore[union-attr]
        picture.apply("time", picture.now + 60)
        assert page.key("D", picture).do == "say", "too late"  # type: ignore[union-attr]
        asked = page.key("D", picture)
        assert (
            asked is not None
            and asked.arguments[0] == "answer"
            and dict(asked.parameters) == {"id": "0a1b2c3d", "answer": "decline"}
        )


def test_a_proposal_that_was_answered_elsewhere_is_said_to_be_gone() -> None:
    page, picture = Incidents(), asking()
    text(page, picture)
    page.key("enter", picture)
    picture.apply("proposals", [])
    assert "does not wait any more" in text(page, picture) and page.key("A", picture) is None


def test_hostile_proposals_are_drawn_as_text() -> None:
    page, picture = Incidents(), asking()
    picture.apply(
        "proposals",
        [{"id": "x", "words": "[bold]\x1b[2J\u202e" * 50, "preview": "no list", "since": "then", "expires": None}, {"id": 3}, "no"],
    )
    picture.apply("proposals", [{"id": "x", "words": "[bold]\x1b[2J" * 50, "preview": [None, {"a": 1}], "since": "then"}])
    assert "[bold]" in text(page, picture) and "\x1b" not in text(page, picture)
