"""Screens of `neuron-top`: plain captures, terminal recordings, the text screens of Neuron 1.x, and what people type off.

The bars say nothing (used and unused cells differ only in colour), so the numbers behind them are read. Utilisation is
in percent, NC numbers count within a device, sizes are bytes with GB meaning GiB. In FLOPS mode there is no utilisation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from neuronwatch.model.records import Fact, Origin, Record, Sample
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.prefix import line_time
from neuronwatch.parse.units import size

_TITLE = lazy(r"\bneuron-top (?P<version>\d{1,2}(?:\.\d{1,6}){1,4})\b")
_RUNNING_ON = lazy(r"\brunning on (?P<id>i-[0-9a-f]{8,20}|[\w.-]{1,80}) \((?P<type>[a-z][\w-]{1,12}\.[\w-]{2,16})\)")
_MODELS = lazy(r"\bModels: (?P<loaded>\d{1,5}) loaded\b")
_CLOCK = lazy(r"\bneuron-top - (?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_PERCENT = r"\d{1,3}(?:\.\d{1,4})?%"
_GRID_ROW = lazy(rf"\bND ?(?P<nd>\d{{1,3}})\b(?P<cores>(?:[\s|]{{1,400}}\[?\s{{0,8}}{_PERCENT}\]?){{1,16}})")
_FLOPS_ROW = lazy(r"\bND ?(?P<nd>\d{1,3})\b(?P<cores>(?:[\s|]{1,400}\[?\s{0,12}\d{1,6}(?:\.\d{1,4})?[TGP]F\]?){1,16})")
_VALUE = lazy(r"(\d{1,3}(?:\.\d{1,4})?)%")
_FLOPS = lazy(r"(\d{1,6}(?:\.\d{1,4})?)(?P<unit>[TGP])F")
_OLD_ROW = lazy(r"(?P<bdf>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d) Utilizations:(?P<cores>.{0,600})", re.IGNORECASE)
_CORE = lazy(
    r"\b(?:[Nn]euron ?[Cc]ore|NC) ?(?P<nc>\d{1,3})\s{0,8}[:=]?\s{0,8}[\s|]{0,400}"
    rf"\[?\s{{0,8}}(?P<busy>{_PERCENT})"
)
_SIZE = r"\d{1,9}(?:\.\d{1,4})?\s?[KMGT]?i?B\b"
_TOTALS = (
    lazy(rf"\bDevice Used Memory\b.{{0,40}}?Total:?\s{{0,8}}(?P<used>{_SIZE})"),
    re.compile(rf"\bRuntime Memory Device\b[\s|]{{0,400}}\[?\s{{0,8}}(?P<used>{_SIZE})"),
    re.compile(rf"\bDevice Mem(?:ory)?\b(?:\s{{1,8}}ND ?\d{{1,3}})?\s{{0,8}}(?:used|:)?\s{{0,8}}(?P<used>{_SIZE})"),
)
_TREE_ROW = lazy(rf"\[[-+]\] ND ?(?P<nd>\d{{1,3}})\s{{2,200}}(?P<used>{_SIZE})(?:\s{{2,200}}(?P<second>{_SIZE}))?")
_HOST_FIRST = lazy(r"\bHost Memory\s{1,200}Device Memory\b")
"""Until tools 2.4 the columns of the tree stood in this order."""
_PER_DEVICE = lazy(r"(?:\bND ?\d|[0-9a-f]{2}:[0-9a-f]{2}\.\d)")
_OLD_MODEL = lazy(
    rf"^\s{{0,8}}\d{{1,8}}\s{{1,8}}nd\d{{1,3}}:nc\d{{1,3}}\s{{1,8}}[\d.]{{1,8}}\s{{1,8}}(?P<used>{_SIZE})"
    r"|[0-9a-f]{2}\.\d:\d\s{1,8}\d{1,15}\s{1,8}(?P<bytes>\d{1,15})\s{1,8}\d{1,3}\.\d\d\s{0,8}$"
)


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Samples `utilisation` (or `tflops`) for each core of each screen, and facts of the newest screen."""
    devices: list[str] = []
    time: float | None = None
    for line in lines:
        clock = _CLOCK.search(line.body)
        if clock:
            time = line_time(clock.group("stamp"))
        yield from _title(line)
        yield from _cores(line, devices, line.time if line.time is not None else time)
    used = _memory(lines)
    if used is not None:
        yield Fact("neuron.memory_used", used[0], used[1])


