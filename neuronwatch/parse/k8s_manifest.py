"""Kubernetes manifests and `kubectl get -o yaml` (also as JSON), docker compose files: image, command, environment,
Neuron resources, host paths and devices. Read line by line by indentation: no YAML library, nothing constructed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.records import Event, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import of_environment
from neuronwatch.parse._programs import base, server_of_image
from neuronwatch.parse._shell import ASSIGNMENT, split_words
from neuronwatch.parse._text import document_lines, fact
from neuronwatch.parse.api import Document, FileFormat, Line
from neuronwatch.parse.commands import list_items
from neuronwatch.parse.host_lines import INSTANCE_TYPE, instance

_KEY = lazy(r"^(\s{0,60})(-\s{1,4})?[\"']?([A-Za-z_][\w./\-]{0,100})[\"']?\s{0,2}:\s{0,8}(.{0,4000}?),?\s{0,8}$")
_ITEM = lazy(r"^(\s{0,60})-\s{1,4}(.{1,4000}?)\s{0,8}$")
_RESOURCE = lazy(r"^aws\.amazon\.com/(neuron|neuroncore|neurondevice)$")
_HELPERS = lazy(r"device-plugin|neuron-monitor|scheduler|node-problem|node-recovery|exporter|helm")
_TOP = lazy(r"^\s{0,4}\"?(apiVersion|kind|services)\"?\s{0,2}:", re.M)
_KINDS = lazy(
    r"kind\"?:\s{0,4}\"?(?:Pod|Deployment|Job|StatefulSet|DaemonSet|ReplicaSet|MPIJob|PyTorchJob|RayCluster|RayJob|InferenceService|Provisioner|NodePool|CronJob)"
)


@dataclass
class _List:
    """A `command:`, `args:`, `entrypoint:` or `devices:` list that is being read."""

    key: str
    indent: int
    line: Line
    words: list[str] = field(default_factory=list)


def _plain(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return re.sub(r"\s#.{0,200}$", "", text)


def _sniff(document: Document) -> float:
    head = document.text[:65_536]
    if head.lstrip()[:1] in ("{", "["):
        return 0.0
    found = set(_TOP.findall(head))
    if {"apiVersion", "kind"} <= found and _KINDS.search(head):
        return 0.9
    return 0.7 if "services" in found and re.search(r"^\s{2,8}image:\s", head, re.M) else 0.0


class _Reader:
    def __init__(self) -> None:
        self.words: dict[str, list[str]] = {}
        self.start: Line | None = None
        self.name = ""
        self.open: _List | None = None
        self.section = self.image = ""
        self.seen: set[str] = set()
        self.neuron_image: Line | None = None
        self.takes_devices = False

    def close(self) -> Iterator[Record]:
        """Takes over the list that has ended."""
        if self.open is None:
            return
        done, self.open = self.open, None
        if done.key == "devices":
            paths = tuple(word.split(":", 1)[0] for word in done.words if word.startswith("/dev/neuron"))
            if paths:
                yield fact(done.line, "docker.devices", paths)
                numbers = [int(found.group(1)) for path in paths if (found := re.match(r"/dev/neuron([0-9]{1,3})$", path))]
                yield fact(done.line, "launch.devices_passed", tuple(numbers))
        elif done.key == "environment":
            for word in done.words:
                assigned = ASSIGNMENT.match(word)
                for name, value in of_environment(assigned.group(1), assigned.group(2)) if assigned else ():
                    yield fact(done.line, name, value)
        elif done.words:
            self.words[done.key] = done.words
            self.start = self.start or done.line

    def flush(self) -> Iterator[Record]:
        """The command of the container that has ended."""
        words = [*self.words.get("entrypoint", []), *self.words.get("command", []), *self.words.get("args", [])]
        if words and words[0].startswith("-"):
            words = [*server_of_image(self.image), *words]
        if words and self.start is not None:
            yield Event(
                "command", self.start.origin, {"program": base(words[0]), "argv": tuple(words), "raw": " ".join(words)[:4000]}
            )
        self.words, self.start = {}, None

    def key(self, line: Line, indent: int, key: str, value: str) -> Iterator[Record]:
        plain = _plain(value)
        resource = _RESOURCE.match(key)
        self.takes_devices = self.takes_devices or resource is not None or key == "privileged"
        if resource and plain.isdecimal() and len(plain) < 19:
            kind = "neuroncore" if resource.group(1) == "neuroncore" else "neuron"
            yield fact(
                line, f"k8s.{kind}_{'allocatable' if self.section in ('allocatable', 'capacity') else 'requested'}", int(plain)
            )
        elif key in ("allocatable", "capacity", "limits", "requests"):
            self.section = key
        elif key == "image" and plain:
            if "image" in self.seen:  # the next container of a pod or service of a file
                yield from self.flush()
            self.seen.add("image")
            self.image = plain
            if "neuron" in plain and not _HELPERS.search(plain):
                self.neuron_image = self.neuron_image or line
            yield fact(line, "launch.image", plain)
            yield fact(line, "launch.in_container", True)
        elif key in ("command", "args", "entrypoint", "devices", "environment"):
            yield from self.lists(line, indent, key, plain)
        elif key == "name":
            self.name = plain
        elif key == "value" and self.name:
            for name, read in of_environment(self.name, plain):
                yield fact(line, name, read)
            self.name = ""
        elif key == "privileged" and plain in ("true", "false"):
            yield fact(line, "docker.privileged", plain == "true")
        elif key.endswith("instance-type") and re.fullmatch(INSTANCE_TYPE, plain):
            yield fact(line, "host.instance_type", instance(plain))

    def lists(self, line: Line, indent: int, key: str, value: str) -> Iterator[Record]:
        if not value or value in ("|", ">", "|-", ">-"):
            self.open = _List(key, indent, line)
            return
        words = list_items(value) if value.startswith("[") else split_words(value)
        self.open = _List(key, indent, line, list(words or []))
        yield from self.close()


def _parse(document: Document) -> Iterator[Record]:
    reader = _Reader()
    for line in document_lines(document):
        if not line.body.strip() or line.body.lstrip().startswith("#"):
            continue
        indent = len(line.body) - len(line.body.lstrip())
        item = _ITEM.match(line.body)
        if reader.open is not None:
            inside = indent > reader.open.indent or (item is not None and indent == reader.open.indent)
            found = _KEY.match(line.body)
            if inside and reader.open.key == "environment" and found and not item:
                for name, value in of_environment(found.group(3), _plain(found.group(4))):
                    yield fact(line, name, value)
                continue
            if inside and len(reader.open.words) < 400:
                reader.open.words.extend([_plain(item.group(2))] if item else split_words(line.body))
                continue
            yield from reader.close()
        found = _KEY.match(line.body)
        if found:
            yield from reader.key(line, indent, found.group(3), found.group(4))
    yield from reader.close()
    yield from reader.flush()
    # A workload on a Neuron image that asks for no Neuron resource gets no device from the plugin.
    if reader.neuron_image is not None and not reader.takes_devices and _KINDS.search(document.text[:65_536]):
        yield fact(reader.neuron_image, "k8s.neuron_requested", 0)


FORMAT = FileFormat(name="k8s-manifest", kind="config", sniff=_sniff, parse=_parse)
