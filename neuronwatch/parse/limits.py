"""Process limits: /proc/PID/limits, `ulimit -a` and single `ulimit -n` answers. Soft limits; -1 is unlimited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact
from neuronwatch.parse.api import Line, LineFormat

_PROC = lazy(
    r"^\s{0,4}Max ([a-z ]{3,24}?)\s{2,40}(unlimited|[0-9]{1,20})\s{1,40}(unlimited|[0-9]{1,20})(?:\s{1,40}(\w{1,12}))?\s{0,20}$"
)
_ULIMIT = lazy(r"^\s{0,4}(?:-\w: )?([a-z][a-z \-]{3,40}?)\s{1,40}\(([\w\-, ]{0,30})-(\w)\)\s{1,20}(unlimited|[0-9]{1,20})\s{0,20}$")
_ZSH = lazy(r"^\s{0,4}-([a-z]): ([a-z][a-z ()\-]{3,40}?)\s{1,40}(unlimited|[0-9]{1,20})\s{0,20}$")
_LETTERS = {
    "n": ("open_files", 1),
    "u": ("processes", 1),
    "s": ("stack", 1024),
    "l": ("locked_memory", 1024),
    "c": ("core_file_size", 512),
    "v": ("address_space", 1024),
    "m": ("resident_set", 1024),
    "f": ("file_size", 512),
    "t": ("cpu_time", 1),
    "q": ("msgqueue_size", 1),
    "i": ("pending_signals", 1),
}
_PROC_NAMES = {
    "open files": "open_files",
    "processes": "processes",
    "stack size": "stack",
    "locked memory": "locked_memory",
    "core file size": "core_file_size",
    "address space": "address_space",
    "resident set": "resident_set",
    "file size": "file_size",
    "cpu time": "cpu_time",
    "msgqueue size": "msgqueue_size",
    "pending signals": "pending_signals",
}


def _value(text: str, factor: int) -> int:
    return -1 if text == "unlimited" else int(text) * factor


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        proc = _PROC.match(line.body)
        if proc:
            name = _PROC_NAMES.get(proc.group(1).strip())
            if name:
                yield fact(line, f"limit.{name}", _value(proc.group(2), 1))
            continue
        ulimit = _ULIMIT.match(line.body)
        if ulimit:
            letter, text, unit = ulimit.group(3), ulimit.group(4), ulimit.group(2)
        else:
            zsh = _ZSH.match(line.body)
            if not zsh:
                continue
            letter, text, unit = zsh.group(1), zsh.group(3), zsh.group(2)
        if letter in _LETTERS:
            name, factor = _LETTERS[letter]
            factor = 1024 if "kbytes" in unit else factor
            yield fact(line, f"limit.{name}", _value(text, factor))
    for block in blocks(lines):
        found = re.match(r"^ulimit (?:-S ?)?-([nuslcv])\s{0,4}(?:;.{0,40})?$", block.command)
        answer = block.output[0].body.strip() if block.output else ""
        if found and re.fullmatch(r"unlimited|[0-9]{1,20}", answer):
            name, factor = _LETTERS[found.group(1)]
            yield fact(block.output[0], f"limit.{name}", _value(answer, factor))


FORMAT = LineFormat(
    name="limits",
    kind="listing",
    triggers=(
        r"Max (?:open files|processes|locked memory|stack size|address space)\s{2,40}\S",
        r"(?:open files|max user processes|max locked memory|stack size)\s{1,40}\(",
        r"-[nuls]: (?:file descriptors|processes|stack size|locked-in-memory)",
        r"[$#] ulimit -",
    ),
    parse=_parse,
    after=2,
)
