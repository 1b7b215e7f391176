"""Lines of libnccom, NCCL and the OFI plugin: `stamp pid:tid [rank] file:line CCOM LEVEL text` and
`host:pid:tid [device] file:line NCCL LEVEL text`. Each becomes an Event `nccom.log`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuronwatch.model.records import Event, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.prefix import line_time

_TAIL = r"(?P<library>CCOM|NCCL) (?P<level>WARN|INFO|ERROR|TRACE|VERSION|ABORT)\s"
_HEADER = lazy(
    r"(?:(?P<stamp>\d{4}-[A-Za-z]{3}-\d\d \d\d:\d\d:\d\d\.\d{1,9})\s{1,8}|(?P<host>[A-Za-z0-9][\w.-]{0,100}):)"
    r"(?P<pid>\d{1,10}):(?P<tid>\d{1,10}) \[(?P<rank>\d{1,5})\] "
    rf"(?:(?P<file>[\w./-]{{1,120}}|\w{{1,30}} [\w:]{{1,80}}\([\w:*&, ]{{0,120}}\)):(?P<line>\d{{1,6}}) )?{_TAIL}"
)
"""The place in the source is a file, or a whole signature: `int nccl_net_ofi_create_plugin(nccl_net_ofi_plugin_t**):219`."""
_BARE = lazy(rf"(?:^|\s)(?P<file>[\w./-]{{1,120}}):(?P<line>\d{{1,6}}) {_TAIL}")
_PROVIDER = lazy(r"\b[Ss]elected [Pp]rovider is (?P<name>[\w;.-]{2,40})")
_NO_EFA = lazy(r"OFI plugin initNet\(\) failed is EFA enabled|aws-ofi-nccl initialization failed")
_VERSION = lazy(r"\b(?:NCCL|nccom|CCOM) version (?P<version>\d{1,2}(?:\.\d{1,8}){1,4})")


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Events of all lines, also glued ones; whether the EFA provider was selected, where a line says so."""
    for line in lines:
        named = "CCOM" in line.text or "NCCL" in line.text
        found = (list(_HEADER.finditer(line.text)) or list(_BARE.finditer(line.text))) if named else []
        for index, head in enumerate(found):
            end = found[index + 1].start() if index + 1 < len(found) else len(line.text)
            message = line.text[head.end() : end].strip()
            part = {"stamp": None, "host": None, "pid": None, "tid": None, "rank": None, **head.groupdict()}
            stamp = part["stamp"]
            yield Event(
                "nccom.log",
                line.origin,
                {
                    "library": head.group("library"),
                    "level": head.group("level"),
                    "file": head.group("file") or "",
                    "line": int(head.group("line") or 0),
                    "host": part["host"] or line.host,
                    "pid": int(part["pid"]) if part["pid"] else None,
                    "tid": int(part["tid"]) if part["tid"] else None,
                    "message": message[:1000],
                },
                entity=f"rank{int(part['rank'])}" if part["rank"] else line.entity,
                time=line.time if line.time is not None or stamp is None else line_time(stamp),
            )
        provider = _PROVIDER.search(line.body)
        if provider:
            yield fact(line, "host.efa_provider", "efa" in provider.group("name").lower())
        elif _NO_EFA.search(line.body):
            yield fact(line, "runtime.ofi_failed", True)
        version = _VERSION.search(line.body)
        if version:
            yield fact(line, "runtime.collectives_version", version.group("version"))


FORMAT = LineFormat(
    name="libnccom",
    kind="log",
    triggers=(
        r"[\]\d] (?:CCOM|NCCL) (?:WARN|INFO|ERROR|ABORT)",
        r"[Ss]elected [Pp]rovider is ",
        r"OFI plugin initNet\(\) failed",
        r"(?:NCCL|nccom|CCOM) version \d",
    ),
    parse=parse,
)
