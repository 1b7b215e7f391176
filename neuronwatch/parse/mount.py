"""Mounted file systems: `mount`, `findmnt`, /proc/mounts and /etc/fstab rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._mounts import mount_facts
from neuronwatch.parse._text import fact, parse_size
from neuronwatch.parse.api import Line, LineFormat

_MOUNT = lazy(r"^\s{0,4}(\S{1,300}) on (/\S{0,300}) type ([\w.\-]{1,40}) \(([^()]{0,600})\)")
_PROC = lazy(r"^\s{0,4}(\S{1,300}) (/\S{0,300}) ([a-z][\w.\-]{1,40}) ((?:rw|ro)[\w,.=:/@+\-\\%]{0,600}) [0-9] [0-9]\s{0,4}$")
_FINDMNT = lazy(
    r"^[\s│├└─|`\-]{0,40}(/\S{0,300})\s{1,90}(\S{1,300})\s{1,40}([a-z][\w.\-]{1,40})\s{1,40}((?:rw|ro)\b\S{0,600})\s{0,10}$"
)
_SIZE = lazy(r"(?:^|,)size=([0-9]{1,15}[kKmMgG]?)")


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    mounts: list[tuple[Line, str, str]] = []
    for line in lines:
        found = _MOUNT.match(line.body) or _PROC.match(line.body)
        if found:
            _, point, kind, options = found.groups()
        else:
            tree = _FINDMNT.match(line.body)
            if not tree:
                continue
            point, _, kind, options = tree.groups()
        mounts.append((line, point, kind))
        if point == "/dev/shm":
            size = _SIZE.search(options)
            total = parse_size(size.group(1)) if size else None
            if total is not None:
                yield fact(line, "host.shm_total", total)
    yield from mount_facts(mounts)


FORMAT = LineFormat(
    name="mount",
    kind="listing",
    triggers=(
        r" on /\S{0,300} type [a-z]",
        r" /\S{0,300} (?:nfs4?|lustre|tmpfs|overlay|ext4|xfs|fuse\S{0,30}|efs) (?:rw|ro)[, ]",
        r"TARGET\s{1,90}SOURCE\s{1,60}FSTYPE",
    ),
    parse=_parse,
    after=80,
)
