# neuron-monitor: one JSON document a line, at once (with what there is already) and then at the period.
from __future__ import annotations

import json
import os
import random
import re
import sys
import time
from typing import Any

from neuronwatch.drill.tools.shared import alive, die, garble, logical, numbers, outage, put, read_state, suffer, unknown_flag

DEFAULT_PERIOD = 5
RUNTIME_GROUPS = ("execution_stats", "memory_used", "neuron_runtime_vcpu_usage", "neuroncore_counters")
SYSTEM_GROUPS = ("memory_info", "neuron_hw_counters", "vcpu_usage")
ERRORS = ("generic", "numerical", "transient", "model", "runtime", "hardware")
OUTCOMES = ("completed", "completed_with_err", "completed_with_num_err", "timed_out", "incorrect_input", "failed_to_queue")
RANDOM = random.Random(0)


def period_of(text: object) -> int:
    """`"1s"` is one second; anything else, `"1.0s"` too, is the default without a word."""
    found = re.fullmatch(r"([1-9]\d*)s", text) if isinstance(text, str) else None
    return int(found.group(1)) if found else DEFAULT_PERIOD


class Config:
    """What is wanted: groups with their periods (seconds), by runtime tag and for the system."""

    def __init__(self, text: str | None, tools: tuple[int, ...]) -> None:
        self.period = DEFAULT_PERIOD
        self.runtimes: list[tuple[re.Pattern[str], dict[str, int]]] = []
        if text is None:
            hidden = {"neuron_hw_counters"} if tools >= (2, 4, 6) else set()
            self.runtimes.append((re.compile(".*"), dict.fromkeys(RUNTIME_GROUPS, DEFAULT_PERIOD)))
            self.system = {name: DEFAULT_PERIOD for name in SYSTEM_GROUPS if name not in hidden}
            return
        data = json.loads(text)
        self.period = period_of(data.get("period"))
        for item in data.get("neuron_runtimes", ()):
            own = period_of(item["period"]) if "period" in item else self.period
            self.runtimes.append((re.compile(item.get("tag_filter", ".*")), self._groups(item, "metrics", own)))
        self.system = self._groups(data, "system_metrics", self.period)

    def _groups(self, data: dict[str, Any], key: str, default: int) -> dict[str, int]:
        return {item["type"]: period_of(item["period"]) if "period" in item else default for item in data.get(key, ())}

    def wanted(self, tag: str) -> dict[str, int]:
        return next((groups for pattern, groups in self.runtimes if pattern.search(tag)), {})


def main() -> int:
    path = arguments(sys.argv[1:])
    state = suffer("neuron-monitor")
    if state is None:
        sys.stderr.write("failed to start: no host\n")
        return 1
    text = None
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            json.loads(text)
        except (OSError, ValueError) as error:
            sys.stderr.write(f"failed to load configuration file: {error}\n")
            return 1
    return watch(state, Config(text, numbers(state["tools"])))


def arguments(given: list[str]) -> str | None:
    """The configuration file. Unknown flags end the program."""
    path = None
    rest = list(given)
    while rest:
        flag, _, value = rest.pop(0).partition("=")
        if flag in ("-c", "--config-file"):
            path = value or (rest.pop(0) if rest else unknown_flag(flag))
        elif flag == "--verbose":
            if not value and rest:
                rest.pop(0)
        else:
            unknown_flag(flag)
    return path


