"""Launcher prefixes in front of a log line, ANSI escapes, and time stamps.

`peel` takes what torchrun, Ray, vLLM, journald, CloudWatch, kubectl, docker, MPI, Slurm, TorchServe, DJL or packer put
in front of a message. It stops at the first thing that is not such a prefix, above all at a record of the Neuron stack
with a stamp of its own (libnrt, nccom, the compile-cache wrappers, neuronx-cc): that stamp belongs to the message. All
functions are linear in the length of the text and never raise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import NamedTuple

from neuronwatch.parse._lazy import lazy

MAX_PREFIXES = 8
"""More layers than this are not launchers but text that looks like them."""

_HEAD = 600
"""No prefix is longer than this many characters; nothing behind it is looked at."""


class Prefix(NamedTuple):
    """`body` is the text without prefixes; `rank`, `time` (epoch seconds, UTC) and `host` are what they said.

    `time` is the stamp of the outermost prefix, else the stamp with which the body itself begins, else None.
    """

    body: str
    rank: int | None = None
    time: float | None = None
    host: str = ""


class _Hit(NamedTuple):
    end: int
    rank: int | None = None
    time: float | None = None
    host: str = ""


# --------------------------------------------------------------------------------------------------------------- ANSI

_ANSI = lazy(
    r"""\x1b\[(?P<arg>[0-?]{0,64})[ -/]{0,8}(?P<end>[@-~])   # CSI
      | \x9b[0-?]{0,64}[ -/]{0,8}[@-~]                        # CSI as one byte
      | \x1b[\]PX^_][^\x07\x1b]{0,512}(?:\x07|\x1b\\)         # OSC, DCS and their like
      | \x1b[ -/]{0,4}[0-~]?                                  # two-character escapes, or an escape that was cut
      | (?:\#033|\\033|\\x1b|\\u001b|\^\[)\[[0-9;]{0,24}m     # escapes that a logger wrote out as text
      | \[(?:[0-9]{1,3};){1,4}[0-9]{1,3}m(?!\])               # colours whose escape character was lost in a paste
      | \[(?:0|1|3[0-7]|9[0-7])?m(?![\])\w])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HAS_ANSI = lazy(r"[\x1b\x9b]|033\[|x1b\[|u001b\[|\^\[\[|\[[0-9;]{0,12}m", re.IGNORECASE)


def strip_ansi(text: str) -> str:
    """`text` without ANSI escapes, also written out (`#033[34m`, as SageMaker does) or pasted without their escape.

    Cursor movements become blanks, so that words drawn at different places of a screen stay apart.
    """
    return _ANSI.sub(_blank, text) if _HAS_ANSI.search(text) else text


def _blank(found: re.Match[str]) -> str:
    end = found.group("end")
    if end == "C":
        count = found.group("arg")
        return " " * min(int(count[:3]) if count.isdecimal() else 1, 400)
    return "  " if end and end in "HfdGEF" else ""


# --------------------------------------------------------------------------------------------------------------- time

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_MONTHS = {name: index for index, name in enumerate(_MONTH[3:-1].split("|"), start=1)}
_CLOCK = r"(?P<h>\d{2}):(?P<mi>\d{2}):(?P<s>\d{2})"
_ZONE = r"(?P<z>Z|\s?UTC|\s?GMT|\s?[+-]\d{2}:?\d{2})?"

_DATE = r"(?P<y>(?:19|20)\d{2})[-/](?P<mo>\d{2})[-/](?P<d>\d{2})"
_ISO = rf"{_DATE}(?:T|,?\s){_CLOCK}(?:[.,](?P<f>\d{{1,9}}))?{_ZONE}(?!\d)"
_NAMED = rf"(?P<y>\d{{4}})-(?P<mon>{_MONTH})-(?P<d>\d{{2}})\s{{1,2}}{_CLOCK}(?:\.(?P<f>\d{{1,9}}))?"
_US = rf"(?P<mo>\d{{2}})/(?P<d>\d{{2}})/(?P<y>20\d{{2}})\s{_CLOCK}(?:[.,](?P<f>\d{{1,9}}))?"
_CTIME = rf"(?:mon|tue|wed|thu|fri|sat|sun)\s(?P<mon>{_MONTH})\s{{1,2}}(?P<d>\d{{1,2}})\s{_CLOCK}\s(?P<y>\d{{4}})"
_SYSLOG = rf"(?P<mon>{_MONTH})\s{{1,2}}(?P<d>\d{{1,2}})\s{_CLOCK}(?:\.(?P<f>\d{{1,9}}))?"
_VLLM = rf"(?P<mo>\d{{2}})-(?P<d>\d{{2}})\s{_CLOCK}(?:\.(?P<f>\d{{1,6}}))?"
_GLOG = rf"[IWEF](?P<mo>\d{{2}})(?P<d>\d{{2}})\s{_CLOCK}\.(?P<f>\d{{1,9}})"

