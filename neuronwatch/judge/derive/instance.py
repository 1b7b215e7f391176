"""What the EC2 type of the host has: devices, cores, memory, EFA; and how many of its devices are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from neuronwatch.data import instances
from neuronwatch.data.instances import Instance
from neuronwatch.judge.derive._packages import first_text, number
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin


def derive(facts: FactsView) -> Iterable[Fact]:
    stated = first_text(facts, "host.instance_type", "k8s.node_instance_type")
    lnc = _logical_size(facts)
    if stated is None:
        yield from _of_chip(facts)
        yield from _elsewhere(facts)
        yield from _from_listing(facts)
        return
    name = str(stated.value)
    family = instances.family(name)
    if family is None:
        yield from _from_listing(facts)
        return
    yield Fact("instance.family", family, stated.origin)
    is_neuron = instances.is_neuron(name)
    yield Fact("instance.is_neuron", bool(is_neuron), stated.origin)
    known = instances.find(name)
    if known is not None:
        yield from _of_type(known, lnc, stated.origin)
        yield from _inside(facts, known)
        yield from _missing(facts, known, stated.origin)
    else:
        yield from _from_listing(facts)


def _logical_size(facts: FactsView) -> int | None:
    """Physical cores that make one logical core, where the evidence states it (1 or 2)."""
    for name in ("neuron.lnc", "env.NEURON_LOGICAL_NC_CONFIG", "env.NEURON_RT_VIRTUAL_CORE_SIZE"):
        value = facts.get(name)
        if str(value) in ("1", "2"):
            return int(str(value))
    return None


def _of_type(known: Instance, lnc: int | None, origin: Origin) -> Iterable[Fact]:
    size = lnc if known.lnc > 1 else None  # the setting exists on Trn2 and newer only
    yield Fact("instance.generation", known.generation, origin)
    yield Fact("instance.devices", known.devices, origin)
    yield Fact("instance.cores", known.cores(size), origin)
    yield Fact("instance.physical_cores", known.physical_cores, origin)
    yield Fact("instance.cores_per_device", known.cores(size) // known.devices, origin)
    yield Fact("instance.core_memory", known.core_memory(size), origin)
    yield Fact("instance.device_memory", known.device_memory, origin)
    if known.host_memory is not None:
        yield Fact("instance.host_memory", known.host_memory, origin)
    if known.vcpus is not None:
        yield Fact("instance.vcpus", known.vcpus, origin)
    if known.efa is not None:
        yield Fact("instance.efa", known.efa, origin)
    if known.collective_cores:
        yield Fact("instance.collective_cores", known.collective_cores, origin)


GENERATIONS = {"inf1": 1, "trn1": 2, "inf2": 2, "trn2": 3, "trn3": 4}


def _of_chip(facts: FactsView) -> Iterable[Fact]:
    """Family and generation from the chip that sysfs, libnrt or neuron-monitor name, where the type is not stated."""
    chip = first_text(facts, "neuron.architecture")
    if chip is not None and chip.value in GENERATIONS:
        yield Fact("instance.family", chip.value, chip.origin)
        yield Fact("instance.is_neuron", True, chip.origin)
        yield Fact("instance.generation", GENERATIONS[str(chip.value)], chip.origin)


_SEEN_CHIP = (
    *("neuron.architecture", "neuron.devices", "neuron.pci_devices", "neuron.kernel_devices", "driver.loaded"),
    # the machine is the client of a cluster
    *("k8s.neuron_requested", "k8s.neuroncore_requested", "k8s.neuron_allocatable", "k8s.images", "k8s.pod_phase"),
)


def _elsewhere(facts: FactsView) -> Iterable[Fact]:
    """A desktop, a laptop or another cloud's machine has no Neuron chip, unless the evidence shows one (of another host)."""
    other = facts.first("host.elsewhere")
    if other is not None and not any(facts.get(name) for name in _SEEN_CHIP):
        yield Fact("instance.is_neuron", False, other.origin)


def _from_listing(facts: FactsView) -> Iterable[Fact]:
    """Memory per core from neuron-ls where the type is not stated."""
    memory, cores = facts.first("neuron.device_memory"), number(facts.get("neuron.cores_per_device"))
    size = number(memory.value) if memory is not None else None
    if memory is not None and size and cores:
        yield Fact("instance.core_memory", size // cores, memory.origin)
        yield Fact("instance.cores_per_device", cores, memory.origin)


def _inside(facts: FactsView, known: Instance) -> Iterable[Fact]:
    """A neuron-ls in a container: it knows the PIDs that hold a device from the driver, cannot name their programs, since
    they are numbers of the host, and shows no more than the devices that were passed in."""
    pids, count = facts.first("neuron.busy_pids"), number(facts.get("neuron.devices"))
    if pids is None or not pids.value or not count or facts.first("host.in_container") is not None:
        return
    if facts.first("neuron.holders") is None and 2 * count <= known.devices:
        yield Fact("host.in_container", True, pids.origin)


def _missing(facts: FactsView, known: Instance, origin: Origin) -> Iterable[Fact]:
    """Devices that the whole host lacks. A container sees only what it was given, so its listings prove nothing; a
    listing of /dev counts when the highest id is there and another one is not, or on what is known as a host."""
    containers = [facts.get(name) for name in ("host.in_container", "launch.in_container")]
    if True in containers or any(True for _ in _inside(facts, known)):
        return
    seen: list[tuple[int, Origin]] = []
    for name in ("neuron.devices", "neuron.kernel_devices", "neuron.pci_devices"):
        reading = facts.first(name)
        count = number(reading.value) if reading is not None else None
        if reading is not None and count:
            seen.append((count, reading.origin))
    nodes = facts.first("neuron.dev_nodes")
    if nodes is not None and isinstance(nodes.value, tuple):
        ids = {number(item) for item in nodes.value} - {None}
        if known.devices - 1 in ids or (ids and False in containers):
            seen.append((len(ids), nodes.origin))
    if seen:
        count, where = min(seen, key=lambda item: item[0])
        yield Fact("instance.devices_missing", max(0, known.devices - count), where)


def cores_of_range(text: str) -> tuple[int, ...]:
    """`0-3`, `1,5,7`, `0-1,4-5` as core numbers; () for what is no such list. At most 4,096 cores."""
    found: list[int] = []
    for part in text.strip().strip("\"'").split(","):
        span = re.fullmatch(r"\s*(\d{1,4})(?:\s*-\s*(\d{1,4}))?\s*", part)
        if not span:
            return ()
        first, last = int(span.group(1)), int(span.group(2) or span.group(1))
        if last < first or last - first > 4096:
            return ()
        found.extend(range(first, last + 1))
    return tuple(dict.fromkeys(found))[:4096]
