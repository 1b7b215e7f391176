"""The Neuron tools: `neuron-ls -j` (its table is for people), and which tools there are. Only on a machine with devices."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot, VirtualFile, numbered

TIMEOUT = 15.0
"""neuron-ls answers within a second; a driver that hangs does not answer at all."""


def collect(root: HostRoot) -> Iterator[HostItem]:
    has_devices = bool(numbered(root.names("/dev"), "neuron"))
    if not has_devices and root.program("neuron-ls") is None:
        return
    answer = root.run(("neuron-ls", "-j"), timeout=TIMEOUT)
    if answer.status == 0 and answer.stdout.strip():
        yield VirtualFile("host:neuron-ls -j", answer.stdout)
        return
    if answer.reason:
        state = "missing" if answer.reason.startswith("not ") else "failed"
        yield SourceReport("host:neuron-ls -j", "neuron-ls", state, answer.reason)
        if answer.reason == "not installed":
            where = "no neuron-ls in /opt/aws/neuron/bin nor in the system's directories"
            yield Fact("host.commands_missing", ("neuron-ls",), Origin("host:/opt/aws/neuron/bin", None, where))
        if state == "failed":
            yield Fact("source.unavailable", (f"neuron-ls: {answer.reason}",), Origin("host:neuron-ls -j"))
        return
    said = (answer.stderr + b"\n" + answer.stdout).strip()
    if said:
        # No device, or a driver that does not answer: the tool's own words are evidence.
        yield VirtualFile("host:neuron-ls -j", said + b"\n")
    else:
        yield SourceReport("host:neuron-ls -j", "neuron-ls", "failed", f"exit status {answer.status}, no output")
