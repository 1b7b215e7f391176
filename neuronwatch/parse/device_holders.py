"""Who holds /dev/neuron*: `lsof` and `fuser` output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact
from neuronwatch.parse.api import Line, LineFormat

_LSOF = lazy(r"^\s{0,4}(\S{1,60})\s{1,20}([0-9]{1,10})\s{1,20}\S.{0,200}\s/dev/neuron([0-9]{1,3})\s{0,4}(?:\(.{0,60}\))?$")
_FUSER = lazy(r"^\s{0,4}/dev/neuron([0-9]{1,3}):\s{1,20}(\S.{0,300})$")
_FUSER_V = lazy(
    r"^\s{0,40}(?:/dev/neuron([0-9]{1,3}):\s{1,20})?(\S{1,32})\s{1,20}([0-9]{1,10})\s{1,8}([FfercmM.]{3,8})\s{1,8}(\S.{0,100})$"
)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    holders: list[str] = []
    pids: list[int] = []
    devices: list[int] = []
    first: Line | None = None
    for line in lines:
        lsof = _LSOF.match(line.body)
        verbose = None if lsof else _FUSER_V.match(line.body)
        plain = None if lsof or verbose else _FUSER.match(line.body)
        if lsof:
            holders.append(lsof.group(1))
            pids.append(int(lsof.group(2)))
            devices.append(int(lsof.group(3)))
        elif verbose:
            holders.append(verbose.group(5).strip())
            pids.append(int(verbose.group(3)))
            if verbose.group(1):
                devices.append(int(verbose.group(1)))
        elif plain:
            found = re.findall(r"\b([0-9]{1,10})[cefFrm]{0,4}\b", plain.group(2))
            pids.extend(int(pid) for pid in found[:200])
            devices.append(int(plain.group(1)))
        else:
            continue
        first = first or line
    if first is not None:
        if holders:
            yield fact(first, "neuron.holders", tuple(dict.fromkeys(holders)))
        yield fact(first, "neuron.busy_pids", tuple(dict.fromkeys(pids)))
        yield fact(first, "neuron.busy_devices", tuple(sorted(set(devices))))
        return
    for block in blocks(lines):
        asked = re.match(r"^(?:sudo )?(?:lsof|fuser)\b.{0,30}/dev/neuron", block.command)
        if asked and not any(line.body.strip() for line in block.output):
            yield fact(block.line, "neuron.holders", ())
            yield fact(block.line, "neuron.busy_pids", ())


FORMAT = LineFormat(
    name="device-holders",
    kind="listing",
    triggers=(
        r"CHR\s{1,20}\S{1,20}\s.{0,80}/dev/neuron[0-9]",
        r"/dev/neuron[0-9]{1,3}:\s{1,20}\S",
        r"(?:lsof|fuser)\b.{0,30}/dev/neuron",
    ),
    parse=_parse,
    before=1,
    after=40,
)
