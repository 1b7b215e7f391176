"""What the live sources cost: a sweep of 7,680 counters against `open` + `read`, decoding of neuron-monitor's records against json
and orjson, and the processor time of each source on simulated hosts. Ratios are of one run; best of `--repeat`.

    python bench/sources.py [--repeat 7] [--dir DIR]

Writes Markdown tables to stdout (docs/daemon-figures.md, section Sources).
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from neuronwatch.drill import place
from neuronwatch.drill.host import DrillHost
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live import registry
from neuronwatch.source.live.api import Now, Outage
from neuronwatch.source.live.kept import Kept
from neuronwatch.source.live.monitor_record import decode

COUNTERS = 7680


def best(work: Callable[[], object], repeat: int) -> float:
    """Milliseconds of processor time."""
    found = []
    for _ in range(repeat):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found) * 1000


def opened(places: list[str]) -> None:
    for place_of in places:
        with open(place_of, "rb") as file:
            file.read()


def opened_by_descriptor(places: list[str]) -> None:
    for place_of in places:
        descriptor = os.open(place_of, os.O_RDONLY)
        os.read(descriptor, 64)
        os.close(descriptor)


def counters(directory: Path, repeat: int) -> None:
    print(f"\n| {COUNTERS:,} counters | ms | against open + read |\n|---|---|---|")
    files = []
    for number in range(COUNTERS):
        path = directory / f"d{number // 480}/c{number % 480}/total"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number * 977}\n")
        files.append(str(path))
    for name, places in (("files on a file system", files), ("sysfs of this machine", real_counters())):
        if not places:
            continue
        kept = Kept(places)
        kept.sweep()
        plain = best(lambda places=places: opened(places), repeat)
        rows = (
            ("open + read (Python's open)", plain),
            ("os.open + os.read", best(lambda places=places: opened_by_descriptor(places), repeat)),
            ("kept descriptors (Kept.sweep)", best(kept.sweep, repeat)),
        )
        for what, took in rows:
            print(f"| {name}: {what} | {took:.1f} | {plain / took:.1f} x |")
        kept.close()


def real_counters() -> list[str]:
    """Counters of the network interfaces, as often as it takes: kernfs files as the driver's are."""
    found = [str(path) for path in Path("/sys/class/net").glob("*/statistics/*")]
    return list(itertools.islice(itertools.cycle(found), COUNTERS)) if found else []


def document(size: int = 131_000) -> bytes:
    """A record of 32 runtimes with their models, as long as that."""
    core = {"neuroncore_utilization": 71.93, "flops": 61_200_000_000_000}
    memory = {
        "constants": 536870912,
        "model_code": 188743680,
        "model_shared_scratchpad": 1073741824,
        "runtime_memory": 2048,
        "tensors": 8589934592,
    }
    used = {
        "host": 20480,
        "neuron_device": 21001024,
        "usage_breakdown": {"host": {"application_memory": 20480}, "neuron_device": memory},
    }
    latency = {f"p{number}": 0.0121 for number in (0, 1, 25, 50, 75, 99, 100)}

    def model(index: int) -> dict[str, Any]:
        return {"name": f"/var/tmp/neuron-compile-cache/MODULE_{index}/model.neff", "uuid": "0" * 32, "model_id": 10_000 + index,
                "is_running": True, "subgraphs": {"sg_00": {"memory_used_bytes": used}}}  # fmt: skip

    def runtime(number: int, models: int) -> dict[str, Any]:
        breakdown = {"host": {"application_memory": 2139095040}, "neuroncore_memory_usage": {str(number): memory}}
        return {"pid": 52_100 + number, "neuron_runtime_tag": str(number), "error": "", "report": {
            "execution_stats": {"period": 1.0, "error_summary": dict.fromkeys(("generic", "numerical", "hardware"), 0),
                                "execution_summary": {"completed": 410, "timed_out": 0, "failed_to_queue": 0},
                                "latency_stats": {"total_latency": latency, "device_latency": latency}, "error": ""},
            "memory_used": {"period": 1.0, "error": "", "loaded_models": [model(index) for index in range(models)],
                            "neuron_runtime_used_bytes": {"host": 2147483648, "neuron_device": 10389293056,
                                                          "usage_breakdown": breakdown}},
            "neuron_runtime_vcpu_usage": {"period": 1.0, "vcpu_usage": {"user": 3.2, "system": 0.4}, "error": ""},
            "neuroncore_counters": {"period": 1.0, "neuroncores_in_use": {str(number): core}, "error": ""}}}  # fmt: skip

    memory_info = {"period": 1.0, "memory_total_bytes": 549755813888, "memory_used_bytes": 73014444032, "error": ""}
    rest = {"system_data": {"memory_info": memory_info},
            "neuron_hardware_info": {"neuron_device_count": 16, "neuroncore_per_device_count": 2, "error": ""}}  # fmt: skip
    text = b""
    for models in range(1, 60):
        text = json.dumps({"neuron_runtime_data": [runtime(number, models) for number in range(32)], **rest}).encode()
        if len(text) >= size:
            break
    return text


