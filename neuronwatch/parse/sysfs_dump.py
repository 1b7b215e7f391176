"""Values of the driver's sysfs tree as text: `path = value`, `path: value`, `grep -r . .` and `tail -n +1` output.

Of memory, `total` is what is in use now (`present` is the size of the last change). ECC counters and memory are live;
status counters are only folded in when a process exits, before driver 2.30.2. Cores are physical ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.records import Fact, Record, Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact, prompt_command
from neuronwatch.parse.api import Line, LineFormat

_PAIR = lazy(
    r"^\s{0,8}(?P<path>[\w./+@-]{0,200}?(?:neuron\d{1,3}/[\w./-]{3,120}|(?:neuron_device|module/neuron)/\w{3,40}|neuron_core\d{1,2}/[\w./-]{3,120}))"
    r"\s?(?:=|:)\s?(?P<value>[^\n]{0,400}?)(?:\s{2,40}#[^\n]{0,300})?$"
)
_CATTED = lazy(r"/neuron(?:\d{1,3}|\*)/(?:stats/|info/|core_count|connected_devices|neuron_core)\S{0,160}$|module/neuron/version$")
_TAIL = lazy(r"^==> (?P<path>\S{0,200}(?:neuron\d{1,3}/|neuron_core\d{1,2}/|module/neuron/)\S{1,120}) <==$")
_DEVICE = lazy(r"(?:^|/)neuron(?P<nd>\d{1,3})/(?P<rest>.{1,200})$")
_CORE = lazy(r"^neuron_core(?P<nc>\d{1,3})/(?P<rest>.{1,200})$")
_VERSION = lazy(r"\d{1,2}(?:\.\d{1,6}){1,4}")
_ARCHITECTURE = {"Inf1": "inf1", "Trn1": "trn1", "Inf2": "inf2", "Trn2": "trn2", "Trn3": "trn3"}
_FINE = ("success", "infer_success")
_HEALTHY = ("", "none", "ok", "healthy", "0")


class _Value(NamedTuple):
    line: Line
    path: str
    text: str


class _Sums:
    """What is added up for each device; each with the first line that contributed."""

    def __init__(self) -> None:
        self.core_counts: dict[int, tuple[int, Line]] = {}
        self.numbers: dict[tuple[str, str], tuple[int, Line]] = {}
        self.errors: dict[str, Line] = {}
        self.unhealthy: dict[str, Line] = {}

    def add(self, name: str, entity: str, value: int, line: Line) -> None:
        before, first = self.numbers.get((name, entity), (0, line))
        # The proof of a sum that is not 0 is the first line that is not 0.
        self.numbers[name, entity] = (before + value, line if value and not before else first)


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """`driver.loaded`, error counters that are not 0, unhealthy components, and one reading a device of its ECC errors and
    its memory in use (a dump of many devices comes in several calls; `judge/derive` adds them up)."""
    sums = _Sums()
    chips: dict[str, Line] = {}
    for value in _values(lines):
        if value.path.endswith("module/neuron/version"):
            version = _VERSION.match(value.text)
            if version:
                yield fact(value.line, "driver.loaded", version.group())
            continue
        device = _DEVICE.search(value.path)
        rest = device.group("rest") if device else value.path.lstrip("./")
        number = int(device.group("nd")) if device else 0
        if rest == "core_count" and value.text.isdecimal():
            sums.core_counts.setdefault(number, (int(value.text[:4]), value.line))
        if rest == "info/architecture/instance_type" and value.text in _ARCHITECTURE:
            chips.setdefault(_ARCHITECTURE[value.text], value.line)
        _take(sums, number, rest, value)
    for chip, line in chips.items():
        yield fact(line, "neuron.architecture", chip)
    yield from _facts(sums)


def _asked(command: str) -> list[str]:
    """The files of `cat FILE ...`, one answer a line; a `*` for the device stands for devices in their order."""
    if not re.match(r"(?:sudo )?cat \S", command) or "|" in command or ";" in command:
        return []
    files = [word for word in command.split() if "/neuron" in word and _CATTED.search(word)]
    if len(files) == 1 and "/neuron*/" in files[0]:
        return [files[0].replace("/neuron*/", f"/neuron{number}/") for number in range(16)]
    return [file for file in files if "*" not in file]


def _values(lines: Sequence[Line]) -> Iterator[_Value]:
    pending = ""
    asked: list[str] = []
    for line in lines:
        command = prompt_command(line.body)
        if command is not None:
            asked = _asked(command)
            continue
        if asked and line.body.strip():
            yield _Value(line, asked.pop(0), line.body.strip()[:400])
            continue
        tail = _TAIL.match(line.body)
        if tail:
            pending = tail.group("path")
            continue
        pair = _PAIR.match(line.body)
        if pair:
            yield _Value(line, pair.group("path"), pair.group("value").strip())
            pending = ""
        elif pending and line.body.strip():
            yield _Value(line, pending, line.body.strip()[:400])
            pending = ""


def _take(sums: _Sums, number: int, rest: str, value: _Value) -> None:
    count = int(value.text) if re.fullmatch(r"\d{1,18}", value.text) else None
    core = _CORE.match(rest)
    if core:
        _take_core(sums, f"nd{number}:nc{int(core.group('nc'))}", core.group("rest"), count, value.line)
    elif rest.startswith("stats/hardware/") and count is not None:
        name = rest.rpartition("/")[2]
        if name in ("sram_ecc_uncorrected", "mem_ecc_uncorrected"):
            sums.add("neuron.ecc_device", f"nd{number}", count, value.line)
        elif name == "mem_ecc_repairable_uncorrected":
            sums.add("neuron.ecc_repairable_device", f"nd{number}", count, value.line)
    elif "unhealthy_components" in rest and value.text.lower() not in _HEALTHY:
        sums.unhealthy.setdefault(f"nd{number} {value.text[:80]}", value.line)


def _take_core(sums: _Sums, entity: str, rest: str, count: int | None, line: Line) -> None:
    if count is None:
        return
    parts = rest.split("/")
    if rest == "stats/memory_usage/device_mem/total":
        sums.add("neuron.memory_device", entity.split(":")[0], count, line)
    elif len(parts) == 4 and parts[:2] == ["stats", "status"] and parts[3] == "total" and count and parts[2] not in _FINE:
        sums.errors.setdefault(f"{entity} {parts[2]} {count}", line)


def _facts(sums: _Sums) -> Iterator[Fact]:
    for count, line in list(sums.core_counts.values())[:1]:
        yield fact(line, "neuron.physical_cores_per_device", count)
    for (name, entity), (total, line) in sums.numbers.items():
        yield Fact(name, total, line.origin, entity)
    for name, found in (("neuron.core_errors", sums.errors), ("neuron.unhealthy", sums.unhealthy)):
        if found:
            listed: Value = tuple(found)
            yield fact(next(iter(found.values())), name, listed)


FORMAT = LineFormat(
    name="sysfs",
    kind="metrics",
    triggers=(
        r"neuron\d{1,3}/stats/(?:hardware|memory_usage|power)/[\w./-]{3,120}\s?[=:]",
        r"neuron\d{1,3}/info/[\w./-]{3,120}\s?[=:]",
        r"neuron\d{1,3}/(?:core_count|connected_devices)\s?[=:]",
        r"neuron\d{1,3}/neuron_core\d{1,2}/[\w./-]{3,120}\s?[=:]",
        r"neuron_device/(?:node_id|server_id|ultraserver)\w{0,20}\s?[=:]",
        r"module/neuron/version\b",
        r"^\s{0,8}(?:\./)?neuron_core\d{1,2}/[\w./-]{3,120}\s?[=:]",
        r"[$#%] (?:sudo )?cat .{0,200}/neuron[\d*]{1,3}/(?:stats|info|core_count|neuron_core)",
        r"^==> \S{0,200}(?:neuron_device/|neuron_core|stats/|/info/|core_count|connected_devices)\S{0,120} <==",
    ),
    parse=parse,
    after=2,
)
