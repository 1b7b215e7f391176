"""nrt_init: what the runtime finds when a process starts, and how it says that it cannot."""

from __future__ import annotations

from neuronwatch.drill import driver, spec
from neuronwatch.drill.clock import nrt_stamp
from neuronwatch.drill.machine import Device, Machine, Process
from neuronwatch.drill.runtime import log, moment


def init(machine: Machine, process: Process) -> bool:
    """Reads the driver's version, opens the devices, allocates the cores. False: it said why on stderr."""
    return _driver(machine, process) and _devices(machine, process) and _cores(machine, process)


def _driver(machine: Machine, process: Process) -> bool:
    software = machine.software
    if not machine.driver_loaded:
        log(machine, process, "ERROR", "NRT", "nrt_init", "Unable to determine Neuron Driver version. Please check aws-neuronx-dkms "
            "package is installed.")  # fmt: skip
        return False
    if not any(device.present for device in machine.devices):
        log(machine, process, "ERROR", "NRT", "nrt_init", "Unable to read compatible Driver version.")
        log(machine, process, "ERROR", "NRT", "nrt_init", "Please check /dev/neuron# is accessible. If you're using containers, please "
            "ensure Neuron Devices are passed to the container by specifying `--device /dev/neuron#`.")  # fmt: skip
        return False
    log(machine, process, "INFO", "NRT", "nrt_init", f"Neuron Runtime {software.runtime} built on Sep  9 2025")
    if machine.kind.family == "inf1" and spec.at_least(software.runtime, "2.23"):
        log(machine, process, "ERROR", "TDRV", "arch_init", "Architecture not found 1")
        log(machine, process, "ERROR", "NRT", "nrt_init", "Failed to initialize devices, error:1")
        return False
    if not fits(machine):
        log(machine, process, "ERROR", "NRT", "nrt_init", "This Neuron Runtime (compatibility id: 12) is not compatible with the "
            "installed aws-neuron-dkms package")  # fmt: skip
        return False
    log(machine, process, "INFO", "NRT", "nrt_init", f"Found neuron driver: {'.'.join(software.loaded.split('.')[:2])}")
    return True


def fits(machine: Machine) -> bool:
    """Whether runtime and loaded driver accept each other, by the published constraints."""
    return accepts(machine.kind.generation, machine.software.runtime, machine.software.loaded)


def accepts(generation: int, runtime: str, driver: str) -> bool:
    if generation >= 3 and spec.at_least(runtime, "2.26.42") and not spec.at_least(driver, "2.22"):
        return False
    if spec.at_least(runtime, "2.32") and not spec.at_least(driver, "2.27"):
        return False
    return spec.at_least(runtime, "2.33") or not spec.at_least(driver, "2.29")


PEER_FILES = 36
"""Descriptors that the connection to one peer takes, device queues included."""


def _collectives(machine: Machine, process: Process) -> bool:
    """The ranks of a job connect to each other, where there are several."""
    world = int(process.environ.get("WORLD_SIZE", "1"))
    limit = process.limits.get("open files", 65535)
    if world < 2 or world * PEER_FILES <= limit:
        return True
    thread = process.pid + 214
    machine.logs.line(process.log, f"{nrt_stamp(moment(machine))} {process.pid}:{thread} [{process.environ.get('RANK', '0')}] "
                      "bootstrap.cc:106 CCOM WARN Call to accept failed : Too many open files")  # fmt: skip
    log(machine, process, "ERROR", "ENC", "ncclBootstrapRecv", "failed neuronBootstrapRecv request to NCCL", thread)
    log(machine, process, "ERROR", "NRT", "nrt_init", "Failed to initialize devices, error:1")
    return False


