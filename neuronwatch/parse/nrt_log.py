"""Lines of libnrt, the Neuron 2.x runtime, and the status that frameworks print around its calls.

Each record becomes an Event `nrt.log` {level, component, function, message, pid, tid} with the entity that its message
names. The infodump block and the OOM tables have parsers of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from neuronwatch.model.records import Event, Fact, Record
from neuronwatch.parse import _nrt
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat

INFODUMP = "nrt_infodump"

_STARTED = lazy(r"\bNeuron Runtime (?P<version>\d{1,2}\.\d{1,6}(?:\.\d{1,8}){0,3}) built on\b")
_DRIVER = lazy(r"\bFound neuron driver: (?P<version>\d{1,2}(?:\.\d{1,6}){1,4})")
_CCOM = lazy(r"\bUsing CCOM (?P<version>\d{1,2}(?:\.\d{1,8}){1,4})")
_INSTANCE = lazy(
    r"\bInstance info:: ?device count:(?P<devices>\d{1,4}) cores per device:(?P<cores>\d{1,4})"
    r"(?: architecture:(?P<arch>[A-Za-z]{2,8}\d{0,2}))?"
)
_COMPAT = lazy(r"\(compatibility id: (?P<id>\d{1,6})\) is not compatible with the installed")
_COMPAT_RANGE = lazy(r"supports Runtime compatibility id range: (?P<min>\d{1,6}) ?- ?(?P<max>\d{1,6})")
_STATUS_NUMBER = lazy(
    r"(?:\bInference completed with err: "
    r"|\bFailed to load NN: .{1,400}?, err: "
    r"|\bFailed to execute model .{1,400}? with status "
    r"|\b[Nn][Rr][Tt]_?\w{0,40}\b.{0,60}?\b[Ss]tatus(?:[ _][Cc]ode)?\s?[=:]\s?"
    r"|\b[Ss]tatus\s?[=:]\s?(?=\d{1,4},? (?:error )?message=)"
    r"|\bnrt status code )(?P<number>\d{1,4})\b"
)
_STATUS_NAME = lazy(
    r"\b(?P<name>NRT_(?:FAILURE|INVALID|INVALID_HANDLE|RESOURCE|TIMEOUT|HW_ERROR|QUEUE_FULL|LOAD_NOT_ENOUGH_NC"
    r"|UNSUPPORTED_NEFF_VERSION|UNINITIALIZED|CLOSED|EXEC_[A-Z_]{2,40}|NETWORK_PROXY_FAILURE))\b"
)
_ARCHITECTURE = {"INF": "inf1", "INF2": "inf2", "TRN": "trn1", "TRN1": "trn1", "TRN2": "trn2", "TRN3": "trn3"}


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Events of all records; facts `runtime.*`; `runtime.status` also from lines of frameworks."""
    with_records: set[int] = set()
    for record in _nrt.records(lines):
        with_records.add(id(record.line))
        if record.function == INFODUMP:
            continue
        yield Event(
            "nrt.log",
            record.line.origin,
            {
                "level": record.level,
                "component": record.component,
                "function": record.function,
                "message": record.message[:1000],
                "pid": record.pid,
                "tid": record.tid,
            },
            entity=_nrt.entity(record.message, record.line),
            time=record.line.time if record.line.time is not None else record.time,
        )
        yield from _facts(record.line, record.message)
        if record.level in ("ERROR", "FATAL"):
            yield from _status(record.line, record.message)
    for line in lines:
        if id(line) not in with_records:
            yield from _status(line, line.body)


def _facts(line: Line, message: str) -> Iterator[Fact]:
    started = _STARTED.search(message)
    if started:
        yield fact(line, "runtime.version", started.group("version"))
    driver = _DRIVER.search(message)
    if driver:
        yield fact(line, "runtime.found_driver", driver.group("version"))
    ccom = _CCOM.search(message)
    if ccom:
        yield fact(line, "runtime.collectives_version", ccom.group("version"))
    instance = _INSTANCE.search(message)
    if instance:
        yield fact(line, "runtime.devices", int(instance.group("devices")))
        yield fact(line, "runtime.cores_per_device", int(instance.group("cores")))
        chip = _ARCHITECTURE.get((instance.group("arch") or "").upper())
        if chip and chip != "trn1":  # libnrt says TRN on Trn1 and on Inf2
            yield fact(line, "neuron.architecture", chip)
    compat = _COMPAT.search(message)
    if compat:
        yield fact(line, "runtime.compatibility_id", int(compat.group("id")))
    accepted = _COMPAT_RANGE.search(message)
    if accepted:
        yield fact(line, "driver.compatibility_min", int(accepted.group("min")))
        yield fact(line, "driver.compatibility_max", int(accepted.group("max")))


def _status(line: Line, message: str) -> Iterator[Fact]:
    for found in _STATUS_NUMBER.finditer(message[:20_000]):
        name = _nrt.STATUS.get(int(found.group("number")), "")
        if name and name != "NRT_SUCCESS":
            yield fact(line, "runtime.status", name)
            return
    named = _STATUS_NAME.search(message)
    # A failed check prints the status it wanted; only NRT_SUCCESS is ever wanted, and that is not in the pattern.
    if named:
        yield fact(line, "runtime.status", named.group("name"))


_CALLS = "init|close|load|unload|execute|infer|tensor|allocate|get|build|profile|memcpy|barrier"

FORMAT = LineFormat(
    name="libnrt",
    kind="log",
    triggers=(
        rf"[A-Z]\s{{1,12}}(?:{_nrt.COMPONENTS}):[a-z_]",
        r"NRT_(?:FAIL|INVALID|RESOURCE|TIMEOUT|HW_ERR|QUEUE_FULL|LOAD_NOT|UNSUPPORTED|UNINIT|CLOSED|EXEC_|NETWORK)",
        rf"nrt_(?:{_CALLS})\w{{0,40}}[ :(]",
        r"\d,? (?:error )?message=\"[A-Z]",
        r"nrt status code \d",
    ),
    parse=parse,
)
