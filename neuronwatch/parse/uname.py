"""The running kernel: `uname -a`, `uname -r` in transcripts, /proc/version, and `hostnamectl`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact
from neuronwatch.parse.api import Line, LineFormat

_RELEASE = r"([1-9][0-9]?\.[0-9]{1,3}\.[0-9]{1,3}[\w.+~-]{0,60})"
_RELEASE_SHORT = r"([1-9][0-9]?\.[0-9]{1,3}\.[0-9]{1,3}[\w.+~-]{0,60}?)"
_UNAME = lazy(r"^\s{0,4}Linux (\S{1,100}) " + _RELEASE + r" #\d")
_PROC_VERSION = lazy(r"\bLinux version " + _RELEASE + r" \(")
_HOSTNAMECTL = lazy(r"^\s{1,30}Kernel: Linux " + _RELEASE)
_LABELLED = lazy(r"(?i)^[\s\-*]{0,6}(?:kernel(?:[ _-]?version)?|uname -r)\s{0,10}[:=]\s{0,40}(?:Linux )?" + _RELEASE + r"\s{0,20}$")
_PLATFORM = lazy(r"\b[Pp]latform: Linux-" + _RELEASE_SHORT + r"-(?:x86_64|aarch64)-with-")
# Kernels that no EC2 instance runs: WSL, the virtual machine of Docker Desktop, the images of other clouds.
_ELSEWHERE = lazy(r"-microsoft-standard|-microsoft\b|-linuxkit|-orbstack|-(?:gcp|azure|oracle|gke|cloud-amd64-gcp)(?:$|[-.+\d])")
_DARWIN = lazy(r"^\s{0,4}Darwin \S{1,100} [0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3} Darwin Kernel Version")
_BARE = lazy(r"^\s{0,4}" + _RELEASE + r"\s{0,20}$")


def _kernel(line: Line, release: str) -> Iterator[Record]:
    yield fact(line, "host.kernel", release)
    if _ELSEWHERE.search(release):
        yield fact(line, "host.elsewhere", f"kernel {release}")


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        if _DARWIN.match(line.body):
            yield fact(line, "host.elsewhere", "macOS")
            continue
        uname = _UNAME.match(line.body)
        if uname:
            yield fact(line, "host.hostname", uname.group(1))
            yield from _kernel(line, uname.group(2))
            continue
        other = (
            _PLATFORM.search(line.body)
            or _PROC_VERSION.search(line.body)
            or _HOSTNAMECTL.match(line.body)
            or _LABELLED.match(line.body)
        )
        if other:
            yield from _kernel(line, other.group(1))
    for block in blocks(lines):
        if not re.match(r"^(?:sudo )?uname -r\b", block.command):
            continue
        for line in block.output[:1]:
            bare = _BARE.match(line.body)
            if bare:
                yield from _kernel(line, bare.group(1))


FORMAT = LineFormat(
    name="uname",
    kind="listing",
    triggers=(
        r"Linux \S{1,100} [1-9][0-9]?\.[0-9]{1,3}\.[0-9]",
        r"Linux version [1-9]",
        r"Darwin Kernel Version",
        r"latform: Linux-[1-9]",
        r"Kernel: Linux ",
        r"(?i)kernel(?:[ _-]?version)?\s{0,10}[:=]\s{0,40}(?:Linux )?[1-9][0-9]?\.[0-9]{1,3}\.",
        r"uname -r",
    ),
    parse=_parse,
    after=1,
)
