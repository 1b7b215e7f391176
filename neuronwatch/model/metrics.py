"""The catalogue of metrics: what a Reading may be called, its unit, what it is measured on, and its name for Prometheus.

One row per metric. Sources give readings, ring and history keep them, exporters and the dashboard show them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

On = Literal["host", "device", "core", "process", "job", "source"]


class Metric(NamedTuple):
    """`kind`: a gauge is a state, a counter only grows (and starts anew with the driver or process). `resolution`: the
    smallest step that is worth keeping in the history, in `unit`."""

    name: str
    unit: Literal["percent", "bytes", "count", "seconds", "per_second", "bytes_per_second", "watts"]
    on: On
    kind: Literal["gauge", "counter"]
    help: str
    resolution: float = 1.0


ALL: tuple[Metric, ...] = (
    Metric("core.utilization", "percent", "core", "gauge", "Share of time in which the NeuronCore executed.", 0.1),
    Metric("core.flops", "per_second", "core", "gauge", "Floating point operations per second of the core.", 1e9),
    Metric("core.memory.tensors", "bytes", "core", "gauge", "Device memory of the core held by tensors.", 65536),
    Metric("core.memory.constants", "bytes", "core", "gauge", "Device memory of the core held by constants (weights).", 65536),
    Metric("core.memory.model_code", "bytes", "core", "gauge", "Device memory of the core held by model code.", 65536),
    Metric("core.memory.scratchpad", "bytes", "core", "gauge", "Device memory of the core held by scratchpads.", 65536),
    Metric("core.memory.runtime", "bytes", "core", "gauge", "Device memory of the core held by the runtime and driver.", 65536),
    Metric("core.memory.used", "bytes", "core", "gauge", "Device memory of the core in use.", 65536),
    Metric("core.executions", "count", "core", "counter", "Executions that succeeded, since the driver was loaded."),
    Metric("core.errors", "count", "core", "counter", "Executions that failed, of every kind, since the driver was loaded."),
    Metric("device.memory.host", "bytes", "device", "gauge", "Host memory that the device's driver and runtime hold.", 65536),
    Metric("device.ecc.memory_uncorrected", "count", "device", "counter", "Uncorrected ECC errors of the device memory."),
    Metric("device.ecc.sram_uncorrected", "count", "device", "counter", "Uncorrected ECC errors of the SRAM."),
    Metric("device.ecc.memory_repairable", "count", "device", "counter", "Uncorrected HBM errors that a repair can mend."),
    Metric("device.ecc.memory_corrected", "count", "device", "counter", "Corrected ECC errors of the device memory."),
    Metric("device.ecc.sram_corrected", "count", "device", "counter", "Corrected ECC errors of the SRAM."),
    Metric("device.unhealthy", "count", "device", "gauge", "Components that the driver calls unhealthy."),
    Metric("device.power", "percent", "device", "gauge", "Average power, in percent of the device's maximum.", 0.01),
    Metric("process.memory.device", "bytes", "process", "gauge", "Device memory that the process's runtime holds.", 65536),
    Metric("process.memory.host", "bytes", "process", "gauge", "Host memory that the process's runtime holds.", 65536),
    Metric("process.runtime_cpu", "percent", "process", "gauge", "CPU time of the runtime as neuron-monitor tells it.", 0.1),
    Metric("process.executions", "count", "process", "counter", "Executions that succeeded since the process was first seen."),
    Metric("process.failures", "count", "process", "counter", "Executions that failed since the process was first seen."),
    Metric("process.latency.p50", "seconds", "process", "gauge", "Median latency of executions in the last period.", 0.0001),
    Metric("process.latency.p99", "seconds", "process", "gauge", "99th percentile of the latency in the last period.", 0.0001),
    Metric("process.rss", "bytes", "process", "gauge", "Resident memory of the process.", 65536),
    Metric("process.cpu", "percent", "process", "gauge", "CPU time of the process, in percent of one CPU.", 0.1),
    Metric("process.threads", "count", "process", "gauge", "Threads of the process."),
    Metric("host.processes", "count", "host", "gauge", "Processes of the host."),
    Metric("host.devices_held", "count", "host", "gauge", "Neuron devices that some process has open."),
    Metric("host.cpu", "percent", "host", "gauge", "CPU time used, in percent of all CPUs.", 0.1),
    Metric("host.memory.used", "bytes", "host", "gauge", "Host memory in use (total minus available).", 1048576),
    Metric("host.memory.total", "bytes", "host", "gauge", "Host memory.", 1048576),
    Metric("host.memory.available", "bytes", "host", "gauge", "Host memory that can be had without swapping.", 1048576),
    Metric("host.swap.used", "bytes", "host", "gauge", "Swap space in use.", 1048576),
    Metric("host.load", "count", "host", "gauge", "Load average over one minute.", 0.01),
    Metric("host.pressure.cpu", "percent", "host", "gauge", "Share of ten seconds in which some task waited for a CPU.", 0.1),
    Metric("host.pressure.memory", "percent", "host", "gauge", "Share of ten seconds in which some task waited for memory.", 0.1),
    Metric("host.pressure.io", "percent", "host", "gauge", "Share of ten seconds in which some task waited for a disk.", 0.1),
    Metric("host.network.receive", "bytes_per_second", "host", "gauge", "Bytes received on physical interfaces.", 1024),
    Metric("host.network.transmit", "bytes_per_second", "host", "gauge", "Bytes sent on physical interfaces.", 1024),
    Metric("host.network.errors", "count", "host", "counter", "Packets lost or broken on physical interfaces."),
    Metric("host.disk.read", "bytes_per_second", "host", "gauge", "Bytes read from disks.", 4096),
    Metric("host.disk.write", "bytes_per_second", "host", "gauge", "Bytes written to disks.", 4096),
    Metric("host.disk.used", "percent", "host", "gauge", "How full the fullest local file system is.", 0.1),
    Metric("cache.entries", "count", "host", "gauge", "Entries of the compile cache."),
    Metric("cache.locks", "count", "host", "gauge", "Entries of the compile cache that are locked."),
    Metric("cache.oldest_lock", "seconds", "host", "gauge", "Age of the oldest lock in the compile cache."),
    Metric("cache.failed", "count", "host", "gauge", "Entries of the compile cache that are cached failures."),
    Metric("cache.empty", "count", "host", "gauge", "Entries of the compile cache whose NEFF is empty."),
    Metric("cache.size", "bytes", "host", "gauge", "Size of the compile cache.", 1048576),
    Metric("cache.compiled", "count", "host", "counter", "Entries that came into the compile cache while it was watched."),
)

BY_NAME = {metric.name: metric for metric in ALL}
