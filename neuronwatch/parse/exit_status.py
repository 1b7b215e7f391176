"""Exit statuses inside text: `$ echo $?`, `exit code 137`, `Exit Code: 1` of containers, shells that report a signal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Event, Record, Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._programs import is_launch
from neuronwatch.parse._shell import split_commands
from neuronwatch.parse._text import blocks
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.one_value import exit_facts, signal_name

_STATED = lazy(
    r"(?:^\s{0,12}Exit Code:\s{1,12}|\bmain process exited, code=\w{1,10}, status=|^\s{0,4}"
    r"(?:exit(?:[ _-]?(?:code|status))?|rc|EXIT(?:_CODE)?)\s{0,3}[:=]\s{0,3})(-?[0-9]{1,3})\b"
)
_SHELL = lazy(
    r"^(?:\S{1,200}: line [0-9]{1,6}:\s{1,6}[0-9]{1,8} )?(Killed|Aborted|Segmentation fault|Bus error|"
    r"Terminated|Illegal instruction)(?:\s{1,20}\(core dumped\))?(?:\s{1,20}\S.{0,400})?$"
)
_ELASTIC = lazy(r"^\s{1,6}exitcode\s{1,4}: (-?[0-9]{1,3}) \(pid: ([0-9]{1,10})\)")
_ELASTIC_RANK = lazy(r"^\s{1,6}rank\s{1,8}: ([0-9]{1,6}) \(local_rank: ")
_SIGNALS = {
    "Killed": "SIGKILL",
    "Aborted": "SIGABRT",
    "Segmentation fault": "SIGSEGV",
    "Bus error": "SIGBUS",
    "Terminated": "SIGTERM",
    "Illegal instruction": "SIGILL",
}


def _event(line: Line, code: int | None, signal: str) -> Event:
    return Event("process.exit", line.origin, {"code": code, "signal": signal}, line.entity, line.time)


def _elastic(lines: Sequence[Line]) -> Iterator[Record]:
    """The failure table of torchrun: one exit status a rank."""
    rank = ""
    for line in lines:
        named = _ELASTIC_RANK.match(line.body)
        if named:
            rank = f"rank{named.group(1)}"
        died = _ELASTIC.match(line.body)
        if died:
            code = int(died.group(1))
            fields: dict[str, Value] = {"code": code, "signal": signal_name(code), "pid": int(died.group(2))}
            yield Event("process.exit", line.origin, fields, rank or line.entity, line.time)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    yield from _elastic(lines)
    for line in lines:
        stated = _STATED.search(line.body)
        if stated:
            code = int(stated.group(1))
            yield from exit_facts(line, code)
            if not _ELASTIC.match(line.body):
                yield _event(line, code, signal_name(code))
        shell = _SHELL.match(line.body)
        if shell:
            yield _event(line, None, _SIGNALS[shell.group(1)])
    previous = ""
    for block in blocks(lines):
        before, previous = previous, block.command
        if (
            not re.search(r"(?:^|;\s{0,2})echo (?:\"?\$\?\"?|\"?exit(?: code)?[:=]? ?\$\?\"?)\s{0,4}$", block.command)
            or not block.output
        ):
            continue
        last = [line for line in block.output if line.body.strip()]
        if last and ";" not in block.command:
            last = last[:1]
        answer = re.match(r"^\D{0,20}([0-9]{1,3})\s{0,4}$", last[-1].body) if last else None
        # `getent ...; echo $?` states the status of a small tool and not that of the run
        asked = block.command.split("; echo", 1)[0] if ";" in block.command else before
        if answer and (not asked or any(is_launch(words) for words in split_commands(asked))):
            yield from exit_facts(last[-1], int(answer.group(1)))


FORMAT = LineFormat(
    name="exit-status",
    kind="log",
    triggers=(
        r"(?i)exit[ _-]?(?:code|status)?\s{0,3}[:=]\s{0,12}-?[0-9]",
        r"EXIT_CODE",
        r"exitcode\s{1,4}: -?[0-9]",
        r"main process exited, code=",
        r"echo \"?(?:exit.{0,8})?\$\?",
        r"(?:Killed|Aborted|Segmentation fault|Bus error|Illegal instruction)(?:\s|$)",
    ),
    parse=_parse,
    before=2,
    after=3,
)
