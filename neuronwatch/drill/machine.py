"""The state of the simulated host. Faults change it; what the driver, the runtime and the jobs do with it is in `runtime.py`
and `jobs/`; `render/` shows it. Nothing here knows how anybody reads it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from neuronwatch.data.instances import GIB, Instance
from neuronwatch.drill import spec
from neuronwatch.drill.clock import Clock
from neuronwatch.drill.logs import Journal

if TYPE_CHECKING:
    from neuronwatch.drill.cache import CompileCache
    from neuronwatch.drill.jobs.api import Job
    from neuronwatch.drill.logs import KernelLog, Logs

DEVICE_MEMORY = (
    "collectives", "constants", "dma_rings", "driver_memory", "model_code", "model_shared_scratchpad", "nonshared_scratchpad",
    "notifications", "runtime_memory", "tensors", "uncategorized",
)  # fmt: skip
HOST_MEMORY = (
    "application_memory", "constants", "dma_buffers", "dma_rings", "driver_memory", "notifications", "tensors", "uncategorized",
)  # fmt: skip
STATUS = (
    "success", "failure", "timeout", "exec_bad_input", "hw_error", "execute_completed_with_error",
    "execute_completed_with_num_error", "generic_error", "resource_error", "resource_nc_error", "execute_failed_to_queue",
    "invalid_error", "unsupported_neff_version", "oob_error", "hw_collectives_error", "hw_hbm_ue_error", "hw_nc_ue_error",
    "hw_dma_abort_error", "execute_sw_nq_overflow", "execute_sw_semaphore_error", "execute_sw_event_error",
    "execute_sw_psum_collision", "execute_sw_sequencer_fatal", "hw_repairable_hbm_ue_error",
)  # fmt: skip
OTHER = ("flop_count", "inference_count", "model_load_count", "reset_fail_count", "reset_req_count", "nc_time_in_use")


class Counter:
    """A counter of the driver: `total` since it was loaded, `present` the last change."""

    __slots__ = ("present", "total")

    def __init__(self) -> None:
        self.total = 0
        self.present = 0

    def add(self, amount: int) -> None:
        if amount:
            self.total += amount
            self.present = amount


class Usage:
    """Memory of one kind, in bytes: in use now (the driver's `total`), the last change (`present`), the maximum (`peak`)."""

    __slots__ = ("delta", "peak", "used")

    def __init__(self) -> None:
        self.used = 0
        self.delta = 0
        self.peak = 0

    def set(self, amount: int) -> None:
        amount = max(0, amount)
        if amount != self.used:
            self.delta, self.used = abs(amount - self.used), amount
            self.peak = max(self.peak, amount)


@dataclass
class Core:
    """One physical core. `counters` are what sysfs shows under stats/status and stats/other_info."""

    device: int
    index: int
    utilization: float = 0.0
    """Percent, of the tick that is under way; 0 where no process runs on it."""
    busy: float = 0.0
    """Seconds in which it worked, since the boot."""
    owner: int | None = None
    """The pid whose runtime has the core allocated."""
    counters: dict[str, Counter] = field(default_factory=lambda: {name: Counter() for name in (*STATUS, *OTHER)})
    memory: dict[str, Usage] = field(default_factory=lambda: {name: Usage() for name in DEVICE_MEMORY})
    host_memory: Usage = field(default_factory=Usage)
    matmul: int = 0
    weights: int = 0
    idle: int = 0
    """Cycles of the tensor engine, in thousands."""
    stale: bool = False
    """Left running by a process that died without a tear-down; the next runtime finds engines busy."""
    dma_abort: bool = False
    """A DMA engine of the core is in abort state."""

    @property
    def used(self) -> int:
        return sum(usage.used for usage in self.memory.values())


@dataclass
class Device:
    """One chip. The `ecc` counts are what the firmware tells the driver; `sram_defect`, `hbm_defect` say that the memory is
    broken now, so that an execution that touches it fails."""

    index: int
    cores: list[Core]
    address: str
    serial: str
    connected: tuple[int, ...]
    affinity: str
    numa_node: int
    memory: int
    present: bool = True
    """False: fell off the bus. No node, no sysfs directory, no PCI device."""
    ecc: dict[str, int] = field(default_factory=lambda: dict.fromkeys(
        ("sram_ecc_uncorrected", "mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected", "sram_ecc_corrected", "mem_ecc_corrected"), 0))  # fmt: skip
    sram_defect: bool = False
    hbm_defect: str = ""
    """"", "repairable" (a reload of the driver mends it) or "permanent"."""
    firmware_hung: bool = False
    """The firmware does not answer: reads of ECC, serial number and power fail, requests time out."""
    silent: float = 0.0
    """Seconds since the driver last said so."""
    host_memory: dict[str, Usage] = field(default_factory=lambda: {name: Usage() for name in HOST_MEMORY})
    power: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Least, greatest and mean power of the last minute, percent of the maximum."""
    power_time: int = 0
    resets: int = 0
    """Resets that were asked for through sysfs."""
    reset_broken: bool = False
    """A reset that is asked for does not complete."""
    unhealthy: tuple[str, ...] = ()
    """Components that the driver's health check names (`hbm`, `sram`, `link_intraserver`, ...)."""
    mode: int = 0o666
    """Mode of the device node."""


@dataclass
class Process:
    """A process of the host. `cores` are the logical cores that its runtime owns, `devices` the nodes that it holds open."""

    pid: int
    parent: int
    argv: list[str]
    environ: dict[str, str] = field(default_factory=dict)
    uid: int = 1000
    devices: tuple[int, ...] = ()
    cores: tuple[int, ...] = ()
    runtime: str = ""
    """Version of the libnrt that it has loaded (of the old daemon: its own), "" for one that does not use it."""
    tag: str = ""
    output: str = ""
    """Path of stdout, below the root."""
    log: str = ""
    """Path of stderr, where libnrt writes."""
    started: float = 0.0
    state: str = "S"
    """As in /proc/PID/stat: R runs, S sleeps, D waits in the driver, Z is dead and not waited for."""
    rss: int = 400 * 1024 * 1024
    cpu: float = 0.0
    """Percent of one CPU."""
    user_time: float = 0.0
    system_time: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0
    threads: int = 1
    limits: dict[str, int] = field(default_factory=dict)
    """Soft limits that differ from the usual (`open files`)."""
    tallies: dict[str, int] = field(default_factory=dict)
    """Executions since the start by outcome: completed, completed_with_err, completed_with_num_err, timed_out,
    incorrect_input, failed_to_queue, and the errors generic, numerical, transient, model, runtime, hardware."""
    latency: float = 0.0
    """Seconds of one execution; 0 when nothing ran."""
    flops: int = 0
    """FLOP/s of each of its cores."""
    models: list[tuple[str, int]] = field(default_factory=list)
    """(NEFF, model id) that are loaded."""
    pending: dict[tuple[int, int, str], int] = field(default_factory=dict)
    """Counters that the driver folds in at the exit, by (device, core, name), for drivers without live counters."""
    ports: tuple[int, ...] = ()
    """TCP ports on which it listens."""
    trouble: str = ""
    """What kept its runtime from starting: "init", or the framework's words for a failed load or allocation."""
    status: int | None = None
    """Exit status, 128+n for a signal; None while it lives."""

    @property
    def name(self) -> str:
        """The command name of the kernel: 15 characters."""
        return self.argv[0].rsplit("/", 1)[-1][:15] if self.argv else ""


@dataclass
class Host:
    """The computer around the devices. Percentages are of all CPUs; bytes where nothing else is said."""

    cpus: int
    memory: int
    base: int = 2_254_857_830
    """Bytes that the kernel and the system's own services need."""
    used: int = 0
    user: float = 2.0
    system: float = 0.6
    io_wait: float = 0.0
    load: float = 0.5
    context_switches: int = 10_000_000
    receive: int = 0
    transmit: int = 0
    disk_read: int = 0
    disk_written: int = 0
    disk_total: int = 512 * GIB
    disk_used: int = 180 * GIB
    mounts: dict[str, str] = field(default_factory=dict)
    """Lines of /proc/mounts by mount point, beside the usual ones."""
    cpu_seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("user", "system", "idle", "io_wait"), 0.0))

    def since_boot(self, seconds: float) -> None:
        """What the counters have come to in so many seconds of a usual load."""
        for name, share in (("user", 0.3), ("system", 0.03), ("idle", 0.668), ("io_wait", 0.002)):
            self.cpu_seconds[name] = seconds * self.cpus * share
        self.context_switches = int(seconds * 60_000)
        self.receive, self.transmit = int(seconds * 240_000), int(seconds * 310_000)
        self.disk_read, self.disk_written = int(seconds * 120_000), int(seconds * 900_000)


