"""Locks in the compile cache: whether anybody can still hold one. It is stale only where all that can be seen says so."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from neuronwatch.remedy import cache
from neuronwatch.remedy.api import Lock, RemedyError
from neuronwatch.source import proc

LEAST_AGE = 60.0
"""Seconds: a younger lock may be that of a compiler which is about to start."""
NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "lustre",
        "ceph",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "gpfs",
        "beegfs",
        "glusterfs",
        "afs",
        "efs",
        "virtiofs",
        "fuse",
    ]
)
"""File systems that other hosts may share; so may all of `fuse.*`."""
COMPILER = re.compile(r"(?:^|/)(?:neuronx?-?cc|walrus_driver|hlo2tensorizer|hlo-opt|neuron_parallel_compile|neuronx-cc\.real)$")


def locks(root: Path, now: float) -> list[Lock]:
    """The locks of a cache with what speaks against each being stale."""
    found = []
    compilers = list(compiler_processes())
    shared = network_file_system(root)
    for entry in cache.entries(root):
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(entry)):
                if name.endswith(".lock"):
                    path = entry / name
                    age = now - path.lstat().st_mtime
                    found.append(Lock(str(path), age, why_alive(path, age, compilers, shared)))
    return found


def why_alive(path: Path, age: float, compilers: list[tuple[int, str]], shared: str, but: int = 0) -> str:
    """What speaks against a lock being stale, "" where nothing does. `but`: a process that does not count."""
    if shared:
        return f"the cache is on {shared}: compilers of other hosts cannot be seen from here"
    if age < LEAST_AGE:
        return f"it is {max(0.0, age):.0f} s old: too young"
    held = _held(path)
    if held:
        return held
    pid = _pid_inside(path)
    if pid is not None and proc.process(pid) is not None:
        return f"process {pid}, which it names, lives"
    if compilers:
        return f"a compiler lives (pid {compilers[0][0]}: {compilers[0][1][:80]})"
    holder = next((pid for pid in proc.processes() if pid != but and str(path) in proc.opened_by(pid)), None)
    return f"process {holder} has it open" if holder is not None else ""


def move_aside(root: Path, path: Path, why: str) -> cache.Moved:
    """Moves one lock aside while it is held by us, after proving once more that nobody else does. Raises RemedyError."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            age = time.time() - os.fstat(descriptor).st_mtime
            alive = why_alive(path, age, list(compiler_processes()), network_file_system(root), but=os.getpid())
            if alive:
                raise RemedyError(f"{path} is not stale: {alive}")
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return cache.move_aside(root, [path], why)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RemedyError(f"{path} cannot be taken: {error.strerror}") from error


def _held(path: Path) -> str:
    """Tries both kinds of locks, and lets them go at once. A lock file that is no plain file is never stale."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return f"it cannot be tried: {error.strerror}"
    try:
        for lock in (fcntl.flock, fcntl.lockf):
            try:
                lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                lock(descriptor, fcntl.LOCK_UN)
            except OSError:
                return "a process holds it"
        return ""
    finally:
        os.close(descriptor)


def _pid_inside(path: Path) -> int | None:
    """The pid that a lock file names in its first line, as some lockers write it."""
    with contextlib.suppress(OSError, ValueError), path.open("rb") as file:
        first = file.read(64).split(b"\n")[0].strip()
        return int(first) if first.isdigit() and 0 < int(first) < 1 << 22 else None
    return None


def compiler_processes() -> Iterator[tuple[int, str]]:
    """All compilers of this host, whoever's they are."""
    for pid, item in proc.processes().items():
        if item.dead:
            continue
        words = proc.command_of(pid)[:4]
        if any(COMPILER.search(word) or word in ("neuronxcc", "neuronxcc.driver.CommandDriver") for word in words):
            yield pid, " ".join(words)


def network_file_system(path: Path) -> str:
    """The type of the file system below a path where other hosts may share it or it cannot be told, else ""."""
    found = file_system(path)
    return found if found in NETWORK or found.startswith("fuse.") else "" if found else "a file system that cannot be told"


def file_system(path: Path) -> str:
    """The type of the file system that a path is on, "" where it cannot be told."""
    try:
        device, real = path.stat().st_dev, path.resolve()
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return ""
    by_device, by_place, longest = "", "", -1
    for line in lines:
        fields, _, rest = line.partition(" - ")
        words, kind = fields.split(), rest.split(" ")[0]
        if len(words) < 5:
            continue
        if words[2] == f"{os.major(device)}:{os.minor(device)}":
            by_device = kind
        point = words[4].encode().decode("unicode_escape")
        if real.is_relative_to(point) and len(point) >= longest:
            by_place, longest = kind, len(point)
    return by_device or by_place
