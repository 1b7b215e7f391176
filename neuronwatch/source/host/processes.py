"""Processes: who runs, who holds a Neuron device, with which environment and limits. Read from the root's own /proc."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot, VirtualFile, numbered

MAX_PROCESSES = 20_000
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
MAX_DESCRIPTORS = 4096
MAX_HOLDERS = 64
TOLD = re.compile(
    r"^(?:NEURON|FI_|PJRT_|XLA_|TORCH_NEURON|VLLM_NEURON|CCOM_|OFI_|NCCL_|OMP_|MALLOC_|RANK$|LOCAL_RANK$|WORLD_SIZE$|LOCAL_WORLD_SIZE$|"
    r"NNODES$|SLURM_(?:NNODES|JOB_NUM_NODES|NTASKS)$|MASTER_(?:ADDR|PORT)$|LD_LIBRARY_PATH$|PATH$|TMPDIR$|VIRTUAL_ENV$)"
)
"""Variables of a holder that are shown; others may hold secrets and say nothing about the device."""


_DIGITS = b"0123456789- \n\0"
_ABSENT = [b"0"] * 22
_DEVICE = re.compile(r"^/dev/(neuron\d{1,5})$")


class Process(NamedTuple):
    pid: int
    parent: int
    state: str
    rss: int
    command: str
    cpu: float = 0.0
    """Seconds of CPU time, user and system."""
    threads: int = 0
    name: str = ""
    """As the kernel calls it."""
    began: int = 0
    """Ticks after the host's start."""


class Handle(NamedTuple):
    """An open device: `descriptor` of the process, `device` as `neuron0`."""

    process: Process
    descriptor: str
    device: str


def collect(root: HostRoot) -> Iterator[HostItem]:
    where, pids = process_ids(root)
    if not pids:
        return
    mine = own_pid(root)
    found = [item for item in (process(root, where, pid) for pid in pids) if item is not None and item.pid != mine]
    handles: list[Handle] = []
    unseen = 0
    for item in found if has_devices(root) else ():
        open_here = handles_of(where, item)
        unseen += open_here is None
        handles += open_here or ()
    yield from told(root, found, handles, unseen)


def told(root: HostRoot, found: list[Process], handles: list[Handle], unseen: int) -> Iterator[HostItem]:
    """The listing of processes and who holds which device. `unseen`: processes whose open files may not be read."""
    yield VirtualFile("host:ps -eo pid,ppid,stat,rss,args", _listing(found))
    if has_devices(root):
        yield from _holders(root, found, handles, unseen)


def has_devices(root: HostRoot) -> bool:
    return bool(numbered(root.names("/dev"), "neuron"))


def process_ids(root: HostRoot) -> tuple[str, list[int]]:
    """The real path of /proc, and the processes in it: directories, no link among them; none where it cannot be read."""
    where = root.real("/proc") or ""
    try:
        with os.scandir(where) as entries:
            found = [int(entry.name) for entry in entries if _is_process(entry)]
    except OSError:
        return where, []
    found.sort()
    return where, found[:MAX_PROCESSES]


