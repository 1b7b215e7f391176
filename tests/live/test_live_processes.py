"""Processes, live: holders of devices, compilers, what they use, and the listing that the judge gets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from source_support import until
from tree_support import Polled, values, whole

from neuronwatch.model import metrics
from neuronwatch.source.host import HostRoot, VirtualFile, processes
from neuronwatch.source.live.api import Absent
from neuronwatch.source.live.holders import Holders
from neuronwatch.source.live.processes import Processes

PS = "host:ps -eo pid,ppid,stat,rss,args"
LSOF = "host:/proc/*/fd"


def process(
    host: Path,
    pid: int,
    command: str,
    *,
    opens: tuple[str, ...] = ("/dev/null",),
    ticks: int = 0,
    state: str = "S",
    began: int = 500,
) -> None:
    base = host / f"proc/{pid}"
    shutil.rmtree(base, ignore_errors=True)
    (base / "fd").mkdir(parents=True)
    fields = [
        "1",
        *["0", "0", "0", "-1", "0", "0", "0", "0", "0"],
        str(ticks),
        "0",
        *["0", "0", "20", "0"],
        "4",
        "0",
        str(began),
        "0",
        "100",
    ]
    (base / "stat").write_text(f"{pid} ({command.split(' ')[0][:15]}) {state} {' '.join(fields)} " + "0 " * 30 + "\n")
    (base / "status").write_text("Name:\tx\nThreads:\t4\n")
    (base / "cmdline").write_text(command.replace(" ", "\0") + "\0")
    (base / "environ").write_text("NEURON_RT_NUM_CORES=2\0AWS_SECRET_ACCESS_KEY=planted\0")
    for number, target in enumerate(opens):
        (base / f"fd/{number}").symlink_to(target)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "dev").mkdir()
    for number in range(2):
        (tmp_path / f"dev/neuron{number}").touch()
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  1 0 1 1 0 0 0 0 0 0\nbtime 1700000000\n")
    process(tmp_path, 10, "sshd -D")
    process(tmp_path, 20, "python3 train.py", opens=("/dev/null", "/dev/neuron0", "/dev/neuron1"))
    return tmp_path


def offline(host: Path) -> dict[str, bytes]:
    return {item.path: item.data for item in processes.collect(HostRoot(host)) if isinstance(item, VirtualFile)}


def test_told_as_diagnose_reads_it(host: Path) -> None:
    holders = Holders()
    poll = Polled(Processes(HostRoot(host), holders))
    first = poll()
    assert {item.path: item.data for item in first.wholes} == offline(host)
    assert len(first.wholes) == 3  # with the environment of the holder, its secrets left out
    assert not any(b"planted" in (item.data or b"") for item in first.wholes)
    assert holders.pids == {20}
    found = values(first)
    assert found["host.devices_held", ""] == 2
    assert found["process.threads", "pid20"] == 4
    assert {name for name, _ in found} <= metrics.BY_NAME.keys()


def test_what_comes_and_goes_is_told_within_five_seconds(host: Path) -> None:
    holders = Holders()
    poll = Polled(Processes(HostRoot(host), holders))
    poll()
    process(host, 11, "cron -f")
    assert not poll(5.0).wholes  # nobody's business
    process(host, 30, "neuronx-cc compile --target trn1", opens=("/dev/null",))
    assert b"neuronx-cc" in (whole(poll(5.0), PS) or pytest.fail("not told")).data  # type: ignore[operator]
    poll(300.0)
    process(host, 20, "python3 train.py", opens=("/dev/null",))  # it closed its devices
    told = poll(5.0)
    assert [(item.path, item.data) for item in told.wholes if item.path == LSOF] == [(LSOF, None)]
    assert [fact.value for fact in told.facts or () if fact.name == "neuron.holders"] == [()]
    assert holders.pids == frozenset()
    shutil.rmtree(host / "proc/20")
    assert whole(poll(5.0), PS) is not None or whole(poll(20.0), PS) is not None


def test_a_shell_that_becomes_a_job_is_noticed(host: Path) -> None:
    poll = Polled(Processes(HostRoot(host), Holders()))
    process(host, 40, "sh -c x")
    poll()
    process(host, 40, "torchrun train.py", opens=("/dev/neuron1",))
    text = whole(poll(5.0), PS)
    assert text is not None
    assert b"torchrun" in (text.data or b"")


def test_devices_of_a_rank_that_runs_for_long(host: Path) -> None:
    poll = Polled(Processes(HostRoot(host), Holders()))
    for _ in range(10):
        poll(5.0)
    process(host, 20, "python3 train.py", opens=("/dev/null", "/dev/neuron0", "/tmp/data"))  # the same numbers
    told = whole(poll(5.0), LSOF)
    assert told is not None
    assert told.data is not None
    assert b"/dev/neuron1" not in told.data
    process(host, 20, "python3 train.py", opens=("/dev/null", "/dev/neuron0", "/tmp/data", "/dev/neuron1"))
    delivery = poll(10.0)
    told = whole(delivery, LSOF)
    assert told is not None
    assert b"/dev/neuron1" in (told.data or b"")
    process(host, 20, "python3 evaluate.py", began=900)  # another process took the number
    told = whole(poll(20.0), PS)
    assert told is not None
    assert b"evaluate.py" in (told.data or b"")


def test_cpu_of_a_process(host: Path) -> None:
    poll = Polled(Processes(HostRoot(host), Holders()))
    poll()
    process(host, 20, "python3 train.py", opens=("/dev/neuron0",), ticks=5 * os.sysconf("SC_CLK_TCK"))
    assert values(poll(10.0))["process.cpu", "pid20"] == 50


def test_open_files_that_are_closed_to_us_make_the_number_of_held_devices_unknown(host: Path) -> None:
    shutil.rmtree(host / "proc/10/fd")
    (host / "proc/10/fd").mkdir()
    delivery = Polled(Processes(HostRoot(host), Holders()))()
    reading = next(item for item in delivery.readings if item.metric == "host.devices_held")
    assert reading.value is None
    assert [report.state for report in delivery.reports or ()] == ["partial"]


def test_no_proc_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Absent, match="there is no /proc"):
        Polled(Processes(HostRoot(tmp_path), Holders()))()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_this_machine() -> None:
    source = Processes(HostRoot("/"), Holders())
    poll = Polled(source)
    text = whole(poll(), PS)
    assert text is not None
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)  # neuron"])
    try:
        until(lambda: b"# neuron" in Path(f"/proc/{child.pid}/cmdline").read_bytes())
        found = values(poll(5.0))
        assert found["process.rss", f"pid{child.pid}"] > 0  # type: ignore[operator]
        time.sleep(0.02)
        assert ("process.cpu", f"pid{child.pid}") in values(poll(5.0))
    finally:
        child.kill()
        child.wait()
    assert ("process.rss", f"pid{child.pid}") not in values(poll(5.0))


def test_who_lives_and_since_when(host: Path) -> None:
    (host / "proc/20/status").write_text("Name:\tpython3\nNSpid:\t20\t7\nThreads:\t4\n")
    poll = Polled(Processes(HostRoot(host), Holders()))
    first = poll()
    assert first.alive == {10: 0.0, 20: 0.0, 7: 0.0}
    process(host, 30, "python3 other.py")
    process(host, 20, "python3 train.py", state="Z")
    second = poll(5)
    assert second.alive == {10: 0.0, 30: first.time}, "a zombie is dead; the new one was not there at the look before"
    shutil.rmtree(host / "proc/30")
    assert poll(5).alive == {10: 0.0}
