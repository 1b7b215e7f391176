"""The graphs that a job needs before it can run: from the compile cache, or by a compile, which takes time, CPU and memory."""

from __future__ import annotations

import time
from typing import Protocol

from neuronwatch.drill.cache import Entry
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.machine import Machine, Process

WAITING = 60.0
"""Seconds between two lines of one that waits for another's compile."""
KILLED = ("[F137] neuronx-cc was forcibly killed - This most commonly occurs due to insufficient system memory. Using a smaller data type, "
          "dimensions, batch size, or a larger instance type may help.")  # fmt: skip


class Owner(Protocol):
    """The job: where it writes, and how its compiles are."""

    machine: Machine
    processes: list[Process]
    compile_seconds: float
    compile_memory: int
    compile_defect: str

    def write(self, text: str) -> None: ...


class Graphs:
    """`wanted`: module ids in the order of their use. `tick` gives True when all are there, False when one cannot be had (the
    job's log says why), None while it goes on."""

    def __init__(self, job: Owner, wanted: list[str]) -> None:
        self._job = job
        self._machine = job.machine
        self._wanted = list(wanted)
        self._pid = job.processes[0].pid
        self._waited = 0.0
        self._said = 0.0
        self._left = 0.0
        self._entry: Entry | None = None
        self.compiler: list[Process] = []
        """neuronx-cc and the program of it that needs the memory, while a compile is under way."""

    def tick(self, seconds: float) -> bool | None:
        while self._wanted or self.compiler:
            if self.compiler:
                done = self._compiling(seconds)
            else:
                done = self._look(self._wanted[0], seconds)
            if done is not True:
                return done
            seconds = 0.0
        return True

    def _look(self, module: str, seconds: float) -> bool | None:
        cache = self._machine.cache
        entry = cache.find(module)
        where = cache.where(module)
        if cache.unlockable:
            return self._not_found(where)
        if entry is not None and entry.state in ("done", "empty-neff"):
            self.say("INFO", f"Using a cached neff at {where}/model.neff")
            self._wanted.pop(0)
            self._waited = self._said = 0.0
            return True
        if entry is not None and entry.state == "failed":
            self.say("ERROR", f"Got a cached failed neff at {where}/model.neff. Will skip compilation, please set --retry_failed_compilation "
                     f"for recompilation: \n{entry.log.rstrip()}")  # fmt: skip
            return self._fails(entry.log.rstrip())
        if not cache.writable:
            return self._refused(where)
        if entry is not None and entry.state == "locked":
            self._wait(where, seconds)
            return None
        self._start(module)
        return None

    def _wait(self, where: str, seconds: float) -> None:
        self._waited += seconds
        self._said += seconds
        if self._said >= WAITING:
            self._said = 0.0
            self.say("INFO", f"Another process must be compiling {where}, been waiting for: {self._waited / 60:.1f} minutes")

    def _start(self, module: str) -> None:
        machine, job = self._machine, self._job
        work = f"/tmp/ubuntu/neuroncc_compile_workdir/{machine.rng.getrandbits(64):016x}"
        graph = f"{work}/model.MODULE_{module}+{machine.cache.flags}"
        argv = [f"{VENV}/bin/neuronx-cc", "compile", "--framework=XLA", f"{graph}.hlo_module.pb", "--output", f"{graph}.neff",
                f"--target={machine.kind.family}", "--model-type=transformer", "-O1", "--verbose=35"]  # fmt: skip
        self.say("INFO", f"Call compiler with cmd: neuronx-cc {' '.join(argv[1:])}")
        driver = machine.spawn([f"{VENV}/bin/python3", *argv], parent=self._pid, cpu=20.0, rss=400_000_000, output=work)
        walrus = machine.spawn([f"{VENV}/lib/python3.10/site-packages/neuronxcc/starfish/bin/walrus_driver", "--optlevel", "1", "-i", graph],
                               parent=driver.pid, cpu=480.0, threads=8, rss=600_000_000)  # fmt: skip
        self.compiler = [driver, walrus]
        self._entry = Entry(module, "locked", time=machine.now, format=machine.cache.format,
                            flags=machine.cache.flags)  # fmt: skip
        machine.cache.entries[machine.cache.key(module)] = self._entry
        self._left = job.compile_seconds

    def _compiling(self, seconds: float) -> bool | None:
        machine, job = self._machine, self._job
        assert self._entry is not None
        if any(item.pid not in machine.processes for item in self.compiler):
            status = max(item.status or 0 for item in self.compiler)
            return self._compile_ends(
                KILLED if status == 137 else "", f"died with <Signals.SIG{'KILL' if status == 137 else 'HUP'}>"
            )
        walrus = self.compiler[1]
        walrus.rss = min(job.compile_memory, walrus.rss + int(job.compile_memory * seconds / max(20.0, job.compile_seconds * 0.6)))
        self._left -= seconds
        if self._left > 0:
            return None
        if job.compile_defect:
            return self._compile_ends(job.compile_defect, "returned non-zero exit status 70.")
        for item in self.compiler:
            machine.end(item, 0)
        self.compiler = []
        self._entry.state, self._entry.time = "done", machine.now
        job.write("." * max(1, int(job.compile_seconds / 12)) + "\nCompiler status PASS")
        self.say(
            "INFO", f"Compilation Successfully Completed for model.MODULE_{self._entry.module}+{self._entry.flags}.hlo_module.pb"
        )
        self._wanted.pop(0)
        return True

    def _compile_ends(self, says: str, how: str) -> bool:
        """The compile is over without a NEFF. The wrapper keeps the failure in the cache, unless it was killed with it."""
        machine, entry = self._machine, self._entry
        assert entry is not None
        for item in self.compiler:
            machine.end(item, 1)
        self.compiler = []
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(machine.now))
        graph = f"model.MODULE_{entry.module}+{entry.flags}"
        text = (f"Failed compilation with ['neuronx-cc', 'compile', '--framework=XLA', '{graph}.hlo_module.pb', '--output', '{graph}.neff', "
                f"'--target={machine.kind.family}']: {stamp} {says}")  # fmt: skip
        if says:
            entry.state, entry.time, entry.log = "failed", machine.now, text + "\n"
            self._job.write(says)
            self.say("ERROR", text)
            self.say("ERROR", f"Compilation failed for {graph}.hlo_module.pb after 0 retries.")
            how = "returned non-zero exit status 70."
        self._job.write(f"subprocess.CalledProcessError: Command '['neuronx-cc', 'compile']' {how}")
        return self._fails(says or how)

    def _refused(self, where: str) -> bool:
        self._job.write("Traceback (most recent call last):\n"
                        f'  File "{VENV}/lib/python3.10/site-packages/libneuronxla/neuron_cc_cache.py", line 232, in hlo_acquire_lock\n'
                        f'  File "{VENV}/lib/python3.10/site-packages/filelock/_unix.py", line 42, in _acquire\n'
                        f"OSError: [Errno 30] Read-only file system: '{where}/model.hlo_module.pb.lock'")  # fmt: skip
        return False

    def _not_found(self, where: str) -> bool:
        key = "/".join(where.split("/")[-4:])
        self._job.write("Traceback (most recent call last):\n"
                        f'  File "{VENV}/lib/python3.10/site-packages/libneuronxla/neuron_cc_cache.py", line 88, in download_neff\n'
                        f"    entry = self.index[key]\nKeyError: '{key}'")  # fmt: skip
        return False

    def _fails(self, text: str) -> bool:
        self._job.write(f"RuntimeError: Bad StatusOr access: INTERNAL: RunNeuronCCImpl: error condition !(error != 400): <class 'Exception'>: "
                        f"{text.splitlines()[-1] if text else ''}")  # fmt: skip
        return False

    def say(self, level: str, text: str) -> None:
        """A line of the compile cache's wrapper."""
        now = self._machine.now
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):06d}"
        self._job.write(f"{stamp}: {self._pid} [{level}]: {text}")

    def stop(self, status: int = 143) -> None:
        """The job ends: its compile with it; the lock stays, as nobody takes it away."""
        for item in self.compiler:
            self._machine.end(item, status)
        self.compiler = []
