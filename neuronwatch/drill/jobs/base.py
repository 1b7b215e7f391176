"""What training and serving have in common: start, failure, the wait before a new start."""

from __future__ import annotations

from neuronwatch.drill import imports, runtime
from neuronwatch.drill.jobs.api import JOBS, RUNTIME_LOGS, VENV
from neuronwatch.drill.jobs.graphs import Graphs
from neuronwatch.drill.machine import Core, Machine, Process

GIB = 1024**3
RESTART = 45.0
"""Seconds between the end of a job and its next start (the scheduler's queue)."""


class BaseJob:
    """Subclasses give `launch` (make the processes, True when all initialised) and `work`."""

    def __init__(self, machine: Machine, name: str, cores: tuple[int, ...]) -> None:
        self.machine = machine
        self.name = name
        self.cores = cores
        self.processes: list[Process] = []
        self.paused = False
        self.environ: dict[str, str] = {}
        """Variables that the next start sets on top of the usual ones."""
        self.extra: list[str] = []
        """Arguments that the next start adds to the program's."""
        self.limits: dict[str, int] = {}
        """Soft limits of the processes of the next start, where they are not the usual ones."""
        self.meets: runtime.Outcome | None = None
        """What is wrong with its graphs or their input, as the runtime finds it at an execution."""
        self.weights = 1.0
        """How large the model is, against the usual one."""
        self.graph = 1.0
        """How long an execution takes, against the usual graphs."""
        self.graphs: Graphs | None = None
        """The graphs of a start that is under way."""
        self.fresh: list[str] = []
        self.compile_seconds = 90.0
        self.compile_memory = 7 * GIB
        self.compile_defect = ""
        """What the compiler says when it gives a graph up."""
        self.unchecked = False
        """Started by hand: it does not ask whether the node is fit."""
        self.stalled = False
        """The processes stand still: no step, no log line, no execution."""
        self.failures = 0
        self.devices = tuple(sorted({core // machine.per_device() for core in cores}))
        self.log = f"{JOBS}/{name}/{name}.log"
        self._wait = 0.0

    # what subclasses do

    def launch(self) -> bool:
        raise NotImplementedError

    def work(self, seconds: float) -> None:
        raise NotImplementedError

    # what all do

    def tick(self, seconds: float) -> None:
        lost = next((process for process in self.processes if process.pid not in self.machine.processes), None)
        if lost is not None:
            self.bereaved(lost)
        elif not self.processes:
            self._wait -= seconds
            if self.paused or self._wait > 0 or not self.may_start():
                return
            if not self.launch():
                self.failures += 1
                self.fail_start()
        elif self.stalled:
            self.rest()
        elif self.bring(seconds):
            self.work(seconds)

    def rest(self) -> None:
        """Nothing moves: the processes sleep, the cores execute nothing."""
        for process in self.processes:
            process.cpu = 0.2
            for logical in process.cores:
                for core in self.machine.physical(logical):
                    core.utilization = 0.0

    def bereaved(self, process: Process) -> None:
        """One of the processes was killed from outside: the others cannot go on."""
        self.failures += 1
        self.processes.remove(process)
        self.stop(1)

    def bring(self, seconds: float) -> bool:
        """Whether the graphs of this start are there and loaded; goes on with bringing them. A start that fails ends the job."""
        if self.graphs is None:
            return True
        done = self.graphs.tick(seconds)
        if done is None:
            return False
        self.graphs = None
        if not done or not self.loaded():
            self.failures += 1
            self.fail_start()
            return False
        return True

    def loaded(self) -> bool:
        """Puts the graphs and weights on the device, at the end of a start."""
        return True

    def wanted(self, count: int) -> list[str]:
        """Module ids of the graphs of this start: those that are kept, and the fresh ones, which nobody has compiled."""
        cache = self.machine.cache
        kept = [entry.module for entry in cache.entries.values() if entry.module not in self.fresh][
            : max(0, count - len(self.fresh))
        ]
        return [*kept, *self.fresh]

    def new_graphs(self, count: int) -> None:
        """The next start needs so many graphs that are not in the cache (another sequence length, say)."""
        self.fresh = [str(self.machine.rng.randrange(10**18, 10**19)) for _ in range(count)]

    def take(self, cores: tuple[int, ...]) -> None:
        """The next start runs on these cores."""
        self.cores = cores
        self.devices = tuple(sorted({core // self.machine.per_device() for core in cores}))

    def may_start(self) -> bool:
        """The scheduler places the job only on devices that are there."""
        return self.unchecked or (
            self.machine.driver_loaded and all(self.machine.devices[number].present for number in self.devices)
        )

    def imports(self, script: str, wanted: tuple[str, ...]) -> bool:
        """Whether the program's imports end well; else Python has said why."""
        text = imports.trouble(self.machine.software, self.environment(self.cores), script, wanted)
        if text:
            self.write(text)
        return not text

    def fail_start(self) -> None:
        for process in self.processes:
            if process.trouble == "init":
                self._no_runtime()
            elif process.trouble:
                self.write(f"RuntimeError: {process.trouble}")
        self.stop(1)

    def _no_runtime(self) -> None:
        self.write("RuntimeError: The PyTorch Neuron Runtime could not be initialized. Neuron Driver issues are logged\n"
                   "to your system logs. See the Neuron Runtime's troubleshooting guide for help on this\n"
                   "topic: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/")  # fmt: skip

    def stop(self, status: int = 143) -> None:
        if self.graphs is not None:
            self.graphs.stop(status)
            self.graphs = None
        for process in list(self.processes):
            self.machine.end(process, status)
        self.processes = []
        self._wait = RESTART

    def write(self, text: str) -> None:
        self.machine.logs.line(self.log, text)

    def ranks(self) -> list[Process]:
        """The processes that own cores."""
        return [process for process in self.processes if process.cores]

    def runtime_log(self, rank: int) -> str:
        return f"{RUNTIME_LOGS}/{self.name}.{rank}.log"

    def environment(self, cores: tuple[int, ...], **values: str) -> dict[str, str]:
        software = self.machine.software
        whole = len(cores) > 1 and cores[-1] - cores[0] + 1 == len(cores)
        shown = f"{cores[0]}-{cores[-1]}" if whole else ",".join(map(str, cores))
        found = {
            "PATH": f"{VENV}/bin:/opt/aws/neuron/bin:/usr/local/bin:/usr/bin:/bin", "VIRTUAL_ENV": VENV, "HOME": "/home/ubuntu",
            "NEURON_RT_VISIBLE_CORES": shown, "NEURON_RT_LOG_LEVEL": "INFO", "NEURON_COMPILE_CACHE_URL": self.machine.cache.directory,
        }  # fmt: skip
        if self.machine.lnc > 1 and software:
            found["NEURON_LOGICAL_NC_CONFIG"] = str(self.machine.lnc)
        if self.machine.kind.efa and len(self.devices) == 16:
            found["FI_EFA_FORK_SAFE"] = "1"
        return {**found, **values, **self.environ}

    def busy(self, process: Process, logical: int, utilization: float, seconds: float) -> None:
        """A core works at so many percent for so long."""
        for core in self.machine.physical(logical):
            core.utilization = min(100.0, max(0.0, utilization))
            _cycles(core, seconds)

    def failed(self, process: Process, outcome: runtime.Outcome) -> None:
        """A process met an error of the device that it cannot survive: it ends, and the job with it."""
        self.failures += 1
        self.write(f'RuntimeError: Bad StatusOr access: INTERNAL: nrt_execute status={outcome.status} message="{outcome.message}"')
        self.machine.end(process, 1)
        self.processes.remove(process)
        self.stop(143)


def _cycles(core: Core, seconds: float) -> None:
    """Time at work, and the counters of the tensor engine: at 1.4 GHz, in thousands."""
    core.busy += seconds * core.utilization / 100
    total = int(seconds * 1_400_000)
    active = int(total * core.utilization / 100)
    core.matmul += active * 4 // 5
    core.weights += active // 5
    core.idle += total - active
