"""A text that grows gives the evidence that it gives when it is read whole, however it is cut and whenever it was quiet."""

from __future__ import annotations

import random
from functools import lru_cache

import pytest
from case_support import CASES, NAMES, rules

from neuronwatch.judge import engine
from neuronwatch.judge.evidence import Match, Provisional, Window
from neuronwatch.judge.state import State
from neuronwatch.model.live import Appended, Whole
from neuronwatch.parse.api import Document
from neuronwatch.source import archive, formats, recognise
from neuronwatch.source.live.scan import LiveScan

LINE_FORMATS, FILE_FORMATS = formats.shipped()


def live_scan() -> LiveScan:
    return LiveScan(rules(), LINE_FORMATS, FILE_FORMATS)


@lru_cache(maxsize=1)
def offline() -> LiveScan:
    return live_scan()


def whole(path: str, data: bytes) -> State:
    return engine.observe(State(), offline().whole(Whole(path, data)), rules())


def known(state: State):
    """All that a state knows, without what an order may change."""
    found = {}
    for path, file in state.files.items():
        assert not file.provisional
        hits = {number: (item.lines, item.last, item.count) for number, item in file.hits.items()}
        series = {(run.name, run.entity): repr(list(run.points)) for name in file.series.names() for run in file.series.get(name)}
        facts = sorted(repr(fact) for fact in file.facts)
        found[path] = (hits, series, facts, sorted(file.issues), file.report and (file.report.format, file.report.state))
    return found


def growing(path: str, data: bytes, cuts: list[int], quiet: random.Random | None, scan: LiveScan | None = None) -> State:
    """The state after the text came in the pieces between `cuts`, with quiet times in between."""
    scan, state, now = scan or live_scan(), State(), 0.0
    for low, high in zip([0, *cuts], [*cuts, len(data)], strict=True):
        engine.observe(state, scan.feed(Appended(path, data[low:high], fresh=low == 0), now), rules())
        now += 0.01
        if quiet is not None and quiet.random() < 0.3:
            now += 5
            engine.observe(state, scan.quiet(now), rules())
    return engine.observe(state, scan.end(path), rules())


