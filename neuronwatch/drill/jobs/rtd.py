"""The old daemon neuron-rtd (Inf1 with a driver of the 1.x line) and a client that has its model served by it.

The daemon holds the devices and logs to the journal alone; the client reaches it by a socket and holds nothing."""

from __future__ import annotations

import math

from neuronwatch.drill.jobs.base import BaseJob
from neuronwatch.drill.machine import Machine, Process

UNIT = "neuron-rtd.service"
SOCKET = "unix:/run/neuron.sock"
VERSION = "1.6.24.0"
LATENCY = 0.011


class RtdJob(BaseJob):
    """`broken`: why the service cannot start, in the words of the daemon; "" where it can."""

    def __init__(self, machine: Machine, name: str, cores: tuple[int, ...], client: bool) -> None:
        super().__init__(machine, name, cores)
        self.broken = ""
        self.client = client
        self._attempts = 0

    def launch(self) -> bool:
        machine = self.machine
        daemon = machine.spawn(
            ["/opt/aws/neuron/bin/neuron-rtd", "-i", "nrtd0", "-c", "/opt/aws/neuron/config/neuron-rtd.config"],
            uid=0, runtime=VERSION, devices=self.devices, cores=self.cores, tag=SOCKET, rss=900 * 1024 * 1024, threads=40)  # fmt: skip
        self.processes = [daemon]
        self._systemd("Started Neuron Runtime Daemon.")
        self.say("NRTD:nrtd_main", f"nrtd build using:{VERSION}")
        self.say("NRTD:nrtd_main", "Using all the BDFs in the infa_map.json!")
        if self.broken:
            return False
        for core in self.cores:
            for item in machine.physical(core):
                item.owner = daemon.pid
        for number in self.devices:
            self.say("TDRV:tdrv_init_one_mla_phase2", f"Initialized Inferentia: {machine.devices[number].address}")
        self.say("NRTD:nrtd_main", f"Server listening on {SOCKET}")
        if self.client:
            self.processes.append(machine.spawn(
                ["/usr/bin/python3", "/home/ubuntu/serve/bert.py", "--port", "8080"],
                environ={"PATH": "/usr/bin:/bin", "NEURON_RTD_ADDRESS": SOCKET, "NEURONCORE_GROUP_SIZES": "4"}, output=self.log,
                log=self.log, rss=700 * 1024 * 1024, threads=12))  # fmt: skip
            for core in self.cores:
                for item in machine.physical(core):
                    item.memory["model_code"].set(80 << 20)
                    item.memory["constants"].set(171 << 20)
        return True

    def fail_start(self) -> None:
        """The daemon gives its reason and ends; systemd tells it, and starts it anew after a while."""
        self._attempts += 1
        self.say(*self.broken.split(" ", 1) if self.broken.startswith("[") else ("NRTD:InitTongas", self.broken))
        self.say("NRTD:nrtd_main", f"Failed to initialize devices: , attempt: {self._attempts}")
        self.stop(1)
        for text in ("main process exited, code=exited, status=1/FAILURE", "failed."):
            self._systemd(f"{UNIT}: {text}")
        self._systemd("Unit neuron-rtd.service entered failed state.")

    def work(self, seconds: float) -> None:
        daemon, level = self.processes[0], 0.5 + 0.35 * math.sin(self.machine.now / 70)
        if not self.client:
            return
        done = int(seconds / LATENCY * level) + 1
        daemon.tallies["completed"] = daemon.tallies.get("completed", 0) + done
        daemon.latency, daemon.flops, daemon.cpu = LATENCY, 4_000_000_000_000, 60 * level
        for core in self.cores:
            self.busy(daemon, core, 90 * level + self.machine.rng.uniform(-2, 2), seconds)

    def bereaved(self, process: Process) -> None:
        super().bereaved(process)
        self._systemd(f"{UNIT}: main process exited, code=killed, status=9/KILL")

    def say(self, place: str, text: str) -> None:
        """A line of the daemon; it tells everything twice, under both of its names."""
        pid = self.processes[0].pid if self.processes else 1
        message = f"[{place.strip('[]')}] {text}"
        self.machine.journal.say(UNIT, "neuron-rtd", pid, f"nrtd[{pid}]: {message}")
        self.machine.journal.say(UNIT, "nrtd", pid, message)

    def _systemd(self, text: str) -> None:
        self.machine.journal.say(UNIT, "systemd", 1, text)
