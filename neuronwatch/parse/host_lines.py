"""One-liners that describe a host: `python --version`, instance type from DMI or IMDS, `nproc`, meminfo, load, `date`
in transcripts, release names of AMIs and images, interpreters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import Block, blocks, fact, parse_size, to_int
from neuronwatch.parse.api import Line, LineFormat

_FAMILY = r"(?:inf[12]|trn[123]n?u?|[cmrtgp][0-9][a-z]{0,4}|x[12][a-z]{0,4}|hpc[0-9][a-z]?|dl[12])"
INSTANCE_TYPE = (
    r"((?:ml\.)?" + _FAMILY + r"\.(?:nano|micro|small|medium|large|xlarge|[0-9]{1,3}xlarge|metal(?:-[0-9]{1,2}xl)?|[0-9]xlarge))"
)
_ALONE = lazy(r"^\s{0,24}(?:- [\"']?)?" + INSTANCE_TYPE + r"[\"']?\s{0,10}$")
_LABELLED = lazy(
    r"(?i)(?:instance[-_ ]?type|product[-_ ]?name|node\.kubernetes\.io/instance-type|machine type)[\"'`]{0,2}\s{0,10}[:=]\s{0,10}"
    r"[\"'`]{0,2}" + INSTANCE_TYPE
)
_PYTHON = lazy(r"^\s{0,4}Python (?:version: )?([23]\.[0-9]{1,2}(?:\.[0-9]{1,2})?)(?:rc\d|\+)?(?:\s|$|\s\()")
_PYTHON_PATH = lazy(r"[/\\]lib(?:64)?/python(3\.[0-9]{1,2})/")
_MEM = lazy(r"^\s{0,4}(MemTotal|MemAvailable|SwapTotal):\s{1,30}([0-9]{1,15}) kB")
_LOAD = lazy(r"\bload averages?: ([0-9]{1,6}[.,][0-9]{1,2})")
_LOADAVG = lazy(r"^([0-9]{1,6}\.[0-9]{2}) [0-9.]{4,9} [0-9.]{4,9} [0-9]{1,6}/[0-9]{1,7} [0-9]{1,9}\s{0,4}$")
_CPUS = lazy(r"^\s{0,4}CPU\(s\):\s{1,40}([0-9]{1,5})\s{0,10}$")
# lscpu and /proc/cpuinfo of machines that EC2 does not have.
_DESKTOP = lazy(
    r"(?i)^\s{0,4}model name\s{0,20}:\s{1,40}"
    r"(.{0,40}(?:Core\(TM\)2? |Ryzen|Apple M\d|Pentium|Celeron|Threadripper|Core i\d).{0,60})$|"
    r"^\s{0,4}Hypervisor vendor:\s{1,40}(Microsoft|VMware|Oracle|Parallels|Apple)\b"
)
_SDK = lazy(
    r"(?i)\bneuron[ _-]?sdk[ _:v-]{1,4}([0-9]\.[0-9]{1,3}(?:\.[0-9]{1,3})?)(?!\w)|[-:_]sdk([0-9]\.[0-9]{1,3}\.[0-9]{1,3})\b"
)
_IMAGE = lazy(
    r"^\s{0,4}(?:image:\s{0,8})?[\"']?((?:[\w.\-]{1,80}/){0,5}[\w.\-]{0,60}neuron[\w.\-]{0,60}:[\w][\w.\-]{2,100})[\"']?\s{0,10}$"
)
_WHICH = lazy(
    r"(?:which: no |command -v: )([\w.\-]{1,60})(?: in |$)|\b([\w.\-]{2,60}): (?:command )"
    r"?not found\s{0,4}$|command not found: ([\w.\-]{2,60})"
)
_EXECUTABLE = lazy(r"^\s{0,4}(/\S{1,200}/bin/python[\w.]{0,6})\s{0,10}$")


def instance(text: str) -> str:
    """`ml.inf2.xlarge` is an inf2.xlarge."""
    return text[3:] if text.startswith("ml.") else text


def _plain(line: Line) -> Iterator[Record]:
    text = line.body
    found = _ALONE.match(text) or _LABELLED.search(text)
    if found:
        yield fact(line, "host.instance_type", instance(found.group(1)))
    found = _PYTHON.match(text)
    if found:
        yield fact(line, "python.version", found.group(1))
    found = _MEM.match(text)
    if found:
        name = {"MemTotal": "memory_total", "MemAvailable": "memory_available", "SwapTotal": "swap_total"}[found.group(1)]
        yield fact(line, f"host.{name}", int(found.group(2)) * 1024)
    found = _LOAD.search(text) or _LOADAVG.match(text)
    if found:
        yield fact(line, "host.load_average", float(found.group(1).replace(",", ".")))
    found = _CPUS.match(text)
    if found:
        yield fact(line, "host.vcpus", int(found.group(1)))
    found = _DESKTOP.match(text)
    if found:
        yield fact(line, "host.elsewhere", " ".join((found.group(1) or f"hypervisor {found.group(2)}").split()))
    found = _SDK.search(text)
    if found:
        yield fact(line, "sdk.stated", found.group(1) or found.group(2))
    found = _IMAGE.match(text)
    if found:
        yield fact(line, "launch.image", found.group(1))
    found = _WHICH.search(text)
    if found:
        name = found.group(1) or found.group(2) or found.group(3)
        yield fact(line, "host.commands_missing", (name,))


def _block(block: Block) -> Iterator[Record]:
    output = block.output
    first = output[0] if output else None
    if first is None:
        return
    command = re.sub(r"^sudo ", "", block.command)
    if re.match(r"^(?:nproc|getconf _NPROCESSORS_ONLN|grep -c (?:\^)?processor)\b", command):
        number = to_int(first.body)
        if number:
            yield fact(first, "host.vcpus", number)
    elif "sys.executable" in command or re.match(r"^which python", command):
        found = _EXECUTABLE.match(first.body)
        if found:
            yield fact(first, "host.python", found.group(1))
    elif re.match(r"^echo \$\{?VIRTUAL_ENV\}?", command):
        if first.body.strip().startswith("/"):
            yield fact(first, "host.python", first.body.strip().rstrip("/") + "/bin/python")
    elif re.search(r"memory\.max\b|memory\.limit_in_bytes", command):
        size = parse_size(first.body)
        if size:
            yield fact(first, "cgroup.memory_max", size)
    elif re.search(r"\bhostname\b", command) and re.fullmatch(r"[\w.\-]{1,100}", first.body.strip()):
        yield fact(first, "host.hostname", first.body.strip())


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        yield from _plain(line)
    for block in blocks(lines):
        yield from _block(block)


FORMAT = LineFormat(
    name="host-facts",
    wide=True,
    kind="listing",
    triggers=(
        r"(?:inf[12]|trn[123])n?u?\.(?:[0-9]{0,3}xlarge|metal)",
        r"(?i)(?:instance[-_ ]?type|product[-_ ]?name|machine type)[\"'`]{0,2}\s{0,10}[:=]",
        r"(?:meta-data/instance-type|product_name|product-name)\b",  # the answer stands on one of the next lines
        r"Python (?:version: )?[23]\.[0-9]{1,2}",
        r"(?:MemTotal|MemAvailable|SwapTotal):",
        r"load averages?: [0-9]",
        r"CPU\(s\):\s{1,40}[0-9]",
        r"(?i)model name\s{0,20}:",
        r"Hypervisor vendor:",
        r"(?i)neuron[ _-]?sdk[ _:v-]{1,4}[0-9]\.",
        r"-sdk[0-9]\.[0-9]{1,3}\.",
        r"(?:which: no |not found$|command not found)",
        r"[$#] (?:sudo )?(?:nproc|getconf|hostname|which python|echo \$\{?VIRTUAL_ENV)",
        r"sys\.executable",
        r"memory\.(?:max|limit_in_bytes)",
        r"/(?:python|tensorflow|pytorch)?[\w.\-]{0,40}neuron[\w.\-]{0,40}:[0-9]",
    ),
    parse=_parse,
    after=3,
)
