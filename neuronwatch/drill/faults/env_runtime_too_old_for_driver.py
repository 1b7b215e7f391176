"""env.runtime-too-old-for-driver: an unattended upgrade brings a driver that dropped the host's runtime."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill import operate
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.machine import Machine

ID = "env.runtime-too-old-for-driver"
WHAT = "An unattended upgrade brings a driver that no longer accepts the host's runtime library, and the driver is reloaded."
NEAR_MISS = "The upgrade brings a later driver that still accepts the host's runtime library."
PACKAGE = "aws-neuronx-dkms"


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    software, before = machine.software, machine.software.driver
    versions = [operate.version_in(PACKAGE, name) for name in operate.releases_after(machine)]
    fitting = [item for item in versions if operate.accept_each_other(machine, software.runtime, item) == injection.near_miss]
    yield from operate.upgrade_driver(machine, fitting[0], by="/usr/bin/unattended-upgrade")
    yield from injection.held()
    yield from operate.upgrade_driver(machine, before)