def decoding(repeat: int) -> None:
    text = document()
    print(f"\n| a record of {len(text) / 1000:.0f} KB | ms | against json |\n|---|---|---|")
    ways: list[tuple[str, Callable[[], object]]] = [
        ("json", lambda: json.loads(text)),
        ("msgspec, typed (ours)", lambda: decode(text)),
    ]
    with contextlib.suppress(ImportError):
        import orjson

        ways.insert(1, ("orjson", lambda: orjson.loads(text)))
    took = {name: best(lambda work=work: [work() for _ in range(20)], repeat) / 20 for name, work in ways}
    for name, value in took.items():
        print(f"| {name} | {value:.3f} | {took['json'] / value:.1f} x |")


@contextlib.contextmanager
def simulated(directory: Path, instance: str) -> Iterator[DrillHost]:
    root = directory / instance
    place.take(root)
    host = DrillHost(root, instance)
    host.prepare()
    try:
        for _ in range(10):
            host.machine.clock.advance(2.0)
            host.tick()
        yield host
    finally:
        host.close()


def sources(directory: Path, instance: str, seconds: int) -> None:
    """Processor time of every source over so many seconds of the host, its first poll apart."""
    print(f"\n| {instance}: source | each | first poll, ms | later polls, ms | share of a core |\n|---|---|---|---|---|")
    total = 0.0
    with simulated(directory, instance) as host:
        found = registry.host_sources(HostRoot(host.root))
        spent: dict[str, list[float]] = {source.name: [] for source in found}
        begun = time.time()
        for second in range(seconds):
            host.machine.clock.advance(1.0)
            host.tick()
            for source in found:
                if second % max(1, int(source.interval)) == 0 and source.name != "neuron-top":
                    before = time.process_time()
                    with contextlib.suppress(Outage):
                        source.poll(Now(begun + second, 1000.0 + second))
                    spent[source.name].append((time.process_time() - before) * 1000)
            if second < 10:
                time.sleep(0.2)  # neuron-monitor starts
        for source in found:
            source.close()
            first, later = spent[source.name][:1], spent[source.name][2:]
            if later:
                mean = sum(later) / len(later)
                share = mean / source.interval / 10
                total += share
                print(f"| {source.name} | {source.interval:g} s | {first[0]:.1f} | {mean:.2f} | {share:.2f} % |")
    print(f"| together | | | | {total:.2f} % |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=185, help="of a simulated host")
    parser.add_argument("--dir", type=Path, help="where files are made (default: the system's directory for such)")
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs, processor time, best of {options.repeat}.")
    with tempfile.TemporaryDirectory(dir=options.dir) as directory:
        counters(Path(directory) / "counters", options.repeat)
        decoding(options.repeat)
        for instance in ("trn1.32xlarge", "trn2.48xlarge"):
            sources(Path(directory), instance, options.seconds)


if __name__ == "__main__":
    main()
