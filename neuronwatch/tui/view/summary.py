"""The figures of the overview as plain data: the page, `neuronwatch status` and its JSON show the same ones."""

from __future__ import annotations

from typing import NamedTuple, get_args

from neuronwatch.tui.view import jobs as view
from neuronwatch.tui.view.devices import CoreState, Device, devices
from neuronwatch.tui.view.picture import Picture, Plain
from neuronwatch.tui.view.values import Seen

HOST = {"cpu": "host.cpu", "memory_used": "host.memory.used", "memory_total": "host.memory.total", "disk": "host.disk.used",
        "load": "host.load", "received_per_s": "host.network.receive", "sent_per_s": "host.network.transmit"}  # fmt: skip
OF_JOBS = ("step", "max_steps", "loss", "grad_norm", "tokens_per_s", "seconds_per_step", "seconds_left", "running", "waiting",
            "batch_limit", "kv_usage", "p50", "p99")  # fmt: skip


class Cores(NamedTuple):
    """How many cores are in which state; mean of what is known now, and the two ends as (percent, name)."""

    total: int
    states: dict[CoreState, int]
    mean: float | None
    hottest: tuple[float, str] | None
    idlest: tuple[float, str] | None


def cores(found: list[Device]) -> Cores:
    all_cores = [(device, core) for device in found for core in device.cores]
    known = [(core.utilization.number, f"nd{device.number}:nc{core.number}") for device, core in all_cores
             if core.utilization.known and core.utilization.number is not None]  # fmt: skip
    states = {name: sum(core.state == name for _, core in all_cores) for name in get_args(CoreState)}
    mean = sum(value for value, _ in known) / len(known) if known else None
    return Cores(len(all_cores), states, mean, max(known, default=None), min(known, default=None))


def plain(picture: Picture) -> Plain:
    """For JSON. Percent, bytes, seconds; null is not known; `trust` and `age` go with what grows old."""
    found = devices(picture)
    whole = cores(found)
    return {
        "cores": {"total": whole.total, **whole.states, "mean": _rounded(whole.mean), "hottest": _end(whole.hottest),
                  "idlest": _end(whole.idlest)},
        "devices": [{"device": f"nd{item.number}", "utilization": _rounded(item.mean), "memory_used": item.used,
                     "memory_total": item.capacity, "faults": list(item.faults), "cores": [core.state for core in item.cores]}
                    for item in found],
        "host": {name: _seen(picture.seen(metric)) for name, metric in HOST.items()},
        "jobs": [{**{name: job.get(name) for name in ("id", "name", "kind", "phase")}, "age": _rounded(view.age(picture, job)),
                  **{name: view.number(job.get(name)) for name in OF_JOBS},
                  "utilization": _seen(view.utilization(picture, job))} for job in picture.jobs],
    }  # fmt: skip


def document(picture: Picture) -> Plain:
    """`neuronwatch.status/1` as the dashboard shows it: the daemon's word, its verdict only as far as it is believed now."""
    return {**picture.status, "verdict": picture.verdict, "reasons": picture.reasons(), "sources": picture.sources(),
            "overview": plain(picture)}  # fmt: skip


def _seen(seen: Seen) -> Plain:
    return {"value": _rounded(seen.number), "trust": seen.trust, "age": _rounded(seen.age) if seen.trust != "unknown" else None}


def _end(end: tuple[float, str] | None) -> Plain | None:
    return None if end is None else {"core": end[1], "utilization": _rounded(end[0])}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
