"""neuron-monitor: records to readings, which of them the judge gets, and a child that is killed, hung, garbled or absent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_support import RealClock, health, turned_until, until
from tool_support import Monitor, record, runtime
from tree_support import values

from neuronwatch.model import metrics
from neuronwatch.model.live import Delivery
from neuronwatch.source.host import HostRoot
from neuronwatch.source.live import child as child_module
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.monitor_readings import IDLE, UNUSED, Readings
from neuronwatch.source.live.monitor_record import NoRecord, decode
from neuronwatch.source.live.neuron_monitor import PATH, NeuronMonitor, _Judged
from neuronwatch.source.live.runner import Runner


class Watched:
    """The source in a runner with a real clock; the machine's clock of the child can be moved on."""

    def __init__(self, host: Path) -> None:
        self.ahead = 0.0
        self.taken: list[Delivery] = []
        self.clock = RealClock()
        self.source = NeuronMonitor(HostRoot(host, allow_exec=True), Layout({}), lambda: time.monotonic() + self.ahead)
        self.runner = Runner([self.source], self.clock, self.taken.append)

    def until(self, condition: object, seconds: float = 20.0) -> None:
        turned_until(self.runner, self.clock, condition, seconds)  # type: ignore[arg-type]

    def state(self) -> str:
        return health(self.runner, "neuron-monitor").state

    def reason(self) -> str:
        return health(self.runner, "neuron-monitor").reason

    def text(self) -> bytes:
        return b"".join(item.data for delivery in self.taken for item in delivery.appended if item.path == PATH)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    found = Watched(tmp_path)
    yield found
    found.runner.close()


def test_a_record_as_readings(tmp_path: Path, watched: Watched) -> None:
    monitor = Monitor(tmp_path)
    monitor.say(record(runtime(70, {"0": 50.0, "3": 20.0}, timed_out=2)))
    watched.until(lambda: watched.taken)
    found = values(watched.taken[-1])
    assert found["core.utilization", "nd0:nc0"] == 50
    assert found["core.utilization", "nd1:nc1"] == 20
    assert found["core.utilization", "nd0:nc1"] is None
    assert {item.reason for item in watched.taken[-1].readings if item.value is None} == {UNUSED}
    assert found["process.executions", "pid70"] == 10
    assert found["process.failures", "pid70"] == 2
    assert found["process.latency.p99", "pid70"] == 0.02
    assert found["core.memory.used", "nd1:nc1"] == 57
    assert {name for name, _ in found} <= metrics.BY_NAME.keys()
    config = json.loads(monitor.told("config"))
    assert config["period"] == "1s"
    assert {"type": "neuron_hw_counters"} in config["system_metrics"]
    arguments = json.loads(monitor.told("args"))
    assert not Path(arguments[1]).parent.exists()  # it was read
    assert watched.state() == "fresh"


def test_two_runtimes_on_a_core_are_added_up_and_tallies_grow() -> None:
    readings = Readings(Layout({}))
    for _ in range(3):
        found = readings.of(decode(json.dumps(record(runtime(1, {"0": 30.0}), runtime(2, {"0": 25.0}, completed=4))).encode())[0])
    by = {(item.metric, item.entity): item.value for item in found}
    assert by["core.utilization", "nd0:nc0"] == 55
    assert by["core.flops", "nd0:nc0"] == 2000
    assert by["core.memory.tensors", "nd0:nc0"] == 100
    assert (by["process.executions", "pid1"], by["process.executions", "pid2"]) == (30, 12)
    readings.of(decode(json.dumps(record(runtime(2, {"0": 1.0}))).encode())[0])
    again = readings.of(decode(json.dumps(record(runtime(1, {"0": 30.0}))).encode())[0])
    assert Reading_value(again, "process.executions", "pid1") == 10  # a new process of that number


def Reading_value(readings: list, metric: str, entity: str) -> float | None:
    return next(item.value for item in readings if (item.metric, item.entity) == (metric, entity))


def test_where_sysfs_serves_memory_and_ecc_they_are_its() -> None:
    layout = Layout({})
    layout.physical = 2
    found = Readings(layout).of(decode(json.dumps(record(runtime(1, {"0": 30.0}), ecc=3)).encode())[0])
    assert not [item for item in found if item.metric.startswith(("core.memory", "device.ecc"))]


def test_an_idle_host_is_unknown_and_not_zero() -> None:
    found = Readings(Layout({})).of(decode(json.dumps(record()).encode())[0])
    busy = [item for item in found if item.metric == "core.utilization"]
    assert [(item.entity, item.value, item.reason) for item in busy] == [
        (entity, None, IDLE) for entity in ("nd0:nc0", "nd0:nc1", "nd1:nc0", "nd1:nc1")
    ]


