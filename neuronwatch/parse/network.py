"""Sockets and names: `ss`, `netstat`, `getent hosts`, `nslookup`, `ping`, and EFA's `fi_info`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact
from neuronwatch.parse.api import Line, LineFormat

_SS = lazy(
    r"^\s{0,4}(?:(?:tcp|udp|v_str|u_str)6?\s{1,8})?(LISTEN|UNCONN)\s{1,8}[0-9]{1,8}\s{1,8}[0-9]{1,8}"
    r"\s{1,8}\S{0,80}[:.]([0-9]{1,5})\s{1,20}\S{1,80}(.{0,300})$"
)
_NETSTAT = lazy(
    r"^\s{0,4}tcp6?\s{1,12}[0-9]{1,8}\s{1,12}[0-9]{1,8}\s{1,8}\S{0,80}[:.]([0-9]{1,5})\s{1,40}\S{1,80}\s{1,40}LISTEN\b(.{0,200})$"
)
_LSOF = lazy(r"^\S{1,40}\s{1,8}[0-9]{1,8}\s.{0,120}\bTCP \S{0,60}:([0-9]{1,5}) \(LISTEN\)")
_NSLOOKUP = lazy(r"\*\* server can't find ([\w.\-]{1,253}?)\.?: (?:NXDOMAIN|SERVFAIL|REFUSED)")
_PING = lazy(
    r"\b(?:ping|ssh|curl|getaddrinfo|host)\b.{0,60}?[: ]([\w.\-]{2,253})"
    r": (?:Temporary failure in name resolution|Name or service not known|Could not resolve|Unknown host)"
)
_RESOLVE = lazy(
    r"(?:Could not resolve host(?:name)?|Unknown host|unknown host|no such host)[:\s]{1,3}"
    r"['\"]?([\w.\-]{2,253})|lookup ([\w.\-]{2,253}) on [\w.:\[\]]{2,60}: no such host"
)
_HOST = lazy(r"^Host ([\w.\-]{2,253}) not found: ")
_PROVIDER = lazy(r"^\s{0,8}provider:\s{1,8}(\S{1,60})")
_DOMAIN = lazy(r"^\s{0,8}domain:\s{1,8}(\S{1,80})")
_FI_NONE = lazy(r"fi_getinfo: -(?:61|38|2)\b|fi_getinfo\(\): .{0,60}No data available")


def _sockets(lines: Sequence[Line]) -> Iterator[Record]:
    ports: list[int] = []
    first: Line | None = None
    for line in lines:
        found = _SS.match(line.body)
        number = found.group(2) if found and found.group(1) == "LISTEN" else None
        if number is None:
            other = _NETSTAT.match(line.body) or _LSOF.match(line.body)
            number = other.group(1) if other else None
        if number is not None and int(number) < 65_536:
            first = first or line
            ports.append(int(number))
    if first is not None:
        yield fact(first, "host.listening_ports", tuple(sorted(set(ports))))


def _names(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        text = line.body[:2000]
        found = _NSLOOKUP.search(text) or _PING.search(text) or _RESOLVE.search(text) or _HOST.match(text)
        if found:
            yield fact(line, "host.unresolved", (next(group for group in found.groups() if group),))
    for block in blocks(lines):
        asked = re.match(r"^(?:sudo )?getent (?:a?hosts(?:v[46])?) ([\w.\-]{1,253})", block.command)
        if not asked:
            continue
        answers = [line.body.strip() for line in block.output if line.body.strip()]
        if not answers or answers[0] == "2":  # getent prints nothing; 2 is its exit status for "not found"
            yield fact(block.line, "host.unresolved", (asked.group(1),))


def _fabric(lines: Sequence[Line]) -> Iterator[Record]:
    first: Line | None = None
    providers: list[str] = []
    domains: list[str] = []
    efa = False
    for line in lines:
        none = _FI_NONE.search(line.body)
        if none:
            yield fact(line, "host.efa_provider", False)
        provider, domain = _PROVIDER.match(line.body), _DOMAIN.match(line.body)
        if provider:
            first = first or line
            providers.append(provider.group(1))
            efa = provider.group(1).startswith("efa")
        elif domain and efa:
            domains.append(domain.group(1).rsplit("-", 1)[0])
    if first is not None:
        listed = any(name.startswith("efa") for name in providers)
        yield fact(first, "host.efa_provider", listed)
        if listed and domains:
            yield fact(first, "host.efa_devices", len(set(domains)))


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    yield from _sockets(lines)
    yield from _names(lines)
    yield from _fabric(lines)


FORMAT = LineFormat(
    name="network",
    kind="listing",
    triggers=(
        r"LISTEN\b",
        r"getent a?hosts",
        r"server can't find ",
        r"(?:Temporary failure in name resolution|Name or service not known|[Cc]ould not resolve host|"
        r"[Uu]nknown host|no such host)",
        r"Host [\w.\-]{2,253} not found: ",
        r"provider:\s{1,8}\S",
        r"fi_getinfo",
    ),
    parse=_parse,
    after=12,
)
