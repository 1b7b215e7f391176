"""Slow facts of the host, live: the same as `diagnose` reads, told when they change."""

from __future__ import annotations

import select
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from host.host_support import TRN1, host
from source_support import RealClock, health, turned_until
from tree_support import TREE, Polled, device, put

from neuronwatch.model.live import Delivery
from neuronwatch.model.records import Fact
from neuronwatch.source.host import HostItem, HostRoot, VirtualFile, driver, packages
from neuronwatch.source.live import ways
from neuronwatch.source.live.api import Broken
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.runner import Runner
from neuronwatch.source.live.signal_pipe import SignalPipe
from neuronwatch.source.live.sysfs import Sysfs


def test_the_driver_is_told_once_and_when_it_changes(tmp_path: Path) -> None:
    root = host(tmp_path, TRN1)
    poll = Polled(ways.driver(root, SignalPipe()))
    assert list(poll().facts or ()) == [item for item in driver.collect(root) if isinstance(item, Fact)]
    same = poll(60.0)
    assert (same.facts, same.reports, list(same.wholes)) == (None, None, [])
    card = {"vendor": "0x1d0f", "device": "0x7164", "class": "0x088000"}
    for name, text in card.items():
        put(tmp_path / f"sys/bus/pci/devices/0000:00:1e.0/{name}", f"{text}\n")
    assert [item.path for item in poll(60.0).wholes] == ["host:/sys/bus/pci/devices"]
    put(tmp_path / "sys/module/neuron/version", "2.28.0.0\n")
    assert "2.28.0.0" in [fact.value for fact in poll(60.0).facts or ()]
    (tmp_path / "sys/module/neuron/version").unlink()
    (tmp_path / "proc/modules").unlink()
    gone = poll(60.0).facts
    assert gone is not None
    assert "driver.loaded" not in [fact.name for fact in gone]


def test_packages_are_read_anew_only_when_their_databases_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = "Package: aws-neuronx-dkms\nStatus: install ok installed\nVersion: 2.22\n\n"
    root = host(
        tmp_path, {"/var/lib/dpkg/status": status, "/opt/venv/lib/python3.10/site-packages/libneuronxla-2.0.dist-info/x": ""}
    )
    source = ways.installed(root)
    poll = Polled(source)
    first = poll()
    assert {item.path: item.data for item in first.wholes} == {
        item.path: item.data for item in packages.collect(root) if isinstance(item, VirtualFile)
    }
    assert len(first.wholes) == 2
    asked: list[HostRoot] = []
    monkeypatch.setattr(packages, "collect", lambda root: asked.append(root) or ())
    poll(60.0)
    assert not asked
    (tmp_path / "opt/venv/lib/python3.10/site-packages/libneuronxla-2.1.dist-info").mkdir()
    poll(60.0)
    assert asked


def test_who_reads_the_packages_looks_when_another_driver_is_loaded(tmp_path: Path) -> None:
    """The loaded version of now beside the package of a minute ago would be a driver that could not be reloaded."""
    root, packages_again = host(tmp_path, TRN1), SignalPipe()
    poll = Polled(ways.driver(root, SignalPipe(), packages_again))

    def asked() -> bool:
        found = bool(select.select([packages_again.descriptor], [], [], 0)[0])
        if found:
            packages_again.clear()
        return found

    assert not asked()
    poll()
    assert asked()
    poll(60.0)
    assert not asked()
    put(tmp_path / "sys/module/neuron/version", "2.28.0.0\n")
    poll(60.0)
    assert asked()
    assert ways.installed(root, packages_again).descriptors() == (packages_again.descriptor,)


def test_an_error_of_the_host_is_said(tmp_path: Path) -> None:
    def way(root: HostRoot) -> list[Fact]:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(Broken, match="permission denied"):
        Polled(ways.Ways("x", HostRoot(tmp_path), [way]))()


def test_a_driver_that_goes_is_looked_at_at_once_also_while_a_look_is_under_way(tmp_path: Path) -> None:
    """The tree is gone: the source of the module's facts, which is due in a minute, is asked again; none of the requests is lost."""
    again, began, go_on = SignalPipe(), threading.Event(), threading.Event()
    looks: list[str] = []

    def slow(root: HostRoot) -> Iterator[HostItem]:
        looks.append("look")
        found = list(driver.collect(root))
        began.set()
        assert go_on.wait(60)
        yield from found

    device(tmp_path, 0)
    put(tmp_path / "proc/modules", "neuron 1 2 - Live 0x0\n")
    root = HostRoot(tmp_path)
    taken: list[Delivery] = []
    sources = [ways.Ways("driver", root, [slow], again=again), Sysfs(root, Layout({}), again)]
    clock = RealClock()
    runner = Runner(sources, clock, taken.append)
    try:
        turned_until(runner, clock, began.is_set)
        turned_until(runner, clock, lambda: any(item.source == "sysfs" for item in taken))  # which is a request of its own
        shutil.rmtree(tmp_path / TREE)
        (tmp_path / "proc/modules").write_text("ena 1 2 - Live 0x0\n")
        turned_until(runner, clock, lambda: health(runner, "sysfs").state == "missing")
        go_on.set()

        def told() -> list[object]:
            return [fact.value for item in taken for fact in item.facts or () if fact.name == "driver.module_listed"]

        turned_until(runner, clock, lambda: told()[-1:] == [False])
        assert 2 <= len(looks) <= 4
    finally:
        go_on.set()
        runner.close()
