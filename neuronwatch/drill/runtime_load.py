"""Why a NEFF is refused at its load although there is memory for it."""

from __future__ import annotations

from typing import NamedTuple

from neuronwatch.drill import spec
from neuronwatch.drill.machine import Machine, Process

RINGS = 2_000_000
"""DMA descriptors that the rings of a core hold."""
FORMAT = "1.1"
"""Version of the NEFF format that the runtimes up to 2.3x understand."""
COLLECTIVE = (1, 2, 8, 16)
"""Group sizes of one Trn1 host, and each multiple of 32."""
WORDS = {1: "Non specific failure", 2: "Invalid", 4: "Allocation Failure", 10: "Unsupported NEFF version"}


class Refusal(NamedTuple):
    """NRT_STATUS, and (component, function, message) of libnrt's lines."""

    status: int
    lines: list[tuple[str, str, str]]

    @property
    def words(self) -> str:
        """As the framework passes it on."""
        return f'nrt_load status={self.status} message="{WORDS[self.status]}"'


def refusal(machine: Machine, process: Process, neff: str) -> Refusal | None:
    """None when it loads."""
    found = _why(machine, process, neff)
    if found is None:
        return None
    status, lines = found
    return Refusal(status, [*lines, ("NMGR", "stage_kelf_models", "Failed to stage graph: kelf-a.json to NeuronCore"),
                            ("NMGR", "kmgr_load_nn_post_metrics", f"Failed to load NN: {neff}, err: {status}")])  # fmt: skip


def _why(machine: Machine, process: Process, neff: str) -> tuple[int, list[tuple[str, str, str]]] | None:
    entry = machine.cache.at(neff)
    if entry is not None:
        if entry.state == "empty-neff":
            return 2, [("NMGR", "kmgr_load_nn_internal_v2", f"Failed to load NN: {neff}, NEFF is invalid")]
        if spec.parts(entry.format) > spec.parts(FORMAT):
            return 10, [("NMGR", "kmgr_load_nn_internal_v2", f"NEFF version mismatch supported: {FORMAT} received: {entry.format}")]
        if entry.descriptors > RINGS:
            return 4, [("TDRV", "dma_ring_allocate", "No more pages for ring type: 1"),
                       ("TDRV", "kbl_model_add", "create_data_refill_rings() error"),
                       ("NMGR", "dlr_kelf_stage", "Failed to load subgraph")]  # fmt: skip
    if "aws-neuronx-collectives" in machine.software.missing:
        machine.logs.line(process.log, "NCCL init error: Error opening libnccom.so, cannot use collective operations! Please set "
                          "LD_LIBRARY_PATH to library location. Error: libnccom.so: cannot open shared object file: No such file or directory\n"
                          "Please make sure to install correct version of aws-neuronx-collectives; for detailed installation instructions visit "
                          "Neuron documentation")  # fmt: skip
        return 1, []
    world = int(process.environ.get("WORLD_SIZE", len(process.cores)) or 1)
    if machine.kind.family == "trn1" and world not in COLLECTIVE and world % 32:
        return 1, [("ENC", "enc_load_operations",
                    "Unsupported topology. Supported number of Neuron Cores is 1, 2, 8, 16 or a multiple of 32.")]  # fmt: skip
    return None
