"""The driver's sysfs tree, as the loaded driver version lays it out. Only files whose number moved are written.

Counters: `total` since the driver was loaded, `present` the last change. Memory: `total` is in use now, `present` the last
change, `peak` the maximum.
"""

from __future__ import annotations

from neuronwatch.drill import spec
from neuronwatch.drill.files import Files
from neuronwatch.drill.machine import DEVICE_MEMORY, HOST_MEMORY, OTHER, STATUS, Core, Device, Machine

TREE = "/sys/devices/virtual/neuron_device"
CLASS = "/sys/class/neuron_device"
SINCE = {
    "oob_error": "2.16.7", "hw_collectives_error": "2.19.64", "hw_hbm_ue_error": "2.19.64", "hw_nc_ue_error": "2.19.64",
    "hw_dma_abort_error": "2.19.64", "execute_sw_nq_overflow": "2.20.28", "execute_sw_semaphore_error": "2.21.37",
    "execute_sw_event_error": "2.21.37", "execute_sw_psum_collision": "2.21.37", "execute_sw_sequencer_fatal": "2.21.37",
    "hw_repairable_hbm_ue_error": "2.23.9", "flop_count": "2.12.11", "reset_fail_count": "2.8.4", "reset_req_count": "2.8.4",
    "nc_time_in_use": "2.21.37", "collectives": "2.17.17", "driver_memory": "2.17.17", "nonshared_scratchpad": "2.17.17",
    "notifications": "2.17.17", "uncategorized": "2.17.17", "dma_rings": "2.18.12", "mem_ecc_repairable_uncorrected": "2.23.9",
    "sram_ecc_corrected": "2.30.2", "mem_ecc_corrected": "2.30.2",
}  # fmt: skip
"""Driver version that brought a file, where it is not the first one of the tree (2.7.15)."""
MAJOR = 245


