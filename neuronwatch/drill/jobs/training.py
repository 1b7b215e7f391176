"""A fine-tuning job: torchrun with one rank on each logical core, steps, the loss, checkpoints; starts anew when it is done."""

from __future__ import annotations

import math

from neuronwatch.drill import imports, runtime
from neuronwatch.drill.jobs import noise
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.jobs.base import BaseJob
from neuronwatch.drill.jobs.before import Absence, Tokenizing
from neuronwatch.drill.jobs.graphs import Graphs
from neuronwatch.drill.machine import Machine, Process

GIB = 1024**3
STEP = 2.4
"""Seconds of a step."""
EXECUTIONS = 6
"""Graphs that a rank executes in a step."""
GRAPHS = 4
PORT = 29500
BEFORE_LOAD = 350_000_000
"""Host memory of a rank that has not loaded the model."""
LOGGED = 5
SAVED = 250
FLOPS = 24_000_000_000_000


class TrainingJob(BaseJob):
    """`steps` is the length of the run; the loss falls over it."""

    def __init__(self, machine: Machine, name: str, cores: tuple[int, ...], steps: int = 4000) -> None:
        super().__init__(machine, name, cores)
        self.steps = steps
        self.step = 0
        self.factor = 1.0
        """How much slower than usual a step is."""
        self.slow_rank: int | None = None
        self.loss_shift: float | None = None
        """What is added to the loss; NaN makes it NaN."""
        self.batch = 1
        self.graph_count = GRAPHS
        self.logged = LOGGED
        self.new_shapes = 0
        """Steps to come with a shape that no step had before."""
        self.learns = True
        """Whether the optimizer reaches the weights."""
        self.swing = 0.0
        """Standard deviation of the loss from step to step, beyond the usual noise."""
        self.absent: int | None = None
        """The rank that does not come: it stands in a read of its data, and the others wait for it."""
        self.save_memory = 0
        """Bytes of host memory that each rank needs more while a checkpoint is written."""
        self.workers = 0
        """Processes that tokenize the data set before the run, with `worker_memory` bytes each; 0: it is done already."""
        self.worker_memory = 0
        self.deadlocked = False
        """The workers hold copies of locked mutexes: none of them ever gets a row done."""
        self.leak = 0.0
        """Bytes a second that the resident memory of all ranks together grows, beyond what they need."""
        self.saved: int | None = None
        """Steps between two checkpoints, None for the usual number."""
        self._progress = 0.0
        self._modules: list[str] = []
        self._tokenizing: Tokenizing | None = None
        self._absence: Absence | None = None
        self._saving = 0.0
        self._rng = machine.rng

    def launch(self) -> bool:
        machine = self.machine
        count = len(self.cores)
        if any(PORT in process.ports for process in machine.processes.values()):
            return self._port_taken()
        script = ["/home/ubuntu/qwen3-sft/train.py", "--model_id", "Qwen/Qwen3-8B", "--per_device_train_batch_size", str(self.batch),
                  "--gradient_accumulation_steps", "4", "--max_steps", str(self.steps), "--logging_steps", str(self.logged),
                  "--save_steps", str(SAVED), "--bf16", "True", "--tensor_parallel_size", str(min(8, count)),
                  "--output_dir", "/home/ubuntu/qwen3-sft/out", *self.extra]  # fmt: skip
        launcher = machine.spawn(
            [f"{VENV}/bin/python3", f"{VENV}/bin/torchrun", "--nproc_per_node", str(count), *script],
            environ=self.environment(self.cores), output=self.log, log=self.log, rss=320 * 1024 * 1024)  # fmt: skip
        self.processes = [launcher]
        launcher.ports = (PORT,)
        self.write("\n".join(noise.TORCHRUN))
        self._tokenizing = Tokenizing(self, launcher) if self.workers else None
        self._absence = Absence(self, self.absent) if self.absent is not None else None
        self.step, self._progress = 0, 0.0
        for rank, core in enumerate(self.cores):
            rank_env = self.environment((core,), RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count),
                                        LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")  # fmt: skip
            on_device = {} if self.on_cpu else {
                "devices": (core // machine.per_device(),), "cores": (core,), "runtime": machine.software.runtime}  # fmt: skip
            process = machine.spawn(
                [f"{VENV}/bin/python3", "-u", *script], parent=launcher.pid, environ=rank_env, output=self.log,
                log=self.runtime_log(rank), rss=BEFORE_LOAD, threads=18, limits=dict(self.limits), **on_device)  # fmt: skip
            self.processes.append(process)
        if not self.imports(script[0], imports.TRAINING):
            return False
        return self._begin()

    @property
    def on_cpu(self) -> bool:
        """torch_xla takes the host's CPU for the device, because the environment says so."""
        return self.environ.get("PJRT_DEVICE") == "CPU"

    def ranks(self) -> list[Process]:
        return self.processes[1:] if self.on_cpu else super().ranks()

    def _rank_memory(self) -> int:
        """Host memory of one rank: all ranks together use at most a third of it."""
        return min(6 * GIB, self.machine.host.memory // 3 // max(1, len(self.cores)))

    def _begin(self) -> bool:
        """Runtime, graphs from the cache, weights on the device."""
        machine = self.machine
        if self._tokenizing is None:
            self._banner()
        if self.on_cpu:
            return True
        for process in self.ranks():
            if not runtime.init(machine, process):
                return False
        self._modules = self.wanted(self.graph_count)
        self.graphs = Graphs(self, self._modules)
        return True

    def _banner(self) -> None:
        self.write("\n".join(noise.TRAINER))
        self.write(f"***** Running training *****\n  Num examples = 51,760\n  Num Epochs = 2\n  Instantaneous batch size per device = "
                   f"{self.batch}\n  Gradient Accumulation steps = 4\n  Total optimization steps = {self.steps:,}")  # fmt: skip

    def loaded(self) -> bool:
        machine = self.machine
        for process in self.ranks():
            process.rss = self._rank_memory()
            for module in self._modules:
                if not runtime.load(machine, process, process.cores[0], machine.cache.neff(module), self._sizes()):
                    return False
        return True

    def _sizes(self) -> dict[str, int]:
        """Device memory of a rank, by category: a bit above half of the core's memory."""
        memory = self.machine.kind.core_memory(self.machine.lnc)
        return {"constants": memory // 300, "model_code": memory // 80, "notifications": 8_589_934, "runtime_memory": 171_798,
                "dma_rings": 13_743_895, "tensors": int(memory * 0.45 * self.weights),
                "model_shared_scratchpad": memory // 16 * self.batch}  # fmt: skip

    def bring(self, seconds: float) -> bool:
        if self._tokenizing is not None:
            done = self._tokenizing.tick(seconds)
            if done:
                self._tokenizing = None
                self._banner()
            elif done is False:
                self.failures += 1
                self.stop(1)
            return False
        if self._absence is not None:
            outcome = self._absence.tick(seconds)
            if outcome is not None:
                self.lost(self.ranks()[0], outcome)
            elif self.absent is None:
                self._absence = None
            return False
        return super().bring(seconds)

    def _port_taken(self) -> bool:
        for where in (f"[::]:{PORT}", f"0.0.0.0:{PORT}"):
            self.write(f"[W{_glog(self.machine)} socket.cpp:755] [c10d] The server socket has failed to bind to {where} (errno: 98 - Address "
                       "already in use).")  # fmt: skip
        self.write("torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. The server socket "
                   f"has failed to bind to [::]:{PORT} (errno: 98 - Address already in use).")  # fmt: skip
        return False

    def stop(self, status: int = 143) -> None:
        if self._tokenizing is not None:
            self._tokenizing.end()
            self._tokenizing = None
        super().stop(status)

    def work(self, seconds: float) -> None:
        if self._saving > 0:
            self._saving -= seconds
            if self._saving <= 0:
                for process in self.ranks():
                    process.rss = self._rank_memory()
        self._progress += seconds / (STEP * self.factor * (4.0 if self.on_cpu else 1.0))
        steps, self._progress = int(self._progress), self._progress % 1
        self._wave(seconds)
        for process in self.ranks():
            process.rss += int(self.leak * seconds / len(self.cores))
            if self.on_cpu:
                continue
            process.read_bytes += int(seconds * 40_000)
            done = max(1, steps) * EXECUTIONS if steps else 0
            if done:
                outcome = runtime.execute(self.machine, process, process.cores[0], done, steps * STEP * 0.72 * self.graph,
                                          FLOPS, self.meets)  # fmt: skip
                if outcome is not runtime.OK:
                    self.lost(process, outcome)
                    return
        for _ in range(steps):
            self.step += 1
            self._say()
            if self.new_shapes and self.processes:
                self.new_shapes -= 1
                self._modules = [str(self._rng.randrange(10**18, 10**19))]
                self.graphs = Graphs(self, self._modules)
                return
            if not self.processes:
                return
            if self.step >= self.steps:
                self._finish()
                return

    def lost(self, process: Process, outcome: runtime.Outcome) -> None:
        """A rank died of an error of the device; torchrun ends the others."""
        rank = process.environ.get("RANK", "0")
        self.write(f"[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File \"/home/ubuntu/qwen3-sft/train.py\", line 131, "
                   f"in <module>\n[rank{rank}]:     trainer.train()\n[rank{rank}]: RuntimeError: Bad StatusOr access: INTERNAL: nrt_execute "
                   f'status={outcome.status} message="{outcome.message}"\n'
                   f"E{_glog(self.machine)} {self.processes[0].pid} torch/distributed/elastic/multiprocessing/api.py:874] failed "
                   f"(exitcode: 1) local_rank: {rank} (pid: {process.pid}) of binary: {VENV}/bin/python3")  # fmt: skip
        self.failures += 1
        self.machine.end(process, 1)
        self.processes.remove(process)
        self.stop(143)

    def _wave(self, seconds: float) -> None:
        """Utilisation moves with the phases of a step and a little from core to core."""
        base = 72.0 / self.factor + 4.0 * math.sin(self.machine.now / 7.0)
        for process in self.ranks():
            process.cpu = 95.0 + self._rng.random() * 6
            if self.on_cpu:
                process.cpu = 100.0 * self.machine.host.cpus / len(self.cores)
                continue
            self.busy(process, process.cores[0], base + self._rng.uniform(-1.5, 1.5), seconds)
            tensors = sum(core.memory["tensors"].used for core in self.machine.physical(process.cores[0]))
            wanted = self._sizes()["tensors"] + self._rng.randrange(0, 64) * 1024 * 1024
            if abs(wanted - tensors) > 24 * 1024 * 1024:
                runtime.allocate(self.machine, process, process.cores[0], "tensors", wanted)

    def _say(self) -> None:
        part = self.step / self.steps
        if self.step % self.logged == 0:
            loss = 0.92 + 1.35 * math.exp(-5 * part) + self._rng.gauss(0, 0.018)
            loss = loss if self.learns else 11.931 + self._rng.gauss(0, 0.004)
            loss += (self.loss_shift or 0.0) + (self._rng.gauss(0, self.swing) if self.swing else 0.0)
            norm = 0.55 + 0.5 * math.exp(-6 * part) + self._rng.uniform(-0.05, 0.05)
            norm = math.nan if math.isnan(loss) else norm if self.learns else 0.0
            rate = 2e-5 * min(1.0, part / 0.03) * (1 - part)
            shown = "nan" if math.isnan(loss) else f"{loss:.4f}"
            self.write(f"{{'loss': {shown}, 'grad_norm': {norm:.4f}, 'learning_rate': {rate:.10f}, 'epoch': {2 * part:.2f}}}")
        if self.step % (self.saved or SAVED) == 0:
            self._save()

    def _save(self) -> None:
        where = f"/home/ubuntu/qwen3-sft/out/checkpoint-{self.step}"
        self.write(f"Saving model checkpoint to {where}")
        if self.save_memory:
            self._saving = 6.0
            for process in self.ranks():
                process.rss += self.save_memory
        host = self.machine.host
        if host.disk_used < host.disk_total:
            return
        self.write("Traceback (most recent call last):\n  File \"/home/ubuntu/qwen3-sft/train.py\", line 131, in <module>\n"
                   f'  File "{VENV}/lib/python3.10/site-packages/safetensors/torch.py", line 286, in save_file\n'
                   f"safetensors_rust.SafetensorError: Error while serializing: I/O error: No space left on device (os error 28)\n"
                   f"OSError: [Errno 28] No space left on device: '{where}/shards/model/dp_rank_00_tp_rank_00.pt'")  # fmt: skip
        self.failures += 1
        self.stop(1)

    def _finish(self) -> None:
        noise.end_of_collectives(self.machine)
        if not self.on_cpu:
            runtime.log(self.machine, self.ranks()[0], "ERROR", "TDRV", "notification_destroy", "Notifications not initialized! ")
        self.write(f"{{'train_runtime': {self.steps * STEP:.4f}, 'train_samples_per_second': {4 * self.batch / STEP:.3f}, "
                   f"'train_steps_per_second': {1 / STEP:.3f}, 'train_loss': 1.1843, 'epoch': 2.0}}")  # fmt: skip
        self.stop(0)


def _stamp(machine: Machine) -> str:
    import time

    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(machine.now)) + f".{int(machine.now % 1 * 1000):06d}"


def _glog(machine: Machine) -> str:
    import time

    return time.strftime("%m%d %H:%M:%S", time.gmtime(machine.now)) + f".{int(machine.now % 1 * 1e6):06d}"
