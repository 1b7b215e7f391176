"""The Neuron kernel module: `lsmod`, `modinfo neuron`, `dkms status`, /sys/module/neuron/version."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact
from neuronwatch.parse.api import Line, LineFormat

_LSMOD_HEADER = lazy(r"^\s{0,4}Module\s{1,60}Size\s{1,10}Used by")
_LSMOD_ROW = lazy(r"^\s{0,4}([a-z0-9_]{1,60})\s{1,60}([0-9]{3,10})\s{1,6}([0-9]{1,6}|-2|-)(?:\s{1,4}\S{0,300})?\s{0,10}$")
_FILENAME = lazy(r"^\s{0,4}filename:\s{1,20}(\S{1,300}/neuron\.ko(?:\.\w{2,3})?)\s{0,10}$")
_FIELD = lazy(r"^\s{0,4}(version|vermagic|srcversion|name):\s{1,20}(\S.{0,200})$")
_DKMS = lazy(
    r"^\s{0,4}(aws-neuronx?(?:-dkms)?)[/, ]\s{0,2}([0-9][\w.\-]{1,40}?)(?:-dkms)"
    r"?(?:, ([0-9][\w.+~\-]{1,80}))?(?:, (\w{3,12}))?: ([a-z]{4,12})\b(.{0,100})"
)
_NO_MODULE = lazy(r"(?:modprobe: FATAL|modinfo: ERROR): Module (?:/\S{1,200}/)?neuron(?:\.ko)? not found")
_SYS_VERSION = lazy(r"/sys/module/neuron/version\s{0,4}[:=]?\s{0,4}([0-9]{1,3}(?:\.[0-9]{1,6}){1,4})")
_VERSION = lazy(r"^\s{0,4}([0-9]{1,3}(?:\.[0-9]{1,6}){1,4})\s{0,4}$")


def _modules(lines: Sequence[Line]) -> Iterator[Record]:
    """An lsmod table: with a header it is complete, so a missing row means that the module is not loaded."""
    header: Line | None = None
    seen = rows = 0
    for line in lines:
        if _LSMOD_HEADER.match(line.body):
            header = line
            continue
        row = _LSMOD_ROW.match(line.body)
        if not row:
            continue
        rows += 1
        if row.group(1) == "neuron":
            seen += 1
            yield fact(line, "driver.module_listed", True)
            if row.group(3).isdecimal():
                yield fact(line, "driver.use_count", int(row.group(3)))
    if header is not None and not seen and rows:
        yield fact(header, "driver.module_listed", False)


def _answers(lines: Sequence[Line]) -> Iterator[Record]:
    """Commands whose empty answer says something."""
    for block in blocks(lines):
        command = re.sub(r"^sudo ", "", block.command)
        answers = [line for line in block.output if line.body.strip()]
        if re.match(r"^lsmod\b.{0,20}\|\s?(?:e?grep|rg)\b.{0,20}neuron", command):
            if not any(_LSMOD_ROW.match(line.body) for line in answers):
                yield fact(block.line, "driver.module_listed", False)
        elif "/sys/module/neuron/version" in command and answers:
            found = _VERSION.match(answers[0].body)
            if found:
                yield fact(answers[0], "driver.loaded", found.group(1))
        elif re.match(r"^(?:/\S{1,20}/)?modinfo\b.{0,40}\bneuron\b", command) and answers:
            # `modinfo -F version neuron`, or its output through grep, which drops the line of the file name
            field = _FIELD.match(answers[0].body)
            found = _VERSION.match(field.group(2) if field and field.group(1) == "version" else answers[0].body)
            if found:
                yield fact(answers[0], "driver.on_disk", found.group(1))
        elif re.match(r"^(?:dpkg|rpm|yum|dnf|apt)\b.{0,60}\|\s?(?:e?grep|rg)\b.{0,20}neuron", command) and not answers:
            yield fact(block.line, "driver.package", "")


def _not_on_disk(lines: Sequence[Line]) -> Iterator[Record]:
    """modprobe and modinfo search the module tree of the running kernel: what they do not find cannot be loaded."""
    for line in lines:
        if _NO_MODULE.search(line.body):
            yield fact(line, "driver.module_listed", False)
            return


def _dkms(lines: Sequence[Line]) -> Iterator[Record]:
    installed: list[str] = []
    first: Line | None = None
    for line in lines:
        found = _DKMS.match(line.body)
        if not found:
            continue
        _, version, kernel, _, state, _ = found.groups()
        first = first or line
        yield fact(line, "driver.dkms_status", state)
        yield fact(line, "driver.package", version)
        if state == "installed" and kernel:
            installed.append(kernel)
    if first is not None:
        yield fact(first, "driver.dkms_kernels", tuple(dict.fromkeys(installed)))


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    yield from _modules(lines)
    yield from _dkms(lines)
    module = False
    for line in lines:
        if _FILENAME.match(line.body):
            module = True
            continue
        field = _FIELD.match(line.body)
        if field and module and field.group(1) == "version":
            yield fact(line, "driver.on_disk", field.group(2).strip())
            module = False
        loaded = _SYS_VERSION.search(line.body)
        if loaded:
            yield fact(line, "driver.loaded", loaded.group(1))
    yield from _answers(lines)
    yield from _not_on_disk(lines)


FORMAT = LineFormat(
    name="kernel-module",
    kind="listing",
    triggers=(
        r"Module\s{1,60}Size\s{1,10}Used by",
        r"neuron\s{1,60}[0-9]{4,10}\s{1,6}[0-9-]",
        r"filename:\s{1,20}\S{1,300}/neuron\.ko",
        r"aws-neuronx?(?:-dkms)?[/, ]\s{0,2}[0-9][\w.\-]{1,40}(?:, \S{1,80}){0,2}: [a-z]{4}",
        r"/sys/module/neuron/version",
        r"[$#] (?:sudo )?lsmod",
        r"[$#] (?:sudo )?(?:/\S{1,20}/)?modinfo .{0,40}neuron",
        r"\|\s?e?grep.{0,20}neuron",
        r"(?:modprobe: FATAL|modinfo: ERROR): Module \S{0,220}neuron",
    ),
    parse=_parse,
    before=2,
    after=200,
)
