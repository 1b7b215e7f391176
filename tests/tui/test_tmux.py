"""The program in a real terminal: started, driven, resized, ended in every way; the terminal is as it was afterwards."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tui import pictures
from tui.fake_daemon import FakeDaemon

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not there")


class Terminal:
    """A shell in tmux on a server of its own."""

    def __init__(self, directory: Path, width: int = 100, height: int = 30) -> None:
        self.directory = directory
        self._tmux = ["tmux", "-S", str(directory / "tmux"), "-f", "/dev/null"]
        environ = {key: value for key, value in os.environ.items() if not key.startswith("TMUX")}
        environ |= {
            "PYTHONPATH": str(ROOT),
            "PS1": "$ ",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "ENV": "",
            "PATH": os.environ["PATH"],
        }
        environ.pop("COLUMNS", None)
        subprocess.run(
            [*self._tmux, "new-session", "-d", "-x", str(width), "-y", str(height), "sh"], env=environ, check=True, timeout=PATIENCE
        )

    def do(self, *argv: str) -> str:
        return subprocess.run([*self._tmux, *argv], capture_output=True, text=True, check=False, timeout=PATIENCE).stdout

    def type(self, text: str) -> None:
        self.do("send-keys", "-l", text)
        self.do("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        self.do("send-keys", *keys)

    def screen(self) -> str:
        return self.do("capture-pane", "-p")

    def shows(self, *texts: str, missing: str = "") -> str:
        """The screen as soon as it shows all of the texts, and not `missing`."""
        return self.until(
            lambda shown: all(text in shown for text in texts) and (not missing or missing not in shown), f"{texts}, no {missing!r}"
        )

    def until(self, is_so: Callable[[str], bool], what: str) -> str:
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            shown = self.screen()
            if is_so(shown):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"never seen: {what}\n{self.screen()}")

    def flags(self) -> str:
        """Whether a program still holds what it took: the other screen, the mouse, a hidden cursor."""
        return self.do(
            "display-message", "-p", "#{alternate_on} #{mouse_any_flag}#{mouse_sgr_flag}#{mouse_standard_flag} #{cursor_flag}"
        ).strip()

    def is_clean(self) -> None:
        """The screen from before is back, with cursor and echo, and nobody listens to the mouse."""
        self.until(lambda _shown: self.flags() == "0 000 1", "a clean terminal")
        assert "before" in self.screen()
        self.type("stty -a | tr ';' '\\n' | grep -c ' echo '; echo th''ere")
        shown = self.shows("there", "th''ere")
        assert "\n1\n" in shown, shown

    def pid(self) -> int:
        return int((self.directory / "pid").read_text())


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="nw", dir="/tmp") as name:
        yield Path(name)


@pytest.fixture
def terminal(place: Path) -> Iterator[Terminal]:
    found = Terminal(place)
    yield found
    found.do("kill-server")


@pytest.fixture
def daemon(place: Path) -> Iterator[FakeDaemon]:
    incidents = (pictures.incident("hw.uncorrectable-memory", "critical", ("nd1",)),)
    with FakeDaemon(place / "s", document=pictures.status("fault", ("hw.uncorrectable-memory",), incidents)) as found:
        yield found


def begin(terminal: Terminal, socket: Path, more: str = "-m neuronwatch") -> None:
    """Types the command, its process id kept, and what it answers."""
    terminal.type("echo before")
    pid = shlex.quote(str(terminal.directory / "pid"))
    terminal.type(
        f"(echo $(exec sh -c 'echo $PPID') >{pid}; exec {shlex.quote(sys.executable)} {more} top --socket {shlex.quote(str(socket))}); echo status=$?"
    )
    terminal.shows("FAULT", "nd1")


def test_keys_pages_resize_and_quit(terminal: Terminal, daemon: FakeDaemon) -> None:
    begin(terminal, daemon.path)
    assert "hw.uncorrectable-memory" in terminal.screen()
    terminal.press("2")
    terminal.shows("severity")
    terminal.press("Enter")
    terminal.shows("What followed from what", "do this", "next, previous")
    terminal.press("Escape")
    terminal.shows("enter show")
    terminal.press("?")
    terminal.shows("held but idle", "quit")
    terminal.press("Escape")
    terminal.shows("enter show", missing="held but idle")
    terminal.press("1")
    terminal.shows("Devices", "nd1")
    terminal.do("resize-window", "-x", "60", "-y", "20")
    terminal.until(lambda shown: len(shown.splitlines()[0].rstrip()) <= 60 and "FAULT" in shown and "Devices" in shown, "60x20")
    terminal.do("resize-window", "-x", "160", "-y", "45")
    terminal.until(lambda shown: "FAULT" in shown and "nd1" in shown and len(max(shown.splitlines(), key=len)) > 100, "160x45")
    terminal.press("q")
    terminal.shows("status=0")
    terminal.is_clean()


def test_a_daemon_that_goes_is_said_and_comes_back(terminal: Terminal, daemon: FakeDaemon) -> None:
    begin(terminal, daemon.path)
    daemon.close()
    terminal.shows("DAEMON LOST", "UNKNOWN")
    with FakeDaemon(daemon.path):
        terminal.shows("HEALTHY", missing="DAEMON LOST")
        terminal.press("q")
        terminal.shows("status=0")
    terminal.is_clean()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_told_to_end_gives_the_terminal_back(terminal: Terminal, daemon: FakeDaemon, number: signal.Signals) -> None:
    begin(terminal, daemon.path)
    terminal.press("5")  # it takes keys: it is the program that has the terminal now
    terminal.until(lambda _shown: terminal.flags().startswith("1 1"), "the mouse is taken")
    os.kill(terminal.pid(), number)
    terminal.shows(f"status={128 + number}")
    terminal.is_clean()


CRASH = """
import sys
from neuronwatch.tui.pages import sources
def broken(self, picture, frame):
    raise RuntimeError("a defect of ours")
