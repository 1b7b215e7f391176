"""`top` without a daemon, and `top` whose daemon goes away: real processes in a real terminal."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from daemon.daemon_support import Daemon, small_host
from tui import screen_support
from tui.screen_support import Screen, until, with_word
from tui.test_dashboard import text

from neuronwatch.tui.app import Dashboard
from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.feed.live import Live
from neuronwatch.tui.feed.private import Private
from neuronwatch.tui.feed.room import Room

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")


def rooms(place: Path) -> list[Path]:
    return list(place.glob("neuronwatch-top-*"))


@linux
@pytest.mark.parametrize("how", ["q", "TERM", "KILL", "terminal"])
def test_a_private_daemon_is_started_said_and_gone_with_us(tmp_path: Path, how: str) -> None:
    place = Path(tempfile.mkdtemp(dir="/tmp", prefix="nw-"))
    with Screen("--host-root", str(small_host(tmp_path / "host")), tmp=place) as screen:
        screen.until("private  ")
        (room,) = rooms(place)
        assert room.stat().st_mode & 0o777 == 0o700
        until(lambda: with_word(str(room)), "a private daemon")
        if how == "q":
            screen.press("q")
            assert screen.process.wait(screen_support.PATIENCE) == 0
            assert not rooms(place)
        elif how == "terminal":  # gone without a hang-up signal
            screen.hang_up()
            screen.process.wait(screen_support.PATIENCE)
        else:
            screen.process.send_signal(signal.Signals[f"SIG{how}"])
            screen.process.wait()
        until(lambda: not with_word(str(room)) and not rooms(place), "the end of all processes and files of a killed top")
    shutil.rmtree(place, ignore_errors=True)


@linux
def test_a_daemon_that_runs_is_preferred(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # the usual socket of a host must fit into an address
        prefers(small_host(Path(short)), tmp_path)


def prefers(host: Path, tmp_path: Path) -> None:
    (host / "var/lib").mkdir(parents=True)
    with Daemon(host, host / "var/lib/neuronwatch"), Screen("--host-root", str(host), tmp=tmp_path) as screen:
        screen.until("live")
        assert not rooms(tmp_path)


@pytest.mark.parametrize("option", ["--socket", "--state-dir"])
def test_a_daemon_that_is_named_and_not_there_is_said(tmp_path: Path, option: str) -> None:
    with Screen(option, str(tmp_path / "no"), tmp=tmp_path) as screen:
        screen.until("start `neuronwatch daemon")
        assert screen.process.wait(screen_support.PATIENCE) == 64
        assert not rooms(tmp_path)


def test_one_frame_without_a_daemon(tmp_path: Path) -> None:
    host = small_host(tmp_path / "host")
    answer = subprocess.run(
        [sys.executable, "-m", "neuronwatch", "top", "--once", "--host-root", str(host)],
        capture_output=True, text=True, timeout=90, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert "private" in answer.stdout and "trn1.2xlarge" in answer.stdout
    assert not rooms(tmp_path)


def test_a_private_daemon_that_cannot_start_says_why(tmp_path: Path) -> None:
    config = tmp_path / "bad.toml"
    config.write_text("this is no configuration")
    with Room() as room:
        private = Private(room, ["--config", str(config)])
        private.start()
        with pytest.raises(Exception, match=r"private daemon ended: .*bad\.toml"):
            private.revive()
        directory = room.directory
    assert not directory.exists()


async def shown(app: Dashboard, word: str, pilot: object) -> None:
    for _ in range(900):
        if word in text(app):
            return
        await pilot.pause(0.1)  # type: ignore[attr-defined]
    raise AssertionError(f"never: {word} in\n{text(app)}")


def test_a_lost_daemon_is_said_and_found_again(tmp_path: Path) -> None:
    host, state = small_host(tmp_path / "host"), tmp_path / "state"

    async def go() -> None:
        first = await asyncio.to_thread(Daemon, host, state)
        app = Dashboard(Live(state / "neuronwatch.sock"), UNICODE)
        async with app.run_test(size=(100, 30)) as pilot:
            with first:
                await shown(app, "live", pilot)
                first.process.kill()
                await shown(app, "DAEMON LOST", pilot)
                assert "UNKNOWN" in text(app)
            with await asyncio.to_thread(Daemon, host, state):
                await shown(app, "live", pilot)
                assert "DAEMON LOST" not in text(app)

    asyncio.run(go())


@linux
def test_a_private_daemon_that_is_killed_is_started_anew(tmp_path: Path) -> None:
    host = small_host(tmp_path / "host")

    async def go() -> None:
        with Room() as room:
            private = Private(room, ["--host-root", str(host)])
            private.start()
            app = Dashboard(Live(private.socket, private.revive, "private"), UNICODE)
            async with app.run_test(size=(100, 30)) as pilot:
                await shown(app, "private", pilot)
                before = private.pid
                os.kill(before, signal.SIGKILL)
                await shown(app, "DAEMON LOST", pilot)
                await shown(app, "private", pilot)
                assert private.pid != before
                private.close()
            directory = room.directory
        assert not directory.exists() and not with_word(str(directory))

    asyncio.run(go())