def _visible(process: Process) -> list[int]:
    """The cores that NEURON_RT_VISIBLE_CORES names."""
    found: list[int] = []
    for part in process.environ.get("NEURON_RT_VISIBLE_CORES", "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found += [int(first), int(last or first)]
    return found


def _reset(machine: Machine, process: Process) -> bool:
    """The driver resets the cores before the runtime takes them; engines that a dead process left running stop with it."""
    for logical in process.cores:
        device, number = machine.devices[machine.place(logical)[0]], machine.place(logical)[1]
        for core in machine.physical(logical):
            request = core.counters["reset_req_count"]
            request.add(1)
            if not core.stale:
                continue
            if not device.reset_broken:
                core.stale = False
                driver.reset_done(machine, device, request.total)
                continue
            core.counters["reset_fail_count"].add(1)
            driver.reset_failed(machine, device, request.total)
            where = f"nd{device.index} nc{number}"
            for function, text in (("tsync_wait_eng_stop", f"{where} Timestamp program stop timeout (1000 ms)"),
                                   ("tsync_wait_nc_stop", f"{where} Error while waiting for timestamp program to end on TPB eng 0"),
                                   ("tsync_timestamps_finish", f"{where} Failed to stop neuron core"),
                                   ("tdrv_tsync_timestamps", f"{where} Failed to end timestamp sync programs"),
                                   ("tdrv_destroy", "TDRV not initialized")):  # fmt: skip
                log(machine, process, "ERROR", "TDRV", function, text)
            log(machine, process, "ERROR", "NRT", "nrt_init", "Failed to initialize devices, error:5")
            return False
    return True


def may_open(device: Device) -> bool:
    """Whether the jobs' user, who is in the devices' group, may open the node."""
    return device.mode & 0o060 == 0o060 or device.mode & 0o006 == 0o006


def _devices(machine: Machine, process: Process) -> bool:
    for number in process.devices:
        device = machine.devices[number]
        if not device.present or not may_open(device):
            log(machine, process, "ERROR", "TDRV", "tdrv_init_mla_phase1", f"Could not open the nd{number}")
            log(machine, process, "ERROR", "TDRV", "tdrv_destroy_one_mla", "close device failed")
            log(machine, process, "ERROR", "TDRV", "tdrv_destroy", "TDRV not initialized")
            log(machine, process, "ERROR", "NRT", "nrt_init", "Failed to initialize devices, error:5")
            return False
    return True


def _cores(machine: Machine, process: Process) -> bool:
    if process.devices and process.devices[-1] - process.devices[0] + 1 != len(process.devices):
        log(machine, process, "ERROR", "NRT", "nrt_allocate_neuron_cores", "Neuron cores are not contiguous")
        return False
    wanted = _visible(process)
    if wanted and max(wanted) >= machine.logical_cores():
        log(machine, process, "ERROR", "NRT", "nrt_allocate_neuron_cores", f"Logical Neuron Core(s) not available - Requested:"
            f"lnc{min(wanted)}-lnc{max(wanted)} Available:{machine.logical_cores()} Logical Core size:{machine.lnc}")  # fmt: skip
        return False
    taken = [logical for logical in process.cores for core in machine.physical(logical) if core.owner not in (None, process.pid)]
    if taken:
        first, last = process.cores[0], process.cores[-1]
        free = sum(1 for logical in process.cores if all(core.owner is None for core in machine.physical(logical)))
        if spec.at_least(machine.software.runtime, "2.23"):
            text = (f"Logical Neuron Core(s) not available - Requested:lnc{first}-lnc{last} Available:{free} "
                    f"Logical Core size:{machine.lnc} (cores busy, ret=-16)")  # fmt: skip
        else:
            text = f"NeuronCore(s) not available - Requested:nc{first}-nc{last} Available:{free}"
        log(machine, process, "ERROR", "NRT", "nrt_allocate_neuron_cores", text)
        return False
    if not _reset(machine, process):
        return False
    for logical in process.cores:
        for core in machine.physical(logical):
            core.owner = process.pid
    log(machine, process, "INFO", "NRT", "nrt_allocate_neuron_cores", f"Instance info:: device count:{machine.kind.devices} cores per "
        f"device:{machine.per_device()} architecture:{machine.chip.architecture}")  # fmt: skip
    if not _collectives(machine, process):
        return False
    log(machine, process, "INFO", "ENC", "check_version", f"Using CCOM {machine.software.collectives}-")
    for number in process.devices:
        log(
            machine,
            process,
            "INFO",
            "TDRV",
            "tdrv_init_one_mla_phase2",
            f"Initialized Device: {number} {machine.devices[number].address}",
        )
    return True