sources.Sources.rows = broken
from neuronwatch.cli.main import main
sys.exit(main())
"""


def test_after_a_crash_the_terminal_is_clean_and_the_defect_is_told(terminal: Terminal, daemon: FakeDaemon) -> None:
    script = terminal.directory / "crash.py"
    script.write_text(CRASH)
    begin(terminal, daemon.path, shlex.quote(str(script)))
    terminal.until(lambda _shown: terminal.flags().startswith("1 1"), "the mouse is taken")
    terminal.press("BTab")  # to the last page
    shown = terminal.shows("RuntimeError", "status=")
    assert "status=0" not in shown
    terminal.type("clear; echo before")
    terminal.is_clean()


def test_the_first_frame_needs_no_textual_and_ends_cleanly(terminal: Terminal, daemon: FakeDaemon) -> None:
    """Told to end while Textual is still loaded: the frame from before it goes away too."""
    script, slow = terminal.directory / "slow.py", terminal.directory / "app.py"
    slow.write_text("import sys, time\nassert not [name for name in sys.modules if name.startswith('textual')]\ntime.sleep(60)\n")
    script.write_text(
        "import sys, neuronwatch.tui as tui\ntui.__path__.insert(0, sys.path[0])\nfrom neuronwatch.cli.main import main\nsys.exit(main())\n"
    )
    begin(terminal, daemon.path, shlex.quote(str(script)))
    os.kill(terminal.pid(), signal.SIGTERM)
    terminal.shows("status=143")
    terminal.is_clean()


def cleared(terminal: Terminal) -> None:
    """A shell that works as before, from an empty screen on."""
    terminal.type("clear; echo before")
    terminal.until(lambda shown: shown.startswith("before"), "an empty screen")
    terminal.is_clean()


def taken(terminal: Terminal) -> None:
    terminal.until(lambda _shown: terminal.flags().startswith("1 1"), "the mouse is taken")


@pytest.mark.parametrize("how", ["ctrl+z", "TSTP", "STOP"])
def test_stopped_and_continued_the_terminal_goes_back_and_forth(terminal: Terminal, daemon: FakeDaemon, how: str) -> None:
    begin(terminal, daemon.path)
    taken(terminal)
    if how == "ctrl+z":
        terminal.press("C-z")
    else:
        os.kill(terminal.pid(), signal.Signals[f"SIG{how}"])
    terminal.until(lambda shown: "Stopped" in shown, "the shell's word")
    if how != "STOP":  # nobody can give anything back who is not asked
        cleared(terminal)
    for turn in range(2):
        terminal.do("send-keys", "-l", "fg")
        terminal.press("C-j" if (how, turn) == ("STOP", 0) else "Enter")  # there the shell reads a raw terminal
        terminal.until(lambda shown: "FAULT" in shown and "nd1" in shown and "fg" not in shown, "the whole screen again")
        taken(terminal)
        terminal.press("2")
        terminal.shows("enter show")
        terminal.press("1")
        terminal.shows("Devices", missing="enter show")
        terminal.press("C-z")
        terminal.until(lambda shown: "Stopped" in shown and "FAULT" not in shown, "the shell's word again")
    terminal.type("bg")  # what is in the background waits until it is in front
    cleared(terminal)
    terminal.type("fg")
    terminal.shows("FAULT", "nd1")
    taken(terminal)
    terminal.press("q")
    terminal.until(lambda _shown: not Path(f"/proc/{terminal.pid()}").exists(), "the end")
    cleared(terminal)


def test_continued_without_a_stop_nothing_is_taken_twice(terminal: Terminal, daemon: FakeDaemon) -> None:
    begin(terminal, daemon.path)
    taken(terminal)
    for _ in range(3):
        os.kill(terminal.pid(), signal.SIGCONT)
        time.sleep(0.3)
    names = [
        Path(f"/proc/{terminal.pid()}/task/{task}/comm").read_text().strip() for task in os.listdir(f"/proc/{terminal.pid()}/task")
    ]
    assert len(names) <= 6, names
    terminal.press("2")
    terminal.shows("enter show")
    terminal.press("q")
    terminal.shows("status=0")
    terminal.is_clean()


def test_a_terminal_that_vanishes_full_leaves_nothing_behind(tmp_path):
    """Nobody reads what is drawn, then the terminal goes away: who waits to write to it would wait for ever."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 150, 400, 0, 0))
    argv = [sys.executable, "-m", "neuronwatch", "top", "--socket", str(tmp_path / "none")]
    env = {**os.environ, "TERM": "xterm-256color", "HOME": str(tmp_path)}
    with subprocess.Popen(argv, stdin=inner, stdout=inner, stderr=inner, env=env, start_new_session=True) as process:
        os.close(inner)
        time.sleep(4.0)
        os.close(outer)
        try:
            process.wait(60)
        finally:
            process.kill()
