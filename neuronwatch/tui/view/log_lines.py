"""What a line of a log says of itself: its level, its rank, its core, its time. Bytes in, small numbers out; never raises."""

from __future__ import annotations

import calendar
import re
from functools import lru_cache
from typing import NamedTuple

LEVELS = ("debug", "", "info", "warning", "error", "critical")
"""By weight; "" is a line that tells no level."""
PLAIN, INFO, WARNING, ERROR, CRITICAL = 1, 2, 3, 4, 5
GAP = 255
"""The level of a line of ours that says what is missing."""
NOBODY = 0xFFFF
"""No rank, no core."""
ANY_CORE = 0xFF
HEAD = 400
"""Bytes of a line that are looked at: level, rank and time stand in front."""

_WORDS = {
    b"fatal": CRITICAL, b"critical": CRITICAL, b"panic": CRITICAL, b"emerg": CRITICAL, b"alert": CRITICAL, b"crit": CRITICAL,
    b"error": ERROR, b"err": ERROR, b"severe": ERROR, b"traceback": ERROR, b"warning": WARNING, b"warn": WARNING,
    b"notice": INFO, b"info": INFO, b"debug": 0, b"trace": 0, b"verbose": 0,
}  # fmt: skip
# A level stands alone and in capitals (libnrt, Python logging, vLLM), or as `level=error`, `error:`, `[error]`; words in a sentence
# ("no error was found") do not count.
_LEVEL = re.compile(
    rb"\b(?:FATAL|CRITICAL|EMERG|ALERT|CRIT|ERROR|ERR|SEVERE|WARNING|WARN|NOTICE|INFO|DEBUG|TRACE|VERBOSE)\b(?![=/.\w])"
    rb"|\b(?i:level|severity|lvl)[\"']?[=:] ?[\"']?(?i:fatal|critical|error|err|warning|warn|notice|info|debug|trace)\b"
    rb"|(?:^|[\s\[<])(?i:fatal|critical|error|warning|warn|info|debug|panic)(?=\]|>|: )"
    rb"|Kernel panic\b|Traceback \(most recent call last\)"
)
_RAISED = re.compile(rb"(?:\[\S{1,40}\]:? ?)?(?:[A-Za-z_][\w.]{0,80})?(?:Error|Exception|Interrupt|Killed)(?::|$)")
_GLOG = re.compile(rb"([IWEF])\d{4} \d\d:\d\d:\d\d")
_KERNEL = re.compile(rb"<(\d{1,3})>|(\d{1,3}),\d+,\d+,[-c][^;]{0,60};")
_FAILED = re.compile(rb"\bnrt_\w{2,60}\b.{0,80}\b(?:failed|failure|status(?: code)?[ =:]+[1-9])")
_BY_KERNEL = (CRITICAL, CRITICAL, CRITICAL, ERROR, WARNING, INFO, INFO, 0)

_RANK = re.compile(
    rb"\[(?:rank|default|worker) ?(\d{1,5})\]|\b(?:(?:global|local)_)?rank[ =:_#]{1,2}(\d{1,5})\b|^\[(\d{1,5})\]:"
    rb"|^\[\d{1,5},(\d{1,5})\]<std|\bWorker_(?:TP|DP|PP|EP)(\d{1,5})\b|^(\d{1,5}): ",
    re.IGNORECASE,
)
_RANK_OF_PATH = re.compile(r"rank[-_.]?(\d{1,5})\b|/attempt_\d+/(\d{1,5})/std(?:out|err)|\.(\d{1,3})\.log$")
_CORE = re.compile(
    rb"\bn(?:d|euron) ?(\d{1,3})(?:[\[\] :,/_]{0,3}n(?:c|euron_?core) ?(\d{1,3}))?\b|/dev/neuron(\d{1,3})\b", re.IGNORECASE
)
_CORE_NEEDS = (b"nd", b"ND", b"neuron", b"Neuron")