class Cells:
    """Files that hold one number each, and the number that they hold."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._cells: list[tuple[str, object, str]] = []
        self._last: list[int] = []

    def add(self, path: str, holder: object, name: str) -> None:
        self._cells.append((path, holder, name))
        self._last.append(-1)

    def render(self) -> None:
        last = self._last
        for index, (path, holder, name) in enumerate(self._cells):
            value = getattr(holder, name)
            if value != last[index]:
                last[index] = value
                self._files.put(path, b"%d\n" % value)


class Sysfs:
    """The tree of all devices. `render` follows devices that come and go, and a driver that is unloaded or replaced."""

    def __init__(self, machine: Machine, files: Files) -> None:
        self._machine = machine
        self._files = files
        self._shown: dict[int, Cells] = {}
        self._driver = ""

    def render(self) -> None:
        machine = self._machine
        loaded = machine.software.loaded if machine.driver_loaded else ""
        if loaded != self._driver:
            self._replace_driver(loaded)
        if not loaded or machine.software.legacy:
            return
        wanted = {device.index for device in machine.present}
        for number in set(self._shown) - wanted:
            self._remove(number)
        for device in machine.present:
            cells = self._shown.get(device.index)
            if cells is None:
                cells = self._shown[device.index] = self._create(device)
            cells.render()
            self._texts(device)

    def _replace_driver(self, loaded: str) -> None:
        for number in list(self._shown):
            self._remove(number)
        self._driver = loaded
        if not loaded:
            self._files.remove("/sys/module/neuron")
            self._files.remove(CLASS)
            return
        self._files.put("/sys/module/neuron/version", loaded + "\n", 0o444)
        self._files.put("/sys/module/neuron/initstate", "live\n", 0o444)
        self._files.put("/sys/module/neuron/refcnt", "0\n", 0o444)
        self._files.put("/sys/module/neuron/taint", "OE\n", 0o444)
        if self._machine.kind.family == "trn2u" and spec.at_least(loaded, "2.21.37"):
            for name, value in (
                ("node_id_2", 1),
                ("node_id_4", 3),
                ("server_id_2", 0),
                ("server_id_4", 1),
                ("ultraserver_mode", 1),
            ):
                self._files.put(f"{CLASS}/{name}", f"{value}\n", 0o444)

    def _remove(self, number: int) -> None:
        self._shown.pop(number, None)
        self._files.remove(f"{TREE}/neuron{number}")
        self._files.remove(f"{CLASS}/neuron{number}")

    def has(self, name: str) -> bool:
        """Whether the loaded driver has the file or directory of that name."""
        return spec.at_least(self._driver, SINCE.get(name, "2.7.15"))

    def _create(self, device: Device) -> Cells:
        """Everything of one device that does not change, and the cells of what does."""
        base, files, chip = f"{TREE}/neuron{device.index}", self._files, self._machine.chip
        public = 0o444 if spec.at_least(self._driver, "2.28") else 0o400
        files.put(f"{base}/reset", "", 0o200)
        files.put(f"{base}/core_count", str(len(device.cores)), public)
        files.put(f"{base}/connected_devices", ", ".join(map(str, device.connected)) + "\n", public)
        files.put(f"{base}/dev", f"{MAJOR}:{device.index}\n", 0o444)
        files.put(f"{base}/uevent", f"MAJOR={MAJOR}\nMINOR={device.index}\nDEVNAME=neuron{device.index}\n")
        files.link(f"{base}/subsystem", "../../../../class/neuron_device")
        files.link(f"{CLASS}/neuron{device.index}", f"../../devices/virtual/neuron_device/neuron{device.index}")
        if spec.at_least(self._driver, "2.9.4"):
            files.put(f"{base}/info/notify_delay", "0\n")
        files.put(f"{base}/info/architecture/arch_type", chip.device + "\n")
        if spec.at_least(self._driver, "2.8.4"):
            files.put(f"{base}/info/architecture/instance_type", chip.family + "\n")
            files.put(f"{base}/info/architecture/device_name", chip.name + "\n")
        cells = Cells(files)
        if spec.at_least(self._driver, "2.10.11"):
            for name in HOST_MEMORY:
                if self.has(name):
                    _memory(cells, f"{base}/stats/memory_usage/host_mem/{name}", device.host_memory[name])
        for core in device.cores:
            self._core(cells, f"{base}/neuron_core{core.index}", core)
        return cells

    def _core(self, cells: Cells, base: str, core: Core) -> None:
        self._files.put(f"{base}/info/architecture/arch_type", self._machine.chip.core + "\n")
        renamed = not spec.at_least(self._driver, "2.8.4")
        for name in STATUS:
            if self.has(name):
                shown = name.replace("execute_", "infer_") if renamed else name
                _counter(cells, f"{base}/stats/status/{shown}", core.counters[name])
        for name in OTHER:
            if self.has(name):
                _counter(cells, f"{base}/stats/other_info/{name}", core.counters[name])
        if spec.at_least(self._driver, "2.10.11"):
            for name in DEVICE_MEMORY:
                if self.has(name):
                    _memory(cells, f"{base}/stats/memory_usage/device_mem/{name}", core.memory[name])
        _memory(cells, f"{base}/stats/memory_usage/device_mem", CoreTotal(core))
        _memory(cells, f"{base}/stats/memory_usage/host_mem", core.host_memory)

    def _texts(self, device: Device) -> None:
        """What is not one plain number."""
        base, files = f"{TREE}/neuron{device.index}", self._files
        hung = device.firmware_hung
        if spec.at_least(self._driver, "2.9.4"):
            files.put(f"{base}/info/serial_number", ("" if hung else device.serial) + "\n")
        if spec.at_least(self._driver, "2.14.5"):
            for name, value in device.ecc.items():
                if self.has(name):
                    files.put(f"{base}/stats/hardware/{name}", f"{0 if hung else value & 0xFFFF if name[0] == 's' else value}\n")
        if spec.at_least(self._driver, "2.21.37"):
            low, high, mean = device.power
            power = f"POWER_STATUS_VALID,{device.power_time},{low:.2f},{high:.2f},{mean:.2f}"
            files.put(f"{base}/stats/power/utilization", "POWER_STATUS_INVALID,0,0.00,0.00,0.00\n" if hung else power + "\n")
        if spec.at_least(self._driver, "2.30.2"):
            files.put(f"{base}/stats/hardware/health_status/unhealthy_components", ",".join(device.unhealthy) + "\n")
            beat = int(self._machine.now) // 60
            if not hung:
                files.put(f"{base}/stats/hardware/health_status/healthcheck_heartbeat", f"{beat}\n")
        if spec.at_least(self._driver, "2.23.9"):
            for core in device.cores:
                rows = [f"{group},{core.matmul // 4},{core.weights // 4},{core.idle // 4}" for group in range(4)]
                files.put(f"{base}/neuron_core{core.index}/stats/tensor_engine/pe_cntrs",
                          "\n".join(["xrow_grp,mm_active,wl_active,idle", *rows]) + "\n")  # fmt: skip


class CoreTotal:
    """All device memory of a core, in the words of one category."""

    __slots__ = ("_core", "_last", "_peak", "_used")

    def __init__(self, core: Core) -> None:
        self._core = core
        self._used = self._peak = self._last = 0

    @property
    def used(self) -> int:
        used = sum(usage.used for usage in self._core.memory.values())
        if used != self._used:
            self._last, self._used = abs(used - self._used), used
            self._peak = max(self._peak, used)
        return self._used

    @property
    def delta(self) -> int:
        return self._last

    @property
    def peak(self) -> int:
        return self._peak


def _counter(cells: Cells, base: str, counter: object) -> None:
    cells.add(f"{base}/total", counter, "total")
    cells.add(f"{base}/present", counter, "present")


def _memory(cells: Cells, base: str, usage: object) -> None:
    cells.add(f"{base}/total", usage, "used")
    cells.add(f"{base}/present", usage, "delta")
    cells.add(f"{base}/peak", usage, "peak")
