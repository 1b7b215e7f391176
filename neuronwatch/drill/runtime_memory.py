"""What libnrt says when device memory is full: the table of who uses it, in the form of the runtime's version."""

from __future__ import annotations

from neuronwatch.drill import spec
from neuronwatch.drill.machine import Core, Machine, Process
from neuronwatch.drill.runtime import log

USAGE = {"tensors": "tensors", "model_code": "model code", "constants": "model constants", "model_shared_scratchpad": "shared scratchpad",
         "runtime_memory": "runtime", "dma_rings": "dma rings"}  # fmt: skip
_COLUMNS = ("model_code", "constants", "tensors", "model_shared_scratchpad", "nonshared_scratchpad", "runtime_memory", "dma_rings", "", "",
            "", "collectives", "", "")  # fmt: skip
_HEAD = """\
              |          |  Model   |  Model   |          |  Shared  |          |          |DMA Rings |DMA Rings | DMA Rings |DMA Rings |\
           |          | Profiler |
              |  TOTAL   |   Code   |Constants | Tensors  |Scratchpad|Scratchpad| Runtime  |    IO    |  Spill   |Collectives| Runtime  |\
Collectives|  XT CC   | Buffers  |"""


def size(amount: int) -> str:
    """`15.602GB`, `264.000B`."""
    value = float(amount)
    for unit in ("B", "KB", "MB"):
        if value < 1024:
            return f"{value:.3f}{unit}"
        value /= 1024
    return f"{value:.3f}GB"


def full(machine: Machine, process: Process, logical: int, category: str, wanted: int) -> None:
    """An allocation of `wanted` bytes failed: the runtime's lines, the driver's line, the counter."""
    device, core = machine.place(logical)
    usage = USAGE.get(category, category)
    cores = machine.physical(logical)
    if spec.at_least(machine.software.runtime, "2.26"):
        _table(machine, process, logical, usage, wanted)
    else:
        log(machine, process, "ERROR", "TDRV", "dmem_alloc_internal", f"Failed to alloc DEVICE memory: {wanted}")
        log(machine, process, "ERROR", "TDRV", "dml_dump",
            f"Wrote nrt memory alloc debug info to /tmp/nrt_mem_log_device_{device}_71b0c2e.csv")  # fmt: skip
        rows = [f"\t* {name}: {size(sum(item.memory[key].used for item in cores))}" for key, name in USAGE.items()]
        log(machine, process, "ERROR", "TDRV", "log_dev_mem",
            f"Failed to allocate {size(wanted)} (usage: {usage}) on ND {device}:NC {core}, current utilization:\n"
            + "\n".join([f"\t* total: {size(sum(item.used for item in cores))}", *rows]) + "\n")  # fmt: skip
    log(machine, process, "ERROR", "TDRV", "tensor_allocate", f"Failed to allocate {wanted} bytes on DEVICE for tensor UNKNOWN.")
    machine.count(process, logical, "resource_error")
    _kernel(machine, cores, wanted)


def _kernel(machine: Machine, cores: list[Core], wanted: int) -> None:
    device = machine.devices[cores[0].device]
    occupied = sum(core.used for core in device.cores)
    total = device.memory
    tail = (f"{wanted} available - main gen pool {max(0, total - occupied)}" if spec.at_least(machine.software.loaded, "2.19")
            else f"{wanted} available {max(0, total - occupied)}")  # fmt: skip
    machine.kernel.driver("mc_alloc_internal", f"device mempool [{device.index}:0] total {total} occupied {occupied} needed {tail}")


def _table(machine: Machine, process: Process, logical: int, usage: str, wanted: int) -> None:
    device, core = machine.place(logical)
    names = (f"NC {core}",) if machine.lnc > 1 else tuple(f"NC {number}" for number in range(machine.per_device()))
    log(machine, process, "ERROR", "TDRV", "print_lnc_hbm_details",
        f"LNC size is {machine.lnc}. Neuron Cores using this HBM: {' and '.join(names)}")  # fmt: skip
    log(machine, process, "ERROR", "TDRV", "log_dev_mem",
        f"Failed to allocate {size(wanted)} (alignment: none, usage: {usage}) on ND {device}:NC {core}")  # fmt: skip
    shown = [logical] if machine.lnc > 1 else [device * machine.per_device() + number for number in range(machine.per_device())]
    every = [item for number in shown for item in machine.physical(number)]
    rows = [_row(f"ND {device} " + ("HBM 0" if machine.lnc > 1 else "Overall"), every)]
    rows += [_row(f"\\_{name}", machine.physical(number)) for name, number in zip(names, shown, strict=True)]
    neffs = "\n".join(f'{number}: "{machine.software.compiler}+{machine.cache.hash}-{neff}"' for neff, number in process.models)
    log(machine, process, "ERROR", "TDRV", "log_dev_mem_usage_table", "Displaying Current Memory Utilization:\n"
        "(NOTE: the lines are LONG, and NEFF id to name mapping is printed after)\n\n" + "\n".join([_HEAD, *rows])
        + f"\n\nNEFF id to name mapping:\n{neffs}\n")  # fmt: skip


def _row(label: str, cores: list[Core]) -> str:
    cells = [size(sum(core.used for core in cores))]
    cells += [size(sum(core.memory[name].used for core in cores)) if name else "0.000B" for name in _COLUMNS]
    widths = [10] * 9 + [11, 10, 11, 10, 10]
    return f"{label:<14}|" + "|".join(f"{cell:^{width}}" for cell, width in zip(cells, widths, strict=True)) + "|"
