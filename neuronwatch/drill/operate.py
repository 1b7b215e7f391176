"""What people and unattended upgrades do to the host: packages, driver reloads, reboots, new starts of the jobs.

What takes time is a generator of the seconds until it goes on, as faults are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from neuronwatch.data import releases
from neuronwatch.drill import boot, runtime_init, spec
from neuronwatch.drill.machine import Machine

ATTRIBUTE = {"aws-neuronx-dkms": "driver", "aws-neuronx-runtime-lib": "runtime", "aws-neuronx-tools": "tools",
             "aws-neuronx-collectives": "collectives"}  # fmt: skip


def restart_jobs(machine: Machine, status: int = 143) -> None:
    """The jobs end now; the scheduler starts them again after its usual wait."""
    for job in machine.jobs:
        job.stop(status)


def reload_driver(machine: Machine) -> Iterator[float]:
    """Stops what uses the devices, then `rmmod neuron && modprobe neuron`: the module on disk is in the kernel, counters begin at
    zero, rows of the memory that wait for their repair are remapped, engines are reset."""
    yield from unload_driver(machine)
    load_driver(machine)


def unload_driver(machine: Machine) -> Iterator[float]:
    for job in machine.jobs:
        job.paused = True
        job.stop(143)
    yield 1.5
    for process in [item for item in machine.processes.values() if item.devices]:
        machine.end(process, 143)
    yield 0.5
    machine.driver_loaded = False
    yield 2.0


def load_driver(machine: Machine, *, at_boot: bool = False) -> None:
    """The module is loaded, if there is one for this kernel, and the jobs may start."""
    for job in machine.jobs:
        job.paused = False
    if not machine.software.on_disk:
        return
    machine.software.loaded = machine.software.on_disk
    machine.driver_loaded = True
    for device in machine.devices:
        _fresh(machine, device.index)
    if not at_boot:
        boot.load_driver(machine)


def _fresh(machine: Machine, number: int) -> None:
    """A device as the driver finds it after a reset."""
    device = machine.devices[number]
    device.ecc = dict.fromkeys(device.ecc, 0)
    if device.hbm_defect == "repairable":
        device.hbm_defect, device.unhealthy = "", ()
    device.reset_broken = False
    for core in device.cores:
        core.stale = core.dma_abort = False
        core.owner = None
        for counter in core.counters.values():
            counter.total = counter.present = 0
        for usage in [*core.memory.values(), core.host_memory]:
            usage.used = usage.delta = usage.peak = 0


def reboot(machine: Machine, kernel: str = "") -> Iterator[float]:
    """The machine goes down and comes up, with another kernel where one is named."""
    for job in machine.jobs:
        job.paused = True
        job.stop(143)
    yield 5.0
    for process in list(machine.processes.values()):
        machine.end(process, 143)
    machine.driver_loaded = False
    machine.software.kernel = kernel or machine.software.kernel
    yield 40.0
    machine.clock.reboot(20.0)
    machine.kernel.reboot()
    load_driver(machine, at_boot=True)
    boot.boot(machine)


def upgrade(machine: Machine, package: str, version: str, *, by: str = "apt-get install") -> None:
    """The package manager brings a package to a version. The driver's package also builds the module for the running kernel; what is
    loaded stays."""
    name = ATTRIBUTE[package]
    before = getattr(machine.software, name)
    setattr(machine.software, name, version)
    if package == "aws-neuronx-dkms":
        machine.software.on_disk = version
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(machine.now))
    for text in (f"upgrade {package}:amd64 {before} {version}", f"status half-configured {package}:amd64 {before}",
                 f"status unpacked {package}:amd64 {version}", f"status installed {package}:amd64 {version}"):  # fmt: skip
        machine.logs.line("/var/log/dpkg.log", f"{stamp} {text}")
    day, clock = stamp.split(" ")
    machine.logs.line("/var/log/apt/history.log", f"\nStart-Date: {day}  {clock}\nCommandline: {by} {package}={version}\n"
                      f"Upgrade: {package}:amd64 ({before}, {version})\nEnd-Date: {day}  {clock}")  # fmt: skip


def install(machine: Machine, name: str, version: str) -> None:
    """pip brings a package of the jobs' venv to a version."""
    machine.software.python[name] = version
    if name == "neuronx-cc":
        machine.software.compiler = version


def version_in(package: str, release: str) -> str:
    """The version of a package in an SDK release."""
    return releases.builds_in(package, release)[-1].version


def releases_after(machine: Machine) -> list[str]:
    """SDK releases later than the host's, the nearest first."""
    names = [item.release for item in releases.releases()]
    return sorted((name for name in names if spec.parts(name) > spec.parts(machine.software.release)), key=spec.parts)


def accept_each_other(machine: Machine, runtime: str, driver: str) -> bool:
    return runtime_init.accepts(machine.kind.generation, runtime, driver)