def test_logical_cores_of_trn2_and_the_words_of_the_tool() -> None:
    layout = Layout({})
    text = record(runtime(1, {"5": 40.0}))
    text["neuron_hardware_info"] = {"neuron_device_count": 16, "neuroncore_per_device_count": 4, "logical_neuroncore_config": 2}
    found = Readings(layout).of(decode(json.dumps(text).encode())[0])
    assert Reading_value(found, "core.utilization", "nd1:nc1") == 40
    assert layout.config == 2


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"7", b'{"a": 1}', b"\xff\xfe{}", b'{"neuron_runtime_data": 5}', b"[" * 100_000, b"garbage"]
)
def test_what_is_no_record(text: bytes) -> None:
    with pytest.raises(NoRecord):
        decode(text)


def test_a_group_of_another_type_does_not_take_the_others_with_it() -> None:
    text = record(runtime(1, {"0": 30.0}))
    text["neuron_runtime_data"][0]["report"]["memory_used"] = ["?"]
    text["system_data"] = "none"
    found, left_out = decode(json.dumps(text).encode())
    assert "memory_used" in left_out
    assert found.system_data is None
    readings = Readings(Layout({})).of(found)
    assert Reading_value(readings, "core.utilization", "nd0:nc0") == 30
    assert not [item for item in readings if item.metric == "process.memory.device"]


@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5) | st.integers(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
                        ["neuron_runtime_data", "report", "neuroncore_counters", "neuroncores_in_use", "0", "pid", "error", "system_data",
                         "execution_stats", "execution_summary", "completed", "neuron_hardware_info", "neuroncore_per_device_count"]),
                        inner, max_size=4), max_leaves=20))  # fmt: skip
def test_any_document_is_read_or_refused(value: object) -> None:
    try:
        found, _ = decode(json.dumps(value).encode())
    except NoRecord:
        return
    Readings(Layout({})).of(found)
    _Judged().wants(found, 0.0)


def test_the_judge_gets_changes_and_one_a_minute() -> None:
    judged = _Judged()

    def wants(at: float, text: dict) -> bool:
        return judged.wants(decode(json.dumps(text).encode())[0], at)

    quiet = record(runtime(1, {"0": 30.0}))
    assert wants(0, quiet)
    assert not any(wants(second, record(runtime(1, {"0": second}))) for second in range(1, 59))
    assert wants(60, quiet)
    assert wants(61, record(runtime(1, {"0": 30.0}), ecc=1))
    assert not wants(62, record(runtime(1, {"0": 30.0}), ecc=1))
    assert wants(63, record(runtime(1, {"0": 30.0}), runtime(2, {"1": 1.0})))
    assert wants(64, record())
    failing = record(runtime(3, {"0": 30.0}, timed_out=1))
    sent = sum(wants(100 + second, failing) for second in range(60))
    assert 8 <= sent <= 12
    broken = record(runtime(3, {"0": 30.0}))
    broken["neuron_runtime_data"][0]["report"]["memory_used"]["error"] = "cannot"
    assert wants(161, broken)


def test_lines_for_the_judge_have_their_time_in_front(tmp_path: Path, watched: Watched) -> None:
    Monitor(tmp_path).say(record(runtime(7, {"0": 30.0})), record(runtime(7, {"0": 40.0})))
    watched.until(lambda: len(watched.taken) >= 2 or (watched.taken and len(watched.text()) and Reading_value(
        list(watched.taken[-1].readings), "core.utilization", "nd0:nc0") == 40))  # fmt: skip
    lines = watched.text().splitlines()
    assert len(lines) == 1
    assert lines[0][:2] == b"20"
    assert lines[0][20:22] == b" {"
    assert [item.fresh for delivery in watched.taken for item in delivery.appended] == [True]


def test_a_part_that_cannot_be_read_is_a_report(tmp_path: Path, watched: Watched) -> None:
    text = record()
    text["system_data"] = "none"
    monitor = Monitor(tmp_path)
    monitor.say(text)
    watched.until(lambda: watched.taken)
    assert [(item.state, "system_data" in item.reason) for item in watched.taken[0].reports or ()] == [("partial", True)]
    assert watched.state() == "fresh"
    monitor.say(record())
    watched.until(lambda: watched.taken[-1].reports == [])


def test_half_lines_are_joined(tmp_path: Path, watched: Watched) -> None:
    monitor = Monitor(tmp_path)
    text = json.dumps(record(runtime(7, {"0": 30.0}))).encode() + b"\n"
    monitor.say(text[:50])
    watched.until(lambda: monitor.told("pid"))
    time.sleep(0.05)
    watched.runner.turn(watched.clock.now())
    assert not watched.taken
    monitor.say(text[50:])
    watched.until(lambda: watched.taken)


def test_an_absent_tool_is_missing_and_is_found_when_it_comes(tmp_path: Path, watched: Watched) -> None:
    watched.until(lambda: watched.state() == "missing")
    assert watched.reason() == "neuron-monitor: not installed; install aws-neuronx-tools"
    Monitor(tmp_path).say(record())
    watched.until(lambda: watched.state() == "fresh")


