"""The store of lines and its search, against the plainest way to do the same."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronwatch.tui.view import logs as logs_module
from neuronwatch.tui.view.log_lines import ERROR, GAP, NOBODY, WARNING, core_of
from neuronwatch.tui.view.log_search import Query, Search, query, same_core, seek
from neuronwatch.tui.view.logs import Line, Logs

TEXTS = st.one_of(
    st.sampled_from(
        ["[rank1]: ERROR nrt_x nd0:nc1 bad", "INFO fine", "[rank2]: WARNING Nd1 slow", "step 3", "  set in", "", "nd0 x"]
    ),
    st.text(max_size=30).map(lambda text: text.replace("\n", " ")),
)
BATCHES = st.lists(
    st.tuples(st.sampled_from(["a.log", "rank_2.log", "c"]), st.lists(TEXTS, max_size=12), st.integers(0, 2)), max_size=12
)
QUERIES = st.builds(
    Query, st.sampled_from(["", "er", "NRT", "step", "\u00e4"]), st.sampled_from([None, 0, 2, WARNING, ERROR]), st.sampled_from([None, 1, 2]),
    st.sampled_from([None, core_of("nd0:nc1"), core_of("nd0"), core_of("nd1")]), st.sampled_from(["", "log", "c"]), until=st.sampled_from([0, 0, 999, 1000]),
)  # fmt: skip


def item(path: str, lines: list[str], first: int = 0, **more: Any) -> dict[str, Any]:
    return {"path": path, "lines": lines, "line": first, "left_out": 0, "time": 1000.0} | more


def held(logs: Logs) -> list[Line]:
    found = [logs.line(place) for place in range(logs.dropped, logs.end)]
    assert None not in found
    return [line for line in found if line is not None]


def naive(line: Line, wanted: Query) -> bool:
    if wanted.path not in line.path or (wanted.until and not 0 < line.time <= wanted.until):
        return False
    if line.level == GAP:
        return wanted.structure._replace(path="", until=0) == Query() and not wanted.text
    return (
        wanted.text.encode().lower() in line.text.lower()
        and (wanted.level is None or line.level >= wanted.level)
        and (wanted.rank is None or line.rank == wanted.rank)
        and (wanted.core is None or same_core(line.core, wanted.core))
    )


def forward(search: Search) -> Iterator[int]:
    place: int | None = search.at_or_after(0)
    while place is not None:
        yield place
        place = search.at_or_after(place + 1)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Blocks of few lines, so that a test of few lines has many."""
    if "million" not in request.node.name:
        monkeypatch.setattr(logs_module, "BLOCK_LINES", 4)


@settings(max_examples=150)
@given(BATCHES, QUERIES, st.integers(0, 12))
def test_what_is_shown_equals_a_naive_filter(batches: list[tuple[str, list[str], int]], wanted: Query, early: int) -> None:
    logs = Logs(most_lines=40)
    search = Search(logs, wanted)
    for number, (path, lines, left_out) in enumerate(batches):
        logs.take([item(path, lines, left_out=left_out)], 1000.0)
        if number < early:  # lines that come while the search goes on
            search.work(0.0)
            search.at_or_before(logs.end)
    right = [line.place for line in held(logs) if naive(line, wanted)]
    assert list(forward(search)) == right
    backward, place = [], search.at_or_before(logs.end)
    while place is not None:
        backward.append(place)
        place = search.at_or_before(place - 1)
    assert backward[::-1] == right
    while search.work(0.0):
        pass
    assert search.found == len(right)
    assert len(logs) <= 44 and logs.dropped + len(logs) == logs.end
    for level in (WARNING, ERROR):
        assert logs.counts[level] == sum(line.level == level for line in held(logs))


@given(BATCHES)
def test_lines_come_out_as_they_went_in(batches: list[tuple[str, list[str], int]]) -> None:
    logs = Logs()
    for path, lines, _ in batches:
        logs.take([item(path, lines)], 1000.0)
    assert [(line.path, line.text) for line in held(logs)] == [
        (path, line.encode("utf-8", "replace")) for path, lines, _ in batches for line in lines
    ]


def test_old_blocks_are_packed_tighter_and_read_the_same() -> None:
    logs = Logs(most_packed=6000)
    search = Search(logs, query("line 7"))
    for number in range(200):
        logs.take([item("a", [f"ERROR line {number} {n} of some words that are said again and again" for n in range(8)])], 1000.0)
    packings = {(block.packed or b"grows")[:2] for block in logs.blocks}
    assert packings >= {b"BZ", b"gr"} and logs.packed <= 6000 and 0 < logs.dropped < logs.end
    right = [line.place for line in held(logs) if b"line 7" in line.text]
    assert list(forward(search)) == right and len(held(logs)) == len(logs) == logs.counts[ERROR]


def test_lines_are_known_by_their_numbers_and_missing_ones_are_said_where_they_miss() -> None:
    logs = Logs()
    logs.take([item("a", ["1", "2", "3"], 1)], 1000.0, tails=True)
    logs.take([item("a", ["2", "3", "4"], 2)], 1000.0)  # in the tails and in an event
    logs.take([item("a", ["9", "10"], 9)], 1000.0)
    logs.take([item("a", ["11"], 11, left_out=0), item("b", ["x"], left_out=3)], 1000.0)
    assert [line.text for line in held(logs)] == [
        b"1", b"2", b"3", b"4", b"4 lines left out here", b"9", b"10", b"11", b"3 lines left out here", b"x",
    ]  # fmt: skip
    assert logs.missing == 7
    logs.take([item("a", ["new"], 1, fresh=True)], 1000.0)
    last = held(logs)[-1]
    assert (last.text, last.number) == (b"new", 1)


