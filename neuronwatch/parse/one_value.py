"""Files that hold one value: an exit status, an instance type, a kernel release, a Python version, a container image."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import document_lines, fact
from neuronwatch.parse.api import Document, FileFormat, Line
from neuronwatch.parse.host_lines import INSTANCE_TYPE, instance

_STATUS = lazy(r"^-?[0-9]{1,3}$")
_INSTANCE = lazy(r"^" + INSTANCE_TYPE + r"$")
_KERNEL = lazy(r"^[3-7]\.[0-9]{1,3}\.[0-9]{1,3}-[\w.+~-]{1,60}$")
_PYTHON = lazy(r"^(?:Python )?([23]\.[0-9]{1,2}\.[0-9]{1,2})$")
_IMAGE = lazy(r"^(?:[\w.\-]{1,80}(?::[0-9]{1,5})?/){0,6}[a-z0-9][\w.\-]{1,80}:[\w][\w.\-]{0,100}(?:@sha256:[0-9a-f]{12,64})?$")
_SDK = lazy(r"sdk([0-9]\.[0-9]{1,3}\.[0-9]{1,3})")
_EXIT_NAME = lazy(
    r"(?:^|[^a-z])(?:exit(?:ed|code|status|value)?|status|rc|code|ret(?:urn)?[_-]?(?:code|status|val(?:ue)?)|errorlevel)(?:$|[^a-z])",
    re.I,
)
"""A number alone says nothing: `2` in count.txt is no exit status. The file's own name must tell."""
_CPUS_NAME = lazy(r"(?:^|[^a-z])(?:nproc|n?v?cpus?|cpu[_-]?count)(?:$|[^a-z])", re.I)
SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
}


def signal_name(code: int) -> str:
    """`SIGKILL` for 137 (a shell's 128+n) and for -9 (Python's), else ""."""
    return SIGNALS.get(-code if code < 0 else code - 128, "")


def exit_facts(line: Line, code: int) -> Iterator[Record]:
    """The exit status of the run, and the signal behind it where it is one."""
    yield fact(line, "process.exit_code", code)
    name = signal_name(code)
    if name:
        yield fact(line, "process.exit_signal", name)


def _base(document: Document) -> str:
    return re.split(r"[/\\!]", document.name)[-1]


def _value(document: Document) -> tuple[Line, str] | None:
    if document.size > 400 or b"\0" in document.data:
        return None
    lines = [line for line in document_lines(document) if line.text.strip()]
    return (lines[0], lines[0].text.strip()) if len(lines) == 1 else None


def _sniff(document: Document) -> float:
    value = _value(document)
    if value is None:
        return 0.0
    text = value[1]
    if _INSTANCE.match(text) or _KERNEL.match(text) or _PYTHON.match(text):
        return 0.9
    if _STATUS.match(text):
        return 0.9 if _EXIT_NAME.search(_base(document)) or _CPUS_NAME.search(_base(document)) else 0.0
    return 0.6 if _IMAGE.match(text) and "://" not in text else 0.0


def _parse(document: Document) -> Iterator[Record]:
    value = _value(document)
    if value is None:
        return
    line, text = value
    python = _PYTHON.match(text)
    if _STATUS.match(text) and int(text) > 0 and _CPUS_NAME.search(_base(document)):
        yield fact(line, "host.vcpus", int(text))
    elif _STATUS.match(text):
        if _EXIT_NAME.search(_base(document)):
            yield from exit_facts(line, int(text))
    elif _INSTANCE.match(text):
        yield fact(line, "host.instance_type", instance(text))
    elif _KERNEL.match(text):
        yield fact(line, "host.kernel", text)
    elif python:
        yield fact(line, "python.version", python.group(1))
    elif _IMAGE.match(text):
        yield fact(line, "launch.image", text)
        yield fact(line, "launch.in_container", True)
        release = _SDK.search(text)
        if release:
            yield fact(line, "sdk.stated", release.group(1))


FORMAT = FileFormat(name="one-value", kind="listing", sniff=_sniff, parse=_parse)
