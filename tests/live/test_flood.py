"""Of a burst the head, the tail and what rules look for are delivered, the rest is counted exactly, memory stays flat."""

from __future__ import annotations

import random

import pytest
from case_support import rules
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronwatch.judge import engine
from neuronwatch.judge.evidence import Match
from neuronwatch.judge.state import State
from neuronwatch.model.live import Appended
from neuronwatch.source import formats
from neuronwatch.source.live import flood as module
from neuronwatch.source.live.flood import Flood
from neuronwatch.source.live.scan import LiveScan


def lines(low: int, high: int) -> bytes:
    return b"".join(b"line %07d of a flood\n" % n for n in range(low, high))


def check(found: list[Appended], text: bytes, path: str = "log") -> int:
    """Every delivered line stands where its number says; how many were dropped."""
    expected, number, dropped = text.splitlines(keepends=True), 0, 0
    for item in found:
        assert item.path == path
        number += item.dropped
        dropped += item.dropped
        for line in item.data.splitlines(keepends=True):
            assert line == expected[number]
            number += 1
    assert number == len(expected)
    return dropped


def test_what_is_no_flood_passes_as_it_is():
    flood = Flood()
    item = Appended("log", lines(0, 100), fresh=True)
    assert flood.take(item, 0.0) == [item] and flood.due(100.0) == [] and not flood.flooding


def test_head_and_tail_of_a_minute_of_flood_and_the_exact_count():
    flood, found, text, largest = Flood(rate=1000, burst=5000), [], [], 0
    for turn in range(600):
        data = lines(turn * 500, turn * 500 + 500)
        text.append(data)
        found += flood.take(Appended("log", data, fresh=turn == 0), turn * 0.01)
        largest = max(largest, len(flood._bursts["log"].tail))
    assert flood.flooding and not flood.due(6.0)
    found += flood.due(7.0)
    assert not flood.flooding
    whole = b"".join(text)
    assert check(found, whole) == flood.dropped > 280_000
    delivered = b"".join(item.data for item in found)
    assert delivered.startswith(lines(0, 5000)) and delivered.endswith(lines(300_000 - module.TAIL, 300_000))
    assert largest <= module.TAIL_BYTES
    assert flood.take(Appended("log", lines(0, 10)), 8.0)[0].data == lines(0, 10)
    flood.due(100.0)
    assert not flood._bursts


def test_a_rate_that_falls_ends_the_flood():
    flood, found = Flood(rate=1000, burst=1000), []
    found += flood.take(Appended("log", lines(0, 9000), fresh=True), 0.0)
    assert flood.flooding
    for turn in range(20):
        found += flood.take(Appended("log", lines(9000 + turn, 9001 + turn)), 0.1 + turn * 0.1)
    assert not flood.flooding
    check(found, lines(0, 9020))


def test_a_text_that_begins_anew_in_a_flood():
    flood = Flood(rate=10, burst=100)
    first = flood.take(Appended("log", lines(0, 500), fresh=True), 0.0)
    again = flood.take(Appended("log", lines(500, 900), fresh=True), 0.01)
    cut = next(index for index, item in enumerate(again) if item.fresh)
    check([*first, *again[:cut]], lines(0, 500))
    check([*again[cut:], *flood.due(9.0)], lines(500, 900))
    assert again[cut].data.startswith(lines(500, 600))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3000), st.floats(0, 0.4)), max_size=30), st.integers(0, 9))
def test_any_rates_keep_the_numbers_right(turns, seed):
    chance = random.Random(seed)

    def sieve(path: str, data: bytes, now: float) -> list[tuple[int, int]]:
        starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)]
        picked = sorted(chance.sample(range(len(starts) - 1), min(3, len(starts) - 1)))
        return [(starts[index], starts[index + 1]) for index in picked]

    flood, found, number, now = Flood(sieve, rate=2000, burst=700), [], 0, 0.0
    for turn, (count, pause) in enumerate(turns):
        now += pause
        found += flood.take(Appended("log", lines(number, number + count), fresh=turn == 0), now)
        number += count
        if chance.random() < 0.3:
            found += flood.due(now)
    found += flood.due(now + 9)
    assert check(found, lines(0, number)) == flood.dropped


def scan() -> LiveScan:
    return LiveScan(rules(), *formats.shipped())


ERROR = b"2026-Aug-21 10:14:02.883112 51942:51942 ERROR  NRT:nrt_allocate_neuron_cores  NeuronCore(s) not available - Requested:nc1-nc1 Available:0\n"
TRACEBACK = b"""Traceback (most recent call last):
  File "train.py", line 8, in <module>
    main()
RuntimeError: The PyTorch Neuron Runtime could not be initialized
"""


@pytest.mark.parametrize("error", [ERROR, TRACEBACK])
def test_an_error_in_the_middle_of_a_flood_is_judged(error):
    live, state = scan(), State()
    flood = Flood(live.sieve, rate=100, burst=1000)
    text = lines(0, 30_000) + error + lines(30_000, 60_000)
    for turn, at in enumerate(range(0, len(text), 100_000)):
        cut = text.rfind(b"\n", 0, at + 100_000) + 1
        start = text.rfind(b"\n", 0, at) + 1
        for item in flood.take(Appended("log", text[start:cut], fresh=turn == 0), turn * 0.01):
            engine.observe(state, live.feed(item, turn * 0.01), rules())
    for item in flood.due(9.0):
        engine.observe(state, live.feed(item, 9.0), rules())
    engine.observe(state, [*live.quiet(10.0), *live.end("log")], rules())
    alone = engine.observe(State(), [*live.feed(Appended("log", error, fresh=True), 20.0), *live.end("log")], rules())
    hits = {number: hit.lines[0].number for number, hit in state.files["log"].hits.items()}
    assert hits.keys() == alone.files["log"].hits.keys() and (hits or error is TRACEBACK)
    assert all(30_000 < number <= 30_004 for number in hits.values())
    assert {fact.name for fact in state.files["log"].facts} >= {fact.name for fact in alone.files["log"].facts}
    assert flood.dropped > 50_000


def test_a_storm_of_errors_is_counted_exactly_and_kept_thin():
    live, state = scan(), State()
    flood = Flood(live.sieve, rate=100, burst=1000)
    fed = 0
    for turn in range(40):
        for item in flood.take(Appended("log", ERROR * 500, fresh=turn == 0), turn):
            fed += item.data.count(b"\n")
            engine.observe(state, live.feed(item, turn), rules())
        engine.observe(state, live.quiet(turn), rules())
    for item in flood.due(50.0):
        fed += item.data.count(b"\n")
        engine.observe(state, live.feed(item, 50.0), rules())
    engine.observe(state, [*live.quiet(51.0), *live.end("log")], rules())
    assert fed < 3000 and fed + flood.dropped == 20_000
    assert {hit.count for hit in state.files["log"].hits.values()} == {20_000}


def test_a_sieve_forgets_a_flood_that_is_over():
    live = scan()
    assert live.sieve("log", ERROR, 0.0) == [(0, len(ERROR))]
    assert len([1 for _ in range(40) if live.sieve("log", ERROR, 0.1)]) == 15
    counted = list(live.quiet(0.2))
    assert {item.hits for item in counted} == {25} and not any(isinstance(item, Match) for item in counted)
    assert live.sieve("log", ERROR, 99.0)
    list(live.quiet(200.0))
    assert not live._sifters
