"""PCI devices: `lspci`, `lspci -nn`, `lspci -n` and `lspci -vmm`; Neuron devices and EFA interfaces are counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import Block, blocks, fact, to_int
from neuronwatch.parse.api import Line, LineFormat

_DEVICE = lazy(r"^\s{0,4}(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] (\S.{0,300})$", re.I)
_NEURON_ID = lazy(r"1d0f:(?:7064|7164|7264|7364|7564|7565)", re.I)
# An older PCI database has no name for the device: lspci prints "Device" and the number.
_NEURON_NAME = lazy(
    r"(?:Amazon\.com|Annapurna).{0,80}(?:Neuron|\bDevice (?:7064|7164|7264|7364|7564|7565)\b)|\bNeuronDevice\b|"
    r"Inferentia|Trainium",
    re.I,
)
_EFA_ID = lazy(r"1d0f:efa[0-9a-f]", re.I)
_EFA_NAME = lazy(r"Elastic Fabric Adapter|\(EFA\)|(?:Amazon\.com|Annapurna).{0,80}\bDevice efa[0-9a-f]\b", re.I)


_COUNTED = lazy(r"\|\s?(?:wc -l\b|e?grep -[a-zA-Z]{0,3}c)")


def counted(block: Block) -> int | None:
    """The number that `... | wc -l` or `... | grep -c ...` printed; None where the command lists instead of counting."""
    if not _COUNTED.search(block.command):
        return None
    return next((number for line in block.output[:2] if (number := to_int(line.body)) is not None), None)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    first: Line | None = None
    neuron = efa = 0
    for line in lines:
        device = _DEVICE.match(line.body)
        if not device:
            continue
        first = first or line
        if _NEURON_ID.search(device.group(1)) or _NEURON_NAME.search(device.group(1)):
            neuron += 1
        elif _EFA_ID.search(device.group(1)) or _EFA_NAME.search(device.group(1)):
            efa += 1
    whole = True
    for block in blocks(lines):
        if re.match(r"^(?:sudo )?lspci\b", block.command):
            whole = "grep" not in block.command or "grep -i amazon" in block.command.lower()
            number = counted(block)
            if number is not None:
                if _NEURON_ID.search(block.command) or re.search(r"grep.{0,20}neuron", block.command, re.I):
                    yield fact(block.line, "neuron.pci_devices", number)
                elif _EFA_ID.search(block.command) or re.search(r"grep.{0,20}(?:efa|fabric)", block.command, re.I):
                    yield fact(block.line, "host.efa_devices", number)
                continue
            first = first or block.line
            if re.search(r"grep.{0,20}neuron", block.command, re.I):
                yield fact(block.line, "neuron.pci_listed", True)
                yield fact(block.line, "neuron.pci_devices", neuron)
                return
            if re.search(r"grep.{0,20}(?:efa|fabric)", block.command, re.I):
                yield fact(block.line, "host.efa_devices", efa)
                return
    if first is not None:
        if whole:
            yield fact(first, "neuron.pci_listed", True)
        yield fact(first, "neuron.pci_devices", neuron)
        yield fact(first, "host.efa_devices", efa)


FORMAT = LineFormat(
    name="lspci",
    kind="listing",
    triggers=(
        r"[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7] .{0,40}(?:Amazon\.com|Annapurna|1d0f:)",
        r"[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7] (?:Host bridge|ISA bridge|VGA compatible|Ethernet controller|"
        r"System peripheral|Non-Volatile)",
        r"[$#] (?:sudo )?lspci",
    ),
    parse=_parse,
    after=80,
)
