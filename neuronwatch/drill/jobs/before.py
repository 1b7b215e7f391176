"""What may come before the first step of a training: the tokenizing of its data, and the wait for a rank that does not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuronwatch.drill import runtime
from neuronwatch.drill.clock import nrt_stamp
from neuronwatch.drill.jobs import noise
from neuronwatch.drill.machine import Process

if TYPE_CHECKING:
    from neuronwatch.drill.jobs.training import TrainingJob

EXAMPLES = 51_760
MAPPING = 60.0
"""Seconds that the workers need for the data set, with few or many: the tokenizer is not what is scarce."""
WAIT = 120.0
"""Seconds between two lines of a rank that waits for a peer."""
PATIENCE = 600.0
"""Seconds after which a collective is given up."""


class Tokenizing:
    """`tick` gives True when the data set is ready, False when a worker was lost, None while it goes on."""

    def __init__(self, job: TrainingJob, launcher: Process) -> None:
        self._job = job
        self._machine = job.machine
        self._done = 0.0
        count = job.workers
        share = min(100.0, self._machine.host.cpus * 100.0 / count)
        self._workers = [
            self._machine.spawn([*launcher.argv[:1], "-u", launcher.argv[4], "--num_proc", str(count)], parent=launcher.pid, cpu=share,
                                rss=250_000_000) for _ in range(count)]  # fmt: skip
        if job.deadlocked:
            job.write(noise.FORKED)
            self._say()

    def tick(self, seconds: float) -> bool | None:
        job, machine = self._job, self._machine
        if any(process.pid not in machine.processes for process in self._workers):
            self._say()
            job.write('Traceback (most recent call last):\n  File "/opt/aws_neuronx_venv_pytorch_2_8/lib/python3.10/site-packages/datasets/utils/'
                      'py_utils.py", line 713, in iflatmap_unordered\n    raise RuntimeError(\nRuntimeError: One of the subprocesses has abruptly '
                      "died during map operation.To debug the error, disable multiprocessing.")  # fmt: skip
            self.end()
            return False
        if job.deadlocked:
            for process in self._workers:
                process.cpu = 0.0
            return None
        self._done += seconds
        for process in self._workers:
            process.rss = min(job.worker_memory, process.rss + int(job.worker_memory * seconds / 20))
        if self._done < MAPPING:
            return None
        self._say()
        self.end()
        return True

    def _say(self) -> None:
        done = min(1.0, self._done / MAPPING)
        if not done:
            self._job.write(f"Map (num_proc={len(self._workers)}):   0%|          | 0/{EXAMPLES} [00:00<?, ? examples/s]")
            return
        self._job.write(f"Map (num_proc={len(self._workers)}): {done:>4.0%}|{'#' * int(done * 10):<10}| {int(EXAMPLES * done)}/{EXAMPLES} "
                        f"[00:{int(self._done):02d}<00:{int(MAPPING - self._done):02d}, {EXAMPLES / MAPPING:.2f} examples/s]")  # fmt: skip

    def end(self) -> None:
        for process in self._workers:
            self._machine.end(process, 0)


class Absence:
    """The ranks but one have initialised and wait for it. `tick` gives the outcome when they give up."""

    def __init__(self, job: TrainingJob, rank: int) -> None:
        self._job = job
        self._rank = rank
        self._waited = 0.0
        self._said = 0

    def tick(self, seconds: float) -> runtime.Outcome | None:
        job, machine = self._job, self._job.machine
        job.rest()
        ranks = job.ranks()
        ranks[min(self._rank, len(ranks) - 1)].state = "D"
        self._waited += seconds
        if self._waited >= (self._said + 1) * WAIT:
            self._said += 1
            for number, process in enumerate(ranks):
                if number != self._rank:
                    machine.logs.line(process.log, f"{nrt_stamp(runtime.moment(machine))} {process.pid}:{process.pid + 61} [{number}] "
                                      f"nccl_net_ofi_rdma.c:890 CCOM WARN Timeout waiting for RX (waited {int(self._said * WAIT)} sec) - "
                                      "retrying")  # fmt: skip
        if self._waited < PATIENCE:
            return None
        return runtime.fail(machine, ranks[0], ranks[0].cores[0], runtime.COLLECTIVES)
