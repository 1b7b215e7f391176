"""A record of neuron-monitor as Readings: what several runtimes say of one core is added up, tallies of a period become counters
that only grow, and what nobody reports is absent with the reason."""

from __future__ import annotations

from neuronwatch.model.live import Reading
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.monitor_record import Executions, Hardware, Record, Runtime

IDLE = "no runtime is active: neuron-monitor reports no utilisation"
NOT_YET = "neuron-monitor has not reported its runtimes yet"
UNUSED = "no runtime uses this core"
MAX_CORES = 1024
FAILURES = ("completed_with_err", "completed_with_num_err", "timed_out", "incorrect_input", "failed_to_queue")
_MEMORY = ("tensors", "constants", "model_code")
_ECC = {
    "mem_ecc_uncorrected": "device.ecc.memory_uncorrected",
    "sram_ecc_uncorrected": "device.ecc.sram_uncorrected",
    "mem_ecc_corrected": "device.ecc.memory_corrected",
    "sram_ecc_corrected": "device.ecc.sram_corrected",
}


class Readings:
    """Keeps the tallies of the runtimes that run."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._per_device: int | None = None
        self._cores = 0
        self._entities: dict[str, str] = {}
        """Global core number -> entity, for `_named` cores of a device."""
        self._named: int | None = None
        self._tallies: dict[int, tuple[float, float]] = {}
        """pid -> executions and failures since it was first seen."""

    def of(self, record: Record) -> list[Reading]:
        """All readings of a record. Call it with each record: tallies are per period."""
        self._hardware(record.neuron_hardware_info)
        runtimes = record.neuron_runtime_data or []
        found = self._utilisation(record)
        found += [reading for runtime in runtimes for reading in self._process(runtime)]
        alive = {runtime.pid for runtime in runtimes}
        self._tallies = {pid: tally for pid, tally in self._tallies.items() if pid in alive}
        if self._layout.physical is None:  # the driver's own tree is better where there is one
            found += self._memory(runtimes)
            found += self._ecc(record)
        return found

    def _hardware(self, info: Hardware | None) -> None:
        if info is None:
            return
        self._layout.told(info.logical_neuroncore_config)
        per, count = info.neuroncore_per_device_count, info.neuron_device_count
        if per and 0 < per <= 64:
            self._per_device = per
            self._cores = min(per * max(count or 0, 0), MAX_CORES)

    def _entity(self, flat: str) -> str:
        """`nd0:nc1` of a global core number; "" when it is none or the size of a device is unknown."""
        per = self._per_device or self._layout.per_device
        if per != self._named or len(self._entities) > 2 * MAX_CORES:
            self._entities, self._named = {}, per
        known = self._entities.get(flat)
        if known is None:
            number = int(flat) if per and flat.isascii() and flat.isdigit() and len(flat) <= 5 else -1
            known = self._entities[flat] = f"nd{number // per}:nc{number % per}" if per and number >= 0 else ""
        return known

    def _utilisation(self, record: Record) -> list[Reading]:
        runtimes = record.neuron_runtime_data or []
        busy: dict[str, float] = {}
        flops: dict[str, float] = {}
        error = ""
        for runtime in runtimes:
            group = runtime.report.neuroncore_counters if runtime.report else None
            if group is None:
                continue
            error = error or (group.error or "").strip()
            for flat, core in (group.neuroncores_in_use or {}).items():
                entity = self._entity(flat)
                if not entity:
                    continue
                if core.neuroncore_utilization is not None:
                    busy[entity] = busy.get(entity, 0.0) + core.neuroncore_utilization
                rate = core.flops if core.flops is not None else core.effective_flops
                if rate is not None:
                    flops[entity] = flops.get(entity, 0.0) + rate
        idle = NOT_YET if record.neuron_runtime_data is None else IDLE
        reason = error or (UNUSED if runtimes else idle)
        entities = dict.fromkeys((*(self._entity(str(flat)) for flat in range(self._cores)), *busy))
        found = [
            Reading("core.utilization", entity, min(busy[entity], 100.0)) if entity in busy
            else Reading("core.utilization", entity, None, reason[:200])
            for entity in entities
        ]  # fmt: skip
        return found + [Reading("core.flops", entity, rate) for entity, rate in flops.items()]

    def _process(self, runtime: Runtime) -> list[Reading]:
        if runtime.pid is None or runtime.report is None:
            return []
        entity, report = f"pid{runtime.pid}", runtime.report
        found: list[Reading] = []
        used = report.memory_used.neuron_runtime_used_bytes if report.memory_used else None
        if used is not None:
            sizes = (("process.memory.device", used.neuron_device), ("process.memory.host", used.host))
            found += [Reading(name, entity, value) for name, value in sizes if value is not None]
        share = report.neuron_runtime_vcpu_usage.vcpu_usage if report.neuron_runtime_vcpu_usage else None
        if share is not None and share.user is not None and share.system is not None:
            found.append(Reading("process.runtime_cpu", entity, share.user + share.system))
        executions = report.execution_stats or report.inference_stats
        if executions is not None:
            found += self._executions(runtime.pid, entity, executions)
        return found

    def _executions(self, pid: int, entity: str, stats: Executions) -> list[Reading]:
        done, failed = self._tallies.get(pid, (0.0, 0.0))
        summary = stats.execution_summary or {}
        done += max(summary.get("completed") or 0.0, 0.0)
        if any(summary.values()):
            failed += sum(max(summary.get(name) or 0.0, 0.0) for name in FAILURES)
        self._tallies[pid] = (done, failed)
        found = [Reading("process.executions", entity, done), Reading("process.failures", entity, failed)]
        latency = stats.latency_stats.total_latency if stats.latency_stats else None
        for name, value in (("p50", latency.p50), ("p99", latency.p99)) if latency else ():
            if value is not None:
                found.append(Reading(f"process.latency.{name}", entity, value))
        return found

    def _memory(self, runtimes: list[Runtime]) -> list[Reading]:
        """Device memory of cores, added up over runtimes."""
        sums: dict[tuple[str, str], float] = {}
        for runtime in runtimes:
            memory = runtime.report.memory_used if runtime.report else None
            used = memory.neuron_runtime_used_bytes if memory else None
            for flat, core in (
                (used.usage_breakdown.neuroncore_memory_usage or {}) if used and used.usage_breakdown else {}
            ).items():
                entity = self._entity(flat)
                parts = {name: getattr(core, name) for name in _MEMORY}
                parts |= {"scratchpad": core.model_shared_scratchpad, "runtime": core.runtime_memory}
                parts["used"] = sum(parts.values())
                for name, value in parts.items() if entity else ():
                    sums[name, entity] = sums.get((name, entity), 0.0) + value
        return [Reading(f"core.memory.{name}", entity, value) for (name, entity), value in sums.items()]

    def _ecc(self, record: Record) -> list[Reading]:
        group = record.system_data.neuron_hw_counters if record.system_data else None
        found = []
        for device in (group.neuron_devices or []) if group else []:
            if device.neuron_device_index is not None:
                for name, metric in _ECC.items():
                    value = getattr(device, name)
                    if value is not None:
                        found.append(Reading(metric, f"nd{device.neuron_device_index}", value))
        return found
