"""What a million lines of logs cost the dashboard: memory more than before, a frame, a search to its end.

    python bench/dashboard_logs.py [--lines 1000000]

Lines of bench/make_log.py, as the daemon tells them: 500 at a time, of 32 texts. Memory is the resident one of this process.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent))

import make_log
from _live import memory

from neuronwatch.daemon import allocator
from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages import book
from neuronwatch.tui.view.picture import Link, Picture

AT_ONCE, TEXTS, WIDTH, HEIGHT = 500, 32, 160, 45


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=1_000_000)
    args = parser.parse_args()
    allocator.thrifty()  # as `neuronwatch top` does
    picture, pages = Picture(), book.pages()
    page = next(item for item in pages if item.name == "logs")
    picture.apply("link", Link("live", 1.0))

    def frame() -> float:
        begin = time.perf_counter()
        compose(picture, page, pages, WIDTH, HEIGHT, UNICODE)
        return time.perf_counter() - begin

    frame()
    rng, before, spent, frames = Random(7), memory(), 0.0, []
    numbers = [1] * TEXTS
    for turn in range(args.lines // AT_ONCE):
        text = turn % TEXTS
        lines = make_log.block(rng, turn * AT_ONCE, AT_ONCE, 0.001).decode("utf-8", "replace").split("\n")[:AT_ONCE]
        item = {"path": f"job:/x/rank_{text}.log", "lines": lines, "line": numbers[text], "time": 1.8e9 + turn}
        numbers[text] += len(lines)
        begin = time.perf_counter()
        picture.apply("lines", [item])
        spent += time.perf_counter() - begin
        if turn % 50 == 0:
            frames.append(frame())
    grown = memory() - before
    page.filter("uncorrectable error in HBM level:error")
    begin, slices = time.perf_counter(), []
    while frame() and page.busy:
        at = time.perf_counter()
        page.work(picture, 0.010)
        slices.append(time.perf_counter() - at)
    search = time.perf_counter() - begin
    held = len(picture.logs)
    print(f"{held:,} lines held: {grown:.1f} MB more; {1e6 * spent / args.lines:.1f} us to take a line")
    print(f"frame while they come: {1e3 * sum(frames) / len(frames):.1f} ms (worst {1e3 * max(frames):.0f})")
    print(f"search through all: {search:.1f} s in {len(slices)} slices, the longest {1e3 * max(slices, default=0.0):.0f} ms")


if __name__ == "__main__":
    main()
