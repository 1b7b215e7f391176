"""RPM packages as installed: `rpm -qa` lines and `yum` or `dnf list installed` rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._versions import kernel_facts, system_package
from neuronwatch.parse.api import Line, LineFormat

_ARCH = r"(?:x86_64|aarch64|noarch|i686)"
_NAMES = r"(?:aws-neuron|kernel|libfabric|efa|dkms|gcc|python3|ecs|docker|containerd|kubelet)"
_QA = lazy(r"^\s{0,4}([A-Za-z][\w.+\-]{1,90}?)-((?:[0-9]{1,3}:)?[0-9][\w.+~]{0,60}-[\w.+~]{1,60})\.(" + _ARCH + r")\s{0,20}$")
_LIST = lazy(
    r"^\s{0,4}([A-Za-z][\w.+\-]{1,90})\.(" + _ARCH + r")\s{1,60}((?:[0-9]{1,3}:)?[0-9][\w.+~\-]{0,90})\s{1,60}@?\S{1,60}\s{0,20}$"
)
_PLAIN = lazy(
    r"^\s{0,4}(aws-neuron[a-z0-9\-]{0,40}?)-([0-9]{1,3}(?:\.[0-9]{1,6}){1,4}(?:[-_][\w]{1,40})?)(?:\." + _ARCH + r")?\s{0,20}$"
)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    kernels: dict[str, list[str]] = {}
    first: Line | None = None
    for line in lines:
        found = _QA.match(line.body)
        if found:
            name, version, arch = found.groups()
        else:
            found = _LIST.match(line.body)
            if found:
                name, arch, version = found.groups()
            else:
                found = _PLAIN.match(line.body)
                if not found:
                    continue
                name, version, arch = found.group(1), found.group(2), ""
        first = first or line
        if name.startswith("kernel"):
            version = re.sub(r"^[0-9]{1,3}:", "", version) + (f".{arch}" if arch else "")
        elif not name.startswith("aws-neuron"):
            version = version.split("-", 1)[0]
        yield from system_package(line, name, version, kernels)
    if first is not None:
        yield from kernel_facts(first, kernels)


FORMAT = LineFormat(
    name="rpm",
    kind="listing",
    triggers=(
        r"\b" + _NAMES + r"[\w.+\-]{0,90}-[0-9][\w.+~\-]{0,60}\." + _ARCH,
        r"\b" + _NAMES + r"[\w.+\-]{0,60}\." + _ARCH + r"\s{1,60}(?:[0-9]{1,3}:)?[0-9]",
        r"aws-neuron[a-z0-9\-]{1,40}-[0-9]{1,3}\.[0-9]{1,4}\.",
    ),
    parse=_parse,
    after=300,
)
