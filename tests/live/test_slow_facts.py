"""Slow facts of the host, live: the same as `diagnose` reads, told when they change."""

from __future__ import annotations

from pathlib import Path

import pytest
from host.host_support import TRN1, host
from tree_support import Polled, put

from neuronwatch.model.records import Fact
from neuronwatch.source.host import HostRoot, VirtualFile, driver, packages
from neuronwatch.source.live import ways
from neuronwatch.source.live.api import Broken


def test_the_driver_is_told_once_and_when_it_changes(tmp_path: Path) -> None:
    root = host(tmp_path, TRN1)
    poll = Polled(ways.driver(root))
    assert list(poll().facts or ()) == [item for item in driver.collect(root) if isinstance(item, Fact)]
    same = poll(60.0)
    assert (same.facts, same.reports, list(same.wholes)) == (None, None, [])
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


def test_an_error_of_the_host_is_said(tmp_path: Path) -> None:
    def way(root: HostRoot) -> list[Fact]:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(Broken, match="permission denied"):
        Polled(ways.Ways("x", HostRoot(tmp_path), [way]))()
