"""The kernel log as dmesg (with and without stamps, also `-T`), journalctl -k, syslog and /dev/kmsg print it.

Lines of the Neuron driver become Events `kernel.log` {message, module, function}; kills for memory `kernel.oom_kill`,
hardware errors `kernel.hw_error`, resets `kernel.reset`. Stamps since boot are no time; those of `dmesg -T` and of the
journal are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from neuronwatch.model.records import Event, Fact, Record, Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat

_KMSG = lazy(r"(?P<priority>\d{1,4}),(?P<seq>\d{1,18}),(?P<us>\d{1,18}),[^;]{1,40};")
_STAMP = lazy(r"\s{0,4}\[\s{0,8}\d{1,9}(?:\.\d{1,9})?\]\s?(?:\[\s{0,4}[TC]\d{1,9}\]\s?)?")
_CTIME = lazy(r"\s{0,4}\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}\]\s?")
_KERNEL_TAG = lazy(r"(?:^|\s)kernel:\s")
_DRIVER = lazy(r"\bNeuron Driver Started with Version:(?P<version>\d{1,2}(?:\.\d{1,6}){1,4})(?:-(?P<build>[0-9a-f]{4,40}))?")
_NEURON = lazy(r"\bneuron:(?P<function>\w{2,80}): (?P<message>.{0,2000})")
_BDF = lazy(r"\*\* BDF: (?P<bdf>[0-9a-f:.]{5,16}) => nd\[(?P<nd>\d{1,3})\]", re.IGNORECASE)
_HW = lazy(r"NEURON_HW_ERR=(?P<kind>\w{3,60})(?P<rest>(?: [\w-]{1,30}=[^ \n]{1,80}){0,12})")
_PAIR = lazy(r"([\w-]{1,30})=([^ \n]{1,80})")
_RESET = lazy(
    r"\bnd(?P<nd>\d{1,3}): (?:initiating (?P<what>\w{2,10}) reset request (?P<a>\d{1,12})"
    r"|reset request (?P<b>\d{1,12}) (?P<state>completed|failed|was initiated, but failed to complete))"
)
_RESET_WORDS = lazy(r"\bnd(?P<nd>\d{1,3}): failed to (?:initialize dma after reset|complete post reset configuration)")
_DMA = lazy(r"\bDMA completion timeout (?:on nd(?P<nd>\d{1,3}) )?for (?P<engine>\w{2,30}) q(?P<queue>\d{1,3})")
_KILLED = lazy(
    r"\b(?P<cgroup>Memory cgroup o|O)ut of memory:? (?:Kill(?:ed)?|Killing) process (?P<pid>\d{1,10}),? "
    r"\((?P<process>[^)]{1,64})\)"
)
_RSS = lazy(r"\banon-rss:(?P<kb>\d{1,15})kB")
_INVOKED = lazy(r"(?P<process>[^\s:\]]{1,64}) invoked oom-killer: ")
_OOM_KILL = lazy(r"\boom-kill:constraint=(?P<constraint>\w{4,40}).{0,600}?\btask=(?P<process>[^,]{1,64}),pid=(?P<pid>\d{1,10})")
_LINUX = lazy(r"\bLinux version (?P<release>\d{1,2}\.\d{1,3}[\w.+-]{0,80}) \(")
_KMSG_HW_ONLY = lazy(r"sysfs failed to read (?:ECC|serial number|power)")


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Events and facts of all lines; `neuron.kernel_devices` counts the devices that the driver announced. A driver that was
    loaded before a boot is not loaded after it: a fact of the past without a value takes back what was said before."""
    announced: dict[int, Line] = {}
    killed: set[str] = set()
    for line in lines:
        message = message_of(line)
        if "Linux version" in message and _LINUX.search(message):
            yield from _announced(announced)
            announced.clear()
            for name in ("driver.loaded", "neuron.kernel_devices"):
                yield Fact(name, None, line.origin, past=True)
        yield from _driver(line, message)
        bdf = _BDF.search(message)
        if bdf:
            announced.setdefault(int(bdf.group("nd")), line)
        yield from _hardware(line, message)
        if "oom" in message or "ut of memory" in message:
            yield from _killing(line, message, killed)
    yield from _announced(announced)


def _announced(devices: dict[int, Line]) -> Iterator[Fact]:
    if devices:
        yield Fact("neuron.kernel_devices", len(devices), next(iter(devices.values())).origin, past=True)


def message_of(line: Line) -> str:
    """The text of the kernel without the stamps of dmesg, kmsg or the journal."""
    text = line.body
    kmsg = _KMSG.match(text)
    if kmsg:
        return text[kmsg.end() :]
    tag = _KERNEL_TAG.search(text[:200])
    if tag:
        text = text[tag.end() :]
    stamp = _STAMP.match(text) or _CTIME.match(text)
    return text[stamp.end() :] if stamp else text