def test_a_root_whose_programs_may_not_run(tmp_path: Path) -> None:
    Monitor(tmp_path)
    runner = Runner([NeuronMonitor(HostRoot(tmp_path), Layout({}))], RealClock(), lambda _: None)
    turned_until(runner, RealClock(), lambda: health(runner, "neuron-monitor").state == "missing")
    assert health(runner, "neuron-monitor").reason == "neuron-monitor: not executed: the root is not a live host"
    runner.close()


def test_a_killed_child_is_failed_and_started_again(tmp_path: Path, watched: Watched) -> None:
    monitor = Monitor(tmp_path)
    monitor.say(record())
    watched.until(lambda: watched.state() == "fresh")
    first = int(monitor.told("pid"))
    os.kill(first, signal.SIGKILL)
    watched.until(lambda: watched.state() == "failed")
    assert watched.reason().startswith("neuron-monitor was killed by signal 9; see what `neuron-monitor` says")
    watched.until(lambda: watched.state() == "fresh")
    assert int(monitor.told("pid")) != first


def test_a_tool_that_is_removed_while_it_runs_is_missing_at_once(tmp_path: Path, watched: Watched) -> None:
    monitor = Monitor(tmp_path)
    monitor.say(record())
    watched.until(lambda: watched.state() == "fresh")
    (tmp_path / "opt/aws/neuron/bin/neuron-monitor").unlink()
    os.kill(int(monitor.told("pid")), signal.SIGTERM)
    watched.until(lambda: watched.state() != "fresh")
    assert (watched.state(), watched.reason()[:29]) == ("missing", "neuron-monitor: not installed")


def test_one_that_ends_at_once_is_started_with_growing_pauses(tmp_path: Path, watched: Watched) -> None:
    monitor = Monitor(tmp_path)
    monitor.say(b"exit")
    watched.until(lambda: watched.state() == "failed")
    assert watched.reason().startswith("neuron-monitor ended with status 3: level=error msg=it ends; ")
    child = watched.source._child
    assert child is not None
    assert child._not_before - child._clock() <= 1.0
    watched.until(lambda: child._short_lives >= 3)
    assert child._not_before - child._clock() > 2.0


def test_a_hung_child_is_killed_and_started_again(tmp_path: Path, watched: Watched) -> None:
    monitor = Monitor(tmp_path)
    monitor.say(record())
    watched.until(lambda: watched.state() == "fresh")
    first = int(monitor.told("pid"))
    os.kill(first, signal.SIGSTOP)
    watched.ahead += 20.0
    watched.until(lambda: watched.state() == "failed")
    assert watched.reason().startswith("neuron-monitor gave no record for 12 s and is started anew; ")
    watched.until(lambda: watched.state() == "fresh")
    assert int(monitor.told("pid")) != first
    until(lambda: not os.path.exists(f"/proc/{first}"))


def test_garbage_fails_the_source_until_records_come_again(tmp_path: Path, watched: Watched) -> None:
    monitor = Monitor(tmp_path)
    monitor.say(record())
    watched.until(lambda: watched.state() == "fresh")
    monitor.say(b'{"neuron_runtime_da\xff\xfe\x00\x81\n')
    watched.until(lambda: watched.state() == "failed")
    assert watched.reason().startswith("the output of neuron-monitor is no record: {")
    monitor.say(record())
    watched.until(lambda: watched.state() == "fresh")


def test_a_line_without_end_costs_no_memory(tmp_path: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "MAX_LINE", 100_000)
    monitor = Monitor(tmp_path)
    monitor.say(b"x" * 50_000, b"x" * 50_000, b"x" * 50_000)
    watched.until(lambda: watched.state() == "failed")
    assert watched.reason().startswith("a line of neuron-monitor's output is too long to be a record; ")
    assert len(watched.source._child._rest) == 0  # type: ignore[union-attr]
    monitor.say(b"x" * 50_000, b"xx\n", record())
    watched.until(lambda: watched.state() == "fresh")


def test_close_leaves_no_child_and_no_file(tmp_path: Path, watched: Watched) -> None:
    monitor = Monitor(tmp_path)
    watched.until(lambda: monitor.told("pid"))
    directory = watched.source._directory
    watched.runner.close()
    until(lambda: not os.path.exists(f"/proc/{monitor.told('pid')}"))
    assert directory is not None
    assert not Path(directory).exists()
    watched.runner = Runner([], watched.clock, watched.taken.append)


def test_the_child_dies_with_us_even_when_we_are_killed(tmp_path: Path) -> None:
    monitor = Monitor(tmp_path)
    program = f"""
import time
from neuronwatch.source.host.root import HostRoot
process = HostRoot({str(tmp_path)!r}, allow_exec=True).start(["neuron-monitor"], tied=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    until(lambda: monitor.told("pid"))
    child = monitor.told("pid")
    assert os.path.exists(f"/proc/{child}")
    parent.kill()
    parent.wait()
    until(lambda: not os.path.exists(f"/proc/{child}") or " Z " in Path(f"/proc/{child}/stat").read_text())
