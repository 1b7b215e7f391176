"""What a launch amounts to: processes, nodes, cores on one host, global batch, visible cores."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.judge.derive._packages import first_text, number
from neuronwatch.judge.derive.instance import cores_of_range
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin


def derive(facts: FactsView) -> Iterable[Fact]:
    yield from _world(facts)
    yield from _cores_needed(facts)
    yield from _global_batch(facts)
    visible = first_text(facts, "env.NEURON_RT_VISIBLE_CORES", "runtime.visible_cores")
    cores = cores_of_range(str(visible.value)) if visible is not None else ()
    if visible is not None and cores:
        yield Fact("runtime.visible_max", max(cores), visible.origin)
        yield Fact("runtime.visible_count", len(cores), visible.origin)


def _read(facts: FactsView, *names: str) -> tuple[int, Origin] | None:
    """The first of these facts that is a positive whole number, also as text (`SLURM_NNODES=4`)."""
    for name in names:
        reading = facts.first(name)
        if reading is None:
            continue
        value = reading.value
        if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
            value = int(value)
        count = number(value)
        if count is not None and count > 0:
            return count, reading.origin
    return None


def _world(facts: FactsView) -> Iterable[Fact]:
    processes = _read(facts, "launch.nproc", "env.LOCAL_WORLD_SIZE")
    nodes = _read(facts, "launch.nnodes", "env.NNODES", "env.SLURM_NNODES", "env.SLURM_JOB_NUM_NODES", "slurm.nodes")
    world = _read(facts, "env.WORLD_SIZE")
    if nodes is None and world is not None and processes is not None and world[0] % processes[0] == 0:
        nodes = (world[0] // processes[0], world[1])
    if nodes is not None:
        yield Fact("cluster.nodes", nodes[0], nodes[1])
    if processes is not None:
        yield Fact("launch.world_size", processes[0] * (nodes[0] if nodes else 1), processes[1])
    elif world is not None:
        yield Fact("launch.world_size", world[0], world[1])


def _cores_needed(facts: FactsView) -> Iterable[Fact]:
    """Cores on one host: one for each process, else those of the workers, of the export, or of the parallel degrees."""
    processes = _read(facts, "launch.nproc")
    if processes is not None:
        yield Fact("launch.cores_needed", *processes)
        return
    workers, each = _read(facts, "launch.workers"), _read(facts, "launch.workers_per_cores")
    if workers is not None and each is not None:
        yield Fact("launch.cores_needed", workers[0] * each[0], workers[1])
        return
    export = _read(facts, "launch.num_cores")
    if export is not None:
        yield Fact("launch.cores_needed", *export)
        return
    degree = _read(facts, "launch.tp")
    if degree is None:
        yield from _of_groups(facts)
        return
    total = degree[0]
    for name in ("launch.pp", "launch.dp"):
        more = _read(facts, name)
        total *= more[0] if more else 1
    nodes = _read(facts, "launch.nnodes")
    if nodes is not None and nodes[0] > 1:
        total = -(-total // nodes[0])
    yield Fact("launch.cores_needed", total, degree[1])


def _of_groups(facts: FactsView) -> Iterable[Fact]:
    """NEURONCORE_GROUP_SIZES of the 1.x frameworks: `4,2x1` are one group of four cores and two of one."""
    sizes = facts.first("env.NEURONCORE_GROUP_SIZES")
    total = 0
    for group in str(sizes.value).replace(" ", "").split(",") if sizes is not None else ():
        times, _, size = group.rpartition("x")
        if not size.isdecimal() or (times and not times.isdecimal()) or len(group) > 8:
            return
        total += int(times or 1) * int(size)
    if sizes is not None and total:
        yield Fact("launch.cores_needed", total, sizes.origin)


def _global_batch(facts: FactsView) -> Iterable[Fact]:
    batch = _read(facts, "launch.per_device_batch")
    world = _read(facts, "launch.world_size")
    if batch is None or world is None:
        return
    split = 1
    for name in ("launch.tp", "launch.pp"):
        degree = _read(facts, name)
        split *= degree[0] if degree else 1
    accumulate = _read(facts, "launch.grad_accum")
    if world[0] % split == 0:
        yield Fact("launch.global_batch", batch[0] * (world[0] // split) * (accumulate[0] if accumulate else 1), batch[1])
