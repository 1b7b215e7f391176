"""A text with thousands of lines a second is scanned for less, and what matters in it is found all the same."""

from __future__ import annotations

import random
import threading

import pytest
from case_support import rules
from source_support import until

from neuronwatch.judge import engine
from neuronwatch.judge.evidence import Match
from neuronwatch.judge.state import State
from neuronwatch.model.live import Appended
from neuronwatch.source import formats
from neuronwatch.source.live import busy
from neuronwatch.source.live.scan import LiveScan

ORDINARY = (
    b"INFO worker heartbeat ok queue=3 inflight=1\n", b"DEBUG fetched batch shard=17 size=4096 in 12.1 ms\n",
    b"step 120/5000 loss=2.1834 lr=4.5e-05 throughput 1234 tokens/s\n",
)  # fmt: skip
ERROR = b"nrt: NeuronCore(s) not available - Requested:nc1-nc1 Available:0\n"
STRANGE = (
    b"RuntimeError: Bad StatusOr access: INVALID_ARGUMENT: Run Graph failed: The PyTorch Neuron Runtime could not be initialized\n"
)
BLOCK = 100


def blocks(count: int, seed: int, special: dict[int, bytes]) -> list[bytes]:
    chance = random.Random(seed)
    return [b"".join(special.get(turn * BLOCK + at) or chance.choice(ORDINARY) for at in range(BLOCK)) for turn in range(count)]


def fed(scan: LiveScan, state: State, data: list[bytes], start: float = 0.0, step: float = 0.01, path: str = "log") -> list[object]:
    items = []
    for turn, block in enumerate(data):
        found = list(scan.feed(Appended(path, block, fresh=start == 0.0 and turn == 0), start + turn * step))
        items += found
        engine.observe(state, found, rules())
    return items


class MadeAtOnce:
    """Time does not pass here, so a matcher must not be made beside."""

    def __init__(self, make) -> None:
        self.made = make()


@pytest.fixture
def scan(monkeypatch):
    monkeypatch.setattr(busy, "Making", MadeAtOnce)
    monkeypatch.setattr(busy, "SAMPLE", 16 * 1024)
    monkeypatch.setattr(busy, "FORMAT_LINES", 3000)
    return LiveScan(rules(), *formats.shipped())


def test_errors_in_a_busy_text_are_all_found(scan):
    places = {45_000: ERROR, 51_111: STRANGE, 58_999: ERROR}
    state, data = State(), blocks(600, 1, places)
    items = fed(scan, state, data)
    text = scan._texts["log"]
    assert text._busy._lean is not None and text._busy._left_out
    engine.observe(state, [*scan.quiet(100.0), *scan.end("log")], rules())
    patterns = {hit.pattern_id for line in (ERROR, STRANGE) for hit in scan.plan.matcher.scan(line, 0)}
    exact = {number for number in patterns if number < scan.plan.first_trigger}
    found = {(item.pattern_id, item.line.number) for item in items if isinstance(item, Match) and item.pattern_id in exact}
    for number, line in places.items():
        wanted = {hit.pattern_id for hit in scan.plan.matcher.scan(line, 0) if hit.pattern_id < scan.plan.first_trigger}
        assert wanted and {(pattern, number + 1) for pattern in wanted} <= found
    assert not scan._crowd


def test_the_last_hit_of_a_frequent_signature_is_exact_when_the_text_is_quiet(scan):
    state, data = State(), blocks(501, 2, {})
    fed(scan, state, data)
    engine.observe(state, scan.quiet(100.0), rules())
    frequent = scan._texts["log"]._busy._left_out
    assert frequent
    lines = b"".join(data).splitlines()
    for number, hit in state.files["log"].hits.items():
        regex = scan.plan.regex[number]
        true = [at + 1 for at, line in enumerate(lines) if scan.plan.matcher.confirm.found(regex, line.decode())]
        assert hit.last.number == true[-1]
        assert (0.6 if number in frequent else 1.0) <= hit.count / len(true) <= (1.6 if number in frequent else 1.0)


