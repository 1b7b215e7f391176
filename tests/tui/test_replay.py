"""A recording in the dashboard: it plays, seeks, pauses and ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tui.test_dashboard import text
from tui.test_private import shown

from neuronwatch.model.live import Appended, Delivery, Reading
from neuronwatch.source import rule_files
from neuronwatch.store.capture import Recorder
from neuronwatch.tui.app import Dashboard
from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.feed.replay import Replayed

T0 = 1_780_000_000.0
OOM = b"2026-05-28T20:28:00Z ip-10-0-0-1 kernel: Out of memory: Killed process 4242 (neuronx-cc) total-vm:9kB, anon-rss:8kB\n"


def recording(directory: Path, seconds: int = 60) -> Path:
    """Two cores, of which each second is told; half-way the kernel kills the compiler."""
    recorder = Recorder(directory, T0, threaded=False)
    for second in range(seconds):
        names = ("nd0:nc0", "nd0:nc1")
        readings = [Reading("core.utilization", name, float(second)) for name in names]
        readings += [Reading("core.memory.used", name, 2e9) for name in names]
        recorder.add(Delivery("neuron-monitor", T0 + second, readings=tuple(readings)))
        recorder.add(Delivery("processes", T0 + second, readings=(Reading("process.rss", "pid77", 1e9 + second),)))
        if second == seconds // 2:
            recorder.add(Delivery("logs", T0 + second, appended=(Appended("/var/log/kern.log", OOM),)))
    recorder.close()
    return directory


def test_it_plays_seeks_pauses_and_says_its_end(tmp_path: Path) -> None:
    rules, _ = rule_files.load_rule_set(None)

    async def go() -> None:
        app = Dashboard(Replayed(str(recording(tmp_path / "r")), rules, 2.0), UNICODE)
        async with app.run_test(size=(110, 30)) as pilot:
            await shown(app, "replay", pilot)
            await shown(app, "nd0", pilot)
            assert "compile.host-oom" not in text(app) and "end of the recording" not in text(app)
            await pilot.press("space")
            assert "PAUSED" in text(app)
            before = app.picture.now
            await pilot.pause(1.0)
            assert app.picture.now == before
            await pilot.press("}")  # a pause ends with it
            await shown(app, "end of the recording", pilot)
            assert "compile.host-oom" in text(app) and app.picture.now == T0 + 59
            seen = app.picture.seen("core.utilization", "nd0:nc0")
            assert seen.number == 59.0
            await pilot.press("{")
            for _ in range(300):
                if app.picture.now < T0 + 20:
                    break
                await pilot.pause(0.1)
            await shown(app, "nd0", pilot)
            assert "compile.host-oom" not in text(app)
            seen = app.picture.seen("core.utilization", "nd0:nc0")
            assert seen.number is not None and seen.number < 20
            await pilot.press("a")

    asyncio.run(go())


def test_one_frame_is_its_end_and_what_is_no_recording_is_said(tmp_path: Path) -> None:
    place = recording(tmp_path / "r")
    argv = [sys.executable, "-m", "neuronwatch", "top", "--once", "--replay"]
    answer = subprocess.run([*argv, str(place)], capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "120"})
    assert "compile.host-oom" in answer.stdout and "replay" in answer.stdout
    for wrong in (tmp_path, tmp_path / "nothing", place / "manifest.json"):
        answer = subprocess.run([*argv, str(wrong)], capture_output=True, text=True, timeout=60)
        assert answer.returncode == 64 and str(wrong) in answer.stderr and "Traceback" not in answer.stderr


def test_every_page_tells_what_a_recording_holds(tmp_path: Path) -> None:
    rules, _ = rule_files.load_rule_set(None)

    async def go() -> None:
        app = Dashboard(Replayed(str(recording(tmp_path / "r")), rules, 100.0), UNICODE)
        async with app.run_test(size=(130, 30)) as pilot:
            await shown(app, "end of the recording", pilot)
            await pilot.press("3")
            await shown(app, "Out of memory: Killed process", pilot)
            await pilot.press("6")
            await shown(app, "77", pilot)
            assert "is not known" in text(app)  # its command: no listing was recorded
            await pilot.press("7")
            await shown(app, f"{len(rules.rules)} rules", pilot)
            await shown(app, "✗ true", pilot)
            await pilot.press("enter")
            await shown(app, "Conditions", pilot)
            await shown(app, "kern.log:1", pilot)
            await pilot.press("2", "enter", "pagedown", "pagedown")
            await shown(app, "kern.log:1", pilot)
            await pilot.press("4")
            await shown(app, "since the recording began", pilot)
            await pilot.press("3", "{")  # before it: no line of later stays
            for _ in range(300):
                if app.picture.now < T0 + 20:
                    break
                await pilot.pause(0.1)
            assert "Killed process" not in text(app)
            await shown(app, "Killed process", pilot)  # it comes as it came

    asyncio.run(go())


def test_one_frame_of_a_page_that_needs_more(tmp_path: Path) -> None:
    place = recording(tmp_path / "r")
    for name, word in (("rules", "rules"), ("logs", "Killed process"), ("processes", "77")):
        argv = [sys.executable, "-m", "neuronwatch", "top", "--once", "--replay", str(place), "--page", name]
        answer = subprocess.run(argv, capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "120"})
        assert word in answer.stdout, answer.stdout + answer.stderr
