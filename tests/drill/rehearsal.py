"""A simulated host driven by hand: faults in, time on, and what `diagnose` says of it. No process waits, nothing sleeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from neuronwatch.cli import evidence
from neuronwatch.drill import place
from neuronwatch.drill.host import DrillHost
from neuronwatch.judge import engine
from neuronwatch.judge.evidence import Evidence
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.state import State
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source import facts, formats, reader
from neuronwatch.source.host.root import HostRoot

LOGS = ("var/log/jobs", "var/log/neuron", "var/log/apt", "var/log/dpkg.log", "var/log/syslog")
KERNEL = ("host:dmesg", "host:/var/log/kern.log")


class Rehearsal:
    """One host below `root`, started and warm. What it said before `forget` is not told to the judge: a watcher that has seen
    the conditions of that time end has forgotten it too."""

    def __init__(self, root: Path, instance: str = "trn1.2xlarge", load: str | None = None, driver: str | None = None) -> None:
        self.root = root
        place.take(root)
        self.host = DrillHost(root, instance, workload=load, driver=driver)
        self.host.prepare()
        self.machine = self.host.machine
        self._known: dict[str, int] = {}
        self._kernel = 0
        self.go(30)

    def go(self, seconds: float, step: float = 5.0) -> None:
        """Host time passes."""
        for _ in range(int(seconds / step)):
            self.machine.clock.advance(step)
            self.host.tick()

    def forget(self) -> None:
        self._known = {str(path): path.stat().st_size for path in self._logs()}
        self._kernel = self.machine.kernel.written

    def diagnose(self, rules: RuleSet) -> Diagnosis:
        state = State()
        engine.observe(state, self._evidence(rules), rules)
        return engine.conclude(state, rules)

    def _logs(self) -> Iterator[Path]:
        for name in LOGS:
            path = self.root / name
            yield from (
                sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path] if path.exists() else []
            )

    def _evidence(self, rules: RuleSet) -> Iterator[Evidence]:
        yield Fact("host.now", self.machine.now, Origin("host:clock"))
        for item in facts.of_host(HostRoot(self.root), None, rules.patterns):
            if not self._kernel or getattr(getattr(item, "line", None), "path", "") not in KERNEL:
                yield item
        fresh = self.machine.kernel.written - self._kernel
        if self._kernel and fresh:
            text = "".join(line + "\n" for line in list(self.machine.kernel.ring)[-fresh:])
            yield from reader.read_virtual("host:dmesg", text.encode(), rules.patterns, *formats.shipped())
        for path in self._logs():
            data = path.read_bytes()[self._known.get(str(path), 0) :]
            if data:
                name = str(path.relative_to(self.root))
                yield from reader.read_virtual(name, data, rules.patterns, *formats.shipped())

    def close(self) -> None:
        self.host.close()


def causes(diagnosis: Diagnosis) -> list[str]:
    return [item.fault for item in diagnosis.findings if item.role == "cause"]


def rule_set() -> RuleSet:
    return evidence.rule_set(None)