def test_the_tails_of_a_daemon_that_began_anew_are_new_lines() -> None:
    logs = Logs()
    logs.take([item("a", ["x"] * 5, 100)], 1000.0, tails=True)
    logs.take([item("a", ["y", "z"], 1)], 1000.0, tails=True)
    assert [line.text for line in held(logs)][5:] == [b"y", b"z"]
    logs.take([item("a", ["z", "end"], 2)], 1000.0, tails=True)
    assert [line.text for line in held(logs)][7:] == [b"end"]


def test_texts_are_merged_by_the_times_in_them_and_stay_in_their_own_order() -> None:
    logs = Logs()
    one = ["2026-12-01 04:00:01 a", "  set in", "2026-12-01 04:00:05 b", "2026-12-01 04:00:02 backwards"]
    two = ["before any time", "2026-12-01 04:00:03 c", "2026-12-01 04:00:09 d"]
    logs.take([item("one", one), item("two", two)], 1.8e9, tails=True)
    assert [line.text.split()[-1] for line in held(logs)] == [b"a", b"in", b"time", b"c", b"b", b"backwards", b"d"]
    assert held(logs)[0].time == held(logs)[1].time > 0
    logs.take([item("three", ["no time at all"])], 1.8e9, tails=True)
    assert held(logs)[-1].time == 0


def test_the_rank_of_a_path_stands_where_the_line_tells_none() -> None:
    logs = Logs()
    logs.take([item("/x/rank_7.log", ["x", "[rank3]: y"]), item("/x/y.log", ["z"])], 1000.0)
    assert [line.rank for line in held(logs)] == [7, 3, NOBODY]


def test_a_query_is_typed_in_words() -> None:
    assert query("level:warn rank:3 core:nd0:nc1 path:x.log out of memory") == Query(
        "out of memory", WARNING, 3, core_of("nd0:nc1"), "x.log"
    )
    assert query("rank:x level:none core:9 http://x") == Query("rank:x level:none core:9 http://x")
    assert query("") == Query()


def test_a_line_of_evidence_is_found_by_its_number_else_by_what_it_says() -> None:
    logs = Logs()
    logs.take([item("a", [f"line {number} of a" for number in range(1, 30)], 1), item("b", ["line 7 of a"], 7)], 1000.0)

    def found(path: str, number: int, text: str) -> bytes | None:
        place = next((place for place in seek(logs, path, number, text) if place is not None), None)
        line = logs.line(place) if place is not None else None
        return line.text if line else None

    assert found("a", 7, "line 7 of a") == b"line 7 of a" and found("a", 7, "") == b"line 7 of a"
    assert found("a", 500, "line 12 of") == b"line 12 of a"
    assert found("a", 500, "") is None and found("gone", 7, "x") is None


def test_a_million_lines_take_twenty_megabytes_and_block_no_frame() -> None:
    """Memory by Python's own account for some thousands, whose packed blocks are then there many times over."""
    lines = [
        f"[rank{number % 64}]: 2026-12-01 04:12:{number % 60:02},{number * 7919 % 1000:03} {'ERROR' if number % 500 == 0 else 'INFO'} "
        f"trainer: step {number} loss {number * 104729 % 30011 / 10007:.4f} nd{number % 16}:nc{number % 8}"
        for number in range(8192)
    ]
    tracemalloc.start()
    try:
        logs = Logs()
        before = tracemalloc.get_traced_memory()[0]
        for turn in range(2):
            logs.take([item("job:/x/train.log", lines, turn * 8192 + 1)], 1000.0)
        share = 2 * 8192 / 1_000_000
        grown = tracemalloc.get_traced_memory()[0] - before
        assert logs.packed / share < 20 * 2**20
    finally:
        tracemalloc.stop()
    assert grown < 20 * 2**20 * share + 2**20  # and the block that grows
    # A million: the packed blocks of these lines, many times over.
    sealed = [block for block in logs.blocks if block.packed is not None]
    for _ in range(1_000_000 // (1024 * len(sealed)) + 1):
        for block in sealed:
            again = logs_module.Block(logs.end)
            for name in ("count", "size", "levels", "paths", "ranks", "cores", "packed", "whole"):
                setattr(again, name, getattr(block, name))
            logs.blocks.append(again)
            logs.end += again.count
    assert len(logs) > 1_000_000
    search = Search(logs, query("loss 2.99 level:error"))
    slices, worst, more = 0, 0.0, True
    while more:
        begin = time.perf_counter()
        more = search.work(begin + 0.01)
        worst, slices = max(worst, time.perf_counter() - begin), slices + 1
    assert slices > 1 and worst < 0.5 and search.done == 1.0


def test_lines_without_a_stamp_stand_where_they_came() -> None:
    logs, T = Logs(), 1_780_000_000
    stamped = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(T + 5000))
    logs.take([{"path": "a", "line": 1, "lines": [f"{stamped} starts", "{'loss': 2}", "{'loss': 1}"], "came": [None, None, T + 9000]},
               {"path": "b", "line": 1, "lines": [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(T + 7000)) + " between"]}], T + 9500.0, tails=True)  # fmt: skip
    found = [logs.line(place) for place in range(logs.end)]
    assert [(line.text[-8:], line.time) for line in found if line] == [
        (b"Z starts", T + 5000), (b"loss': 2}"[-8:], T + 5000), (b" between"[-8:], T + 7000), (b"loss': 1}"[-8:], T + 9000)
    ]  # fmt: skip