def watch(state: dict[str, Any], config: Config) -> int:
    """Writes until nobody reads or the host ends."""
    before, first, count = state, True, 0
    due = time.monotonic()
    while True:
        now = read_state()
        if now is None or not alive(now) or outage(now, "neuron-monitor") in ("absent", "denied"):
            return 1
        how = outage(now, "neuron-monitor")
        if how == "killed":
            die()
        if how == "hung":
            time.sleep(0.2)
            continue
        if how == "slow":
            time.sleep(45.0 / now["rate"])
        line = json.dumps(record(now, before, config, count, first), separators=(",", ":")) + "\n"
        put(garble(line) if how == "garbled" else line)
        before, first, count = now, False, count + 1
        due = max(due + config.period / now["rate"], time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def record(now: dict[str, Any], before: dict[str, Any], config: Config, count: int, first: bool) -> dict[str, Any]:
    """One document. The first holds only what needs no time to pass: memory."""
    seconds = max(0.0, now["time"] - before["time"])
    old = {item["pid"]: item for item in before["processes"]}
    runtimes = []
    for item in now["processes"]:
        groups = {
            name: every for name, every in config.wanted(item["tag"]).items() if due(every, config.period, count, first, name)
        }
        if item["runtime"] and item["cores"] and groups:
            runtimes.append(runtime(now, item, old.get(item["pid"]), before, groups, seconds))
    system = {name: every for name, every in sorted(config.system.items()) if due(every, config.period, count, first, name)}
    return {"neuron_runtime_data": runtimes, "system_data": {name: group(now, before, name, seconds) for name in system},
            "instance_info": instance(now), "neuron_hardware_info": hardware(now)}  # fmt: skip


def due(every: int, period: int, count: int, first: bool, name: str) -> bool:
    return name in ("memory_info", "memory_used") if first else count % max(1, round(every / period)) == 0


def captured(seconds: float) -> float:
    """The period as it was measured: a little more or less than wanted, almost nothing at the first record."""
    return round(max(0.000_4, seconds) + RANDOM.uniform(-3e-4, 3e-4), 9) if seconds > 0.01 else 0.00051207


def instance(now: dict[str, Any]) -> dict[str, Any]:
    who = now["instance"]
    return {"instance_name": "", "instance_id": who["id"], "instance_type": who["type"], "instance_availability_zone": who["zone"],
            "instance_availability_zone_id": who["zone_id"], "instance_region": who["region"], "ami_id": who["ami"],
            "subnet_id": who["subnet"], "error": ""}  # fmt: skip


def hardware(now: dict[str, Any]) -> dict[str, Any]:
    devices, lnc, chip, version = now["devices"], logical(now), now["chip"], numbers(now["tools"])
    there = bool(devices)
    found: dict[str, Any] = {}
    if version >= (2, 18):
        found.update(neuron_device_type=chip["type"] if there else "", neuron_device_version=chip["device"] if there else "",
                     neuroncore_version=(core_version(now) if there else ""))  # fmt: skip
    found["neuron_device_count"] = len(devices)
    if version >= (2, 18):
        found["neuron_device_memory_size"] = now["memory"] if there else 0
    found["neuroncore_per_device_count"] = now["physical"] // lnc if there else 0
    if version >= (2, 20, 204):
        found["logical_neuroncore_config"] = lnc if there else 0
    found["error"] = "" if there else "failed to get neuron devices: no neuron device found"
    return found


def core_version(now: dict[str, Any]) -> str:
    return str(now["chip"]["lnc_core"] if logical(now) > 1 else now["chip"]["core"])


def group(now: dict[str, Any], before: dict[str, Any], name: str, seconds: float) -> dict[str, Any]:
    """A group of system_data."""
    host = now["host"]
    if name == "memory_info":
        return {"period": captured(seconds), "memory_total_bytes": host["memory"], "memory_used_bytes": host["used"],
                "swap_total_bytes": 0, "swap_used_bytes": 0, "error": ""}  # fmt: skip
    if name == "neuron_hw_counters":
        hung = any(device["hung"] for device in now["devices"])
        rows = [{"neuron_device_index": device["index"], "mem_ecc_corrected": device["ecc"]["mem_ecc_corrected"],
                 "mem_ecc_uncorrected": device["ecc"]["mem_ecc_uncorrected"],
                 "sram_ecc_uncorrected": device["ecc"]["sram_ecc_uncorrected"],
                 "sram_ecc_corrected": device["ecc"]["sram_ecc_corrected"]} for device in now["devices"] if not device["hung"]]  # fmt: skip
        return {"period": captured(seconds), "neuron_devices": rows, "error": "failed to read hardware counters" if hung else ""}
    switches = max(0, host["switches"] - before["host"]["switches"])
    return {"period": captured(seconds), "average_usage": usage(host, 0.0),
            "usage_data": {str(cpu): usage(host, 2.0) for cpu in range(host["cpus"])},
            "context_switch_count": switches, "error": ""}  # fmt: skip


def usage(host: dict[str, Any], spread: float) -> dict[str, float]:
    user = min(100.0, max(0.0, host["user"] + RANDOM.uniform(-spread, spread)))
    system = min(100.0 - user, max(0.0, host["system"] + RANDOM.uniform(-spread, spread) / 3))
    idle = max(0.0, 100.0 - user - system - host["io_wait"])
    return {"user": round(user, 2), "nice": 0, "system": round(system, 2), "idle": round(idle, 2),
            "io_wait": round(host["io_wait"], 2), "irq": 0, "soft_irq": 0.02}  # fmt: skip


def runtime(now: dict[str, Any], item: dict[str, Any], old: dict[str, Any] | None, before: dict[str, Any],
            groups: dict[str, int], seconds: float) -> dict[str, Any]:  # fmt: skip
    report: dict[str, Any] = {}
    for name in sorted(groups):
        if name == "execution_stats":
            report["inference_stats" if numbers(now["tools"]) < (2, 5, 16) else name] = executions(now, item, old, seconds)
        elif name == "memory_used":
            report[name] = memory(now, item, seconds)
        elif name == "neuron_runtime_vcpu_usage":
            share = item["cpu"] / now["host"]["cpus"]
            report[name] = {"period": captured(seconds), "vcpu_usage": {"user": round(share * 0.94, 2), "system": round(share * 0.06, 2)},
                            "error": ""}  # fmt: skip
        elif name == "neuroncore_counters":
            report[name] = counters(now, item, before, seconds)
    found: dict[str, Any] = {"pid": item["pid"]}
    if numbers(now["tools"]) < (2, 5):
        found["address"] = item["tag"] if numbers(now["tools"]) < (2,) else ""
    found.update(neuron_runtime_tag=item["tag"], error="", report=report)
    return found


def executions(now: dict[str, Any], item: dict[str, Any], old: dict[str, Any] | None, seconds: float) -> dict[str, Any]:
    """Tallies of the period alone, not since the start."""
    told = old["tallies"] if old else {}
    since = {name: max(0, value - told.get(name, 0)) for name, value in item["tallies"].items()}
    errors = {name: since.get(name, 0) for name in ERRORS if name != "generic" or numbers(now["tools"]) < (2, 28)}
    ran = since.get("completed", 0) > 0
    return {"period": captured(seconds), "error_summary": errors, "execution_summary": {name: since.get(name, 0) for name in OUTCOMES},
            "latency_stats": {"total_latency": latency(item["latency"] * 1.03) if ran else None,
                              "device_latency": latency(item["latency"]) if ran else None}, "error": ""}  # fmt: skip


def latency(middle: float) -> dict[str, float]:
    shares = (("p0", 0.96), ("p1", 0.97), ("p25", 0.99), ("p50", 1.0), ("p75", 1.02), ("p99", 1.12), ("p100", 1.4))
    return {name: round(middle * share, 6) for name, share in shares}


def on_core(now: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The physical cores of a logical one, as published; [] where its device is gone."""
    lnc = now["lnc"]
    device, index = divmod(number, now["physical"] // lnc)
    found = [item for item in now["devices"] if item["index"] == device]
    return list(found[0]["cores"][index * lnc : (index + 1) * lnc]) if found else []


def memory(now: dict[str, Any], item: dict[str, Any], seconds: float) -> dict[str, Any]:
    names = {"constants": ("constants",), "model_code": ("model_code",),
             "model_shared_scratchpad": ("model_shared_scratchpad", "nonshared_scratchpad"),
             "runtime_memory": ("runtime_memory", "dma_rings", "notifications", "collectives", "driver_memory", "uncategorized"),
             "tensors": ("tensors",)}  # fmt: skip
    cores = {}
    for number in item["cores"]:
        parts = on_core(now, number)
        cores[str(number)] = {
            name: sum(core["memory"].get(key, 0) for core in parts for key in keys) for name, keys in names.items()
        }
    device = sum(sum(row.values()) for row in cores.values())
    host = {"application_memory": item["rss"] // 3, "constants": 0, "dma_buffers": 8388608, "tensors": 0}
    return {"period": captured(seconds), "neuron_runtime_used_bytes": {
        "host": sum(host.values()), "neuron_device": device, "usage_breakdown": {"host": host, "neuroncore_memory_usage": cores}},
        "loaded_models": [model(now, item, name, number) for name, number in item["models"]], "error": ""}  # fmt: skip


def model(now: dict[str, Any], item: dict[str, Any], name: str, number: int) -> dict[str, Any]:
    device, index = divmod(item["cores"][0], now["physical"] // now["lnc"])
    part = {"constants": 8192, "model_code": 20971520, "model_shared_scratchpad": 0, "runtime_memory": 21312, "tensors": 0}
    used = {"host": 20480, "neuron_device": sum(part.values()), "usage_breakdown": {
        "host": {"application_memory": 20480, "constants": 0, "dma_buffers": 0, "tensors": 0}, "neuron_device": part}}  # fmt: skip
    return {"name": name, "uuid": f"{item['pid']:016x}{number:016x}", "model_id": number, "is_running": True,
            "subgraphs": {"sg_00": {"memory_used_bytes": used, "neuroncore_index": index, "neuron_device_index": device}}}  # fmt: skip


def counters(now: dict[str, Any], item: dict[str, Any], before: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Utilisation of the cores that the process uses, over the period."""
    flops = "effective_flops" if numbers(now["runtime"]) >= (2, 30) else "flops"
    cores = {}
    for number in item["cores"]:
        shares = [share(core, past, seconds) for core, past in zip(on_core(now, number), on_core(before, number))]  # noqa: B905
        if not shares:
            continue
        mean = round(sum(shares) / len(shares), 2)
        row: dict[str, Any] = {"neuroncore_utilization": mean, flops: int(item["flops"] * mean / 100)}
        if now["lnc"] > 1 and now["chip"]["lnc_core"]:
            first = number * now["lnc"]
            row["v3d"] = {
                f"nc_v3.{first + place}": {"neuroncore_utilization": round(value, 2)} for place, value in enumerate(shares)
            }
        cores[str(number)] = row
    return {"period": captured(seconds), "neuroncores_in_use": cores, "error": ""}


def share(core: dict[str, Any], past: dict[str, Any], seconds: float) -> float:
    """Percent of the time in which the core worked, between the two moments."""
    return float(min(100.0, max(0.0, (core["busy"] - past["busy"]) / seconds * 100))) if seconds > 0 else float(core["util"])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        os._exit(130)
