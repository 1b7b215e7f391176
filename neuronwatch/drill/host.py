"""The running host: builds the machine, ticks it, shows it, and listens for faults to inject."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuronwatch.drill import boot, cache, control, faults, operate, outages, spec
from neuronwatch.drill.clock import Clock
from neuronwatch.drill.faults import Injection
from neuronwatch.drill.files import Files
from neuronwatch.drill.jobs import load
from neuronwatch.drill.logs import KernelLog, Logs
from neuronwatch.drill.machine import Machine
from neuronwatch.drill.render import everything
from neuronwatch.drill.tools import install

MARKER = ".neuronwatch-drill-host"
TICK = 1.0
"""Seconds of host time between two ticks at rate 1."""
FASTEST = 0.25
"""Seconds of our time between two ticks at a high rate: the host then moves further in each."""


class Refused(ValueError):
    """A request that makes no sense to this host, in words for people; `mend` says what would."""


@dataclass
class Running:
    """A fault under way: its generator and when it wants to go on (host time)."""

    injection: Injection
    steps: Iterator[float]
    due: float


class DrillHost:
    """One simulated host below `root`. `run` stays until SIGTERM or SIGINT; `tick` and `answer` are its parts, for tests."""

    def __init__(self, root: Path | str, instance: str, *, driver: str | None = None, tools: str | None = None, rate: float = 1.0,
                 seed: int = 0, workload: str | None = None, uptime: float = 3 * 86_400.0) -> None:  # fmt: skip
        self.root = Path(root)
        kind = spec.instance(instance)
        software = spec.software(kind, driver, tools)
        clock = Clock(rate, uptime=uptime)
        logs = Logs()
        kernel = KernelLog(clock, logs)
        self.files = Files(self.root)
        import random

        store = cache.filled(software.compiler, random.Random(f"{seed}/cache"), clock.now)
        self.machine = Machine(kind, software, clock, logs, kernel, store, seed)
        self.machine.jobs = load.jobs(self.machine, workload)
        self.faults = faults.all_faults()
        self.running: dict[str, Running] = {}
        self._parts = everything(self.machine, self.files)
        self._stop = False
        self._complaint = ""
        self.status = 0
        """Exit status: 1 when the host could not go on."""

    def prepare(self) -> None:
        """Everything that is there before the first tick, and the marker."""
        self.files.directory("/.drill")
        install(self.files, self.machine.kind.family)
        boot.boot(self.machine)
        self.machine.lines_of_tick = 0
        self.render()
        self.files.settled = True
        clock = self.machine.clock
        marker = {"pid": os.getpid(), "rate": clock.rate, "begin": clock.begin, "instance": self.machine.kind.name}
        self.files.replace(f"/{MARKER}", (json.dumps(marker) + "\n").encode(), 0o600)

    def tick(self) -> None:
        """One step of the host: time, faults, jobs, devices; then the files."""
        machine = self.machine
        seconds = machine.clock.tick()
        machine.lines_of_tick = 0
        self._faults()
        operate.asked_resets(machine, self.files)
        for job in machine.jobs:
            job.tick(seconds)
        boot.background(machine, seconds)
        self.render()

    def render(self) -> None:
        for part in self._parts:
            part.render()
        self.machine.logs.flush(self.files)

    def _faults(self) -> None:
        for name, item in list(self.running.items()):
            while item.due <= self.machine.now:
                try:
                    item.due += max(0.01, next(item.steps))
                except StopIteration:
                    del self.running[name]
                    break
                except Exception as error:  # a defect of one fault must not end the host
                    sys.stderr.write(f"neuronwatch: the fault {name} broke: {type(error).__name__}: {error}\n")
                    del self.running[name]
                    break

    # requests

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request of `drill inject` or `drill clear`. Raises Refused."""
        what = request.get("do")
        if what == "inject":
            return {"injected": self.inject(str(request.get("fault")), bool(request.get("near_miss")))}
        if what == "clear":
            fault = request.get("fault")
            return {"cleared": self.clear(None if fault is None else str(fault))}
        if what == "state":
            active = [{"fault": name, "near_miss": item.injection.near_miss, "since": item.injection.since,
                       "cleared": item.injection.cleared} for name, item in self.running.items()]  # fmt: skip
            return {"active": active, "time": self.machine.clock.wall(), "rate": self.machine.clock.rate}
        if what == "operate":
            return {"said": self.operate(str(request.get("what")))}
        raise Refused(f"no request {what!r}")

    def operate(self, command: str) -> str:
        """What an operator's program does to the host; its output. Raises Refused with what it says where it fails."""
        machine = self.machine
        if command == "rmmod neuron":
            if any(item.devices for item in machine.processes.values()):
                raise Refused("rmmod: ERROR: Module neuron is in use")
            if not machine.driver_loaded:
                raise Refused("rmmod: ERROR: Module neuron is not currently loaded")
            machine.driver_loaded = False
        elif command == "modprobe neuron":
            if not machine.software.on_disk:
                raise Refused(f"modprobe: FATAL: Module neuron not found in directory /lib/modules/{machine.software.kernel}")
            operate.load_driver(machine)
        elif command == "systemctl reboot":
            steps = operate.reboot(machine)
            self.running["operator.reboot"] = Running(Injection("operator.reboot", False, machine.clock.wall()), steps, machine.now)
        elif command.startswith(("kubectl drain ", "kubectl uncordon ")):
            operate.drain(machine, away=command.startswith("kubectl drain "))
        else:
            raise Refused(f"{command}: not on this host")
        self.tick()
        return ""

    def inject(self, fault: str, near_miss: bool = False) -> str:
        if fault in self.running:
            raise Refused(f"{fault} is injected already; `neuronwatch drill clear` ends it")
        injection = Injection(fault, near_miss, self.machine.clock.wall())
        if fault.startswith("source."):
            if near_miss:
                raise Refused(f"{fault} has no near miss")
            source, _ = outages.named(fault)
            other = next((name for name in self.running if name.startswith(f"source.{source}.")), None)
            if other is not None:
                raise Refused(f"{source} suffers from {other} already; clear that first")
            steps = outages.run(self.machine, self.files, outages.named(fault), injection)
        else:
            known = self.faults.get(fault)
            if known is None:
                raise Refused(unknown(fault, [*self.faults, *outages.names()]))
            steps = known.run(self.machine, injection)
        due = self.machine.now
        try:
            due += max(0.01, next(steps))
        except StopIteration:
            return fault
        except ValueError as error:  # the host has not what the fault is played on
            raise Refused(f"{fault}: {error}") from None
        self.running[fault] = Running(injection, steps, due)
        return fault

    def clear(self, fault: str | None) -> list[str]:
        if fault is not None and fault not in self.running:
            if fault not in self.faults and fault not in outages.names():
                raise Refused(unknown(fault, [*self.faults, *outages.names()]))
            raise Refused(f"{fault} is not injected")
        names = list(self.running) if fault is None else [fault]
        for name in names:
            item = self.running[name]
            item.injection.cleared = True
            item.due = min(item.due, self.machine.now)
        self._faults()
        return names

    # life

    def run(self) -> None:
        """Ticks until a signal; the marker is gone before the last process is."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end)
        server = control.Server(self.root)
        pause = max(FASTEST, TICK / self.machine.clock.rate)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(server.socket, selectors.EVENT_READ)
                due = time.monotonic()
                while not self._stop:
                    if time.monotonic() >= due:
                        self._safe_tick()
                        due = max(due + pause, time.monotonic())
                    if selector.select(max(0.0, due - time.monotonic())):
                        server.serve(self._answer)
                        due = time.monotonic() if self._hurry() else due
        finally:
            server.close()
            self.close()

    def _safe_tick(self) -> None:
        """A tick that cannot write everything (a full disk) says so once, and the next one tries again. Without its directory
        the host ends."""
        try:
            self.tick()
            self._complaint = ""
        except OSError as error:
            text = f"{error.filename or self.root}: {(error.strerror or str(error)).lower()}"
            if not (self.root / ".drill").is_dir():
                self._stop, self.status = True, 1
                text = f"{self.root}: the directory of the host is gone"
            if text != self._complaint:
                sys.stderr.write(f"neuronwatch: {text}\n")
            self._complaint = text

    def _hurry(self) -> bool:
        """Whether a request has changed something that should be seen at once."""
        return any(item.due <= self.machine.clock.wall() for item in self.running.values())

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.answer(request)
        except ValueError as error:
            return {"error": str(error)}

    def _end(self, number: int, frame: object) -> None:
        self._stop = True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self.root / MARKER)
        self.files.close()


def unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"no fault {name!r}" + (f", did you mean `{near[0]}`?" if near else "; `neuronwatch drill faults` lists them")
