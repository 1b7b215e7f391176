"""The driver goes and comes: a reload is silent, a driver that stays away is named, and the outage of ours gives way to it."""

from __future__ import annotations

import pytest
from watch_support import Host, changes

from neuronwatch.judge.rules.load import load_rule
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source.bundled import bundled

LSPCI = "$ lspci -nn\n0000:00:1e.0 Device [0880]: Amazon.com, Inc. Device [1d0f:7164]\n"
STARTED = "[    8.21] Neuron Driver Started with Version:2.24.7.0-a1 at: 2026-nov-28 01:09:57"
BOOTED = "[    0.00] Linux version 6.8.0-1033-aws (buildd@x) (gcc) #33 SMP"


def shipped(*names):
    return [load_rule(f"rules/{name}", (bundled("rules") / name).read_text()) for name in names]


class Machine(Host):
    def __init__(self) -> None:
        super().__init__(*shipped("env/driver-not-installed.toml", "env/driver-module-not-built.toml", "env/source-unavailable.toml",
                                  "env/kernel-unsupported-by-driver.toml", "hw/device-missing.toml", "env/driver-reload-blocked.toml"))  # fmt: skip
        self.health("driver")
        self.whole("host:/sys/bus/pci/devices", LSPCI, source="driver")
        self.log("host:/var/log/kern.log", BOOTED, STARTED, source="kernel-log")
        self.package = "2.24.7.0"
        self.has_driver()

    def has_driver(self) -> None:
        self.health("sysfs", mandatory=True)
        self.driver(True)

    def lost_driver(self) -> None:
        self.health("sysfs", "missing", "the driver offers no sysfs tree", mandatory=True)
        self.driver(False)

    def driver(self, listed: bool) -> None:
        origin = Origin("host:/proc/modules", None, "3 modules")
        facts = [Fact("driver.module_listed", listed, origin), Fact("host.in_container", False, origin)]
        facts += [Fact("driver.package", self.package, origin)] if self.package else []
        self.watch.facts("driver", facts, self.now)


def test_a_reload_of_half_a_minute_is_silent():
    host = Machine()
    host.run(30)
    for _ in range(5):
        host.lost_driver()
        assert changes(host.run(30)) == []
        host.has_driver()
        host.log("host:/var/log/kern.log", STARTED, source="kernel-log")
        assert changes(host.run(60)) == []


@pytest.mark.parametrize(("package", "fault"), [("2.24.7.0", "env.driver-module-not-built"), ("", "env.driver-not-installed")])
@pytest.mark.parametrize("boots", [True, False])
def test_a_driver_that_stays_away_is_named_and_no_outage_of_ours(package, fault, boots):
    host = Machine()
    host.run(30)
    host.package = package
    host.lost_driver()
    if boots:
        host.log("host:/var/log/kern.log", BOOTED, source="kernel-log")
    seen = host.run(300)
    opened = [item for judged in seen for item in judged.changes]
    assert [(item.what, item.incident.fault) for item in opened][:1] == [("opened", fault)]
    assert {item.incident.fault for item in opened} == {fault} and len({item.incident.id for item in opened}) == 1
    assert len(opened) <= 2 and seen[-1].verdict == "fault"
    host.package = "2.24.7.0"
    host.has_driver()
    host.log("host:/var/log/kern.log", STARTED, source="kernel-log")
    assert changes(host.run(120))[-1:] == [("resolved", fault)] and host.judged().verdict == "healthy"


def test_between_an_upgrade_and_the_reload_nothing_is_blocked_yet():
    host = Machine()
    host.run(30)

    def versions(loaded: str, disk: str) -> None:
        origin = Origin("host:/sys/module/neuron/version", 1, loaded)
        host.watch.facts("system", [Fact("driver.loaded", loaded, origin), Fact("driver.on_disk", disk, origin)], host.now)

    versions("2.24.7.0", "2.25.1.0")
    assert changes(host.run(16)) == []
    versions("2.25.1.0", "2.25.1.0")
    assert changes(host.run(60)) == []
    versions("2.25.1.0", "2.26.1.0")
    assert changes(host.run(60)) == [("opened", "env.driver-reload-blocked")]
