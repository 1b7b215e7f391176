"""Tools of a host as small programs: what they do is in a file beside them that a test may change while they run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOLS = "opt/aws/neuron/bin"


def tool(host: Path, name: str, body: str) -> Path:
    """An executable Python program; `HERE` in it is its own path."""
    path = host / TOOLS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable} -IS\nHERE = {str(path)!r}\n{body}")
    path.chmod(0o755)
    return path


MONITOR = """
import json, os, sys, time
open(HERE + ".args", "w").write(json.dumps(sys.argv[1:]))
if len(sys.argv) > 2 and sys.argv[1] == "-c":
    open(HERE + ".config", "w").write(open(sys.argv[2]).read())
open(HERE + ".pid", "w").write(str(os.getpid()))
seen = 0
while True:
    try:
        steps = open(HERE + ".steps", "rb").read().split(b"\\n\\0\\n")
    except OSError:
        steps = []
    for step in steps[seen:]:
        if step == b"exit":
            sys.stderr.write("level=error msg=it ends\\n")
            sys.exit(3)
        if step == b"die":
            os.kill(os.getpid(), 9)
        os.write(1, step) if len(step) < 60000 else sys.stdout.buffer.write(step) and sys.stdout.flush()
        seen += 1
    time.sleep(0.01)
"""
"""neuron-monitor that prints what `say` adds; after a restart it begins with the first step again."""


class Monitor:
    def __init__(self, host: Path) -> None:
        self.path = tool(host, "neuron-monitor", MONITOR)
        self.steps: list[bytes] = []

    def say(self, *steps: bytes | dict[str, Any]) -> None:
        self.steps += [json.dumps(step).encode() + b"\n" if isinstance(step, dict) else step for step in steps]
        new = self.path.with_suffix(".new")
        new.write_bytes(b"\n\0\n".join(self.steps))
        new.rename(f"{self.path}.steps")

    def forget(self) -> None:
        """What a restarted child says: nothing yet."""
        self.steps = []
        Path(f"{self.path}.steps").unlink(missing_ok=True)

    def told(self, what: str) -> str:
        path = Path(f"{self.path}.{what}")
        return path.read_text() if path.exists() else ""


HARDWARE = {
    "neuron_device_type": "trainium", "neuron_device_count": 2, "neuroncore_per_device_count": 2, "logical_neuroncore_config": 1,
    "error": "",
}  # fmt: skip


def runtime(pid: int, cores: dict[str, float], completed: int = 10, **failed: int) -> dict[str, Any]:
    return {
        "pid": pid, "neuron_runtime_tag": str(pid), "error": "",
        "report": {
            "neuroncore_counters": {"period": 1.0, "error": "", "neuroncores_in_use": {
                core: {"neuroncore_utilization": busy, "flops": 1000} for core, busy in cores.items()}},
            "execution_stats": {"period": 1.0, "error": "", "error_summary": {"hardware": 0, "numerical": 0},
                "execution_summary": {"completed": completed, "timed_out": 0, **failed},
                "latency_stats": {"total_latency": {"p50": 0.01, "p99": 0.02}, "device_latency": None}},
            "memory_used": {"period": 1.0, "error": "", "neuron_runtime_used_bytes": {"host": 5, "neuron_device": 100,
                "usage_breakdown": {"host": {}, "neuroncore_memory_usage": {core: {"tensors": 50, "constants": 7} for core in cores}}}},
            "neuron_runtime_vcpu_usage": {"period": 1.0, "error": "", "vcpu_usage": {"user": 2.5, "system": 0.5}},
        },
    }  # fmt: skip


def record(*runtimes: dict[str, Any], ecc: int = 0, **more: Any) -> dict[str, Any]:
    counters = [{"neuron_device_index": 0, "mem_ecc_corrected": 0, "mem_ecc_uncorrected": ecc, "sram_ecc_uncorrected": 0}]
    return {
        "neuron_runtime_data": list(runtimes),
        "system_data": {"memory_info": {"period": 1.0, "memory_total_bytes": 100, "memory_used_bytes": 10, "error": ""},
                        "neuron_hw_counters": {"period": 1.0, "neuron_devices": counters, "error": ""}},
        "neuron_hardware_info": HARDWARE, **more,
    }  # fmt: skip