_MONTHS = {name: number for number, name in enumerate(b"jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_STAMP = re.compile(
    rb"(?P<y>20\d\d)[-/](?P<m>\d\d|[A-Z][a-z]{2})[-/](?P<d>\d\d)[T _]+(?P<t>\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(?P<z>Z|[+-]\d\d:?\d\d)?"
    rb"|\b(?P<m2>\d\d)-(?P<d2>\d\d) (?P<t2>\d\d:\d\d:\d\d)|\b[IWEF](?P<m3>\d\d)(?P<d3>\d\d) (?P<t3>\d\d:\d\d:\d\d)"
    rb"|\b(?P<m4>[A-Z][a-z]{2}) {1,2}(?P<d4>\d{1,2}) (?P<t4>\d\d:\d\d:\d\d)(?: (?P<y4>20\d\d))?"
)


class Said(NamedTuple):
    """`core`: device * 256 + core, ANY_CORE for a device alone."""

    level: int
    rank: int
    core: int


def said(line: bytes, before: int = PLAIN) -> Said:
    """What a line tells. `before`: the level of the line before it in the same text, which a line that is set in goes on with."""
    head = line[:HEAD]
    level = _level(head)
    if level == PLAIN and before >= WARNING and head[:1] in (b" ", b"\t"):
        level = before
    rank = NOBODY
    found = _RANK.search(head)
    if found is not None:
        rank = min(int(found[found.lastindex or 0]), NOBODY - 1)
    core = NOBODY
    if any(word in head for word in _CORE_NEEDS):
        core = _core(head)
    return Said(level, rank, core)


def _level(head: bytes) -> int:
    kernel = _KERNEL.match(head)
    if kernel is not None:
        return _BY_KERNEL[int(kernel[1] or kernel[2]) & 7]
    found = _LEVEL.search(head)
    if found is not None:
        return _WORDS[re.split(rb"[^a-z]+", found[0].lower().removeprefix(b"kernel ").split(b" (")[0].strip(b" [<\"'"))[-1]]
    glog = _GLOG.search(head[:80])
    if glog is not None:
        return {b"I": INFO, b"W": WARNING, b"E": ERROR, b"F": CRITICAL}[glog[1]]
    if _RAISED.match(head) or b"NEURON_HW_ERR" in head or (b"nrt_" in head and _FAILED.search(head)):
        return ERROR
    return PLAIN


def _core(head: bytes) -> int:
    found = _CORE.search(head)
    if found is None:
        return NOBODY
    device, core = int(found[1] or found[3]), found[2]
    return min(device, 254) * 256 + (ANY_CORE if core is None else min(int(core), ANY_CORE - 1))


def core_name(core: int) -> str:
    """`nd0:nc1`, `nd0`, or nothing."""
    if core == NOBODY:
        return ""
    device, number = divmod(core, 256)
    return f"nd{device}" if number == ANY_CORE else f"nd{device}:nc{number}"


def core_of(name: str) -> int | None:
    """The number of `nd0:nc1`, `nd0nc1` or `nd0`; None: no such name."""
    found = re.fullmatch(r"nd(\d{1,3})(?:[:.]?nc(\d{1,3}))?", name)
    if found is None:
        return None
    return min(int(found[1]), 254) * 256 + (ANY_CORE if found[2] is None else min(int(found[2]), ANY_CORE - 1))


def rank_of_path(path: str) -> int:
    """The rank that a path names: `.../attempt_0/3/stderr.log`, `rank_3.log`, `job.3.log`."""
    found = list(_RANK_OF_PATH.finditer(path))[-1:]  # the last one is the nearest to the lines
    return min(int(found[0][1] or found[0][2] or found[0][3]), NOBODY - 1) if found else NOBODY


def stamp(line: bytes, now: float) -> int | None:
    """The time that a line says, in seconds since the epoch, read as UTC where it names no zone. A stamp without a year is of the
    last twelve months before `now`."""
    found = _STAMP.search(line[:200])
    if found is None:
        return None
    part = found.groupdict()
    month = part["m"] or part["m2"] or part["m3"] or part["m4"]
    clock = part["t"] or part["t2"] or part["t3"] or part["t4"]
    day = int(part["d"] or part["d2"] or part["d3"] or part["d4"])
    number = int(month) if month.isdigit() else _MONTHS.get(month.lower(), 0)
    year = part["y"] or part["y4"]
    began = _day(int(year), number, day) if year else _day_before(now, number, day)
    if began is None:
        return None
    zone = part["z"]
    return began + int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:8]) - _offset(zone)


def _offset(zone: bytes | None) -> int:
    if zone is None or zone == b"Z":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return -seconds if zone[:1] == b"-" else seconds


@lru_cache(maxsize=256)
def _day(year: int, month: int, day: int) -> int | None:
    return calendar.timegm((year, month, day, 0, 0, 0)) if 1 <= month <= 12 and 1 <= day <= 31 else None


def _day_before(now: float, month: int, day: int) -> int | None:
    import time

    year = time.gmtime(now).tm_year
    found = _day(year, month, day)
    return _day(year - 1, month, day) if found is not None and found > now + 86400 else found
