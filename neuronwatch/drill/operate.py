"""What people and unattended upgrades do to the host: packages, driver reloads, reboots, new starts of the jobs.

What takes time is a generator of the seconds until it goes on, as faults are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from neuronwatch.data import constraints, releases
from neuronwatch.drill import boot, driver, runtime_init, spec
from neuronwatch.drill.files import Files
from neuronwatch.drill.machine import Machine

DOWN = 25.0
"""Seconds between the end of the old kernel and the driver of the new one."""
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


def upgrade_driver(machine: Machine, version: str, *, by: str = "apt-get install") -> Iterator[float]:
    """The driver's package with the devices free: it unloads the old module before it brings and loads the new one."""
    yield from unload_driver(machine)
    upgrade(machine, "aws-neuronx-dkms", version, by=by)
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


def drain(machine: Machine, *, away: bool) -> None:
    """The scheduler takes the jobs away and brings no new ones, or (not `away`) brings them back."""
    for job in machine.jobs:
        job.paused = away
        if away:
            job.stop(143)


RESET = "/sys/devices/virtual/neuron_device/neuron{}/reset"


def asked_resets(machine: Machine, files: Files) -> None:
    """Devices into whose `reset` something was written are reset, if they can be."""
    for device in machine.present:
        where = files.where(RESET.format(device.index))
        if not os.path.isfile(where) or not os.path.getsize(where):
            continue
        os.truncate(where, 0)
        device.resets += 1
        if device.reset_broken:
            driver.reset_failed(machine, device, device.resets)
        else:
            driver.reset_done(machine, device, device.resets)
            _fresh(machine, device.index)


def reboot(machine: Machine, kernel: str = "", *, headers: bool = True) -> Iterator[float]:
    """The machine goes down and comes up, with another kernel where one is named; `headers`: whether that kernel's are installed.
    DKMS builds the driver for a kernel when it is installed, if it can."""
    for job in machine.jobs:
        job.paused = True
        job.stop(143)
    yield 5.0
    for process in list(machine.processes.values()):
        machine.end(process, 143)
    machine.driver_loaded = False
    yield DOWN
    if kernel and kernel != machine.software.kernel:
        _new_kernel(machine, kernel, headers)
    machine.clock.reboot(20.0)
    machine.kernel.reboot()
    load_driver(machine, at_boot=True)
    boot.boot(machine)


def stop_and_start(machine: Machine) -> Iterator[float]:
    """The instance is stopped and started: it comes up on other hardware, which is whole, with counters at zero."""
    for device in machine.devices:
        device.present, device.firmware_hung, device.sram_defect = True, False, False
        device.hbm_defect, device.unhealthy = "", ()
        device.serial = f"{machine.rng.getrandbits(64) | 1 << 60:016x}"
    yield from reboot(machine)


def _new_kernel(machine: Machine, kernel: str, headers: bool) -> None:
    software = machine.software
    software.kernel, software.headers, software.on_disk, software.build_log = kernel, headers, "", ""
    if not software.driver:
        return
    terminal = f"Building for {kernel}\n"
    if not headers:
        terminal += (
            f"Module build for kernel {kernel} was skipped since the\nkernel headers for this kernel does not seem to be installed."
        )
    elif constraints.kernel_builds(software.driver, kernel)[0] is False:
        where = f"/var/lib/dkms/aws-neuronx/{software.driver}/build"
        software.build_log = (
            f"DKMS make.log for aws-neuronx-{software.driver} for kernel {kernel} (x86_64)\n"
            f"make: Entering directory '/usr/src/linux-headers-{kernel}'\n  CC [M]  {where}/neuron_module.o\n  CC [M]  {where}/neuron_cdev.o\n"
            f"{where}/neuron_cdev.c: In function 'ncdev_mmap':\n"
            f"{where}/neuron_cdev.c:2868:13: error: assignment of read-only member 'vm_flags'\n"
            f"make[2]: *** [scripts/Makefile.build:287: {where}/neuron_cdev.o] Error 1\nmake[1]: *** [Makefile:2013: {where}] Error 2\n"
            f"make: *** [Makefile:240: __sub-make] Error 2\n")  # fmt: skip
        terminal += (f"make -j96 KERNELRELEASE={kernel}...(bad exit status: 2)\n"
                     f"Error! Bad return status for module build on kernel: {kernel} (x86_64)\nConsult {where}/make.log for more information.")  # fmt: skip
    else:
        software.on_disk = software.driver
        terminal += "neuron.ko:\n - Installation\n   - Installing to /lib/modules/{kernel}/updates/dkms/\ndepmod..."
    machine.logs.line("/var/log/apt/term.log", f"Loading new aws-neuronx-{software.driver} DKMS files...\n{terminal}")


def remove(machine: Machine, package: str) -> None:
    """The package manager removes a package; a module that is loaded stays until the next boot."""
    software = machine.software
    before = getattr(software, ATTRIBUTE[package])
    software.missing = (*software.missing, package)
    if package == "aws-neuronx-dkms":
        software.driver = software.on_disk = ""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(machine.now))
    machine.logs.line("/var/log/dpkg.log", f"{stamp} remove {package}:amd64 {before} <none>")


def refused_to_unload(machine: Machine) -> None:
    """What the package says when it wants to replace a module that is in use."""
    machine.logs.line("/var/log/apt/term.log", "Neuron module is currently loaded. Attempting to unload...\nERROR: Cannot unload neuron "
                      "module - it is currently in use.\nPlease stop all processes using the neuron module before uninstalling.")  # fmt: skip


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
    """pip brings a package of the jobs' venv to a version; "": takes it away."""
    machine.software.python[name] = version
    if not version:
        machine.software.python.pop(name, None)
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
