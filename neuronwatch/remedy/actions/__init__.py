"""The closed set of remedies, one file each; the order is that in which the remedies of one fault are tried."""

from __future__ import annotations

from neuronwatch.remedy.actions import (
    batch_size,
    buckets,
    cache_directory,
    core_count,
    device_reset,
    drain,
    driver_reload,
    efa,
    end_leftover,
    hub_cache_push,
    max_num_seqs,
    port,
    precision,
    quarantine_entry,
    reboot,
    restart,
    retry_failed_compilation,
    rope_theta,
    stale_lock,
    start_method,
    stop,
    timeouts,
    tokenizers_parallelism,
    tp_degree,
    visible_cores,
    workers,
)
from neuronwatch.remedy.api import Action

RESTART, STOP = restart.ACTION, stop.ACTION
ACTIONS: tuple[Action, ...] = (
    STOP,
    stale_lock.ACTION,
    quarantine_entry.ACTION,
    end_leftover.ACTION,
    batch_size.ACTION,
    max_num_seqs.ACTION,
    tokenizers_parallelism.ACTION,
    start_method.ACTION,
    workers.ACTION,
    rope_theta.ACTION,
    precision.ACTION,
    cache_directory.ACTION,
    core_count.ACTION,
    visible_cores.ACTION,
    tp_degree.ACTION,
    port.ACTION,
    timeouts.ACTION,
    efa.ACTION,
    buckets.ACTION,
    retry_failed_compilation.ACTION,
    hub_cache_push.ACTION,
    device_reset.ACTION,
    driver_reload.ACTION,
    reboot.ACTION,
    drain.ACTION,
    RESTART,
)


def of_fault(fault: str) -> list[Action]:
    return [action for action in ACTIONS if fault in action.faults]


def named(name: str) -> Action | None:
    return next((action for action in ACTIONS if action.name == name), None)