def _title(line: Line) -> Iterator[Fact]:
    title = _TITLE.search(line.body)
    if title:
        yield Fact("pkg.aws_neuronx_tools", title.group("version"), line.origin)
    models = _MODELS.search(line.body)
    if models:
        yield Fact("neuron.models_loaded", int(models.group("loaded")), line.origin)
    host = _RUNNING_ON.search(line.body)
    if host and "neuron-top" in line.body:
        yield Fact("host.instance_type", host.group("type"), line.origin)


def _cores(line: Line, devices: list[str], time: float | None) -> Iterator[Sample]:
    body = line.body
    origin = line.origin
    rows = list(_GRID_ROW.finditer(body))
    for row in rows:
        for index, value in enumerate(_VALUE.findall(row.group("cores"))):
            yield _sample("utilisation", float(value), "%", f"nd{int(row.group('nd'))}:nc{index}", origin, time)
    for row in _FLOPS_ROW.finditer(body):
        for index, found in enumerate(_FLOPS.finditer(row.group("cores"))):
            scale = {"T": 1.0, "G": 1e-3, "P": 1e3}[found.group("unit")]
            entity = f"nd{int(row.group('nd'))}:nc{index}"
            yield _sample("tflops", float(found.group(1)) * scale, "TFLOP/s", entity, origin, time)
    if rows:
        return
    old = _OLD_ROW.search(body)
    if old and old.group("bdf") not in devices:
        devices.append(old.group("bdf"))
    device = devices.index(old.group("bdf")) if old else 0
    for found in _CORE.finditer(old.group("cores") if old else body):
        value = float(found.group("busy")[:-1])
        yield _sample("utilisation", value, "%", f"nd{device}:nc{int(found.group('nc'))}", origin, time)


def _sample(name: str, value: float, unit: str, entity: str, origin: Origin, time: float | None) -> Sample:
    return Sample(name, value, origin, unit=unit, entity=entity, time=time)


def _memory(lines: Sequence[Line]) -> tuple[int, Origin] | None:
    """Device memory in use: a total that is printed, else the sum over devices, else over the models of a 1.x screen."""
    total: tuple[int, Origin] | None = None
    tree: dict[str, int] = {}
    stated: dict[str, int] = {}
    models = 0
    column = "used"
    first: Origin | None = None
    for line in lines:
        for index, pattern in enumerate(_TOTALS):
            found = pattern.search(line.body)
            used = size(found.group("used")) if found else None
            if used is None:
                continue
            device = _PER_DEVICE.search(line.body)
            if index == 2 and device:
                stated[line.body[: line.body.find(found.group("used")) if found else 0]] = used
                first = first or line.origin
            else:
                total = (used, line.origin)
            break
        if _HOST_FIRST.search(line.body):
            column = "second"
        for row in _TREE_ROW.finditer(line.body):
            tree[row.group("nd")] = size(row.group(column) or "") or 0
            first = first or line.origin
        model = _OLD_MODEL.search(line.body)
        if model:
            models += size(model.group("used") or model.group("bytes")) or 0
            first = first or line.origin
    if total is not None or first is None:
        return total
    return (sum(tree.values()) or sum(stated.values()) or models, first)


FORMAT = LineFormat(
    name="neuron-top",
    kind="metrics",
    triggers=(
        r"neuron-top (?:\d|-|running)|^\s{0,200}neuron-top\s{0,8}$",
        r"(?i:NeuronCore )(?:v\d\w? )?Utilization",
        r"Utilizations: ",
        r"\bModels: \d{1,5} loaded",
        r"\bNC0\s{0,8}[:=]?\s{0,8}\d{1,3}(?:\.\d{1,4})?%",
        r"(?i:Neuron ?core) ?0\s{0,8}[:=]?\s{0,8}\d{1,3}(?:\.\d{1,4})?%",
        r"Device Used Memory",
        r"Device Mem(?:ory)?(?::? used |: {1,8}\d|\s{1,8}ND ?\d)",
        r"Memory Usage (?:Summary|Details)",
        r"\[[-+]\] ND ?\d{1,3}\s{2,200}",
        r"\|\|\|\|\|\|\[\s{0,12}\d{1,6}(?:\.\d{1,4})?(?:%|TF)",
    ),
    parse=parse,
    before=1,
    after=24,
)
