"""What bench/dashboard.py compares with: the page that one writes first, a Textual widget for each of 128 cores."""

from __future__ import annotations

import math
import sys

from textual.app import App, ComposeResult
from textual.containers import Grid
from textual.widgets import Footer, Header, Static

HZ = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0


class Naive(App[None]):
    CSS = "Grid { grid-size: 8 16; }"
    turn = 0

    def compose(self) -> ComposeResult:
        yield Header()
        with Grid():
            for number in range(128):
                yield Static("", id=f"c{number}")
        yield Footer()

    def on_mount(self) -> None:
        self.set_interval(1 / HZ, self.tick)

    def tick(self) -> None:
        self.turn += 1
        for number in range(128):
            share = 50 + 49 * math.sin(self.turn / 7 + number / 5)
            colour = "red" if share > 80 else "yellow" if share > 50 else "green"
            self.query_one(f"#c{number}", Static).update(f"[{colour}]nc{number:3} {'#' * int(share / 10):<10} {share:3.0f}%[/]")


Naive().run()