def _is_process(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    return name.isdecimal() and name.isascii() and len(name) < 10 and entry.is_dir(follow_symlinks=False)


def own_pid(root: HostRoot) -> int:
    return os.getpid() if root.live else -1


def process(root: HostRoot, proc: str, pid: int, known: Process | None = None) -> Process | None:
    """`proc`: the real path of /proc. `known`: what had this number earlier; while its name and its start are the same its command
    is taken to be."""
    data = root.read_at(f"{proc}/{pid}/stat", 4096) or b""
    start, end = data.find(b"("), data.rfind(b")")
    fields = data[end + 1 :].split()
    if not 0 < start < end or len(fields) < 2 or len(fields[0]) != 1 or data[end + 3 :].translate(None, _DIGITS):
        return None  # bytes that are no text
    if len(fields) < len(_ABSENT):
        fields += _ABSENT[len(fields) :]
    try:
        parent, user, system, threads, began, pages = [int(fields[at][:18]) for at in (1, 11, 12, 17, 19, 21)]
    except ValueError:
        return None
    name = data[start + 1 : end][:64].decode("utf-8", "replace")
    same = known is not None and (known.began, known.name) == (began, name)
    shown = known.command if known is not None and same else _command(root, f"{proc}/{pid}/cmdline") or f"[{name}]"
    state = fields[0].decode("ascii", "replace")
    return Process(pid, parent, state, pages * 4096, shown, (user + system) / TICKS, threads, name, began)


def _command(root: HostRoot, where: str) -> str:
    raw = root.read_at(where, 16 * 1024) or b""
    return " ".join(raw.replace(b"\0", b" ").decode("utf-8", "replace").split())


def _listing(found: list[Process]) -> bytes:
    """The table as `ps -eo pid,ppid,stat,rss,args` prints it; lines are cut, not wrapped."""
    rows = [f"{item.pid:>7} {item.parent:>7} {item.state:<4} {item.rss // 1024:>8} {item.command[:2000]}" for item in found]
    return ("\n".join([f"{'PID':>7} {'PPID':>7} STAT {'RSS':>8} COMMAND", *rows]) + "\n").encode("utf-8", "replace")


def handles_of(proc: str, item: Process) -> list[Handle] | None:
    """The devices that a process has open; None when its open files may not be read. Other users' are closed to us."""
    where = f"{proc}/{item.pid}/fd"
    names = descriptors_of(where)
    if not names:
        return [] if item.command.startswith("[") else None
    return [Handle(item, name, device) for name in sorted(names) if (device := device_of(where, name))]


def descriptors_of(where: str) -> list[str]:
    """The names in a process's directory of open files in the kernel's order, [] when there are none or it may not be read."""
    try:
        return os.listdir(where)[:MAX_DESCRIPTORS]
    except OSError:
        return []


def device_of(where: str, name: str) -> str:
    """The device behind one open file, "" when it is none."""
    try:
        device = _DEVICE.match(os.readlink(f"{where}/{name}"))  # noqa: PTH115 (thousands in each look)
    except OSError:
        return ""
    return device.group(1) if device else ""


def _holders(root: HostRoot, found: list[Process], handles: list[Handle], unseen: int) -> Iterator[HostItem]:
    """Processes with an open /dev/neuronN, as lsof shows them."""
    if handles:
        rows = []
        for item, descriptor, device in handles:
            short = re.sub(r"\s.*", "", item.command).rsplit("/", 1)[-1][:40] or "?"
            rows.append(f"{short:<16} {item.pid:>7} ? {descriptor + 'u':>6}   CHR  0,0  0t0  0 /dev/{device}")
        head = f"{'COMMAND':<16} {'PID':>7} USER   FD   TYPE DEVICE SIZE/OFF NODE NAME"
        yield VirtualFile("host:/proc/*/fd", ("\n".join(["$ lsof /dev/neuron*", head, *rows]) + "\n").encode())
    elif not unseen:
        origin = Origin("host:/proc/*/fd", None, f"{len(found)} processes, none holds /dev/neuron*")
        yield Fact("neuron.holders", (), origin)
        yield Fact("neuron.busy_pids", (), origin)
    if unseen:
        yield SourceReport("host:/proc/*/fd", "processes", "partial",
                           f"open files of {unseen} processes may not be read by this user: holders may be missing")  # fmt: skip
    yield from _surroundings(root, list(dict.fromkeys(item.process for item in handles)))


def _surroundings(root: HostRoot, holders: list[Process]) -> Iterator[HostItem]:
    """Environment and limits of the first holder of each command, since ranks of one job are alike."""
    seen = set()
    for item in holders[:MAX_HOLDERS]:
        if item.command in seen:
            continue
        seen.add(item.command)
        raw = root.read(f"/proc/{item.pid}/environ", 1024 * 1024)
        if raw:
            pairs = [text for text in raw.decode("utf-8", "replace").split("\0") if TOLD.match(text.partition("=")[0])]
            lines = [" ".join(text.splitlines()) for text in sorted(pairs)]
            yield VirtualFile(f"host:/proc/{item.pid}/environ", ("\n".join(lines) + "\n").encode())
        limits = root.read(f"/proc/{item.pid}/limits", 8192)
        if limits:
            yield VirtualFile(f"host:/proc/{item.pid}/limits", limits)
