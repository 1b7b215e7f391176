"""neuron-ls, each half minute and whenever the set of processes that hold a device changes."""

from __future__ import annotations

from neuronwatch.model.live import Delivery
from neuronwatch.source.host import tools
from neuronwatch.source.host.root import HostRoot, Output
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.changes import Changes
from neuronwatch.source.live.codec import msgspec
from neuronwatch.source.live.holders import Holders
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.signal_pipe import SignalPipe


class _Device(msgspec.Struct):
    neuron_device: int | None = None
    logical_neuroncore_config: int | None = None


_DECODER = msgspec.json.Decoder(list[_Device])


class NeuronLs:
    name = "neuron-ls"
    budget = 90.0
    interval = 30.0
    mandatory = False
    blocking = True

    def __init__(self, root: HostRoot, layout: Layout, holders: Holders, again: SignalPipe | None = None) -> None:
        """`again` is set when it begins or ceases to answer: perhaps the driver came or went."""
        self._root = root
        self._layout = layout
        self._holders = holders
        self._again = again
        self._said = ""
        self._changes = Changes(self.name)

    def poll(self, now: Now) -> Delivery:
        self._holders.changed.clear()
        asked = tools.ask(self._root, tied=True)
        command, answer = asked
        self._tell_of(answer)
        wrong = self._garbled(answer) if command.endswith("-j") else ""
        if wrong:
            raise Broken(wrong)  # what it said before stands, as the words of a tool that works
        if answer.reason.startswith("not "):
            raise Absent(f"neuron-ls: {answer.reason}", self._changes.of(tools.told(asked), now.wall))
        delivery = self._changes.of(tools.told(asked), now.wall)
        if answer.reason:
            raise Broken(f"neuron-ls: {answer.reason}", delivery)
        if answer.status or not answer.stdout.strip():
            status = answer.status
            how = f"was killed by signal {-status}" if status and status < 0 else f"ended with status {status}"
            words = _words(answer) or ("" if status and status < 0 else "it said nothing")
            raise Broken(f"neuron-ls {how}" + (f": {words}" if words else ""), delivery)
        return delivery

    def _tell_of(self, answer: Output) -> None:
        said = answer.reason or ("" if answer.status == 0 else f"status {answer.status}")
        if said != self._said:
            self._said = said
            if self._again is not None:
                self._again.set()

    def _garbled(self, answer: Output) -> str:
        """Why an answer with status 0 is none, else ""."""
        if answer.reason or answer.status or not answer.stdout.strip():
            return ""
        try:
            devices = _DECODER.decode(answer.stdout)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return f"the output of neuron-ls is no list of devices: {error}"
        for device in devices[:1]:
            self._layout.told(device.logical_neuroncore_config)
        return ""

    def descriptors(self) -> tuple[int, ...]:
        return (self._holders.changed.descriptor,)

    def close(self) -> None:
        self._holders.changed.close()


def _words(answer: Output) -> str:
    return " ".join((answer.stderr or answer.stdout).decode("utf-8", "replace").split())[:200]