_STAMPS = {
    "named": re.compile(_NAMED, re.IGNORECASE),
    "iso": re.compile(_ISO, re.IGNORECASE),
    "us": re.compile(_US),
    "ctime": re.compile(_CTIME, re.IGNORECASE),
    "syslog": re.compile(_SYSLOG, re.IGNORECASE),
    "vllm": re.compile(rf"\w{{4,8}}\s{_VLLM}"),
    "glog": re.compile(_GLOG),
}
_LIKE_A_STAMP = lazy(
    r"""(?<![\w.:])(?:(?P<named>\d{4}-[A-Za-z]{3}-\d)|(?P<iso>(?:19|20)\d\d[-/]\d\d[-/]\d)|(?P<us>\d\d/\d\d/20\d)
      |(?P<ctime>[A-Za-z]{3}\s[A-Za-z]{3}\s{1,2}\d)|(?P<syslog>[A-Za-z]{3}\s{1,2}\d{1,2}\s\d\d:)
      |(?P<vllm>(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s\d\d-)|(?P<glog>[IWEF]\d{4}\s))""",
    re.VERBOSE,
)


def line_time(text: str, year: int | None = None) -> float | None:
    """Seconds since the epoch of the first stamp in the first 300 characters, or None.

    Known are libnrt and nccom (`2026-Aug-21 10:14:02.883112`), ISO 8601 and its relatives (with the compile-cache
    wrappers' and `2024/04/12`), `04/12/2024 07:13:06`, `dmesg -T`, and, where `year` is given, the stamps without one
    (syslog, vLLM, glog). UTC is assumed where the stamp names no zone.
    """
    for like in _LIKE_A_STAMP.finditer(text[:300]):
        found = _STAMPS[like.lastgroup or ""].match(text[:340], like.start())
        if found:
            return _seconds(found, year)
    return None


def _seconds(found: re.Match[str], year: int | None = None) -> float | None:
    part = found.groupdict()
    try:
        years = int(part["y"]) if part.get("y") else year
        month = int(part["mo"]) if part.get("mo") else _MONTHS[part["mon"].lower()]
        if years is None:
            return None
        moment = datetime(
            years, month, int(part["d"]), int(part["h"]), int(part["mi"]), min(int(part["s"]), 59), tzinfo=timezone.utc
        )
    except (ValueError, KeyError):
        return None
    seconds = moment.timestamp()
    fraction = part.get("f")
    if fraction:
        # The compile-cache wrappers print milliseconds with six digits: `.000296: 271334 INFO ||...`.
        thousandths = fraction.startswith("000") and _WRAPPER_LEVEL.match(found.string, found.end())
        seconds += int(fraction) / 1000 if thousandths and len(fraction) == 6 else _fraction(fraction)
    zone = (part.get("z") or "").strip()
    if zone[:1] in ("+", "-"):
        shift = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        seconds -= shift if zone[0] == "+" else -shift
    return seconds


_WRAPPER_LEVEL = lazy(r":\s{1,4}(?:\d{1,10}\s{1,4})?\[?(?:DEBUG|INFO|WARNING|ERROR)\b")


def _fraction(digits: str) -> float:
    # libnrt of 2022-23 and nccom print four digits of which only the last three are milliseconds (`.0917`).
    if len(digits) == 4 and digits[0] == "0":
        return int(digits) / 1000
    return float("0." + digits)


# ----------------------------------------------------------------------------------------------------- own records

