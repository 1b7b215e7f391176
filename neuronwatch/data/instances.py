"""EC2 instance types with Neuron devices (table `instance_types`)."""

from __future__ import annotations

import re
from typing import cast

from neuronwatch.data import tables
from neuronwatch.model.dataclass import dataclass

GIB = 1024**3
NEURON_FAMILY = re.compile(r"^(?:inf|trn)\d")
_TYPE = re.compile(r"^(?:ml\.)?([a-z][a-z0-9-]*\d[a-z0-9-]*)\.([a-z0-9-]+)$")


@dataclass(frozen=True)
class Instance:
    """One EC2 type; sizes are bytes, None where no source states a value. Cores are logical at `lnc`."""

    name: str
    family: str
    chip: str
    generation: int
    devices: int
    physical_cores: int
    lnc: int
    device_memory: int
    vcpus: int | None
    host_memory: int | None
    efa: bool | None
    collective_cores: tuple[int, ...]
    source: str

    def cores(self, lnc: int | None = None) -> int:
        """NeuronCores as software sees them: physical cores over the logical core size in force."""
        return self.physical_cores // (lnc or self.lnc)

    def core_memory(self, lnc: int | None = None) -> int:
        return self.device_memory // self.cores(lnc)


@tables.cached
def _by_name() -> dict[str, Instance]:
    found = {}
    for row in tables.load("instance_types").rows:
        host = row.get("host_memory_gib")
        found[row["name"]] = Instance(
            row["name"], row["family"], row["chip"], row["generation"], row["devices"],
            row["devices"] * row["cores_per_device"], row.get("default_lnc", 1), row["device_memory_gib"] * GIB,
            row.get("vcpus"), host * GIB if host else None, row.get("efa"), tuple(row.get("collective_cores", ())),
            row["source"],
        )  # fmt: skip
    return found


def find(name: str) -> Instance | None:
    """The type of that name (`ml.` of SageMaker is ignored), or None when the data does not know it."""
    return cast("dict[str, Instance]", _by_name()).get(re.sub(r"^ml\.", "", name.strip().lower()))


def family(name: str) -> str | None:
    """`ml.trn1.32xlarge` -> `trn1`, `g5.xlarge` -> `g5`; None for what is not the name of an EC2 type."""
    known = find(name)
    if known:
        return known.family
    found = _TYPE.match(name.strip().lower())
    return found.group(1) if found else None


def is_neuron(name: str) -> bool | None:
    """Whether the type has Neuron devices; None for what is not the name of an EC2 type."""
    named = family(name)
    return None if named is None else bool(NEURON_FAMILY.match(named))
