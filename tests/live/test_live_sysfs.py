"""The driver's tree, live: readings, the judge's text, and what becomes of a tree that is gone, denied, garbled or hung."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host.host_support import as_other_user
from source_support import RealClock, SetClock, health, turned_until, until
from tree_support import TREE, Polled, device, put, values, whole

from neuronwatch.model.live import Delivery
from neuronwatch.source.host import HostRoot, VirtualFile, devices
from neuronwatch.source.live.api import Absent, Broken
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.runner import Runner
from neuronwatch.source.live.sysfs import Sysfs
from neuronwatch.source.live.sysfs_kept import BACKGROUND, LONG_TURNS, TURNS

TEXT = f"host:/{TREE}"
MEMORY = "stats/memory_usage/device_mem"


@pytest.fixture
def sysfs(tmp_path: Path) -> Iterator[Callable[[], Polled]]:
    made: list[Sysfs] = []

    def make() -> Polled:
        made.append(Sysfs(HostRoot(tmp_path), Layout({})))
        return Polled(made[-1])

    yield make
    for source in made:
        source.close()


def offline(host: Path) -> dict[str, bytes]:
    return {item.path: item.data for item in devices.collect(HostRoot(host)) if isinstance(item, VirtualFile)}


def test_readings_of_cores_and_devices(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    base = device(tmp_path, 0)
    put(base / "neuron_core1" / MEMORY / "total", "700\n")
    put(base / "neuron_core1" / MEMORY / "tensors/total", "400\n")
    put(base / "neuron_core1" / MEMORY / "tensors/present", "999\n")  # the last change, not the use
    put(base / "neuron_core1" / MEMORY / "model_shared_scratchpad/total", "100\n")
    put(base / "neuron_core1" / MEMORY / "nonshared_scratchpad/total", "20\n")
    put(base / "neuron_core0/stats/status/success/total", "12\n")
    put(base / "neuron_core0/stats/status/timeout/total", "3\n")
    put(base / "neuron_core0/stats/status/hw_error/total", "1\n")
    poll = sysfs()
    found = values(poll())
    assert found["core.memory.used", "nd0:nc1"] == 700
    assert found["core.memory.tensors", "nd0:nc1"] == 400
    assert found["core.memory.scratchpad", "nd0:nc1"] == 120
    assert found["core.memory.used", "nd0:nc0"] == 0
    assert (found["core.executions", "nd0:nc0"], found["core.errors", "nd0:nc0"]) == (12, 4)
    assert found["device.power", "nd0"] == 20.5
    assert found["device.ecc.memory_uncorrected", "nd0"] == 0
    assert ("device.ecc.memory_corrected", "nd0") not in found  # this driver has no such file
    put(base / "neuron_core1" / MEMORY / "total", "900\n")
    again = values(poll())
    assert again["core.memory.used", "nd0:nc1"] == 900
    assert ("device.power", "nd0") not in again  # once a minute
    assert ("device.power", "nd0") in values(poll(60.0))


def test_power_without_data_is_absent_with_the_reason(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    put(device(tmp_path, 0) / "stats/power/utilization", "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n")
    reading = next(item for item in sysfs()().readings if item.metric == "device.power")
    assert (reading.value, reading.reason) == (None, "POWER_STATUS_NO_DATA")


@pytest.mark.parametrize(("told", "cores"), [(None, 4), (1, 8), (2, 4)])
def test_physical_cores_of_trn2_are_paired(tmp_path: Path, told: int | None, cores: int) -> None:
    base = device(tmp_path, 0, cores=8, kind="Trn2")
    for core in range(8):
        put(base / f"neuron_core{core}" / MEMORY / "total", f"{core + 1}\n")
    layout = Layout({})
    source = Sysfs(HostRoot(tmp_path), layout)
    poll = Polled(source)
    found = values(poll())
    if told is not None:
        layout.told(told)
        found = values(poll())
    used = [value for (metric, _), value in found.items() if metric == "core.memory.used"]
    assert used == ([3, 7, 11, 15] if cores == 4 else list(range(1, 9)))
    assert layout.per_device == cores
    source.close()


def test_the_judge_gets_what_diagnose_reads_when_a_rule_can_see_a_change(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    base = device(tmp_path, 0)
    device(tmp_path, 1)
    put(tmp_path / "sys/class/neuron_device/ultraserver_mode", "1\n")
    poll = sysfs()
    first = poll()
    assert {item.path: item.data for item in first.wholes} == offline(tmp_path)
    assert [fact.value for fact in first.facts or () if fact.name == "neuron.sysfs_devices"] == [(0, 1)]
    put(base / "neuron_core0" / MEMORY / "total", "4096\n")
    put(base / "neuron_core0/stats/status/success/total", "5\n")
    assert not [item for _ in range(20) for item in poll().wholes]  # no rule sees that
    put(base / "neuron_core0/stats/status/timeout/total", "1\n")
    text = whole(poll(), TEXT)
    assert text is not None
    assert text.data == offline(tmp_path)[TEXT]
    assert b"timeout/total = 1" in text.data


def test_ecc_is_seen_within_its_five_seconds(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    base = device(tmp_path, 0)
    poll = sysfs()
    poll()
    put(base / "stats/hardware/mem_ecc_uncorrected", "7\n")
    deliveries = [poll() for _ in range(6)]
    texts = [item.data for delivery in deliveries for item in delivery.wholes]
    assert texts == [offline(tmp_path)[TEXT]]
    assert 7 in [values(delivery).get(("device.ecc.memory_uncorrected", "nd0")) for delivery in deliveries]


def test_a_counter_that_keeps_counting_does_not_flood_the_judge(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    counter = device(tmp_path, 0) / "neuron_core0/stats/status/failure/total"
    poll = sysfs()
    sent = 0
    for second in range(300):
        put(counter, f"{second + 1}\n")
        sent += len(poll().wholes)
    assert 6 <= sent <= 11


def test_modes_of_device_nodes_are_told(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    device(tmp_path, 0)
    node = tmp_path / "dev/neuron0"
    node.chmod(0o666)
    poll = sysfs()
    assert [fact.value for fact in poll().facts or () if fact.name == "neuron.dev_denied"] == [()]
    poll(11.0)
    node.chmod(0o600)
    told = [fact for _ in range(6) for fact in poll().facts or ()]
    assert [fact.value for fact in told if fact.name == "neuron.dev_denied"] == [(0,)]


def test_devices_that_vanish_and_appear(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    device(tmp_path, 0)
    gone = device(tmp_path, 1)
    poll = sysfs()
    poll()
    shutil.rmtree(gone)
    told = poll()
    assert [fact.value for fact in told.facts or () if fact.name == "neuron.sysfs_devices"] == [(0,)]
    assert not [key for key in values(told) if key[1].startswith("nd1")]
    device(tmp_path, 2)
    assert values(poll())["core.memory.used", "nd2:nc0"] == 0


def test_a_driver_that_is_loaded_anew(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    base = device(tmp_path, 0)
    counter = base / "neuron_core0/stats/status/timeout/total"
    put(counter, "9\n")
    poll = sysfs()
    assert values(poll())["core.errors", "nd0:nc0"] == 9
    base.rename(tmp_path / "old")
    device(tmp_path, 0)
    told = poll()
    assert values(told)["core.errors", "nd0:nc0"] == 0
    assert whole(told, TEXT) is not None


def test_a_single_file_that_is_replaced_is_noticed(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    counter = device(tmp_path, 0) / "neuron_core0/stats/status/timeout/total"
    poll = sysfs()
    poll()
    put(tmp_path / "new", "5\n")
    (tmp_path / "new").rename(counter)
    assert 5 in [values(poll())["core.errors", "nd0:nc0"] for _ in range(20)]


def test_no_tree_is_missing_and_what_is_left_is_told(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    device(tmp_path, 0)
    poll = sysfs()
    poll()
    shutil.rmtree(tmp_path / "sys")
    with pytest.raises(Absent, match="the driver offers no sysfs tree") as error:
        poll()
    told = error.value.delivery
    assert told is not None
    assert [(item.path, item.data) for item in told.wholes] == [(TEXT, None)]
    assert [report.state for report in told.reports or ()] == ["missing"]
    with pytest.raises(Absent) as again:
        poll()
    assert again.value.delivery is None or not again.value.delivery.wholes
    device(tmp_path, 0)
    assert values(poll())["core.memory.used", "nd0:nc0"] == 0


def test_a_driver_of_the_old_line_has_no_tree_to_be_blind_to(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    put(tmp_path / "sys/module/neuron/version", "1.5.0.0\n")
    put(tmp_path / "dev/neuron0", "")
    poll = sysfs()
    with pytest.raises(Absent, match="the tree came with driver 2"):
        poll()
    assert not poll.source.mandatory
    put(tmp_path / "sys/module/neuron/version", "2.21.37.0\n")
    device(tmp_path, 0)
    poll()
    assert poll.source.mandatory


def test_a_machine_without_neuron(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    with pytest.raises(Absent, match="this machine has no Neuron device"):
        sysfs()()


def test_garbled_counters_fail_the_source_and_name_one(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    base = device(tmp_path, 0)
    poll = sysfs()
    poll()
    put(base / "neuron_core0" / MEMORY / "total", "\x00\xff?!\n")
    with pytest.raises(Broken, match=r"1 of \d+ counters hold no number: /sys/\S+neuron_core0/\S+total = ") as error:
        poll()
    found = values(error.value.delivery or Delivery("", 0.0))
    assert found["core.memory.used", "nd0:nc0"] is None
    assert found["core.memory.used", "nd0:nc1"] == 0
    with pytest.raises(Broken):
        poll()
    put(base / "neuron_core0" / MEMORY / "total", "5\n")
    assert values(poll())["core.memory.used", "nd0:nc0"] == 5


def test_without_permission(tmp_path: Path) -> None:
    """As an unprivileged user: files that are closed to it are absent with the reason; a tree of such files is missing."""
    base = device(tmp_path, 0)
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    denied = base / "neuron_core0" / MEMORY / "total"
    denied.chmod(0o600)

    def look() -> None:
        source = Sysfs(HostRoot(tmp_path), Layout({}))
        delivery = Polled(source)()
        reading = next(item for item in delivery.readings if (item.metric, item.entity) == ("core.memory.used", "nd0:nc0"))
        assert (reading.value, reading.reason) == (None, "permission denied")
        assert [report.reason for report in delivery.reports or ()] == ["1 files of the driver may not be read by this user"]

    as_other_user(look)
    for path in base.rglob("*"):
        if path.is_file():
            path.chmod(0o600)

    def look_again() -> None:
        with pytest.raises(Absent, match="permission denied"):
            Polled(Sysfs(HostRoot(tmp_path), Layout({})))()

    as_other_user(look_again)


def test_a_hung_driver_holds_this_source_only(tmp_path: Path) -> None:
    base = device(tmp_path, 0)
    clock = SetClock()
    runner = Runner([Sysfs(HostRoot(tmp_path), Layout({}))], clock, lambda _: None)
    turned_until(runner, clock, lambda: health(runner, "sysfs").state == "fresh")
    pipe = base / "neuron_core0" / MEMORY / "total"
    pipe.unlink()
    os.mkfifo(pipe)

    def seconds_pass() -> bool:
        clock.at += 0.05
        return health(runner, "sysfs").state == "stale"

    turned_until(runner, clock, seconds_pass)
    assert "has not come back" in health(runner, "sysfs").reason
    writer = os.open(pipe, os.O_WRONLY)  # the driver answers again
    pipe.unlink()
    put(pipe, "3\n")
    os.close(writer)
    turned_until(runner, clock, lambda: (seconds_pass(), health(runner, "sysfs").state == "fresh")[1])
    runner.close()


def test_descriptors_are_few_when_the_limit_is_low_and_are_all_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = device(tmp_path, 0)
    monkeypatch.setattr("neuronwatch.source.live.kept.room_for", lambda count, before: 3)
    before = len(os.listdir("/proc/self/fd"))
    source = Sysfs(HostRoot(tmp_path), Layout({}))
    poll = Polled(source)
    poll()
    assert len(os.listdir("/proc/self/fd")) <= before + 15
    put(base / "neuron_core1" / MEMORY / "total", "8\n")
    assert values(poll())["core.memory.used", "nd0:nc1"] == 8
    shutil.rmtree(tmp_path / "sys")
    with pytest.raises(Absent):
        poll()
    assert len(os.listdir("/proc/self/fd")) == before
    source.close()


def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuronwatch.source.live.sysfs_kept.AT_ONCE", 5)
    monkeypatch.setattr("neuronwatch.source.live.sysfs_kept.FEW", 2)


def test_many_cores_are_read_in_turns_and_those_that_moved_first(
    tmp_path: Path, sysfs: Callable[[], Polled], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_at_once(monkeypatch)
    bases = [device(tmp_path, number) for number in range(6)]
    poll = sysfs()
    poll()
    for base in bases:
        put(base / "neuron_core1" / MEMORY / "total", "800\n")
        put(base / "neuron_core1" / MEMORY / "tensors/total", "700\n")
        put(base / "neuron_core1/stats/status/timeout/total", "2\n")
    put(bases[0] / "neuron_core0" / MEMORY / "tensors/total", "4\n")  # its sum stands still
    found = values(poll())
    assert all(found["core.memory.used", f"nd{number}:nc1"] == 800 for number in range(6))
    for _ in range(TURNS - 1):
        found |= values(poll())
    assert all(found["core.errors", f"nd{number}:nc1"] == 2 for number in range(6))
    for _ in range(LONG_TURNS + 5 - TURNS):
        found |= values(poll())
    assert all(found["core.memory.tensors", f"nd{number}:nc1"] == 700 for number in range(6))
    for _ in range(BACKGROUND):
        found |= values(poll())
    assert found["core.memory.tensors", "nd0:nc0"] == 4


def test_nothing_that_is_told_grows_older_than_the_budget(
    tmp_path: Path, sysfs: Callable[[], Polled], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_at_once(monkeypatch)
    for number in range(6):
        device(tmp_path, number)
    poll = sysfs()
    told = dict.fromkeys(values(poll()), poll.at)
    for step in range(40):  # polls may be a little early or late
        told |= dict.fromkeys(values(poll(0.96 if step % 2 else 1.04)), poll.at)
        assert poll.at - min(told.values()) <= poll.source.budget
    assert {metric for metric, _ in told} >= {"core.errors", "core.memory.tensors", "device.ecc.sram_uncorrected", "device.power"}


def test_a_failed_execution_is_told_when_it_is_read(
    tmp_path: Path, sysfs: Callable[[], Polled], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_at_once(monkeypatch)
    bases = [device(tmp_path, number) for number in range(6)]
    poll = sysfs()
    for _ in range(12):
        poll()
    put(bases[3] / "neuron_core0/stats/status/timeout/total", "1\n")
    for _ in range(TURNS):
        told = poll()
        if whole(told, TEXT):
            break
    assert values(told)["core.errors", "nd3:nc0"] == 1


def test_the_limit_of_descriptors_holds_for_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    from neuronwatch.source.live import kept

    soft, hard = 1000, 1600
    limits = [soft]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limits[0], hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.__setitem__(0, pair[0]))
    assert kept.room_for(400, 0) == 400
    assert limits == [1000]
    assert kept.room_for(900, 400) == 1600 - kept.SPARE - 400
    assert limits == [1600]
    assert kept.room_for(900, 1600 - kept.SPARE) == 0


def test_runs_with_a_real_clock(tmp_path: Path) -> None:
    device(tmp_path, 0)
    taken: list[Delivery] = []
    clock = RealClock()
    runner = Runner([Sysfs(HostRoot(tmp_path), Layout({}))], clock, taken.append)
    turned_until(runner, clock, lambda: len(taken) >= 2)
    until(lambda: health(runner, "sysfs").state == "fresh")
    runner.close()


def test_files_that_come_later_are_found(tmp_path: Path, sysfs: Callable[[], Polled]) -> None:
    base = device(tmp_path, 0)
    poll = sysfs()
    poll()
    put(base / "neuron_core0" / MEMORY / "tensors/total", "5\n")  # deep down: the first look counts all
    assert values(poll(6.0))["core.memory.tensors", "nd0:nc0"] == 5
    for _ in range(4):
        poll(10.0)
    put(base / "neuron_core0/stats/status/timeout/total", "3\n")  # a kind of counter more
    late = [values(poll(10.0)) for _ in range(8)]
    assert late[-1]["core.errors", "nd0:nc0"] == 3
