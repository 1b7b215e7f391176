"""CPU and memory of the daemon on simulated hosts of 32 and 128 cores, beside node_exporter and glances at the same time.

    python bench/daemon.py [--seconds 60] [--instances trn1.32xlarge,trn2.48xlarge]

The daemon's children (neuron-monitor and other tools) are not counted, nor is the simulated host. Peers that are not
installed are left out: `apt-get install prometheus-node-exporter`, `pip install glances`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")


def cpu(pid: int) -> float:
    """Seconds of processor time of one process, its children not."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int) -> tuple[float, float]:
    """Resident memory and its peak in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    values = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    return values["VmRSS"], values["VmHWM"]


def start(argv: list[str], **more) -> subprocess.Popen:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **more}
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ)


def end(*processes: subprocess.Popen) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def scraper(port: int, stop: threading.Event) -> None:
    """Asks node_exporter once a second, as Prometheus would."""
    while not stop.wait(1.0):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read()


def peers(stop: threading.Event) -> dict[str, subprocess.Popen]:
    found = {}
    if shutil.which("prometheus-node-exporter"):
        found["node_exporter"] = start(["prometheus-node-exporter", "--web.listen-address=127.0.0.1:19100"])
        threading.Thread(target=scraper, args=(19100, stop), daemon=True).start()
    glances = shutil.which("glances", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if glances:
        found["glances"] = start(
            [glances, "-q", "-t", "1", "--export", "csv", "--export-csv-file", os.devnull, "--export-csv-overwrite"]
        )
    return found


def measure(instance: str, seconds: float, warm: float) -> list[tuple[str, float, float, float]]:
    """Per process: name, percent of a core, MB resident, MB at the peak."""
    python = [sys.executable, "-m", "neuronwatch"]
    with tempfile.TemporaryDirectory(prefix="nw", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        host = start([*python, "drill", "host", "--dir", f"{place}/h", "--instance", instance])
        stop = threading.Event()
        running: dict[str, subprocess.Popen] = {}
        try:
            while not Path(f"{place}/h/.neuronwatch-drill-host").exists():
                time.sleep(0.1)
            running["neuronwatch daemon"] = start([*python, "daemon", "--host-root", f"{place}/h"])
            running.update(peers(stop))
            time.sleep(warm)
            before, begun = {name: cpu(process.pid) for name, process in running.items()}, time.monotonic()
            time.sleep(seconds)
            took = time.monotonic() - begun
            rows = []
            for name, process in running.items():
                rows.append((name, 100 * (cpu(process.pid) - before[name]) / took, *memory(process.pid)))
            return rows
        finally:
            stop.set()
            end(*running.values())
            end(host)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm", type=float, default=20.0)
    parser.add_argument("--instances", default="trn1.32xlarge,trn2.48xlarge")
    options = parser.parse_args()
    print("| host | process | % of a core | RSS MB | peak MB |\n|---|---|---|---|---|")
    for instance in options.instances.split(","):
        for name, percent, resident, peak in measure(instance, options.seconds, options.warm):
            print(f"| {instance} | {name} | {percent:.2f} | {resident:.1f} | {peak:.1f} |", flush=True)


if __name__ == "__main__":
    main()