class Machine:
    """The whole host. `lnc`: physical cores that make one logical core."""

    def __init__(self, kind: Instance, software: spec.Software, clock: Clock, logs: Logs, kernel: KernelLog,
                 cache: CompileCache, seed: int = 0) -> None:  # fmt: skip
        self.kind = kind
        self.chip = spec.chip_of(kind)
        self.software = software
        self.clock = clock
        self.logs = logs
        self.kernel = kernel
        self.journal = Journal(clock, logs)
        self.cache = cache
        self.rng = random.Random(f"{seed}/{kind.name}/{software.loaded}")
        self.identity = spec.identity(self.rng)
        self.kernel.hostname = self.journal.hostname = self.identity.hostname
        self.lnc = kind.lnc
        self.devices = [self._device(number) for number in range(kind.devices)]
        self.host = Host(kind.vcpus or 192, kind.host_memory or 2048 * GIB)
        self.host.since_boot(clock.now - clock.boot)
        self.processes: dict[int, Process] = {}
        self.jobs: list[Job] = []
        self.driver_loaded = True
        self.outages: dict[str, str] = {}
        """Source name to `killed`, `hung`, `slow`, `garbled` or `absent`: what is wrong with the way to look, not with the host."""
        self.lines_of_tick = 0
        """Lines that libnrt wrote in this tick: each is a little later than the one before it."""
        self._last_pid = 51_000 + self.rng.randrange(900)
        self._exits: list[Callable[[Process], None]] = []

    def _device(self, number: int) -> Device:
        near, node = spec.affinity(self.kind, number)
        cores = [Core(number, index) for index in range(self.kind.physical_cores // self.kind.devices)]
        serial = f"{self.rng.getrandbits(64) | 1 << 60:016x}"
        return Device(number, cores, spec.address(self.kind, number), serial, spec.wiring(self.kind, number), near, node,
                      self.kind.device_memory // self.kind.devices)  # fmt: skip

    @property
    def now(self) -> float:
        return self.clock.now

    @property
    def present(self) -> list[Device]:
        """The devices that the driver sees."""
        return [device for device in self.devices if device.present] if self.driver_loaded else []

    @property
    def live_counters(self) -> bool:
        """Since driver 2.30.2 executions count at once; before, the driver adds them when the process ends."""
        return spec.at_least(self.software.loaded, "2.30.2")

    def logical_cores(self) -> int:
        return self.kind.physical_cores // self.lnc

    def per_device(self) -> int:
        """Logical cores of one device."""
        return self.logical_cores() // self.kind.devices

    def physical(self, logical: int) -> list[Core]:
        """The physical cores of a logical one (its number counts over the whole host)."""
        device, index = divmod(logical, self.per_device())
        return self.devices[device].cores[index * self.lnc : (index + 1) * self.lnc]

    def device_of(self, logical: int) -> Device:
        return self.devices[logical // self.per_device()]

    def place(self, logical: int) -> tuple[int, int]:
        """(device, logical core on it)."""
        return divmod(logical, self.per_device())

    # processes

    def spawn(self, argv: list[str], *, parent: int = 1, **values: object) -> Process:
        """A new process with the next pid. Devices that it holds are said in the kernel log by the driver."""
        self._last_pid += 1 + self.rng.randrange(3)
        process = Process(self._last_pid, parent, argv, started=self.now, **values)  # type: ignore[arg-type]
        process.tag = process.tag or str(process.pid)
        if not self.driver_loaded:
            process.devices = ()
        self.processes[process.pid] = process
        for device in () if self.software.legacy else process.devices:
            self.kernel.driver("npid_attach", f"neuron:npid_attach: pid={process.pid}, slot={self._slot(device, process.pid)}")
            if device == process.devices[0]:
                break  # the driver says it once for each process, not for each of its devices
        return process

    def _slot(self, device: int, pid: int) -> int:
        holders = [item.pid for item in self.processes.values() if device in item.devices]
        return holders.index(pid) if pid in holders else 0

    def end(self, process: Process, status: int = 0, *, torn_down: bool = True) -> None:
        """The process is gone: its memory is freed, its counters are folded in, its cores are free. Not `torn_down`: it died
        while engines ran."""
        if process.pid not in self.processes:
            return
        process.status = status
        if process.devices and not self.software.legacy:
            self.kernel.driver(
                "npid_detach", f"neuron:npid_detach: pid={process.pid}, slot={self._slot(process.devices[0], process.pid)}"
            )
        del self.processes[process.pid]
        for (device, core, name), amount in process.pending.items():
            self.devices[device].cores[core].counters[name].add(amount)
        process.pending.clear()
        for logical in process.cores:
            for item in self.physical(logical):
                if item.owner == process.pid:
                    item.owner = None
                    item.utilization = 0.0
                    item.stale = item.stale or not torn_down
                    for usage in item.memory.values():
                        usage.set(0)
                    item.host_memory.set(0)
        for call in self._exits:
            call(process)

    def on_exit(self, call: Callable[[Process], None]) -> None:
        """`call` hears of each process that ends."""
        self._exits.append(call)

    def holders(self, device: int) -> list[Process]:
        return [process for process in self.processes.values() if device in process.devices]

    def users(self) -> Iterator[Process]:
        """Processes whose runtime has cores."""
        return (process for process in self.processes.values() if process.cores and process.runtime)

    def count(self, process: Process, logical: int, name: str, amount: int = 1) -> None:
        """A counter of the core under a process: at once, or kept until its exit, as the driver does."""
        for core in self.physical(logical):
            if self.live_counters:
                core.counters[name].add(amount)
            else:
                key = (core.device, core.index, name)
                process.pending[key] = process.pending.get(key, 0) + amount