_WRAPPER_STAMP = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{3,6}:"
_OWN = lazy(
    rf"""{_NAMED}\s+\d+:\s?\d+\s                                             # libnrt, nccom
      | {_WRAPPER_STAMP}\s{{0,3}}(?:\d+\s+)?(?:\[?[A-Z]+\]?:?\s+)?\|\|         # ... INFO ||NCC_WRAPPER||
      | {_WRAPPER_STAMP}\s{{1,3}}\d+\s+\[[A-Z]+\]:                           # the wrapper of 2026
      | \d{{4}}-\d\d-\d\dT[\d:]{{8}}Z\s(?:(?:ERROR|WARNING|INFO|USER|DEBUG)\s\d+\s\[   # neuronx-cc
        |\[(?:[A-Z]{{3}}\d{{3}}|F\d{{3}}|NCC_\w{{4,12}})\])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OWN_STAMP = lazy(
    r"\s{0,8}\.{0,200}\[?(?P<stamp>(?:\d{4}[-/]\w{2,3}[-/]\d\d|[A-Z][a-z]{2}\s[A-Z][a-z]{2}\s|\d\d/\d\d/\d{4}"
    r"|[IWEF]\d{4}\s|[A-Z]{4,8}\s\d\d-).{0,40})"
)

# ----------------------------------------------------------------------------------------------------------- prefixes

_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE)"
_STAMP_START = lazy(_ISO + r"(?P<colon>:?)(?=\s|::|\[|,|-|\||$)", re.IGNORECASE)
_US_START = lazy(_US + r"(?=\s)")
_BRACKET_STAMP = lazy(r"\[" + _ISO + r"\]", re.IGNORECASE)
_AFTER_STAMP = lazy(
    rf"""(?:
        \s(?:stdout|stderr)\s[FP]\s                                        # CRI
      | \s?\[{_LEVEL}\]\s\[[\w./]{{1,60}}:\d{{1,6}}:[\w<>]{{1,60}}\]\s     # [ISO] [INFO] [file:line:fn]
      | \s(?:::)?\[?{_LEVEL}\s?\]?(?:\s?[-:|]\s|\s)(?!\d+\s\[)             # ISO INFO ...
      | ::{_LEVEL}:\s                                                      # ISO::ERROR:
      | \s-\s(?:[\w.]{{1,80}}\s-\s)?{_LEVEL}\s-\s(?:[\w./]{{1,80}}\s-\s)?  # ISO - name - INFO - name -
      | \s?\[(?:[\w.]{{1,60}}|\d{{1,8}})\]\s?\[{_LEVEL}\]\s?(?:-\s)?       # [ISO] [7] [INFO]
      | \s\{{[\w./-]{{1,80}}:\d{{1,6}}\}}\s{_LEVEL}\s-\s                   # [ISO] {{file:line}} INFO -
    )""",
    re.VERBOSE,
)
_STREAM = lazy(
    r"\s(?:algo-\d{1,4}[-\w/]{0,80}|AllTraffic/i-[0-9a-f]{8,17}(?:/[\w-]{1,80})?"
    r"|[\w-]{1,60}/[\w-]{1,60}/[0-9a-f]{32})\s"
)
_PROGRAM = r"(?P<prog>[\w./@:+-]{1,80}\[\d{1,10}\]|kernel|systemd|dockerd)"
_JOURNAL_AFTER = lazy(rf"\s(?P<host>[\w.-]{{1,100}})\s{_PROGRAM}:\s?")
_SYSLOG_START = lazy(_SYSLOG + r"\s(?P<host>[\w.:-]{1,100})\s(?P<prog>[\w./@:+()-]{1,80}(?:\[\d{1,10}\])?):\s?", re.IGNORECASE)
_EPOCH = lazy(r"(?P<ms>1[0-9]{12})(?:,\"?|\t|\s{1,4})|(?P<sec>1[0-9]{9}\.\d{3,9})(?=\s)")
_SRUN = lazy(r"\s{0,4}(?P<rank>\d{1,5}):\s")
_LIKE_A_RECORD = lazy(
    rf"\s{{0,4}}(?:\[|\(|\d{{4}}-|{_LEVEL}\b|Traceback|File \"|\{{'"
    r"|[A-Za-z.]{1,60}(?:Error|Exception|Warning)\b|\d{1,3}%)"
)
_KMSG_LIKE = lazy(r"\s{0,4}\d{1,7}\.\d{6}\]")

_RANK = lazy(
    r"\[(?:(?:rank|default|trainer|worker|local_rank)\s?:?\s?(?P<a>\d{1,5})\](?::|(?=\s))"
    r"|(?P<b>\d{1,5})\](?::(?!\d)|<std(?:err|out)>:))\s?",
    re.IGNORECASE,
)
_MPI = lazy(r"\[\d{1,6},(?:mpirank:)?(?P<rank>\d{1,6})(?:,(?P<host>[\w.-]{1,80}))?\]<std(?:err|out|diag)>\s?:\s?")
_KUBECTL = lazy(r"\[(?:pod|deployment|job)/[\w./-]{1,300}\]\s")
_LOG4J = lazy(rf"\[{_LEVEL}\s{{0,2}}\]\s(?:\S{{1,160}}\s)?[\w.$]{{1,120}}\s-\s(?:W-\d[\w.-]{{0,120}}:\s?)?")
_DJL = lazy(
    rf"{_LEVEL}\s{{1,3}}(?:PyProcess|PyModel|PyEnv|ModelServer|WorkerPool|WorkLoadManager|LmiUtils)\s"
    r"(?:-\s)?(?:W-\d[\w.-]{0,120}:\s?)?"
)
_RAY = lazy(
    r"""\((?P<name>[A-Za-z_<][\w.:<>-]{0,100})(?:\([^()]{0,60}\))?
        (?:[\s,]{1,2}(?:pid=\d{1,10}|(?:node_)?ip=(?P<ip>[\w.:-]{1,64})|(?:local_)?rank=(?P<rank>\d{1,5})
          |actor_id=\w{1,40})){1,4}\)(?:\s|$)""",
    re.VERBOSE,
)
_RAYLET = lazy(r"\((?:raylet|autoscaler \+\w{1,12}|gcs_server|dashboard)\)\s")
_WORKER_RANK = lazy(r"(?:Vllm)?Worker(?:Process)?_(?:TP)?(\d{1,4})\Z")
_VLLM_START = lazy(
    rf"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s{_VLLM}\s"
    r"(?:\[[\w./<>-]{1,120}:\d{1,6}\]|[\w./-]{1,120}:\d{1,6}\])\s?"
)
_COMPOSE = lazy(r"[A-Za-z0-9][\w.-]{0,80}?(?:[-_]\d{1,4}|-\d{1,4}-[a-z0-9]{5})\s{1,60}\|\s")
_PDSH = lazy(r"(?P<host>ip(?:-\d{1,3}){4}(?:\.[\w.-]{1,80})?|(?:worker|node|algo|host)-?\d{1,4}):\s")
_GREP = lazy(r"(?:\./|/)?[\w][\w./@+-]{0,200}\.(?:log|out|err):(?:\d{1,9}:)")
_PACKER = lazy(r"==>\s[\w.-]{1,80}:\s|\s{4}(?:amazon-[\w-]{1,30}|docker)(?:\.[\w-]{1,60})?:\s")
_BUILDKIT = lazy(r"#\d{1,4}\s\d{1,6}\.\d{1,4}\s")
_PRIORITY = lazy(r"<\d{1,3}>(?=[A-Z][a-z]{2}\s|\d{4}-|1\s\d{4}-)(?:1\s)?")


def _stamp(text: str, at: int) -> _Hit | None:
    found = _STAMP_START.match(text, at) or _BRACKET_STAMP.match(text, at) or _US_START.match(text, at)
    if found is None:
        return None
    end = found.end()
    host = ""
    journal = _JOURNAL_AFTER.match(text, end)
    if journal:
        end, host = journal.end(), journal.group("host")
    else:
        stream = _STREAM.match(text, end)
        if stream:
            end = stream.end() - 1
        # A log4j level belongs to the thread and logger behind it: `[WARN ] W-9000-model-stderr MODEL_LOG - `.
        after = None if _LOG4J.match(text, end + 1) else _AFTER_STAMP.match(text, end)
        if after:
            end = after.end()
    return _Hit(end, None, _seconds(found), host)


def _digits(text: str, at: int, year: int | None) -> _Hit | None:
    hit = _stamp(text, at)
    if hit:
        return hit
    found = _EPOCH.match(text, at)
    if found:
        milli = found.group("ms")
        seconds = int(milli) / 1000 if milli else float(found.group("sec"))
        journal = _JOURNAL_AFTER.match(text, found.end())
        if journal:
            return _Hit(journal.end(), None, seconds, journal.group("host"))
        return _Hit(found.end(), None, seconds)
    return _srun(text, at, year)


def _srun(text: str, at: int, year: int | None) -> _Hit | None:
    """`3: ` is a rank only before something that looks like a record: `1: lo: <LOOPBACK>` must stay whole."""
    found = _PACKER.match(text, at)
    if found:
        return _Hit(found.end())
    found = _SRUN.match(text, at)
    if found and _LIKE_A_RECORD.match(text, found.end()):
        return _Hit(found.end(), int(found.group("rank")))
    return None


def _bracket(text: str, at: int, year: int | None) -> _Hit | None:
    if _KMSG_LIKE.match(text, at + 1):
        return None
    found = _RANK.match(text, at)
    if found:
        return _Hit(found.end(), int(found.group("a") or found.group("b")))
    found = _MPI.match(text, at)
    if found:
        return _Hit(found.end(), int(found.group("rank")), None, found.group("host") or "")
    found = _KUBECTL.match(text, at) or _LOG4J.match(text, at)
    return _Hit(found.end()) if found else _stamp(text, at)


def _paren(text: str, at: int, year: int | None) -> _Hit | None:
    found = _RAY.match(text, at)
    if found is None:
        found = _RAYLET.match(text, at)
        return _Hit(found.end()) if found else None
    rank = found.group("rank")
    if rank is None:
        worker = _WORKER_RANK.match(found.group("name"))
        rank = worker.group(1) if worker else None
    return _Hit(found.end(), None if rank is None else int(rank), None, found.group("ip") or "")


def _letters(text: str, at: int, year: int | None) -> _Hit | None:
    found = _SYSLOG_START.match(text, at)
    if found:
        return _Hit(found.end(), None, _seconds(found, year), found.group("host"))
    found = _VLLM_START.match(text, at)
    if found:
        return _Hit(found.end(), None, _seconds(found, year))
    found = _PDSH.match(text, at)
    if found:
        return _Hit(found.end(), None, None, found.group("host"))
    found = _DJL.match(text, at) or _COMPOSE.match(text, at) or _GREP.match(text, at)
    return _Hit(found.end()) if found else None


def _mark(text: str, at: int, year: int | None) -> _Hit | None:
    found = _PACKER.match(text, at) or _BUILDKIT.match(text, at) or _PRIORITY.match(text, at) or _GREP.match(text, at)
    return _Hit(found.end()) if found else None


_BY_FIRST: dict[str, Callable[[str, int, int | None], _Hit | None]] = {
    **dict.fromkeys("0123456789", _digits),
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", _letters),
    **dict.fromkeys("=#</.", _mark),
    "[": _bracket,
    "(": _paren,
    " ": _srun,
}

_JSON_LOG = ('{"log":', '{"time":', '{"stream":', '{"message":', '{"@timestamp":', '{"timestamp":')


def _unwrap_json(text: str) -> tuple[str, float | None]:
    """The message of a line that docker, fluent-bit or containerd wrapped in JSON, with its time."""
    if not text.startswith(_JSON_LOG) or len(text) > 1_000_000:
        return text, None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return text, None
    if not isinstance(record, dict):
        return text, None
    message = record.get("log", record.get("message"))
    if not isinstance(message, str):
        return text, None
    stamp = record.get("time") or record.get("@timestamp") or record.get("timestamp") or ""
    return message.rstrip("\r\n"), line_time(stamp) if isinstance(stamp, str) else None


def peel(text: str, year: int | None = None) -> Prefix:
    """Strips the launcher prefixes of one line (without ANSI escapes); `year` completes syslog and vLLM stamps.

    The body keeps its indentation apart from the one blank that belongs to a prefix.
    """
    text, time = _unwrap_json(text)
    rank: int | None = None
    host = ""
    at = 0
    for _ in range(MAX_PREFIXES):
        start = at
        # Columns are padded, so the next prefix may stand after several blanks; the body keeps them.
        while at and start < len(text) and text[start] in " \t":
            start += 1
        handler = _BY_FIRST.get(text[start : start + 1])
        if handler is None or _OWN.match(text, start):
            break
        hit = handler(text[: start + _HEAD] if len(text) > start + _HEAD else text, start, year)
        if hit is None:
            break
        at = hit.end
        rank = hit.rank if rank is None else rank
        time = hit.time if time is None else time
        host = host or hit.host
    if at and text[at : at + 1] in (" ", "\t") and text[at - 1 : at] not in (" ", "\t"):
        at += 1
    body = text[at:] if at else text
    if time is None:
        own = _OWN_STAMP.match(body)
        time = line_time(own.group("stamp"), year) if own else None
    return Prefix(body, rank, time, host)
