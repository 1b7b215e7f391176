"""Values of the driver's tree as Readings: which file belongs to which metric of which core or device.

Of memory, `total` is the use now. Cores of the tree are physical ones; Readings are of logical ones (`layout.py`), whose
numbers are the sums of theirs.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from neuronwatch.model.live import Reading
from neuronwatch.source.live.layout import Layout

FINE = frozenset(("success", "infer_success"))
HEALTHY = frozenset(("", "none", "ok", "healthy", "0"))
_CORE_MEMORY = {
    "tensors": "core.memory.tensors",
    "constants": "core.memory.constants",
    "model_code": "core.memory.model_code",
    "model_shared_scratchpad": "core.memory.scratchpad",
    "nonshared_scratchpad": "core.memory.scratchpad",
    "runtime_memory": "core.memory.runtime",
    "driver_memory": "core.memory.runtime",
    "dma_rings": "core.memory.runtime",
    "notifications": "core.memory.runtime",
    "collectives": "core.memory.runtime",
}
_ECC = {
    "mem_ecc_uncorrected": "device.ecc.memory_uncorrected",
    "sram_ecc_uncorrected": "device.ecc.sram_uncorrected",
    "mem_ecc_repairable_uncorrected": "device.ecc.memory_repairable",
    "mem_ecc_corrected": "device.ecc.memory_corrected",
    "sram_ecc_corrected": "device.ecc.sram_corrected",
}
_CORE = re.compile(r"^/neuron_core(\d{1,3})/stats/(?:memory_usage/device_mem/(?:(\w{1,60})/)?total|status/(\w{1,60})/total)$")
_HOST_MEMORY = re.compile(r"^/stats/memory_usage/host_mem/\w{1,60}/total$")
_HARDWARE = re.compile(r"^/stats/hardware/(\w{1,60})$")
POWER = "/stats/power/utilization"
_POWER = re.compile(rb"^POWER_STATUS_(\w{1,30}),\d{1,20},\s?([\d.]{1,12}),\s?([\d.]{1,12}),\s?([\d.]{1,12})$")


_OTHERS = frozenset(("device.power", "device.unhealthy"))
"""Metrics whose files hold other things than a number."""


def metric_of(name: str) -> tuple[str, int | None]:
    """Metric of a file of a device (its name begins with `/`), and the physical core; "" for a file that is no metric."""
    core = _CORE.match(name)
    if core:
        number, category, status = int(core.group(1)), core.group(2), core.group(3)
        if status is not None:
            return ("core.executions" if status in FINE else "core.errors"), number
        return (_CORE_MEMORY.get(category, "") if category else "core.memory.used"), number
    if _HOST_MEMORY.match(name):
        return "device.memory.host", None
    hardware = _HARDWARE.match(name)
    if hardware:
        return _ECC.get(hardware.group(1), ""), None
    if name == POWER:
        return "device.power", None
    return ("device.unhealthy" if name.endswith("/unhealthy_components") else ""), None


Tier = Literal["total", "memory", "status", "cold", "rare", ""]


def tier(name: str) -> Tier:
    """How often a file is read: `total` (memory of a core, executions) each second, `memory` (by category) and `status` (failed
    executions, memory on the host) each second or in turns, `cold` each few seconds, `rare` once a minute; "": not at all."""
    metric = metric_of(name)[0]
    if metric in ("core.memory.used", "core.executions"):
        return "total"
    if metric in ("core.errors", "device.memory.host"):
        return "status"
    if metric.startswith("core."):
        return "memory"
    return "rare" if metric == "device.power" else "cold" if metric else ""


def judged(name: str) -> bool:
    """Whether a change of this value is something that rules see."""
    metric = metric_of(name)[0]
    return metric in ("core.errors", "device.unhealthy") or (metric.startswith("device.ecc.") and not metric.endswith("_corrected"))


class Rows:
    """Readings kept up to date from a set of files. `readings` is in a fixed order; one that did not change is the same
    object as before."""

    def __init__(self, layout: Layout, files: Sequence[tuple[int, str]]) -> None:
        """`files[slot]`: number of the device, and name of the file below it."""
        self.readings: list[Reading] = []
        self.garbage: dict[int, bytes] = {}
        """Slots whose bytes are no value, with the bytes."""
        self._row_of = array("i")
        slots_of: list[list[int]] = []
        rows: dict[tuple[str, str], int] = {}
        for slot, (device, name) in enumerate(files):
            metric, core = metric_of(name)
            entity = sys.intern(f"nd{device}" if core is None else layout.entity(device, core))
            row = rows.setdefault((metric, entity), len(rows)) if metric else -1
            self._row_of.append(row)
            if row == len(slots_of):
                slots_of.append([])
                self.readings.append(Reading(metric, entity, None, "not read yet"))
            if row >= 0:
                slots_of[row].append(slot)
        self._slots = [tuple(slots) for slots in slots_of]

    def update(self, slots: Iterable[int], values: Sequence[bytes | None], errors: Mapping[int, str]) -> None:
        """The values of these slots are others than before."""
        row_of, readings = self._row_of, self.readings
        rows = {row_of[slot] for slot in slots}
        rows.discard(-1)
        if self.garbage:
            for slot in slots:
                self.garbage.pop(slot, None)
        for row in rows:
            old = readings[row]
            total = _sum([values[slot] for slot in self._slots[row]]) if old.metric not in _OTHERS else None
            readings[row] = self._reading(row, values, errors) if total is None else Reading(old.metric, old.entity, total)

    def _reading(self, row: int, values: Sequence[bytes | None], errors: Mapping[int, str]) -> Reading:
        old = self.readings[row]
        total = 0.0
        for slot in self._slots[row]:
            data = values[slot]
            if data is None:
                return Reading(old.metric, old.entity, None, errors.get(slot, "cannot be read"))
            value, reason = _value(old.metric, data.strip())
            if value is None:
                if not reason:
                    self.garbage[slot] = data
                return Reading(old.metric, old.entity, None, reason or f"no value: {data[:40]!r}")
            total += value
        return Reading(old.metric, old.entity, total)


def _sum(data: list[bytes | None]) -> float | None:
    """The sum of plain numbers; None where there is anything else among them. `core.memory.used` of 128 cores moves each second."""
    total = 0.0
    for item in data:
        if item is None or len(item) > 20 or not item.rstrip().isdigit():
            return None
        total += float(item)
    return total


def _value(metric: str, text: bytes) -> tuple[float | None, str]:
    """The number, or None with the reason; None without a reason: it is garbage."""
    if metric == "device.power":
        power = _POWER.match(text)
        if text.startswith(b"POWER_STATUS_") and not text.startswith(b"POWER_STATUS_VALID"):
            return None, text[:40].decode("ascii", "replace").split(",")[0]
        return (float(power.group(4)), "") if power and power.group(4).count(b".") <= 1 else (None, "")
    if metric == "device.unhealthy":
        words = text.decode("utf-8", "replace").lower()
        return float(0 if words in HEALTHY else words.count(",") + 1), ""
    return (float(text), "") if text.isdigit() and len(text) <= 20 else (None, "")
