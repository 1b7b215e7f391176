"""The machine: kernel, system, memory, limits, mounts, free space, instance type, container or host. No network."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot, VirtualFile

LOCK = "/etc/neuronwatch/neuronwatch.lock.toml"
"""A lock that an operator keeps for the host: read where there is one, so that drift is seen without an option."""
FILES = ("/proc/version", "/etc/os-release", "/proc/meminfo", "/proc/mounts", "/proc/self/limits", LOCK)
DMI = ("/sys/class/dmi/id/product_name", "/sys/devices/virtual/dmi/id/product_name")
INSTANCE = re.compile(r"^(?:[a-z]{1,4}\d[a-z0-9-]{0,8})\.(?:\d{0,3}x?large|metal[\w-]{0,8}|medium|small|micro|nano)$")
CONTAINER = re.compile(r"/(?:docker|kubepods|containerd|lxc|libpod|crio|ecs)[-/.:]")


def collect(root: HostRoot) -> Iterator[HostItem]:
    if root.live:
        yield Fact("host.now", time.time(), Origin("host:clock"))
        if not sys.platform.startswith("linux"):
            yield SourceReport("host:/proc", "host", "missing", f"not a Linux host ({sys.platform}): give the files of the run")
            return
    for name in FILES:
        data = root.read(name, 1024 * 1024)
        if data:
            yield VirtualFile(f"host:{name}", data)
    yield from _names(root)
    yield from _instance_type(root)
    yield from _image(root)
    yield from _processor(root)
    yield from _container(root)
    if root.live:
        yield from _space(root)


def _names(root: HostRoot) -> Iterator[Fact]:
    for name in ("/proc/sys/kernel/hostname", "/etc/hostname"):
        text = root.text(name, 1024)
        if text:
            yield Fact("host.hostname", text, Origin(f"host:{name}", 1, text))
            return


def _instance_type(root: HostRoot) -> Iterator[Fact]:
    """On EC2 the product name of the DMI table is the instance type; elsewhere it is something else and says nothing."""
    for name in DMI:
        text = root.text(name, 1024)
        if text and INSTANCE.match(text):
            yield Fact("host.instance_type", text, Origin(f"host:{name}", 1, text))
            return


def _image(root: HostRoot) -> Iterator[Fact]:
    """The AMI as cloud-init recorded it at boot, else the image name that Amazon Linux writes."""
    name = "/run/cloud-init/instance-data.json"
    found = re.search(r'"ami[-_]id"\s*:\s*"(ami-[0-9a-f]{8,17})"', root.text(name, 1024 * 1024) or "")
    if found:
        yield Fact("host.image", found.group(1), Origin(f"host:{name}", None, found.group()))
        return
    name = "/etc/image-id"
    fields = dict(re.findall(r'(?m)^(image_name|image_version)="?([\w.-]{1,80})"?\s*$', root.text(name) or ""))
    if "image_name" in fields:
        text = " ".join(fields[key] for key in ("image_name", "image_version") if key in fields)
        yield Fact("host.image", text, Origin(f"host:{name}", None, text))


def _processor(root: HostRoot) -> Iterator[Fact]:
    data = root.read("/proc/cpuinfo", 8 * 1024 * 1024) or b""
    count = len(re.findall(rb"(?m)^processor\s*:", data))
    if count:
        yield Fact("host.vcpus", count, Origin("host:/proc/cpuinfo"))
    load = root.text("/proc/loadavg", 256)
    first = (load or "").split(" ")[0]
    if re.fullmatch(r"\d{1,7}\.\d{1,4}", first):
        yield Fact("host.load_average", float(first), Origin("host:/proc/loadavg", 1, load or ""))


def _container(root: HostRoot) -> Iterator[Fact]:
    """A marker file of docker or podman, systemd's note, or the container runtime in the control group of process 1."""
    for name in ("/.dockerenv", "/run/.containerenv", "/run/systemd/container"):
        if root.exists(name):
            yield Fact("host.in_container", True, Origin(f"host:{name}"))
            return
    groups = root.text("/proc/1/cgroup") or ""
    for number, line in enumerate(groups.splitlines(), start=1):
        if CONTAINER.search(line):
            yield Fact("host.in_container", True, Origin("host:/proc/1/cgroup", number, line))
            return
    if groups:
        yield Fact("host.in_container", False, Origin("host:/proc/1/cgroup", 1, groups.splitlines()[0]))


def file_systems(root: HostRoot) -> Iterator[tuple[str, str]]:
    """(mount point, line of /proc/mounts) of the file systems that can be full. A network mount that does not answer would
    block, so network file systems are left to the job's own messages."""
    for line in (root.text("/proc/mounts", 1024 * 1024) or "").splitlines():
        cells = line.split(" ")
        if len(cells) < 3:
            continue
        point = cells[1].encode().decode("unicode_escape", "replace") if "\\" in cells[1] else cells[1]
        shared = point == "/dev/shm"
        if not shared and not (cells[0].startswith("/dev/") or cells[2] in ("tmpfs", "overlay", "zfs", "btrfs")):
            continue
        if cells[2] in ("squashfs", "iso9660", "erofs"):
            continue  # images are always full
        yield point, line


def is_full(state: os.statvfs_result) -> bool:
    no_blocks = state.f_blocks > 0 and state.f_bavail * 1000 < state.f_blocks
    no_inodes = state.f_files > 0 and state.f_favail == 0
    return (no_blocks or no_inodes) and not state.f_flag & getattr(os, "ST_RDONLY", 1)


def _space(root: HostRoot) -> Iterator[Fact]:
    """Full file systems and the size of /dev/shm, asked of the kernel for each mount of a real device."""
    full = []
    for point, line in file_systems(root):
        try:
            state = os.statvfs(point)
        except (OSError, AttributeError, ValueError):
            continue
        if point == "/dev/shm" and state.f_blocks:
            yield Fact("host.shm_total", state.f_blocks * state.f_frsize, Origin("host:/dev/shm", None, line))
        if is_full(state):
            full.append(point)
    yield Fact("host.disk_full", tuple(dict.fromkeys(full)), Origin("host:statvfs", None, " ".join(full)))
