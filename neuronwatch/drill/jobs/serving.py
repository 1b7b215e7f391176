"""An OpenAI-compatible server (vLLM) on all cores of its devices: requests come and go in waves."""

from __future__ import annotations

import math
import time

from neuronwatch.drill import imports, runtime
from neuronwatch.drill.jobs import noise
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.jobs.base import BaseJob
from neuronwatch.drill.machine import Machine

GIB = 1024**3
REPORT = 10.0
"""Seconds between two lines of statistics."""
LATENCY = 0.0248
FLOPS = 11_000_000_000_000
SLOTS = 16


class ServingJob(BaseJob):
    """`demand` scales how much is asked of the server: 1 is a usual day."""

    def __init__(self, machine: Machine, name: str, cores: tuple[int, ...]) -> None:
        super().__init__(machine, name, cores)
        self.demand = 1.0
        self.slots = SLOTS
        """Requests that the server works on at the same time."""
        self.waiting = 0
        self.stuck = False
        """Whether the engine makes no token, while the HTTP front lives."""
        self.thrashes = False
        """Whether requests push each other out of the KV cache when all slots are taken."""
        self._since = 0.0
        self._rng = machine.rng

    def launch(self) -> bool:
        machine = self.machine
        argv = [f"{VENV}/bin/python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "Qwen/Qwen3-8B", "--device", "neuron",
                "--tensor-parallel-size", str(len(self.cores)), "--max-num-seqs", str(self.slots), "--max-model-len", "4096",
                "--port", "8000", *self.extra]  # fmt: skip
        process = machine.spawn(
            argv, environ=self.environment(self.cores, NEURON_PROCESS_TAG=self.name), devices=self.devices, cores=self.cores,
            runtime=machine.software.runtime, tag=self.name, output=self.log, log=self.runtime_log(0),
            rss=min(24 * GIB, machine.host.memory // 4), threads=64)  # fmt: skip
        self.processes = [process]
        given = {
            "model": "Qwen/Qwen3-8B",
            "max_model_len": 4096,
            "tensor_parallel_size": len(self.cores),
            "max_num_seqs": self.slots,
        }
        self.write(f"INFO {self._stamp()} [api_server.py:1839] vLLM API server version {machine.software.python.get('vllm', '0.11.0')}\n"
                   f"INFO {self._stamp()} [utils.py:233] non-default args: {given}")  # fmt: skip
        if not self.imports(f"{VENV}/lib/python3.10/site-packages/vllm/entrypoints/openai/api_server.py", imports.SERVING):
            return False
        if not runtime.init(machine, process):
            return False
        graphs = machine.cache.good()[-3:]
        for core in self.cores:
            for entry in graphs:
                if not runtime.load(machine, process, core, machine.cache.neff(entry.module), self._sizes()):
                    return False
        self.write("\n".join(line.replace("{}", self._stamp()) for line in noise.SERVER))
        self.write(f"INFO {self._stamp()} [api_server.py:1971] Starting vLLM API server 0 on http://0.0.0.0:8000\n"
                   "INFO:     Application startup complete.")  # fmt: skip
        return True

    def _sizes(self) -> dict[str, int]:
        memory = self.machine.kind.core_memory(self.machine.lnc)
        return {"constants": int(memory // 4 * self.weights), "model_code": memory // 80, "model_shared_scratchpad": memory // 16,
                "notifications": 8_589_934, "runtime_memory": 171_798, "dma_rings": 13_743_895, "tensors": int(memory // 5 * self.weights)}  # fmt: skip

    def work(self, seconds: float) -> None:
        process = self.processes[0]
        wave = 0.55 + 0.3 * math.sin(self.machine.now / 90.0) + self._rng.uniform(-0.04, 0.04)
        level = min(1.0, max(0.02, wave * self.demand))
        process.cpu = 140.0 * level
        process.read_bytes += int(seconds * 2000)
        done = int(seconds / LATENCY * level) + 1
        if self.stuck:
            self.rest()
        for core in () if self.stuck else self.cores:
            self.busy(process, core, 92.0 * level + self._rng.uniform(-2, 2), seconds)
            outcome = runtime.execute(self.machine, process, core, done, done * LATENCY * self.graph, FLOPS,
                                      self.meets)  # fmt: skip
            if outcome is not runtime.OK:
                self.write(f"ERROR {self._stamp()} [core.py:710] EngineCore encountered a fatal error.")
                self.failed(process, outcome)
                return
        self._since += seconds
        asked = round(SLOTS * 0.75 * level)
        running = min(self.slots, asked)
        self.waiting = max(0, min(40, self.waiting + (1 if asked > self.slots else -3))) if self._since >= REPORT else self.waiting
        rate = 0.0 if self.stuck else 40.0 * running
        if self.thrashes and running == self.slots and self.waiting:
            rate = 2.1
        while self._since >= REPORT:
            self._since -= REPORT
            if not self.stuck:
                self.write(noise.request(self._rng))
            self.write(
                f"INFO {self._stamp()} [loggers.py:123] Engine 000: Avg prompt throughput: {410 * level:.1f} tokens/s, Avg generation "
                f"throughput: {rate:.1f} tokens/s, Running: {running} reqs, Waiting: {self.waiting} reqs, GPU KV cache usage: "
                f"{min(100.0, 64.0 / self.slots * running):.1f}%, Prefix cache hit rate: 41.7%"
            )
            asks = "GET /health" if self.stuck or not running else "POST /v1/chat/completions"
            client = f"10.0.3.{self._rng.randrange(2, 250)}:{self._rng.randrange(32768, 60999)}"
            self.write(f'INFO:     {client} - "{asks} HTTP/1.1" 200 OK')

    def _stamp(self) -> str:
        return time.strftime("%m-%d %H:%M:%S", time.gmtime(self.machine.now))