def _event(line: Line, kind: str, fields: dict[str, Value], entity: str = "") -> Event:
    return Event(kind, line.origin, fields, entity=entity, time=line.time)


def _driver(line: Line, message: str) -> Iterator[Record]:
    banner = _DRIVER.search(message)
    if banner:
        yield Fact("driver.loaded", banner.group("version"), line.origin, past=True)  # the kernel itself knows better
    linux = _LINUX.search(message)
    if linux:
        yield fact(line, "host.kernel", linux.group("release"))
    neuron = _NEURON.search(message)
    if neuron is None and not banner and not _KMSG_HW_ONLY.search(message):
        return
    fields: dict[str, Value] = {
        "message": (neuron.group("message") if neuron else message).strip()[:1000],
        "module": "neuron",
        "function": neuron.group("function") if neuron else "",
    }
    device = re.search(r"\bnd\[?(\d{1,3})\b", message)
    yield _event(line, "kernel.log", fields, f"nd{int(device.group(1))}" if device else "")


def _hardware(line: Line, message: str) -> Iterator[Record]:
    error = _HW.search(message)
    if error:
        pairs = dict(_PAIR.findall(error.group("rest")))
        device, core = pairs.get("nd-id", ""), pairs.get("nc-id", "")
        entity = f"nd{device}" + (f":nc{core}" if core.isdecimal() else "") if device.isdecimal() else ""
        yield _event(line, "kernel.hw_error", {"error": error.group("kind"), **pairs}, entity)
        yield Fact("kernel.hw_error", error.group("kind"), line.origin, entity)
        if "action" in pairs:
            yield Fact("kernel.hw_action", pairs["action"], line.origin, entity)
    reset = _RESET.search(message)
    words = _RESET_WORDS.search(message)
    if reset or words:
        found = reset or words
        entity = f"nd{int(found.group('nd'))}" if found else ""
        state = (reset.group("state") or "initiated") if reset else "failed"
        state = "incomplete" if state.endswith("failed to complete") else state
        yield _event(line, "kernel.reset", {"state": state}, entity)
        if state not in ("initiated", "completed"):
            yield Fact("kernel.reset_incomplete", entity, line.origin, entity)
    dma = _DMA.search(message)
    if dma:
        entity = f"nd{int(dma.group('nd'))}" if dma.group("nd") else ""
        yield Fact("kernel.dma_timeout", entity or dma.group("engine"), line.origin, entity)


def _killing(line: Line, message: str, killed: set[str]) -> Iterator[Record]:
    found = _KILLED.search(message)
    plain = _OOM_KILL.search(message) if found is None else None
    if found is None and plain is None:
        invoked = _INVOKED.search(message) if "invoked oom-killer" in message else None
        if invoked:
            yield _event(line, "kernel.oom", {"invoked_by": invoked.group("process")})
        return
    pid, process = (found or plain).group("pid", "process")  # type: ignore[union-attr]  # one of the two matched
    cgroup = bool(found.group("cgroup") != "O") if found else "MEMCG" in (plain.group("constraint") if plain else "")
    rss = _RSS.search(message)
    fields: dict[str, Value] = {"process": process, "pid": int(pid), "cgroup": cgroup}
    if rss:
        fields["rss"] = int(rss.group("kb")) * 1024
        yield fact(line, "kernel.oom_rss", int(rss.group("kb")) * 1024)
    if pid in killed:  # the kernel tells one kill in two lines: `oom-kill:` and `Killed process`
        return
    killed.add(pid)
    yield _event(line, "kernel.oom_kill", fields, f"pid{pid}")
    yield fact(line, "kernel.oom_kill", process)
    yield fact(line, "kernel.oom_process", process)
    yield fact(line, "kernel.oom_pid", int(pid))
    yield fact(line, "kernel.oom_cgroup", cgroup)


FORMAT = LineFormat(
    name="kernel-log",
    kind="kernel",
    triggers=(
        r"Neuron Driver Started with Version",
        r"\bneuron:\w{2,80}: ",
        r"\bneuron: (?:loading out-of-tree|module verification)",
        r"=> nd\[\d",
        r"NEURON_HW_ERR=",
        r"invoked oom-killer",
        r"(?:O|Memory cgroup o)ut of memory:? Kill",
        r"oom-kill:constraint=",
        r"\bnd\d{1,3}: (?:initiating|reset request|Coalesced)",
        r"failed to (?:initialize dma after reset|complete post reset configuration)",
        r"DMA completion timeout",
        r"sysfs failed to read",
        r"Linux version \d{1,2}\.\d",
    ),
    parse=parse,
)