def texts(name: str):
    """The logs of a case: what no file format reads as a document of its own."""
    for path in sorted((CASES / name / "evidence").rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            head = data[: recognise.SNIFFED]
            if not data or archive.container(head) or archive.packer(head) or archive.refused(head):
                continue
            if recognise.owner(Document(str(path), head, len(data)), FILE_FORMATS)[0] is None:
                yield str(path.relative_to(CASES)), data


@pytest.mark.parametrize("name", NAMES[::9])
def test_any_cuts_give_the_evidence_of_the_whole(name):
    chance = random.Random(name)
    for path, data in texts(name):
        expected = known(whole(path, data))
        many = sorted({chance.randrange(1, len(data) + 1) for _ in range(chance.choice((1, 3, 40)))} - {len(data)})
        assert known(growing(path, data, many, chance)) == expected


@pytest.mark.parametrize("name", NAMES[4::80])
def test_line_by_line(name):
    for path, data in texts(name):
        if len(data) < 40_000:
            ends = [at + 1 for at, byte in enumerate(data) if byte == 10 and at + 1 < len(data)]
            assert known(growing(path, data, ends, random.Random(1))) == known(whole(path, data))


def told(state: State, path: str):
    """What a state knows of a text so far, the provisional included."""
    parts = list(state.parts())
    hits: dict[int, int] = {}
    for part in parts:
        for number, item in part.hits.items():
            hits[number] = hits.get(number, 0) + item.count
    return hits, sorted(repr(fact) for part in parts for fact in part.facts)


@pytest.mark.parametrize("name", NAMES[3::40])
def test_a_text_that_is_quiet_says_all_that_its_start_says(name):
    chance = random.Random(name)
    for path, data in texts(name):
        scan, state, now, at = live_scan(), State(), 0.0, 0
        for cut in [*sorted(chance.randrange(1, len(data) + 1) for _ in range(6)), len(data)]:
            engine.observe(state, scan.feed(Appended(path, data[at:cut], fresh=at == 0), now), rules())
            now, at = now + 1, cut
            assert scan.due() < now
            engine.observe(state, scan.quiet(now), rules())
            assert scan.due() == float("inf")
            assert told(state, path) == told(whole(path, data[:cut]), path)


TRACEBACK = b"""Traceback (most recent call last):
  File "train.py", line 8, in <module>
    main()
RuntimeError: The PyTorch Neuron Runtime could not be initialized
"""


def observed(scan: LiveScan, state: State, items) -> State:
    return engine.observe(state, items, rules())


def test_an_open_window_is_revised_and_then_final():
    scan = live_scan()
    list(scan.feed(Appended("log", b"step 1\n", fresh=True), 0.0))
    items = [*scan.feed(Appended("log", TRACEBACK), 1.0), *scan.quiet(1.2)]
    open_now = [item for item in items if isinstance(item, Provisional) and item.name == "python-traceback"]
    assert [len(item.items[0].lines) for item in open_now] == [5]
    assert not [item for item in scan.quiet(9.0) if isinstance(item, Provisional)]  # nothing new is not told again
    items = [*scan.feed(Appended("log", b"going on\n"), 10.0), *scan.quiet(11.0)]
    assert [len(item.items[0].lines) for item in items if isinstance(item, Provisional) and item.items] == [6]
    items = list(scan.feed(Appended("log", b"one more\n" * 300), 12.0))
    final = [item for item in items if isinstance(item, Window)]
    assert final and final[0].lines[0].number == 1
    assert [item.items for item in items if isinstance(item, Provisional) and item.name == "python-traceback"] == [()]


def test_an_unfinished_line_is_provisional_and_told_once_when_it_ends():
    scan, state = live_scan(), State()
    line = b"nrt: NeuronCore(s) not available - Requested:nc1-nc1 Available:0"
    observed(scan, state, scan.feed(Appended("log", line, fresh=True), 0.0))
    assert not state.files.get("log") or not state.files["log"].hits
    observed(scan, state, scan.quiet(5.0))
    assert told(state, "log") == told(whole("log", line), "log") and told(state, "log")[0]
    observed(scan, state, scan.feed(Appended("log", b" more\nnext\n"), 6.0))
    observed(scan, state, scan.quiet(7.0))
    assert told(state, "log") == told(whole("log", line + b" more\nnext\n"), "log")


def test_lines_that_were_left_out_are_counted_and_no_window_goes_over_them():
    scan = live_scan()
    list(scan.feed(Appended("log", b"a\nb\n" + TRACEBACK, fresh=True), 0.0))
    items = list(scan.feed(Appended("log", b"x\nNeuronCore(s) not available - Requested:1\n", dropped=1000), 1.0))
    (window,) = [item for item in items if isinstance(item, Window) and item.format.name == "python-traceback"]
    assert [line.number for line in window.lines] == [2, 3, 4, 5, 6]
    assert {item.line.number for item in items if isinstance(item, Match)} == {1008}


def test_reading_goes_on_at_a_line():
    scan = live_scan()
    items = list(scan.feed(Appended("log", b"x\nNeuronCore(s) not available - Requested:1\n", fresh=True, line=501), 0.0))
    assert {item.line.number for item in items if isinstance(item, Match)} == {502}
    fresh = scan.renewed(rules())
    list(scan.end("log"))
    items = list(fresh.feed(Appended("log", b"NeuronCore(s) not available - Requested:1\n"), 1.0))
    assert {item.line.number for item in items if isinstance(item, Match)} == {503}


def test_many_hits_are_counted_exactly():
    scan, state = live_scan(), State()
    line = b"NeuronCore(s) not available - Requested:1\n"
    data = line * 5000
    for at in range(0, len(data), 7001):
        observed(scan, state, scan.feed(Appended("log", data[at : at + 7001], fresh=at == 0), 0.1))
    observed(scan, state, scan.end("log"))
    assert known(state) == known(whole("log", data))
    assert {item.count for item in state.files["log"].hits.values()} == {5000}


def test_encodings_and_binaries():
    text = "".join(f"line {n}\n" for n in range(30)) + "NeuronCore(s) not available - Requested:1\n"
    for data in (text.encode("utf-16"), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16-le")):
        assert known(growing("log", data, [40, 41, 333], None)) == known(whole("log", data)), data[:8]
    noise = random.Random(1).randbytes(200_000)
    state = growing("log", noise, list(range(1000, 200_000, 1000)), random.Random(2))
    assert state.files["log"].report.state == "skipped" and not state.files["log"].hits


def test_a_text_of_months_takes_bounded_memory():
    scan = live_scan()
    block = b"".join(b"2026-01-01 00:00:00 step %d loss ok \xff\n" % n for n in range(2000)) + TRACEBACK + b"{'loss': 1.0}\n" * 100
    for turn in range(20):
        for _ in scan.feed(Appended("log", block, fresh=turn == 0), turn):
            pass
        text = scan._texts["log"]
        assert len(text._buffer) < 3 * len(block) and text.held() < 1_000_000
    list(scan.quiet(100.0))
    assert len(text._buffer) < 8192


def test_all_texts_together_hold_bounded_lines(monkeypatch):
    from neuronwatch.source.live import scan as module

    monkeypatch.setattr(module, "HELD", 100_000)
    scan = live_scan()
    long = TRACEBACK + b"  and so it goes on, and on, and on, and on, and on, and on\n" * 200
    for number in range(40):
        list(scan.feed(Appended(f"log{number}", long, fresh=True), 0.0))
    assert sum(text.held() for text in scan._texts.values()) > 100_000
    items = list(scan.quiet(1.0))
    assert sum(text.held() for text in scan._texts.values()) <= 100_000
    assert any(isinstance(item, Window) for item in items)


def test_a_line_without_end_is_bounded():
    scan = live_scan()
    for turn in range(30):
        list(scan.feed(Appended("log", b"x" * 100_000, fresh=turn == 0), turn))
    assert len(scan._texts["log"]._buffer) < 1_000_000


def test_texts_that_are_silent_for_hours_are_only_remembered_by_their_line(monkeypatch):
    from neuronwatch.source.live import scan as module

    monkeypatch.setattr(module, "MOST_PARKED", 10)
    scan, state = live_scan(), State()
    for number in range(20):
        observed(scan, state, scan.feed(Appended(f"log{number}", b"one\n" + TRACEBACK, fresh=True), float(number)))
        observed(scan, state, scan.quiet(number + 0.5))
    observed(scan, state, scan.quiet(100_000.0))
    assert not scan._texts and len(scan._parked) == 10
    assert not any(file.provisional for file in state.files.values()) and state.files["log1"].facts
    items = list(scan.feed(Appended("log19", b"NeuronCore(s) not available - Requested:1\n"), 100_001.0))
    assert {item.line.number for item in items if isinstance(item, Match)} == {6}
    items = list(scan.feed(Appended("log18", b"NeuronCore(s) not available - Requested:1\n", fresh=True), 100_001.0))
    assert {item.line.number for item in items if isinstance(item, Match)} == {1}
