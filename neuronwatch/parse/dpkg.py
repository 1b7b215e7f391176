"""Debian packages as installed: `dpkg -l` rows, `dpkg -s` blocks, `dpkg-query -W`, `apt list --installed`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._versions import kernel_facts, system_package
from neuronwatch.parse.api import Line, LineFormat

_ROW = lazy(r"^\s{0,8}[hi][iUFHW]R?\s{1,6}([a-z0-9][\w.+:\-]{1,90})\s{1,90}([0-9][\w.+:~\-]{0,90})(?:\s|$)")
_APT_LIST = lazy(r"^\s{0,8}([a-z0-9][\w.+\-]{1,90})/\S{1,90}(?: \S{1,40})? ([0-9][\w.+:~\-]{0,90}) \w{2,8} \[[^\]]{0,80}installed")
_QUERY = lazy(
    r"^\s{0,4}((?:aws-neuron|linux-(?:image|headers)-|libfabric|efa-)[\w.+:\-]{0,90})[\s=]{1,60}"
    r"([0-9][\w.+:~\-]{0,90})\s{0,20}(?:(?:all|amd64|arm64|ii )\b.{0,80})?$"
)
_PACKAGE = lazy(r"^\s{0,4}Package: ([a-z0-9][\w.+\-]{1,90})\s{0,10}$")
_STATUS = lazy(r"^\s{0,4}Status: (\S.{0,60})$")
_VERSION = lazy(r"^\s{0,4}Version: ([0-9][\w.+:~\-]{0,90})")


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    kernels: dict[str, list[str]] = {}
    first: Line | None = None
    package = status = ""
    for line in lines:
        text = line.body
        row = _ROW.match(text) or _APT_LIST.match(text) or _QUERY.match(text)
        if row:
            first = first or line
            yield from system_package(line, row.group(1), row.group(2), kernels)
            continue
        head, state, version = _PACKAGE.match(text), _STATUS.match(text), _VERSION.match(text)
        if head:
            package, status = head.group(1), ""
        elif state:
            status = state.group(1)
        elif version and package:
            if "installed" in status and "not-installed" not in status:
                first = first or line
                yield from system_package(line, package, version.group(1), kernels)
            package = ""
    if first is not None:
        yield from kernel_facts(first, kernels)


FORMAT = LineFormat(
    name="dpkg",
    kind="listing",
    triggers=(
        r"\b[hi]i\s{1,6}[a-z0-9][\w.+:\-]{1,90}\s{1,90}[0-9][\w.+:~\-]{0,90}\s{1,90}(?:all|amd64|arm64)",
        r"\b[hi]i\s{1,6}(?:aws-neuron|linux-)",
        r"\[installed",
        r",now [0-9]",
        r"aws-neuron[\w.+\-]{1,60}[\s=]{1,60}[0-9]{1,3}\.[0-9]",
        r"Status: install ",
    ),
    parse=_parse,
    before=3,
    after=300,
)
