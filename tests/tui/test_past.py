"""Time travel: the host as it was, and what is not known of it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from daemon.daemon_support import Daemon, small_host, until
from tui import hosts, pictures
from tui.pictures import NOW
from tui.test_dashboard import Told, begin, text
from tui.test_private import shown

from neuronwatch.tui.app import Dashboard
from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.draw.row import plain
from neuronwatch.tui.feed.live import Live
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages import book
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


def page(found: Picture, name: str, *keys: str) -> str:
    pages = book.pages()
    chosen = next(item for item in pages if item.name == name)
    for key in ("", *keys):
        if key:
            chosen.key(key, found)
        compose(found, chosen, pages, 140, 40, UNICODE)
    return "\n".join(map(plain, compose(found, chosen, pages, 140, 40, UNICODE)))


def test_a_run_is_known_as_far_as_its_curves_were_kept() -> None:
    now = hosts.healthy()
    found = earlier(now, NOW - 100, snapshot(NOW - 100), [], FRESH, [])
    run, server = found.jobs
    assert run["step"] == 1840 - 50 and run["loss"] == next(
        value for step, value, _ in now.jobs[0]["curves"]["loss"] if step == 1790
    )
    assert run["phase"] == "unknown" and run["utilization"] is None and 0 <= run["age"] <= 2
    assert all(point[2] <= NOW - 100 for job in (run, server) for points in job["curves"].values() for point in points)
    assert "1790/5000" in page(found, "jobs") and "✓ step" not in page(found, "jobs")
    before = earlier(now, NOW - 3000, snapshot(NOW - 3000), [], FRESH, [])
    assert not before.jobs and "only the newest points are kept" in page(before, "jobs")
    assert "only the newest points are kept" in page(before, "serving")


def test_processes_of_then_by_what_was_kept_of_them() -> None:
    told = snapshot(NOW - 100)
    told["metrics"] |= {"process.rss": {"pid4100": [2e9, 1.0, "", "processes"], "pid77": [1e9, 1.0, "", "processes"]}}
    found = earlier(hosts.healthy(), NOW - 100, told, [], FRESH, [])
    shown = page(found, "processes")
    assert "4100" in shown and "torchrun" in shown and "77 ?" in shown and "not kept" in shown
    assert "nothing was kept of the processes" in page(
        earlier(hosts.healthy(), NOW - 100, snapshot(NOW - 100), [], FRESH, []), "processes"
    )


def test_logs_of_then_end_then() -> None:
    now = hosts.healthy()
    lines = [f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(NOW - 300 + 10 * n))} step {n}" for n in range(31)]
    now.apply("logs", [{"path": "host:/x.log", "lines": [*lines, "step of a line without a time before it"][:31], "line": 1}])
    found = earlier(now, NOW - 100, snapshot(NOW - 100), [], FRESH, [])
    shown = page(found, "logs")
    assert "step 20" in shown and "step 21" not in shown and "as of" in shown and "following" not in shown
    assert "step 21" not in page(found, "logs", "x", "G")
    assert "step 30" in page(now, "logs")


def test_how_rules_stood_then_is_not_told_as_of_now() -> None:
    incidents = [pictures.incident("hw.uncorrectable-memory") | {"opened": NOW - 200}]
    found = earlier(hosts.faulty(), NOW - 100, snapshot(NOW - 100), incidents, FRESH, [])
    stands = {item["id"]: item["state"] for item in found.rules}
    assert stands.pop("hw.uncorrectable-memory") == "true" and set(stands.values()) == {"unknown"}
    assert "not kept of that moment" in page(found, "rules")
    assert "then is not kept" in page(found, "rules", "enter")


def test_a_run_that_tells_epochs_has_no_step_of_then() -> None:
    now = hosts.healthy()
    now.jobs[0] |= {"epoch": 0.9, "step": None, "step_estimated": True}
    run = earlier(now, NOW - 100, snapshot(NOW - 100), [], FRESH, []).jobs[0]
    assert run["step"] is None and run["epoch"] == 1790
