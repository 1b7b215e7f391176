"""kubectl: `describe pod`, `describe node`, events, `get pods` rows; requests, allocatable and allocated Neuron resources,
phases, restarts, reasons, images, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Event, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._programs import base
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.host_lines import INSTANCE_TYPE
from neuronwatch.parse.one_value import exit_facts

_SECTION = lazy(
    r"^(\s{0,24})(Capacity|Allocatable|Allocated resources|[Ll]imits|[Rr]equests|Last State|State|Events|Labels|"
    r"Conditions|Command|Args|Containers|System Info|Environment|Mounts|Containers?|Init Containers)"
    r":(.{0,200})$"
)
_RESOURCE = lazy(
    r"^\s{1,40}\"?aws\.amazon\.com/(neuron|neuroncore|neurondevice)\"?\s{0,2}:?\s{1,40}"
    r"[\"']?([0-9]{1,5})[\"']?(?:\s{1,40}([0-9]{1,5}))?\s{0,10}(?:#.{0,200})?$"
)
_CPU = lazy(r"^\s{1,24}(?:cpu|memory)\s{0,2}:?\s{1,40}[0-9]")
_TYPE_LABEL = lazy(r"(?:node\.kubernetes\.io|beta\.kubernetes\.io)/instance-type[=:]\s{0,4}\"?" + INSTANCE_TYPE)
_GET_POD = lazy(
    r"^\s{0,4}(?:[\w.\-]{1,60}\s{1,30})?([a-z0-9][\w.\-]{1,100})\s{1,60}([0-9]{1,3})/([0-9]{1,3})\s{1,20}"
    r"([A-Z]\w{2,40}(?::\w{1,40}(?:/\d{1,3})?)?)\s{1,20}([0-9]{1,6})(?:\s\([^()]{1,30}\))?(?:\s|$)"
)
# A Deployment's pod is NAME-HASH-XXXXX (letters and digits without vowels), a StatefulSet's NAME-0.
_WORKLOAD = lazy(r"^([a-z0-9][\w.\-]{0,80}?)-(?:[bcdfghjklmnpqrstvwxz2456789]{5,10}-[bcdfghjklmnpqrstvwxz2456789]{5}|[0-9]{1,4})$")
_STATUS = lazy(r"^\s{0,2}Status:\s{1,30}([A-Z]\w{2,20})\b")
_REASON = lazy(r"^\s{4,16}Reason:\s{1,20}(\w{2,40})\s{0,8}$")
_EXIT = lazy(r"^\s{4,16}Exit Code:\s{1,12}(-?[0-9]{1,3})\s{0,8}$")
_RESTARTS = lazy(r"^\s{2,12}Restart Count:\s{1,10}([0-9]{1,6})")
_IMAGE = lazy(r"^\s{2,12}Image:\s{1,20}(\S{3,300})\s{0,8}$")
_EVENT_REASONS = [
    "FailedScheduling", "BackOff", "Unhealthy", "Killing", "OOMKilling", "FailedMount", "FailedCreatePodSandBox",
    "NotTriggerScaleUp", "TriggeredScaleUp", "Evicted", "UnexpectedAdmissionError", "OutOfaws.amazon.com/neuron",
    "NodeNotReady", "DisruptionBlocked", "FailedCreate", "Preempted", "SystemOOM", "FailedAttachVolume",
    "NeuronHealth", "ErrImagePull", "ImagePullBackOff", "ContainerGCFailed", "FreeDiskSpaceFailed",
    "EvictionThresholdMet", "FailedToStartContainer", "Failed",
]  # fmt: skip
_EVENT = lazy(r"(?:^|\s)(?:Warning|Normal)\s{1,20}(" + "|".join(re.escape(name) for name in _EVENT_REASONS) + r")\b")
_PLUGIN = lazy(r"\b(\S{0,120}neuron-(?:device-plugin|scheduler|monitor)\S{0,60}?:[\w.\-]{2,60})")
_KEY = {"neuron": "neuron", "neurondevice": "neuron", "neuroncore": "neuroncore"}


def _resources(lines: Sequence[Line]) -> Iterator[Record]:
    """Resource rows by the section they stand in. A Capacity or Allocatable block without a Neuron row says 0."""
    section, start = "", -1
    line_of: Line | None = None
    plain = neuron = False
    for line in [*lines, Line("", None, "", "")]:
        head = _SECTION.match(line.body)
        resource = _RESOURCE.match(line.body)
        leaves = bool(head) or (bool(line.body.strip()) and len(line.body) - len(line.body.lstrip()) <= start and not resource)
        if (leaves or not line.path) and section in ("Allocatable", "Capacity") and plain and not neuron and line_of is not None:
            yield fact(line_of, "k8s.neuron_allocatable", 0)
        if head:
            section, start, line_of, plain, neuron = head.group(2), len(head.group(1)), line, False, False
            continue
        if leaves:
            section, plain, neuron = "", False, False
        plain = plain or bool(_CPU.match(line.body))
        if not resource:
            continue
        neuron = True
        kind, number = _KEY[resource.group(1)], int(resource.group(2))
        if section == "Allocatable":
            yield fact(line, f"k8s.{kind}_allocatable", number)
        elif section == "Allocated resources":
            yield fact(line, f"k8s.{kind}_allocated", number)
        elif section.lower() in ("requests", "limits"):
            yield fact(line, f"k8s.{kind}_requested", number)


def _pods(line: Line) -> Iterator[Record]:
    row = _GET_POD.match(line.body)
    if row:
        yield fact(line, "k8s.pod_phase", row.group(4))
        yield fact(line, "k8s.restarts", int(row.group(5)))
    status = _STATUS.match(line.body)
    if status:
        yield fact(line, "k8s.pod_phase", status.group(1))
    restarts = _RESTARTS.match(line.body)
    if restarts:
        yield fact(line, "k8s.restarts", int(restarts.group(1)))
    label = _TYPE_LABEL.search(line.body)
    if label:
        yield fact(line, "k8s.node_instance_type", label.group(1))
        yield fact(line, "host.instance_type", label.group(1))
    image = _IMAGE.match(line.body)
    if image:
        yield fact(line, "k8s.images", (image.group(1),))
    plugin = _PLUGIN.search(line.body)
    if plugin and "device-plugin" in plugin.group(1):
        yield fact(line, "k8s.device_plugin_image", plugin.group(1))


def _siblings(lines: Sequence[Line]) -> Iterator[Record]:
    """A workload of which one pod runs while another one is pending: they compete for what the node has."""
    running: set[str] = set()
    pending: dict[str, Line] = {}
    for line in lines:
        row = _GET_POD.match(line.body)
        name = _WORKLOAD.match(row.group(1)) if row else None
        if row is None or name is None:
            continue
        if row.group(4) == "Running":
            running.add(name.group(1))
        elif row.group(4) == "Pending":
            pending.setdefault(name.group(1), line)
    for workload, line in pending.items():
        if workload in running:
            yield fact(line, "k8s.pending_beside_running", workload)


def _states(lines: Sequence[Line]) -> Iterator[Record]:
    """Reasons and exit codes; those under `Last State` are of the run that died, those under `State` of the present one."""
    last = False
    for line in lines:
        head = _SECTION.match(line.body)
        if head:
            last = head.group(2) == "Last State"
        reason, code = _REASON.match(line.body), _EXIT.match(line.body)
        if reason and (last or reason.group(1) in ("OOMKilled", "Error", "ContainerCannotRun", "StartError", "DeadlineExceeded")):
            yield fact(line, "k8s.last_reason", reason.group(1))
        if code:
            yield from exit_facts(line, int(code.group(1)))


def _commands(lines: Sequence[Line]) -> Iterator[Record]:
    """The Command and Args lists of a container in `describe pod`, one word a line, as one command."""
    words: list[str] = []
    start: Line | None = None
    indent = -1
    for line in [*lines, Line("", None, "", "")]:
        head = _SECTION.match(line.body)
        depth = len(line.body) - len(line.body.lstrip())
        if head and head.group(2) in ("Command", "Args"):
            if head.group(2) == "Command" and words and start is not None:
                yield Event(
                    "command", start.origin, {"program": base(words[0]), "argv": tuple(words), "raw": " ".join(words)[:4000]}
                )
                words = []
            start, indent = start if words else line, depth
        elif indent >= 0 and depth > indent and line.body.strip() and len(words) < 400:
            words.append(line.body.strip())
        else:
            if words and start is not None:
                yield Event(
                    "command", start.origin, {"program": base(words[0]), "argv": tuple(words), "raw": " ".join(words)[:4000]}
                )
            words, indent, start = [], -1, None


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    yield from _resources(lines)
    yield from _states(lines)
    yield from _commands(lines)
    yield from _siblings(lines)
    reasons: list[str] = []
    first: Line | None = None
    for line in lines:
        yield from _pods(line)
        event = _EVENT.search(line.body)
        if event:
            first = first or line
            reasons.append(event.group(1))
    if first is not None:
        yield fact(first, "k8s.event_reasons", tuple(dict.fromkeys(reasons)))


FORMAT = LineFormat(
    name="kubectl",
    kind="listing",
    triggers=(
        r"aws\.amazon\.com/neuron",
        r"(?:Capacity|Allocatable|Allocated resources):\s{0,10}$",
        r"(?:node|beta)\.kubernetes\.io/instance-type",
        r"(?:Warning|Normal)\s{1,20}[A-Z]\w{3,40}\s",
        r"Restart Count:\s",
        r"Last State:\s",
        r"Exit Code:\s{1,12}-?[0-9]",
        r"(?:CrashLoopBackOff|ImagePullBackOff|OOMKilled|ContainerCreating|Init:Error)",
        r"[0-9]/[0-9]{1,3}\s{1,20}(?:Running|Pending|Error|Completed|Terminating|Evicted|UnexpectedAdmissionError)",
        r"neuron-(?:device-plugin|scheduler)\S{0,60}?:[\w.\-]{2,60}",
        r"Status:\s{1,30}(?:Pending|Running|Failed|Succeeded)",
        r"^\s{2,8}(?:Command|Args):\s{0,4}$",
    ),
    parse=_parse,
    before=30,
    after=40,
)
