"""Marks of a container: /.dockerenv, cgroup paths, overlay roots, image builds, and what the OCI hook of Neuron did."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact, prompt_command, to_int
from neuronwatch.parse.api import Line, LineFormat

_MARK = lazy(r"^\s{0,4}[-l][rwx-]{9}.{0,80}\s/?\.dockerenv\s{0,4}$|^\s{0,4}/(?:\.dockerenv|run/\.containerenv)\s{0,4}$")
_CGROUP = lazy(r"^\s{0,4}[0-9]{1,3}:[\w,=.\-]{0,80}:(/\S{0,300})$")
_CONTAINER_PATH = lazy(r"docker|kubepods|containerd|crio|libpod|ecs/|lxc")
_ROOT = lazy(r"^\s{0,4}overlay (?:on )?/ (?:type )?overlay ")
_BUILD = lazy(
    r"The command '/bin/(?:ba)?sh -[ce]{1,3}.{0,2000}returned a non-zero code|^\s{0,4}(?:Step [0-9]{1,3}"
    r"/[0-9]{1,3} : |#[0-9]{1,3} \[[^\]]{0,40}[0-9]/[0-9]{1,2}\] )"
    r"|ERROR: failed to solve|failed to solve: process|invoke-rc\.d: could not determine current runlevel|"
    r"belongs to a chroot's host"
)
_EXEC = lazy(r"^(?:sudo )?(?:kubectl|oc|docker|podman|nerdctl|crictl)\b.{0,80}?\s(?:exec|rsh)\s")
_EVENTS = lazy(r"^\s{0,4}oom_kill ([0-9]{1,9})\s{0,4}$")
_STATS = lazy(r"^\s{0,4}(?:memory\.(max|current)|memory\.(limit|usage)_in_bytes)\s{0,4}[:=]?\s{1,4}([0-9]{1,19})\s{0,4}$")
_CPU_MAX = lazy(r"cpu\.max\s{0,4}[:=]?\s{0,4}([0-9]{1,12}) ([0-9]{1,12})\s{0,4}$")


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        text = line.body
        cgroup = _CGROUP.match(text)
        # the runtime daemons live under system.slice of the host: their unit is no container
        inside = bool(
            cgroup
            and _CONTAINER_PATH.search(cgroup.group(1))
            and not re.search(r"system\.slice/(?:docker|containerd)\.service$", text)
        )
        if inside or _MARK.match(text) or _ROOT.match(text) or _BUILD.search(text):
            yield fact(line, "host.in_container", True)
        elif " exec " in text or " rsh " in text:
            # what somebody looked into runs in a container
            command = prompt_command(text)
            if command and _EXEC.match(command):
                yield fact(line, "launch.in_container", True)
        kills = _EVENTS.match(text)
        if kills:
            yield fact(line, "host.cgroup_oom_kills", int(kills.group(1)))
        stats = _STATS.match(text)
        if stats:
            name = "memory_max" if "max" in (stats.group(1) or "") or stats.group(2) == "limit" else "memory_current"
            number = to_int(stats.group(3))
            # cgroup v1 writes "no limit" as almost 2^63
            if number is not None and number < 1 << 60:
                yield fact(line, f"cgroup.{name}", number)
        cpus = _CPU_MAX.search(text)
        if cpus and int(cpus.group(2)):
            yield fact(line, "cgroup.cpus", int(cpus.group(1)) / int(cpus.group(2)))


FORMAT = LineFormat(
    name="container",
    kind="listing",
    triggers=(
        r"(?:kubectl|oc|docker|podman|nerdctl|crictl)\b.{0,80}?\s(?:exec|rsh)\s",
        r"\.dockerenv",
        r"\.containerenv",
        r"[0-9]{1,3}:[\w,=.\-]{0,80}:/\S{0,300}(?:docker|kubepods|containerd|crio|libpod|ecs/|lxc)",
        r"overlay (?:on )?/ ",
        r"The command '/bin/(?:ba)?sh -",
        r"Step [0-9]{1,3}/[0-9]{1,3} : ",
        r"#[0-9]{1,3} \[[^\]]{0,40}[0-9]/[0-9]{1,2}\] (?:FROM|RUN|COPY|ADD)",
        r"failed to solve",
        r"could not determine current runlevel",
        r"belongs to a chroot's host",
        r"oom_kill [0-9]",
        r"memory\.(?:max|current|limit_in_bytes|usage_in_bytes)",
        r"cpu\.max",
    ),
    parse=_parse,
)