def test_formats_with_very_many_lines_are_thinned_and_it_is_said_and_errors_are_still_read(scan):
    nrt = b"2026-Aug-21 10:14:02.883112 51942:51942 INFO   NRT:nrt_infodump                  allocated ring nd0 nc0 id 2a2a46c9\n"
    bad = b"2026-Aug-21 10:14:02.883112 51942:51942 ERROR  TDRV:exec_consume_infer_status_notification  (FATAL-RT-UNDEFINED-STATE) execution timeout (30000 ms) on Neuron Device 3 NC 1\n"
    state = State()
    data = [nrt * BLOCK for _ in range(700)]
    data[650] = nrt * 50 + bad + nrt * 49
    fed(scan, state, data)
    assert scan._texts["log"]._busy.thinned
    engine.observe(state, [*scan.quiet(100.0), *scan.end("log")], rules())
    report = state.files["log"].report
    assert "thinned after 3,000 lines" in report.reason
    assert any(hit.last.number == 65_051 for hit in state.files["log"].hits.values())


def test_a_text_that_calms_down_is_read_like_any_other(scan):
    state = State()
    fed(scan, state, blocks(500, 3, {}))
    assert scan._crowd and scan._texts["log"]._busy._lean is not None
    fed(scan, state, blocks(4, 4, {}), start=10.0, step=1.0)
    text = scan._texts["log"]
    assert not scan._crowd and text._busy.matcher is scan.plan.matcher
    before = dict(text._scan.thinning.count)
    fed(scan, state, [ORDINARY[2] * 10], start=20.0)
    assert {
        after - before.get(number, 0) for number, after in text._scan.thinning.count.items() if after != before.get(number)
    } == {10}


def test_not_all_texts_are_busy_at_once(scan, monkeypatch):
    monkeypatch.setattr(busy, "MOST", 1)
    for number in range(2):
        fed(scan, State(), blocks(450, number, {}), path=f"log{number}")
    assert len(scan._crowd) == busy.MOST
    for path in scan.paths():
        list(scan.end(path))
    assert not scan._crowd


def test_a_matcher_is_made_beside_the_loop_and_used_when_it_is_ready(monkeypatch):
    """The loop goes on meanwhile, with the matcher of all texts; a making that fails is no end."""
    monkeypatch.setattr(busy, "SAMPLE", 16 * 1024)
    scan, state = LiveScan(rules(), *formats.shipped()), State()
    go, plain = threading.Event(), scan.plan.matcher.lean

    def slow(*args):
        assert go.wait(30)
        return plain(*args)

    monkeypatch.setattr(scan.plan.matcher, "lean", slow, raising=False)
    fed(scan, state, blocks(450, 1, {400 * BLOCK: ERROR}))
    text = scan._texts["log"]
    assert text._busy._making is not None and text._busy.matcher is scan.plan.matcher
    go.set()
    until(lambda: text._busy._making.made is not None)
    fed(scan, state, blocks(50, 2, {40 * BLOCK: ERROR}), start=4.6)
    assert text._busy._making is None and text._busy.matcher is not scan.plan.matcher
    engine.observe(state, [*scan.quiet(100.0), *scan.end("log")], rules())
    hits = [item for hit in state.files["log"].hits.values() for item in hit.lines if "not available" in item.text]
    assert {line.number for line in hits} == {40_001, 49_001}


def test_a_making_that_fails_leaves_the_matcher_of_all_texts(monkeypatch, caplog):
    monkeypatch.setattr(busy, "SAMPLE", 16 * 1024)
    scan = LiveScan(rules(), *formats.shipped())
    monkeypatch.setattr(scan.plan.matcher, "lean", lambda *args: 1 / 0, raising=False)
    fed(scan, State(), blocks(450, 1, {}))
    until(lambda: "could not be made" in caplog.text)
    fed(scan, State(), blocks(450, 1, {}), start=4.6)
    assert scan._texts["log"]._busy.matcher is scan.plan.matcher


def test_what_becomes_frequent_later_is_left_out_without_a_new_database(scan):
    state, quiet = State(), [ORDINARY[0]]
    data = [b"".join(quiet * BLOCK) for _ in range(300)] + [(ERROR + quiet[0]) * (BLOCK // 2) for _ in range(500)]
    fed(scan, state, data)
    own = scan._texts["log"]._busy
    assert own._left_out and own._lean is not own._whole and own._lean._database is own._whole._database
    engine.observe(state, [*scan.quiet(100.0), *scan.end("log")], rules())
    for number in own._left_out:
        hit = state.files["log"].hits.get(number)
        assert hit is None or hit.last.number in (79_999, 80_000)
