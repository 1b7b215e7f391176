"""Records of libnrt (`stamp pid:tid LEVEL COMPONENT:function message`): header, status numbers, entities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronwatch.parse._lazy import lazy
from neuronwatch.parse.api import Line
from neuronwatch.parse.prefix import line_time

COMPONENTS = "NRT|TDRV|NMGR|KMGR|ENC|ENCD|HAL|NEFF|KELF|NLOG|CCOM|NRTD|NDS|NEC|DMA|XTD"

HEADER = lazy(
    r"(?:(?P<stamp>\d{4}-[A-Za-z]{3}-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)\s{1,12})?"
    r"(?:(?<![\d.])(?P<pid>\d{1,10}):\s{0,6}(?P<tid>\d{1,10})\s{1,12})?"
    r"(?P<level>(?<![A-Za-z])(?:FATAL|ERROR|WARNING|WARN|INFO|DEBUG|TRACE))\s{1,12}"
    rf"(?P<component>{COMPONENTS}):(?P<function>[\w:~<>.]{{1,120}}) {{0,80}}"
)
"""Fractions have 4 digits until about 2024 and 6 since; the function is padded to 40 columns. Who shortens a log for a
ticket drops the stamp, its fraction or the pids: all are optional."""

STATUS: dict[int, str] = {
    0: "NRT_SUCCESS",
    1: "NRT_FAILURE",
    2: "NRT_INVALID",
    3: "NRT_INVALID_HANDLE",
    4: "NRT_RESOURCE",
    5: "NRT_TIMEOUT",
    6: "NRT_HW_ERROR",
    7: "NRT_QUEUE_FULL",
    9: "NRT_LOAD_NOT_ENOUGH_NC",
    10: "NRT_UNSUPPORTED_NEFF_VERSION",
    11: "NRT_FAIL_HOST_MEM_ALLOC",
    13: "NRT_UNINITIALIZED",
    14: "NRT_CLOSED",
    15: "NRT_QUEUE_EMPTY",
    101: "NRT_EXEC_UNIT_UNRECOVERABLE",
    1002: "NRT_EXEC_BAD_INPUT",
    1003: "NRT_EXEC_COMPLETED_WITH_NUM_ERR",
    1004: "NRT_EXEC_COMPLETED_WITH_ERR",
    1005: "NRT_EXEC_NC_BUSY",
    1006: "NRT_EXEC_OOB",
    1100: "NRT_COLL_PENDING",
    1200: "NRT_EXEC_HW_ERR_COLLECTIVES",
    1201: "NRT_EXEC_HW_ERR_HBM_UE",
    1202: "NRT_EXEC_HW_ERR_NC_UE",
    1203: "NRT_EXEC_HW_ERR_DMA_ABORT",
    1204: "NRT_EXEC_SW_NQ_OVERFLOW",
    1205: "NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE",
    1206: "NRT_NETWORK_PROXY_FAILURE",
}

_ENTITY = lazy(
    r"(?:\[(?:ND|MLA) ?(\d{1,3})\] ?(?:\[NC ?(\d{1,3})\])?"
    r"|\bND ?(\d{1,3}) ?[:,] ?NC ?(\d{1,3})"
    r"|\bNeuron Device:? (\d{1,3})(?:(?::| NC )(\d{1,3}))?"
    r"|\bnd(\d{1,3}):nc(\d{1,3})\b"
    r"|\bthe nd(\d{1,3})\b)",
    re.IGNORECASE,
)


class Record(NamedTuple):
    """One record; `line` is where it stands, `time` its own stamp in epoch seconds."""

    line: Line
    level: str
    component: str
    function: str
    message: str
    pid: int | None
    tid: int | None
    time: float | None


def records(lines: Sequence[Line]) -> Iterator[Record]:
    """All records of `lines`, also several glued into one line. Continuation lines are not joined to them."""
    for line in lines:
        found = list(HEADER.finditer(line.text))
        for index, head in enumerate(found):
            end = found[index + 1].start() if index + 1 < len(found) else len(line.text)
            yield Record(
                line,
                head.group("level").replace("WARNING", "WARN"),
                head.group("component"),
                head.group("function"),
                line.text[head.end() : end].rstrip(),
                int(head.group("pid")) if head.group("pid") else None,
                int(head.group("tid")) if head.group("tid") else None,
                line_time(head.group("stamp")) if head.group("stamp") else None,
            )


def entity(message: str, line: Line) -> str:
    """`nd0:nc1` or `nd0` where the message names device and core, else the rank of the line's prefix."""
    found = _ENTITY.search(message)
    if found is None:
        return line.entity
    numbers = [int(group) for group in found.groups() if group is not None]
    return f"nd{numbers[0]}:nc{numbers[1]}" if len(numbers) > 1 else f"nd{numbers[0]}"
