"""Time travel: the host as it was, and what is not known of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from daemon.daemon_support import Daemon, small_host, until
from tui import pictures
from tui.pictures import NOW
from tui.test_dashboard import Told, begin, text
from tui.test_private import shown

from neuronwatch.tui.app import Dashboard
from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.feed.live import Live
from neuronwatch.tui.view.devices import devices
from neuronwatch.tui.view.past import earlier, incident_at
from neuronwatch.tui.view.picture import Picture


def snapshot(at: float) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for sample in pictures.samples(time=at - 1):
        for metric, columns in sample["metrics"].items():
            told[metric] = {
                entity: [value, 1.0, "", sample["source"]]
                for entity, value in zip(columns["entities"], columns["values"], strict=True)
            }
    return {"time": at, "metrics": told}


def event(source: str, state: str, time: float) -> dict[str, Any]:
    return {"id": 1, "time": time, "kind": "source.state", "subject": source, "text": f"{state}: why"}


FRESH = [event(name, "fresh", NOW - 3600) for name in ("sysfs", "neuron-monitor", "host")]


def test_an_incident_as_it_was() -> None:
    item = pictures.incident("hw.uncorrectable-memory") | {
        "state": "resolved",
        "resolved": NOW - 10,
        "revisions": [
            {"time": NOW - 90, "what": "opened"}, {"time": NOW - 50, "what": "acknowledged"}, {"time": NOW - 10, "what": "resolved"}
        ],
    }  # fmt: skip
    item["conditions"][0] |= {"state": "false", "since": NOW - 10}
    assert incident_at(item, NOW - 91) is None
    first = incident_at(item, NOW - 60)
    assert first is not None and first["state"] == "open" and [part["what"] for part in first["revisions"]] == ["opened"]
    assert first["conditions"][0]["state"] == "true" and first["findings"]
    later = incident_at(item, NOW - 20)
    assert later is not None and later["state"] == "acknowledged" and later["resolved"] is None
    end = incident_at(item, NOW - 5)
    assert end is not None and end["state"] == "resolved"


def test_what_joined_later_was_not_there() -> None:
    item = pictures.incident("hw.uncorrectable-memory")
    item["conditions"].append({"key": "second", "state": "true", "since": NOW - 20, "reason": "", "ends": ""})
    item["findings"].append(dict(item["findings"][0], fault="second"))
    before, after = incident_at(item, NOW - 30), incident_at(item, NOW - 10)
    assert before is not None and len(before["findings"]) == len(before["conditions"]) == 1
    assert after is not None and len(after["findings"]) == 2


def test_values_of_then_are_fresh_and_ages_count_from_then() -> None:
    found = earlier(pictures.picture(), NOW - 600, snapshot(NOW - 600), [], FRESH, [])
    assert found.link.what == "past" and found.verdict == "healthy" and found.now == NOW - 600
    seen = found.seen("core.utilization", "nd0:nc0")
    assert seen.known and seen.age == 1.0
    assert {core.state for device in devices(found) for core in device.cores} == {"busy"}


def test_a_moment_of_which_nothing_was_kept_is_not_known() -> None:
    found = earlier(pictures.picture(), NOW - 600, {"time": NOW - 600, "metrics": {}}, [], FRESH, [])
    assert found.verdict == "unknown" and "kept" in found.reasons()[0]
    assert {core.state for device in devices(found) for core in device.cores} == {"unknown"}


def test_a_mandatory_source_that_was_not_fresh_is_not_healthy() -> None:
    for events in ([], [*FRESH, event("sysfs", "failed", NOW - 700)]):
        found = earlier(pictures.picture(), NOW - 600, snapshot(NOW - 600), [], events, [])
        assert found.verdict == "unknown" and "sysfs" in found.reasons()[0]


class Kept(Told):
    """A feed of a test with a past: an incident that was open until 15 seconds ago."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def past(self, now: Picture, at: float) -> Picture:
        self.asked.append(at)
        item = pictures.incident("runtime.cores-busy") | {"state": "resolved", "resolved": NOW - 15}
        return earlier(now, at, snapshot(at), [item], FRESH, [])


def test_keys_go_back_and_forth_and_to_now() -> None:
    async def go() -> None:
        feed = Kept()
        app = Dashboard(feed, UNICODE)
        async with app.run_test(size=(110, 30)) as pilot:
            await begin(app, feed)
            await pilot.pause()
            await pilot.press("[")
            await shown(app, "PAST", pilot)
            await shown(app, "HEALTHY", pilot)
            await pilot.press("[", "[")
            await shown(app, "runtime.cores-busy", pilot)
            assert "FAULT" in text(app) and "before now" in text(app)
            assert feed.tell is not None  # what comes meanwhile waits in the picture of now
            await asyncio.to_thread(feed.tell, [("status", pictures.status("warning", ("later",)))])
            await pilot.pause(1.1)
            assert "later" not in text(app) and "PAST" in text(app)
            await pilot.press("a")
            await pilot.press("escape")
            assert "PAST" not in text(app) and "later" in text(app)
            await pilot.press("{")
            await shown(app, "PAST", pilot)
            await pilot.press("}")
            assert "PAST" not in text(app)
            await pilot.press("[")
            await shown(app, "PAST", pilot)
            await pilot.press("end")
            assert "PAST" not in text(app)
            assert feed.asked[0] < NOW and feed.asked[-2] < feed.asked[0] - 200

    asyncio.run(go())


def test_a_feed_without_a_past_says_so() -> None:
    async def go() -> None:
        feed = Told()
        app = Dashboard(feed, UNICODE)
        async with app.run_test(size=(100, 30)) as pilot:
            await begin(app, feed)
            await pilot.press("[")
            assert "nothing is kept" in text(app)

    asyncio.run(go())


def test_a_real_daemon_tells_of_then_and_knows_nothing_of_before_it_ran(tmp_path: Path) -> None:
    host, state = small_host(tmp_path / "host"), tmp_path / "state"
    (host / "proc/meminfo").write_text("MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n")

    async def go() -> None:
        with await asyncio.to_thread(Daemon, host, state) as daemon:
            with daemon.client() as client:
                metric = "host.memory.used"
                until(lambda: client.call("snapshot")["metrics"].get(metric), "a value")
                now = client.call("snapshot")
                told = client.call("snapshot", at=now["time"])
                assert told["metrics"][metric][""][0] is not None
                assert not client.call("snapshot", at=now["time"] - 500)["metrics"]
            app = Dashboard(Live(daemon.socket), UNICODE)
            async with app.run_test(size=(110, 30)) as pilot:
                await shown(app, "live", pilot)
                await pilot.press("{")
                await shown(app, "PAST", pilot)
                assert "nothing was kept of that moment" in text(app) and "UNKNOWN" in text(app)
                await pilot.press("escape")
                assert "live" in text(app)

    asyncio.run(go())
