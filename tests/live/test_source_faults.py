"""What bench/source_faults.py found through the real daemon, each as a small test: a tree that was walked while the driver began, a
cache whose files are pipes, a way to the kernel log that comes back, directories without permission, and what a reason says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from host.host_support import as_other_user
from tool_support import tool
from tree_support import TREE, Polled, device, put, values

from neuronwatch.drill import outages
from neuronwatch.source.host import HostRoot
from neuronwatch.source.live import advice, registry
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.compile_cache import CompileCache
from neuronwatch.source.live.kernel_log import KernelLog
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.logs import RuntimeLogs
from neuronwatch.source.live.sysfs import Sysfs

CACHE = "var/tmp/neuron-compile-cache/neuronxcc-2.21+a"


def test_a_tree_that_was_empty_when_it_was_met_is_walked_again(tmp_path: Path) -> None:
    base = tmp_path / TREE / "neuron0"
    base.mkdir(parents=True)
    put(tmp_path / "dev/neuron0", "")
    poll = Polled(Sysfs(HostRoot(tmp_path), Layout({})))
    with pytest.raises(Broken, match="it holds no counter that is known"):
        poll()
    inode = base.stat().st_ino
    device(tmp_path, 0)
    assert base.stat().st_ino == inode, "the directory is the same one"
    assert values(poll())


@pytest.mark.parametrize(("closed", "source"), [(TREE, "sysfs"), ("proc", "processes")])
def test_a_tree_without_permission_is_said_so(tmp_path: Path, closed: str, source: str) -> None:
    device(tmp_path, 0)
    put(tmp_path / "proc/1/stat", "1 (init) S 0 1")
    for path in (tmp_path, *tmp_path.parents):
        if path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    (tmp_path / closed).chmod(0o700)

    def look() -> None:
        found = next(item for item in registry.host_sources(HostRoot(tmp_path)) if item.name == source)
        with pytest.raises(Absent, match=f"/{closed}: permission denied"):
            found.poll(Now(1_790_000_000.0, 100.0))

    as_other_user(look)


def test_files_that_a_driver_adds_later_are_found(tmp_path: Path) -> None:
    base = device(tmp_path, 0, cores=1)
    poll = Polled(Sysfs(HostRoot(tmp_path), Layout({})))
    assert ("core.memory.used", "nd0:nc1") not in values(poll())
    put(base / "neuron_core1/stats/memory_usage/device_mem/total", "4096\n")
    assert any(entity == "nd0:nc1" for _ in range(8) for _, entity in values(poll())), "within some seconds"


def test_a_cache_whose_files_are_pipes_is_no_cache_of_empty_files(tmp_path: Path) -> None:
    put(tmp_path / CACHE / "MODULE_1+a/model.neff", "neff")
    put(tmp_path / CACHE / "MODULE_1+a/model.done", "")
    poll = Polled(CompileCache(HostRoot(tmp_path)))
    assert poll().wholes
    (tmp_path / CACHE / "MODULE_1+a/model.neff").unlink()
    os.mkfifo(tmp_path / CACHE / "MODULE_1+a/model.neff")
    with pytest.raises(Broken, match=r"1 entries of the cache cannot be read: .*model\.neff is no regular file") as error:
        poll(30.0)
    assert error.value.delivery is None, "what was seen before stands"


def test_the_kernel_log_goes_back_to_its_file(tmp_path: Path) -> None:
    """`dmesg` was used while the file was away; when `dmesg` fails, the file is tried again, not only what is worse."""
    tool(tmp_path, "dmesg", "import time\nprint('[ 1.0] by dmesg', flush=True)\ntime.sleep(0.3)\nraise SystemExit(3)\n")
    source, at, seen = KernelLog(HostRoot(tmp_path, allow_exec=True)), 100.0, b""
    log = tmp_path / "var/log/kern.log"
    for _ in range(200):
        at += 0.05
        try:
            found = source.poll(Now(1_790_000_000.0 + at, at))
        except (Absent, Broken):
            found = None
        seen += b"".join(item.data for item in found.appended) if found else b""
        if b"by dmesg" in seen and not log.exists():
            put(log, "Dec  1 00:00:00 host kernel: by file\n")
        if b"by file" in seen:
            break
        pause()
    source.close()
    assert b"by file" in seen


def pause() -> None:
    """A child needs some time of the machine."""
    import time

    time.sleep(0.02)


def test_a_directory_of_logs_without_permission_is_named(tmp_path: Path) -> None:
    put(tmp_path / "var/log/neuron/a.log", "a line\n")
    for path in (tmp_path, *tmp_path.parents):
        if path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    for name in ("var", "var/log"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "var/log/neuron").chmod(0o700)

    def look() -> None:
        source = RuntimeLogs(HostRoot(tmp_path))
        with pytest.raises(Absent, match="/var/log/neuron: permission denied"):
            source.poll(Now(1_790_000_000.0, 100.0))
        source.close()

    as_other_user(look)


def test_logs_that_are_pipes_are_there_and_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "var/log/neuron").mkdir(parents=True)
    os.mkfifo(tmp_path / "var/log/neuron/a.log")
    source = RuntimeLogs(HostRoot(tmp_path))
    with pytest.raises(Broken, match="not a regular file"):
        source.poll(Now(1_790_000_000.0, 100.0))
    source.close()


@pytest.mark.parametrize("name", outages.SOURCES)
def test_every_source_that_can_fail_says_what_to_do(name: str) -> None:
    for state in ("missing", "failed"):
        assert advice.of(name, state, "something") and advice.of(name, state, "permission denied")  # type: ignore[arg-type]
    assert not advice.of(name, "fresh", "") and not advice.of(name, "starting", "")


def test_no_advice_where_there_is_nothing_to_do() -> None:
    assert advice.of("neuron-top", "missing", "not needed: neuron-monitor is installed") == ""
    assert {*advice._ADVICE} <= {*registry.NAMES, "kernel-log", "runtime-log"}
