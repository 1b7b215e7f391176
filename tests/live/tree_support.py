"""A driver's sysfs tree as files, of any number of devices and cores, and a source polled by hand."""

from __future__ import annotations

from pathlib import Path

from neuronwatch.model.live import Delivery, Whole
from neuronwatch.source.live.api import Now, Source

TREE = "sys/devices/virtual/neuron_device"
CATEGORIES = (
    "collectives", "constants", "dma_rings", "driver_memory", "model_code", "model_shared_scratchpad", "nonshared_scratchpad",
    "notifications", "runtime_memory", "tensors", "uncategorized",
)  # fmt: skip
STATUS = ("success", "failure", "timeout", "exec_bad_input", "hw_error", "execute_completed_with_error", "hw_hbm_ue_error")
ECC = ("sram_ecc_uncorrected", "mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected")


def put(path: Path, text: str) -> None:
    """Writes in place, as the driver's values change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def device(host: Path, number: int, cores: int = 2, kind: str = "Trn1") -> Path:
    """One device with its node; all counters 0."""
    base = host / TREE / f"neuron{number}"
    put(host / f"dev/neuron{number}", "")
    put(base / "reset", "")
    put(base / "core_count", str(cores))
    put(base / "connected_devices", "1, 3\n")
    put(base / "info/architecture/instance_type", f"{kind}\n")
    put(base / "stats/power/utilization", "POWER_STATUS_VALID,1790000000,10.00,30.00,20.50\n")
    put(base / "power/control", "auto\n")
    for name in ECC:
        put(base / "stats/hardware" / name, "0\n")
    for category in ("tensors", "dma_buffers"):
        for kind_of in ("total", "present", "peak"):
            put(base / "stats/memory_usage/host_mem" / category / kind_of, "0\n")
    for core in range(cores):
        inner = base / f"neuron_core{core}"
        put(inner / "info/architecture/arch_type", "NCv2\n")
        for status in STATUS:
            for kind_of in ("total", "present"):
                put(inner / "stats/status" / status / kind_of, "0\n")
        for category in ("", *CATEGORIES):
            for kind_of in ("total", "present", "peak"):
                put(inner / "stats/memory_usage/device_mem" / category / kind_of, "0\n")
    return base


def values(delivery: Delivery) -> dict[tuple[str, str], float | None]:
    return {(item.metric, item.entity): item.value for item in delivery.readings}


def whole(delivery: Delivery, path: str) -> Whole | None:
    return next((item for item in delivery.wholes if item.path == path), None)


class Polled:
    """A source and a time that only moves when asked to."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.at = 1000.0

    def __call__(self, after: float = 1.0) -> Delivery:
        self.at += after
        found = self.source.poll(Now(1_790_000_000.0 + self.at, self.at))
        assert found is not None
        return found
