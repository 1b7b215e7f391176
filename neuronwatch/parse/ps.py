"""Process listings: `ps` in any column set, `top` and `htop` screens, `pgrep`, `pstree` rows of `systemctl status`.
Columns are found by the header's names; rows without a header are not guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.records import Record, Sample
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact, parse_size, to_float, to_int
from neuronwatch.parse.api import Line, LineFormat

_HEADER = lazy(
    r"^\s{0,12}(?:(?:F|S|UID|USER|PID|PPID|SPID|LWP|NLWP|C|PRI|NI|ADDR|SZ|RSS|VSZ|WCHAN|STIME|START|STARTED|TTY|TT|TIME|"
    r"ELAPSED|STAT|%CPU|%MEM|CPU%|MEM%|PR|PRI|VIRT|RES|SHR|TIME\+|PSR|COMM)\s{1,20}){1,16}"
    r"(?:CMD|COMMAND|COMM|ARGS|Command)\s{0,20}$"
)
_STATE = lazy(r"^[RSDZTtXIW][+<NLsl]{0,5}$")
_TASKS = lazy(r"^%?Cpu\(s\):.{0,120}?([0-9.,]{1,6})[ %]{0,2}wa\b")
_COMPILER = lazy(
    r"(?:^|/)(?:neuronx-cc|neuron-cc|walrus_driver|hlo2penguin|hlo-opt|tensorizer|neuron_external|penguin)"
    r"\b|\bneuronxcc\b|/neuronx-cc compile"
)
_PGREP = lazy(
    r"^(?:sudo )?(?:pgrep (?:-\w{1,4} ){0,3}|pidof |ps .{0,60}grep (?:-\w{1,4} ){0,2}(?:-c )?)['\"]?\[?([\w.\-\[\]]{2,60})"
)
_PYTHON = lazy(r"^[ \\_|`\-]{0,12}(?:\S{0,200}/)?python[0-9.]{0,5}\b")
_MAX = 4000


class Process(NamedTuple):
    line: Line
    pid: int
    command: str
    state: str
    cpu: float | None
    rss: int | None = None


def _columns(header: str) -> list[str]:
    return [
        {
            "CMD": "COMMAND",
            "COMM": "COMMAND",
            "ARGS": "COMMAND",
            "S": "STAT",
            "TIME+": "TIME",
            "Command": "COMMAND",
            "CPU%": "%CPU",
        }.get(name, name)
        for name in header.split()
    ]


def _row(line: Line, columns: Sequence[str]) -> Process | None:
    cells = line.body.split(None, len(columns) - 1)
    if len(cells) < len(columns):
        return None
    values = dict(zip(columns, cells, strict=True))
    pid = to_int(values.get("PID", values.get("SPID", "")))
    if pid is None:
        return None
    state = values.get("STAT", "")
    resident = parse_size(values.get("RSS", values.get("RES", "")).upper(), "K")
    command = values["COMMAND"].strip()
    return Process(line, pid, command, state if _STATE.match(state) else "", to_float(values.get("%CPU", "")), resident)


def processes(lines: Sequence[Line]) -> list[Process]:
    """All rows under a header, up to the first line that does not fit."""
    found: list[Process] = []
    columns: list[str] = []
    misses = 0
    for line in lines:
        if _HEADER.match(line.body):
            columns, misses = _columns(line.body), 0
            continue
        if not columns or len(found) >= _MAX:
            continue
        row = _row(line, columns)
        if row is None:
            misses += 1
            if misses > 1 or line.body.lstrip().startswith(("$", "#")):
                columns = []
            continue
        found.append(row)
    return found


def program(command: str) -> str:
    """`/usr/bin/python3 -m vllm.entrypoints x` is `python3`; kernel threads keep their brackets."""
    first = command.lstrip(" \\_|-`├─└│").split(" ", 1)[0].rstrip(":")
    return first if first.startswith("[") else first.rsplit("/", 1)[-1]


def _family(command: str) -> str:
    """Workers differ in numbers only: ports, ranks, descriptors."""
    return re.sub(r"[0-9]+", "#", command[:600])


def _workers(found: Sequence[Process]) -> Iterator[Record]:
    """Several processes with one Python command line are workers of it (data set `map`, DataLoader, server workers)."""
    once = {item.pid: item for item in found}  # the same process in several listings is one
    python = [
        item
        for item in once.values()
        if re.match(r"^(?:\S{0,200}/)?(?:python|ray::|torchrun|accelerate)", item.command.lstrip(" \\_"))
    ]
    if not python:
        return
    command, number = Counter(_family(item.command) for item in python).most_common(1)[0]
    if number < 2:
        return
    same = [item for item in python if _family(item.command) == command]
    yield fact(same[0].line, "process.workers", number)
    stated = [item for item in same if item.state]
    if stated:
        idle = sum(1 for item in stated if item.state[0] in "SD" and (item.cpu or 0.0) < 1.0)
        yield fact(same[0].line, "process.workers_idle", idle)
        yield fact(same[0].line, "process.workers_running", sum(1 for item in stated if item.state[0] == "R"))


def _memory(found: Sequence[Process]) -> Iterator[Record]:
    """Resident memory of a process that several listings of one file show."""
    times = Counter(item.pid for item in found if item.rss)
    for item in found:
        if item.rss and times[item.pid] > 2:
            yield Sample("host_memory", float(item.rss), item.line.origin, "bytes", f"pid{item.pid}", item.line.time, None)


def _answers(lines: Sequence[Line]) -> Iterator[Record]:
    """`$ pgrep -c neuronx-cc` and its like: an empty answer or 0 means that none runs."""
    for block in blocks(lines):
        asked = _PGREP.match(block.command)
        if not asked or not re.search(r"neuronx?-?cc|neuronxcc|walrus", asked.group(1).replace("[", "").replace("]", "")):
            continue
        answers = [line.body.strip() for line in block.output if line.body.strip()]
        if answers and re.match(r"^[0-9]{1,7}$", answers[0]) and re.search(r"\s-\w{0,3}c\b|wc -l|--count", block.command):
            number = int(answers[0])
        else:
            number = sum(1 for answer in answers if "grep" not in answer)
        yield fact(block.line, "process.listed", True)
        yield fact(block.line, "process.compilers", number)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        wait = _TASKS.match(line.body)
        number = to_float(wait.group(1).replace(",", ".")) if wait else None
        if number is not None:
            yield fact(line, "host.iowait", number)
    found = [item for item in processes(lines) if not re.match(r"^(?:grep|egrep|ps)\s", item.command)]
    if found:
        first = found[0].line
        yield fact(first, "process.listed", True)
        yield fact(first, "host.processes", tuple(dict.fromkeys(program(item.command) for item in found))[:400])
        filtered = any(
            re.search(r"\bps\b.{0,80}\|\s?e?grep", command) and not re.search(r"grep.{0,40}(?:neuron|cc\b|compil)", command)
            for block in blocks(lines)
            for command in (block.command,)
        )
        compilers = [item for item in found if _COMPILER.search(item.command)]
        if compilers or not filtered:  # a listing that was filtered for something else does not show compilers
            yield fact(compilers[0].line if compilers else first, "process.compilers", len(compilers))
        busy = max((item for item in found if _PYTHON.match(item.command)), key=lambda item: item.cpu or 0.0, default=None)
        if busy is not None and busy.cpu:
            yield fact(busy.line, "process.python_cpu", busy.cpu)
        yield from _workers(found)
        yield from _memory(found)
    yield from _answers(lines)


FORMAT = LineFormat(
    name="ps",
    kind="listing",
    triggers=(
        r"\bPID\b.{0,120}\b(?:CMD|COMMAND|COMM|ARGS|Command)\s{0,20}$",
        r"Cpu\(s\):.{0,120}\bwa\b",
        r"[$#] (?:sudo )?(?:pgrep|pidof|ps )",
    ),
    parse=_parse,
    after=400,
)
