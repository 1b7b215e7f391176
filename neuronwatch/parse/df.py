"""Free space: `df`, `df -h`, `df -T`, `df -i`, also single rows without their header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._mounts import guess_type, mount_facts
from neuronwatch.parse._text import fact, parse_size
from neuronwatch.parse.api import Line, LineFormat

_HEADER = lazy(r"^\s{0,4}Filesystem\s{1,90}(?:Type\s{1,40})?(?:\S{1,20}\s{1,20}){2,4}")
_NUMBER = r"(?:[0-9][0-9.,]{0,18}[KMGTPE]?i?B?|-)"
_ROW = lazy(
    r"^\s{0,4}(\S{1,300})\s{1,90}(?:([a-z][\w.\-]{1,30})\s{1,40})?("
    + _NUMBER
    + r")\s{1,30}("
    + _NUMBER
    + r")\s{1,30}("
    + _NUMBER
    + r")\s{1,20}([0-9]{1,3}%|-)\s{1,10}(/\S{0,300}(?: \S{1,100}){0,3})\s{0,20}$"
)
_IGNORED = lazy(r"^/(?:snap|boot|proc|sys|run)(?:/|$)|^/dev$")


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    full: list[tuple[Line, str]] = []
    mounts: list[tuple[Line, str, str]] = []
    unit = "K"
    for line in lines:
        if _HEADER.match(line.body):
            unit = "M" if "1M-blocks" in line.body else "" if "Inodes" in line.body else "K"
            continue
        row = _ROW.match(line.body)
        if not row:
            continue
        device, kind, size, _, available, use, point = row.groups()
        point = point.strip()
        mounts.append((line, point, kind or guess_type(device)))
        if point == "/dev/shm" and unit != "":
            total = parse_size(size, unit)
            if total is not None:
                yield fact(line, "host.shm_total", total)
        percent = int(use[:-1]) if use.endswith("%") else 0
        # a squashfs image is always full, and a file system of size 0 says nothing
        image = kind in ("squashfs", "iso9660") or device.startswith("/dev/loop") or _IGNORED.match(point)
        if (percent >= 100 or available == "0") and not image and parse_size(size, unit):
            full.append((line, point))
    if full:
        yield fact(full[0][0], "host.disk_full", tuple(dict.fromkeys(point for _, point in full)))
    elif mounts:
        yield fact(mounts[0][0], "host.disk_full", ())
    yield from mount_facts(mounts)


FORMAT = LineFormat(
    name="df",
    kind="listing",
    triggers=(
        r"Filesystem\s{1,90}(?:Type|Size|Inodes|1K-blocks|1M-blocks|1024-blocks)",
        r"[0-9]% /",
    ),
    parse=_parse,
    after=60,
)
