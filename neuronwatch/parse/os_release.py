"""The operating system: /etc/os-release, `lsb_release -a`, and the system lines of environment reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat

_ID = lazy(r"^\s{0,4}ID=[\"']?([\w.-]{1,40})[\"']?\s{0,10}$")
_VERSION_ID = lazy(r"^\s{0,4}VERSION_ID=[\"']?([\w.-]{1,40})[\"']?\s{0,10}$")
_LSB_ID = lazy(r"^\s{0,4}Distributor ID:\s{1,20}(\w[\w ]{0,40})")
_LSB_RELEASE = lazy(r"^\s{0,4}Release:\s{1,20}([0-9][\w.]{0,20})\s{0,10}$")
_PRETTY = lazy(
    r"(?:PRETTY_NAME=[\"']?|Description:\s{1,20}|Operating System: |\bOS\s{0,20}: )(?:\(\w{1,10}\) )?"
    r"(Ubuntu|Amazon Linux|Rocky Linux|Red Hat Enterprise Linux|Debian GNU/Linux|CentOS)(?: release)? ?([0-9][\w.]{0,12})?"
)
_NAMES = {
    "ubuntu": "ubuntu",
    "amazon linux": "amzn",
    "rocky linux": "rocky",
    "red hat enterprise linux": "rhel",
    "debian gnu/linux": "debian",
    "centos": "centos",
    "amazon": "amzn",
    "amazonami": "amzn",
    "debian": "debian",
}


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    stated = any(_VERSION_ID.match(line.body) or _LSB_RELEASE.match(line.body) for line in lines)
    for line in lines:
        text = line.body
        found = _ID.match(text)
        if found:
            yield fact(line, "host.os", found.group(1).lower())
        found = _VERSION_ID.match(text) or _LSB_RELEASE.match(text)
        if found:
            yield fact(line, "host.os_version", found.group(1))
        found = _LSB_ID.match(text)
        if found:
            yield fact(line, "host.os", _NAMES.get(found.group(1).strip().lower(), found.group(1).strip().lower()))
        found = _PRETTY.search(text)
        if found:
            yield fact(line, "host.os", _NAMES[found.group(1).lower()])
            if found.group(2) and not stated:  # the pretty name carries a patch level that VERSION_ID has not
                yield fact(line, "host.os_version", ".".join(found.group(2).rstrip(".").split(".")[:2]))


FORMAT = LineFormat(
    name="os-release",
    kind="listing",
    triggers=(
        r"PRETTY_NAME=",
        r"VERSION_ID=",
        r"Distributor ID:",
        r"Operating System: ",
        r"Description:\s{1,20}[A-Z]",
        r"\bOS\s{0,20}: (?:\(\w{1,10}\) )?(?:Ubuntu|Amazon Linux|Rocky|Red Hat|Debian|CentOS)",
    ),
    parse=_parse,
    before=6,
    after=6,
)
