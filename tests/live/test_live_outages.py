"""Sources of files on a simulated host, each hung, slow, garbled, vanishing or absent: the right state within its budget, the
others undisturbed, recovery without a restart. (The tools are tested with programs of their own, see test_live_neuron_*.)"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from source_support import SetClock, health

from neuronwatch.drill import place
from neuronwatch.drill.host import DrillHost
from neuronwatch.model.live import Delivery
from neuronwatch.source.host import HostRoot, VirtualFile, host_sources
from neuronwatch.source.live import registry
from neuronwatch.source.live.api import Now
from neuronwatch.source.live.runner import Runner

FILES = ("sysfs", "processes", "host", "compile-cache", "system", "driver", "packages")


class Rehearsal:
    """A host in this process and its sources, both moved by hand, a second at a time."""

    def __init__(self, root: Path) -> None:
        place.take(root)
        self.host = DrillHost(root, "trn1.2xlarge")
        self.host.prepare()
        self.clock = SetClock()
        self.taken: list[Delivery] = []
        sources = [source for source in registry.host_sources(HostRoot(root)) if source.name in FILES]
        self.runner = Runner(sources, self.clock, self.taken.append)
        self.seen: dict[str, set[str]] = {}
        self.hanging: tuple[str, ...] = ()
        self.seconds(8)

    def seconds(self, count: int) -> None:
        for _ in range(count):
            self.host.machine.clock.advance(1.0)
            self.host.tick()
            self.clock.at += 1.0
            self.runner.turn(self.clock.now())
            self.settle(10.0, lambda name: name not in self.hanging)
            self.settle(0.01, lambda name: True)
            for item in self.runner.health():
                self.seen.setdefault(item.source, set()).add(item.state)

    def settle(self, seconds: float, which: Callable[[str], bool]) -> None:
        """Waits for the polls that are under way."""
        end = time.monotonic() + seconds
        while any(run.busy and which(run.source.name) for run in self.runner._runs) and time.monotonic() < end:
            time.sleep(0.0005)
            self.runner.turn(self.clock.now())

    def until_fresh(self, name: str) -> int:
        """Seconds of the host until the source is fresh again."""
        for second in range(120):
            if health(self.runner, name).state == "fresh":
                return second
            self.seconds(1)
        raise AssertionError(f"{name} did not recover: {health(self.runner, name)}")

    def ask(self, verb: str, fault: str) -> None:
        assert self.host.answer({"do": verb, "fault": fault})


@pytest.fixture
def rehearsal(tmp_path: Path) -> Iterator[Rehearsal]:
    found = Rehearsal(tmp_path / "host")
    yield found
    found.host.close()
    found.runner.close()


@pytest.mark.parametrize(
    ("name", "how", "state", "within", "also"),
    [
        ("sysfs", "hung", "stale", 7, ()),
        ("sysfs", "slow", "stale", 9, ()),
        ("sysfs", "garbled", "failed", 3, ()),
        ("sysfs", "absent", "missing", 3, ()),
        ("sysfs", "killed", "missing", 3, ()),
        ("processes", "hung", "stale", 26, ("host", "system", "driver")),
        ("processes", "garbled", "failed", 7, ("host", "system", "driver")),
        ("processes", "absent", "missing", 7, ("host", "system", "driver")),
        ("compile-cache", "absent", "missing", 31, ()),
    ],
)
def test_right_state_within_its_budget(
    rehearsal: Rehearsal, name: str, how: str, state: str, within: int, also: tuple[str, ...]
) -> None:
    assert {health(rehearsal.runner, item).state for item in FILES} == {"fresh"}
    rehearsal.seen.clear()
    rehearsal.hanging = (name, *also) if how in ("hung", "slow") else ()
    rehearsal.ask("inject", f"source.{name}.{how}")
    rehearsal.seconds(within + 1)
    assert state in rehearsal.seen[name]
    assert rehearsal.seen[name] <= {"fresh", state}
    assert health(rehearsal.runner, name).reason or health(rehearsal.runner, name).state == "fresh"
    rehearsal.ask("clear", f"source.{name}.{how}")
    assert rehearsal.until_fresh(name) <= 31
    for item in FILES:
        if item not in (name, *also):
            assert rehearsal.seen[item] == {"fresh"}, item


def test_a_hung_proc_does_not_let_processes_end(rehearsal: Rehearsal) -> None:
    """What we cannot see has not gone: neither the listing nor the holders change."""
    before = len(rehearsal.taken)
    rehearsal.ask("inject", "source.processes.garbled")
    rehearsal.seconds(12)
    rehearsal.ask("clear", "source.processes.garbled")
    rehearsal.until_fresh("processes")
    told = [item for delivery in rehearsal.taken[before:] for item in delivery.wholes if item.path.startswith("host:/proc/*/fd")]
    assert not [item for item in told if item.data is None]


@pytest.mark.parametrize("instance", ["trn1.2xlarge", "trn2.48xlarge", "inf2.xlarge"])
def test_live_sources_tell_what_diagnose_reads(tmp_path: Path, instance: str) -> None:
    """At one moment of a simulated host: the same texts under the same paths, the same facts, the same reports."""
    place.take(tmp_path)
    host = DrillHost(tmp_path, instance)
    host.prepare()
    for _ in range(10):
        host.machine.clock.advance(2.0)
        host.tick()
    live: list[object] = []
    for source in registry.host_sources(HostRoot(tmp_path)):
        if source.name not in ("neuron-monitor", "neuron-top"):
            delivery = source.poll(Now(host.machine.now, 100.0))
            assert delivery is not None
            live += [VirtualFile(item.path, item.data or b"") for item in delivery.wholes]
            live += [*(delivery.facts or ()), *(delivery.reports or ())]
        source.close()
    offline = [
        item for item in host_sources(HostRoot(tmp_path)) if getattr(item, "path", "") not in ("host:dmesg", "host:/dev/kmsg")
    ]
    host.close()
    assert len(offline) > 20
    assert sorted(map(repr, live)) == sorted(map(repr, offline))
