"""Several processes give what one gives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from reading_support import FAULT, KILLED, NOT_AVAILABLE, counted, matches, read, reports, windows

from neuronwatch.source.limits import MIB, Limits
from neuronwatch.source.parallel import Helper, Outcome, borders

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def write(path: Path, lines: int) -> None:
    with path.open("w") as handle:
        for n in range(lines):
            handle.write(f"[{n:07d}] an ordinary line of a log that is long enough to be one\n")
            if n % 1000 == 500:
                handle.write(f"{FAULT} {n}\n")
            if n % 7777 == 0:
                handle.write("Traceback (most recent call last)\n  one\n  two\n  three\n")
            if n in (3, 150_000):
                handle.write("Out of memory: Killed process 1\n")


@pytest.mark.parametrize("workers", [2, 3])
def test_ranges_give_the_same_as_one_process(tmp_path: Path, workers: int) -> None:
    path = tmp_path / "big.log"
    write(path, 200_000)
    limits = Limits(parallel_above=MIB, number_at_once=0)
    alone = read(path, limits=limits)
    shared = read(path, limits=limits, workers=workers)
    assert sorted(matches(shared)) == sorted(matches(alone))
    assert [found for found in matches(shared) if found[0] == KILLED] == [found for found in matches(alone) if found[0] == KILLED]
    assert counted(shared) == counted(alone) == {NOT_AVAILABLE: 200 - 65}
    assert windows(shared, "traceback") == windows(alone, "traceback")
    assert reports(shared) == reports(alone)


def test_windows_at_a_border_have_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    filler = "x" * 99 + "\n"
    for shift in (-3, -2, -1, 0, 1, 2, 3):
        half = 30_000 + shift
        block = "before\nTraceback (most recent call last)\n1\n2\n3\n"
        path.write_text(filler * half + block + filler * (30_000 - shift))
        items = read(path, limits=Limits(parallel_above=MIB), workers=2)
        texts = [text for window in windows(items, "traceback") for text in window]
        assert {"before", "Traceback (most recent call last)", "1", "2", "3"} <= set(texts)


def test_borders_are_line_starts(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("12345\n" * 1000)
    with path.open("rb") as handle:
        marks = borders(handle.fileno(), 0, 6000, 7)
    assert marks[0] == 0 and marks[-1] == 6000 and all(mark % 6 == 0 for mark in marks) and len(marks) == 8


def test_the_work_of_a_helper_that_dies_is_done_here() -> None:
    home = os.getpid()

    def work() -> tuple[object, object]:
        if os.getpid() != home:
            os._exit(9)
        return iter(()), lambda: Outcome({1: 2}, ["note"])

    helper = Helper(work, ())  # type: ignore[arg-type]  # a stand-in
    assert list(helper.items("x")) == [Outcome({1: 2}, ["note"])]
