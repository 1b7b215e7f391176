"""The legacy daemon neuron-rtd (Neuron 1.x, Inf1): its journal, `systemctl status`, and what its clients print.

Any current instance that reports neuron-rtd is a mistake: the daemon was dropped in 2022 and never ran on Trn1 or Inf2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from neuronwatch.model.records import Event, Fact, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat

NERR: dict[int, str] = {
    1: "NERR_FAIL",
    2: "NERR_INVALID",
    3: "NERR_INVALID_HANDLE",
    4: "NERR_RESOURCE",
    5: "NERR_TIMEOUT",
    6: "NERR_HW_ERROR",
    7: "NERR_QUEUE_FULL",
    9: "NERR_RESOURCE_NC",
    10: "NERR_UNSUPPORTED_VERSION",
    1000: "NERR_INFER_PENDING",
    1002: "NERR_INFER_BAD_INPUT",
    1003: "NERR_INFER_COMPLETED_WITH_NUM_ERR",
    1004: "NERR_INFER_COMPLETED_WITH_ERR",
}

_RECORD = lazy(r"\bnrtd\[(?P<pid>\d{1,10})\]: (?:\[(?P<where>[\w:.~]{2,120})\] ?)?(?P<message>.{0,4000})")
_BUILD = lazy(r"\bnrtd build using: ?(?P<version>\d{1,2}(?:\.\d{1,8}){1,4})")
_UNIT = lazy(r"(?:^|\s|[●○×*] )(?P<unit>neuron-rtd(?:@[\w.-]{1,60})?\.service)\b")
_ACTIVE = lazy(r"^\s{0,12}Active:\s(?P<state>\w{4,14})(?:\s\((?P<detail>[\w: -]{1,40})\))?")
_STATUS = lazy(
    r"(?:\bInference completed with err: |\[NRTD:infer_wait\] error: |\bnrt status code |\bNERR status |, err: )"
    r"(?P<number>\d{1,4})\b"
)
_CLIENT = lazy(r"Neuron Runtime GRPC server at address |\bnrt::\w{2,40} failed with grpc status code|Is neuron-rtd running\?")
_MENTION = lazy(r"neuron-rtd\[\d|\bnrtd\[\d|/bin/neuron-rtd\b|neuron-rtd(?:@[\w.-]{1,60})?\.service")


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Events `rtd.log` {where, message, pid, side}; facts `rtd.*`."""
    said = False
    unit_seen = 0
    for line in lines:
        if not said and (_MENTION.search(line.text) or _CLIENT.search(line.text)):
            said = True
            yield fact(line, "rtd.present", True)
        record = _RECORD.search(line.text)
        if record:
            yield _event(line, record.group("where") or "", record.group("message"), int(record.group("pid")), "daemon")
        elif _CLIENT.search(line.text):
            yield _event(line, "", line.body[:1000], None, "client")
        if record or _CLIENT.search(line.text) or "[NRTD:" in line.text:
            yield from _facts(line)
        if _UNIT.search(line.body):
            unit_seen = 8
        active = _ACTIVE.match(line.body)
        if active and unit_seen:
            yield fact(line, "rtd.state", active.group("state"))
            unit_seen = 0
        unit_seen -= unit_seen > 0


def _event(line: Line, where: str, message: str, pid: int | None, side: str) -> Event:
    fields = {"where": where, "message": message.strip()[:1000], "pid": pid, "side": side}
    return Event("rtd.log", line.origin, fields, entity="" if pid is None else f"pid{pid}", time=line.time)


def _facts(line: Line) -> Iterator[Fact]:
    build = _BUILD.search(line.text)
    if build:
        yield fact(line, "rtd.version", build.group("version"))
    status = _STATUS.search(line.text)
    name = NERR.get(int(status.group("number"))) if status else None
    if name:
        yield fact(line, "rtd.status", name)


FORMAT = LineFormat(
    name="neuron-rtd",
    kind="log",
    triggers=(
        r"\bnrtd\[\d",
        r"neuron-rtd\[\d",
        r"neuron-rtd(?:\.service|@)",
        r"/bin/neuron-rtd\b",
        r"Neuron Runtime GRPC server at address",
        r"nrt::\w{2,40} failed with grpc status",
        r"\[NRTD:",
        r"Is neuron-rtd running",
    ),
    parse=parse,
    after=8,
)
