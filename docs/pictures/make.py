"""Makes the pictures of the dashboard in this directory: SVGs of its pages, and a short film of a fault that appears.

    python docs/pictures/make.py [--socket PATH] [--png]

It starts a simulated host and a daemon, lets them run, switches a fault on and draws what the dashboard would show, from the same
rows. `--socket`: of a daemon that runs already, its host is `--host-root`. `--png`: also PNGs, where chromium is there. No network
is used.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from neuronwatch.daemon.client import Client, NoDaemon
from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.draw.row import Row
from neuronwatch.tui.feed.live import first, needed
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages import book
from neuronwatch.tui.svg import svg
from neuronwatch.tui.theme import THEMES
from neuronwatch.tui.view.picture import Picture

HERE = Path(__file__).resolve().parent
GROUND = {"dark": "#12161f", "light": "#fbfcfe", "plain": "#12161f", "sixteen": "#12161f"}
FAULT = "hw.uncorrectable-memory"
FILM = 14
"""Frames of the film, a second of the host each."""


@contextlib.contextmanager
def running(directory: Path) -> Iterator[tuple[Path, Path]]:
    """A simulated host and its daemon: the socket, the host's root."""
    root, socket, state = directory / "h", directory / "s", directory / "state"
    command = [sys.executable, "-m", "neuronwatch"]
    environ = {"PYTHONPATH": str(HERE.parents[1]), "PATH": "/usr/bin:/bin"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environ}
    host = subprocess.Popen([*command, "drill", "host", "--dir", str(root), "--instance", "trn2.48xlarge"], **quiet)
    daemon = None
    try:
        wait(lambda: (root / "sys").exists(), "the simulated host")
        daemon = subprocess.Popen(
            [*command, "daemon", "--host-root", str(root), "--state-dir", str(state), "--socket", str(socket)], **quiet
        )
        wait(lambda: answers(socket), "the daemon")
        yield socket, root
    finally:
        for process in (daemon, host):
            if process is not None:
                process.terminate()
                process.wait(20)


def wait(is_so, what: str, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not come")
        time.sleep(0.3)


def answers(socket: Path) -> bool:
    try:
        with Client(socket) as client:
            return bool(client.call("snapshot")["metrics"].get("core.utilization"))
    except NoDaemon:
        return False


def inject(root: Path, word: str, *more: str) -> None:
    subprocess.run([sys.executable, "-m", "neuronwatch", "drill", word, str(root), *more], check=True,
                   env={"PYTHONPATH": str(HERE.parents[1]), "PATH": "/usr/bin:/bin"}, stdout=subprocess.DEVNULL)  # fmt: skip


def told(socket: Path, picture: Picture, *needs: str) -> Picture:
    with Client(socket) as client:
        for name, data in [*first(client), *needed(client, needs)]:
            picture.apply(name, data)
    return picture


def frame(picture: Picture, name: str, size: tuple[int, int], *keys: str) -> list[Row]:
    pages = book.pages()
    page = next(item for item in pages if item.name == name)
    compose(picture, page, pages, *size, UNICODE)
    for key in keys:
        page.key(key, picture)
    return compose(picture, page, pages, *size, UNICODE)


def draw(name: str, frames: list[list[Row]], title: str, theme: str = "dark", seconds: float = 1.0) -> None:
    path = HERE / f"{name}.svg"
    path.write_text(svg(frames, THEMES[theme], GROUND[theme], title, seconds), encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


def pictures(socket: Path, root: Path) -> None:
    busy = told(socket, Picture(), "jobs")
    for theme, name in (("dark", "overview"), ("light", "overview-light")):
        draw(name, [frame(busy, "overview", (140, 40))], "The overview of a host at work", theme)
    film = [frame(busy, "overview", (100, 30))]
    for _ in range(4):
        time.sleep(1.0)
        film.append(frame(told(socket, Picture(), "jobs"), "overview", (100, 30)))
    inject(root, "inject", FAULT)
    end = time.monotonic() + 90
    seen = False
    while time.monotonic() < end and not (seen and len(film) >= FILM):
        time.sleep(1.0)
        picture = told(socket, Picture(), "jobs")
        if picture.open_incidents() and not seen:
            seen, film = True, film[-FILM // 2 :]
        film.append(frame(picture, "overview", (100, 30)))
    if not seen:
        raise SystemExit(f"{FAULT} was not found")
    worst = picture.open_incidents()[0]["id"]
    told(socket, picture, "jobs", "processes", "rules", f"evidence {worst}")
    film += [frame(picture, "incidents", (100, 30), "enter")] * 4
    draw("film", film, "A fault appears, and its incident", seconds=0.8)
    draw("incident", [frame(picture, "incidents", (100, 30), "enter")], "An incident: cause, fix, what followed from what")
    draw("rules", [frame(picture, "rules", (120, 30))], "The rules and how they stand")
    inject(root, "clear", FAULT)


def png() -> None:
    chromium = shutil.which("chromium")
    for path in sorted(HERE.glob("*.svg")) if chromium else ():
        size = path.read_text(encoding="utf-8").split('viewBox="0 0 ', 1)[1].split('"', 1)[0].replace(" ", ",")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}"]
        target = f"--screenshot={path.with_suffix('.png')}"
        subprocess.run([str(chromium), *options, target, path.as_uri()], check=True, stderr=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=Path)
    parser.add_argument("--host-root", type=Path)
    parser.add_argument("--png", action="store_true")
    args = parser.parse_args()
    if args.socket:
        pictures(args.socket, args.host_root)
    else:
        with tempfile.TemporaryDirectory(prefix="nw") as name, running(Path(name)) as (socket, root):
            pictures(socket, root)
    if args.png:
        png()


if __name__ == "__main__":
    main()
