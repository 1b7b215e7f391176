"""Stacks of live or dying processes: py-spy dumps, faulthandler, gdb backtraces. One `py.stack` event a thread, frames
innermost first as (function, place)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Event, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat

MAX_FRAMES = 200
MAX_DUMPS = 512

_PROCESS = lazy(r"^\s{0,4}Process ([0-9]{1,10}): (\S.{0,1000})$")
_PYTHON = lazy(r"^\s{0,4}Python v([23]\.[0-9]{1,2}(?:\.[0-9]{1,2})?) \((/\S{1,300})\)")
_THREAD = lazy(r"^\s{0,4}Thread (0x[0-9a-fA-F]{1,16}|[0-9]{1,20})\s{0,2}(?:\(([\w+ ]{1,40})\))?(?:: \"([^\"]{0,120})\")?\s{0,4}$")
_FAULT = lazy(
    r"^\s{0,4}(Current thread|Thread) (0x[0-9a-fA-F]{1,16})(?: \[([^\]]{0,80})\])?(?: \(most recent call first\))?:\s{0,4}$"
)
_SPY_FRAME = lazy(r"^\s{4,12}(\S.{0,200}?) \(([^()]{1,300}?(?::[0-9]{1,7})?)\)\s{0,4}$")
_FAULT_FRAME = lazy(r"^\s{2,6}File \"([^\"]{1,400})\", line ([0-9]{1,7}) in (\S.{0,160}?)\s{0,4}$")
_GDB_FRAME = lazy(
    r"^\s{0,4}#([0-9]{1,4})\s{1,4}(?:0x[0-9a-fA-F]{4,16} in )?([\w:~<>*&, ]{1,160}?) ?\([^()]{0,400}\)(?: (?:at|from) (\S{1,300}))?"
)


class _Thread:
    def __init__(self, line: Line, name: str, state: str) -> None:
        self.line, self.name, self.state = line, name, state
        self.frames: list[tuple[str, str]] = []


def _threads(lines: Sequence[Line]) -> list[_Thread]:
    found: list[_Thread] = []
    for line in lines:
        text = line.body
        spy, fault, gdb = _THREAD.match(text), _FAULT.match(text), _GDB_FRAME.match(text)
        if fault:
            name = "MainThread" if fault.group(1) == "Current thread" else fault.group(3) or fault.group(2)
            found.append(_Thread(line, name, ""))
            continue
        if spy:
            found.append(_Thread(line, spy.group(3) or spy.group(1), spy.group(2) or ""))
            continue
        if gdb:
            if gdb.group(1) == "0" and not (found and not found[-1].frames):
                found.append(_Thread(line, "native", ""))
            if found and len(found[-1].frames) < MAX_FRAMES:
                found[-1].frames.append((gdb.group(2).strip(), gdb.group(3) or ""))
            continue
        if not found or len(found[-1].frames) >= MAX_FRAMES:
            continue
        frame, other = _SPY_FRAME.match(text), _FAULT_FRAME.match(text)
        if frame:
            found[-1].frames.append((frame.group(1), frame.group(2)))
        elif other:
            found[-1].frames.append((other.group(3), f"{other.group(1)}:{other.group(2)}"))
    return [thread for thread in found if thread.frames]


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    pid = command = ""
    for line in lines:
        process, python = _PROCESS.match(line.body), _PYTHON.match(line.body)
        if process:
            pid, command = process.group(1), process.group(2)
        elif python:
            yield fact(line, "python.version", python.group(1))
            yield fact(line, "host.python", python.group(2))
    threads = _threads(lines)
    for thread in threads:
        fields = {
            "thread": thread.name,
            "state": thread.state,
            "frames": tuple(thread.frames),
            "pid": int(pid) if pid else None,
            "command": command,
        }
        yield Event("py.stack", thread.line.origin, fields, f"pid{pid}" if pid else thread.line.entity, thread.line.time)
    # one dump after another: each process (rank) has a main thread of its own
    mains = [thread for thread in threads if thread.name == "MainThread"] or threads[:1]
    for main in mains[:MAX_DUMPS]:
        yield fact(main.line, "python.stack", tuple(name for name, _ in main.frames))


FORMAT = LineFormat(
    name="python-stack",
    kind="listing",
    triggers=(
        r"Thread (?:0x[0-9a-fA-F]{1,16}|[0-9]{1,20})\b.{0,60}(?:\"|most recent call first|\((?:idle|active))",
        r"Current thread 0x[0-9a-fA-F]{1,16}",
        r"Process [0-9]{1,10}: \S.{0,200}python",
        r"Python v[23]\.[0-9]{1,2}",
        r"#0\s{1,4}(?:0x[0-9a-fA-F]{4,16} in )?[\w:]{3,160}",
    ),
    parse=_parse,
    before=4,
    after=120,
)
