"""A small server with a number of workers (gunicorn): each loads its own copy of the model on the cores that it asks for."""

from __future__ import annotations

import time

from neuronwatch.drill import runtime
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.jobs.base import BaseJob
from neuronwatch.drill.machine import Machine, Process

LATENCY = 0.02
FLOPS = 6_000_000_000_000
AGAIN = 15.0
"""Seconds after which the master starts a worker anew that ended."""
REPORT = 10.0


class WorkersJob(BaseJob):
    """`shares`: the cores that each worker asks for. The master starts a worker that cannot start again and again."""

    def __init__(self, machine: Machine, name: str, shares: list[tuple[int, ...]], level: float = 0.6) -> None:
        super().__init__(machine, name, tuple(sorted({core for share in shares for core in share})))
        self._shares = shares
        self._level = level
        self._workers: dict[int, Process] = {}
        self._due = 0.0
        self._since = 0.0

    def launch(self) -> bool:
        count = len(self._shares)
        argv = [f"{VENV}/bin/python3", f"{VENV}/bin/gunicorn", "app:app", "--workers", str(count), "--worker-class",
                "uvicorn.workers.UvicornWorker", "--bind", "0.0.0.0:8000", "--timeout", "600"]  # fmt: skip
        environ = self.environment(self.cores)
        environ.pop("NEURON_RT_VISIBLE_CORES")
        master = self.machine.spawn(argv, environ=environ, output=self.log, log=self.log, rss=40_000_000, ports=(8000,))
        self.processes = [master]
        self._workers = {}
        self._say(master, "INFO", "Starting gunicorn 22.0.0")
        self._say(master, "INFO", f"Listening at: http://0.0.0.0:8000 ({master.pid})")
        self._due = 0.0
        self._fill()
        return True

    def _fill(self) -> None:
        """Starts the workers that are not there."""
        master = self.processes[0]
        for number, share in enumerate(self._shares):
            if number in self._workers:
                continue
            shown = f"{share[0]}-{share[-1]}" if len(share) > 1 else str(share[0])
            worker = self.machine.spawn(
                list(master.argv), parent=master.pid, environ={**master.environ, "NEURON_RT_VISIBLE_CORES": shown}, cores=share,
                devices=tuple(sorted({core // self.machine.per_device() for core in share})), runtime=self.machine.software.runtime,
                output=self.log, log=self.runtime_log(number), rss=900_000_000, threads=20)  # fmt: skip
            self._say(worker, "INFO", f"Booting worker with pid: {worker.pid}")
            if self._ready(worker, share):
                self._workers[number] = worker
                self.processes.append(worker)
                self._say(worker, "INFO", "Application startup complete.")
                continue
            self._say(worker, "ERROR", "Exception in worker process")
            self.write(
                "RuntimeError: The PyTorch Neuron Runtime could not be initialized. Neuron Driver issues are logged\nto your system logs."
            )
            self._say(worker, "INFO", f"Worker exiting (pid: {worker.pid})")
            self.machine.end(worker, 3)
            self._say(master, "ERROR", f"Worker (pid:{worker.pid}) exited with code 3")

    def _ready(self, worker: Process, share: tuple[int, ...]) -> bool:
        if not runtime.init(self.machine, worker):
            return False
        memory = self.machine.kind.core_memory(self.machine.lnc)
        sizes = {"constants": memory // 8, "model_code": memory // 80, "tensors": memory // 8}
        neff = self.machine.cache.neff(self.machine.cache.good()[-1].module)
        return all(runtime.load(self.machine, worker, core, neff, sizes) for core in share)

    def work(self, seconds: float) -> None:
        self._due += seconds
        if self._due >= AGAIN:
            self._due = 0.0
            self._fill()
        done = 0
        for worker in self._workers.values():
            level = min(1.0, self._level + self.machine.rng.uniform(-0.03, 0.03))
            worker.cpu = 60.0 * level
            for core in worker.cores:
                count = int(seconds / LATENCY * level) + 1
                done += count
                self.busy(worker, core, 97.0 * level, seconds)
                outcome = runtime.execute(self.machine, worker, core, count, count * LATENCY, FLOPS, self.meets)
                if outcome is not runtime.OK:
                    self.failed(worker, outcome)
                    return
        self._since += seconds
        if self._since >= REPORT:
            self.write(f"INFO:app:throughput: {done / seconds:.1f} requests/s, p50 {LATENCY * 1000:.1f} ms")
            self._since = 0.0

    def _say(self, process: Process, level: str, text: str) -> None:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S +0000", time.gmtime(self.machine.now))
        self.write(f"[{stamp}] [{process.pid}] [{level}] {text}")
