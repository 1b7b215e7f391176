"""The host below a directory: reading files without leaving it, listing, and running the host's own tools.

`/` is the live host. Any other root is read as files, as after a chroot: links with absolute targets are taken below the
root and `..` does not lead out. Programs run on `/`, on a live drill host (marker file, below), or where the caller allows it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from neuronwatch.model.dataclass import dataclass

DRILL_MARKER = ".neuronwatch-drill-host"
"""JSON `{"pid": N}` in the root of a simulated host: alive, owned by the caller, not writable by group or others."""

TOOL_DIRECTORIES = ("/opt/aws/neuron/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Searched first and in this order; /opt/aws/neuron/bin is on PATH in login shells of the Neuron images only."""

MAX_READ = 32 * 1024 * 1024
MAX_LINKS = 40
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_WAITING = _FLAGS & ~getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class VirtualFile:
    """Bytes of the host under the path that evidence shows (`host:/proc/mounts`); parsers read them like any file."""

    path: str
    data: bytes


@dataclass(frozen=True)
class Output:
    """What became of a program: `reason` is "" when it ran and ended with `status`, else why there is no status."""

    stdout: bytes = b""
    stderr: bytes = b""
    status: int | None = None
    reason: str = ""


class HostRoot:
    """A host to read. Nothing is written, no device is opened for writing, no link leads out of the root."""

    def __init__(self, path: Path | str = "/", *, allow_exec: bool = False, patient: bool = False) -> None:
        """`patient`: what does not answer is waited for, as a read of a hung driver is; only for a thread of its own. (On a
        simulated host a file hangs by being a FIFO.)"""
        self.path = Path(os.path.abspath(path))  # tools are run from another directory
        self._patient = patient
        self.live = os.path.abspath(self.path) == os.path.abspath(os.sep)
        self._allow_exec = allow_exec

    def waiting(self) -> HostRoot:
        """The same host, for a thread that may wait."""
        return HostRoot(self.path, allow_exec=self._allow_exec, patient=True)

    def place(self, name: str) -> Path | None:
        """The real path of `name` (absolute, as the host sees it), links followed inside the root. None: no such file, a
        loop, or no permission on the way."""
        found = self.real(name)
        return None if found is None else Path(found)

    def real(self, name: str) -> str | None:
        """As `place`, as text: the daemon asks some hundred times a second."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        done: list[str] = []
        links = 0
        base = str(self.path).rstrip("/")
        parts.reverse()
        while parts:
            part = parts.pop()
            if part == "..":
                if done:
                    done.pop()
                continue
            here = "/".join((base, *done, part))
            try:
                mode = os.lstat(here).st_mode
            except (OSError, ValueError):
                return None
            if not stat.S_ISLNK(mode):
                done.append(part)
                continue
            links += 1
            if links > MAX_LINKS:
                return None
            try:
                target = os.readlink(here)  # noqa: PTH115 (this is the hot path of the daemon)
            except OSError:
                return None
            if target.startswith("/"):
                done = []
            parts += [item for item in reversed(target.split("/")) if item not in ("", ".")]
        return "/".join((base, *done)) or "/"

    def read(self, name: str, limit: int = MAX_READ) -> bytes | None:
        """At most `limit` bytes of a regular file, None when there is none or it may not be read (see `why`)."""
        where = self.real(name)
        return None if where is None else self.read_at(where, limit)

    def tail(self, name: str, limit: int) -> bytes | None:
        """The last `limit` bytes of a regular file, from a line's start."""
        descriptor = self.open(name)
        if descriptor is None:
            return None
        try:
            size = os.fstat(descriptor).st_size
            os.lseek(descriptor, max(0, size - limit), os.SEEK_SET)
            data = _read(descriptor, limit)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        return data if size <= limit else data.partition(b"\n")[2]

    def read_at(self, where: str, limit: int) -> bytes | None:
        """As `read`, of a path that `real` gave with a name behind it: a link there is not followed."""
        descriptor = self._open(where)
        if descriptor is None:
            return None
        try:
            return _read(descriptor, limit)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def open(self, name: str) -> int | None:
        """A descriptor for reading a regular file, None for anything else: unless the root is patient, a FIFO or a device is never
        waited for."""
        where = self.real(name)
        return None if where is None else self._open(where)

    def _open(self, where: str) -> int | None:
        try:
            descriptor = os.open(where, _WAITING if self._patient else _FLAGS)
        except OSError:
            return None
        try:
            mode = os.fstat(descriptor).st_mode
            right = stat.S_ISREG(mode) or (self._patient and stat.S_ISFIFO(mode))
        except OSError:
            right = False
        if not right:
            os.close(descriptor)
            return None
        return descriptor

    def text(self, name: str, limit: int = 64 * 1024) -> str | None:
        """A small file as text without the blanks around it."""
        data = self.read(name, limit)
        return None if data is None else data.decode("utf-8", "replace").strip()

    def why(self, name: str) -> str:
        """Why `read` gives nothing: "no such file", "permission denied", ..."""
        where = self.place(name)
        if where is None:
            return "no such file"
        try:
            descriptor = os.open(where, _FLAGS)
        except OSError as error:
            return (error.strerror or str(error)).lower()
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return "not a regular file"
            os.read(descriptor, 1)
        except OSError as error:
            return (error.strerror or str(error)).lower()
        finally:
            os.close(descriptor)
        return "empty"

    def names(self, name: str) -> list[str]:
        """The sorted entries of a directory, [] when there is none or it may not be read."""
        where = self.real(name)
        if where is None:
            return []
        try:
            return sorted(os.listdir(where))
        except OSError:
            return []

    def exists(self, name: str) -> bool:
        return self.real(name) is not None

    def is_file(self, name: str) -> bool:
        where = self.place(name)
        return where is not None and where.is_file()

    def is_dir(self, name: str) -> bool:
        where = self.place(name)
        return where is not None and where.is_dir()

    def stat(self, name: str) -> os.stat_result | None:
        where = self.place(name)
        if where is None:
            return None
        try:
            return where.stat()
        except OSError:
            return None

    def link(self, name: str) -> str | None:
        """The target of a link as it stands (for /proc/PID/fd), None when it is none or may not be read."""
        where = self.place(name.rsplit("/", 1)[0])
        if where is None:
            return None
        try:
            return str((where / name.rsplit("/", 1)[-1]).readlink())
        except OSError:
            return None

    def may_run(self) -> bool:
        """Whether programs of this host may be executed at all."""
        return self.live or self._allow_exec or self._is_drill()

    def _is_drill(self) -> bool:
        if not hasattr(os, "geteuid"):
            return False
        marker = self.path / DRILL_MARKER
        try:
            state, root = os.lstat(marker), os.lstat(self.path)
            for item in (state, root):
                if item.st_uid != os.geteuid() or item.st_mode & 0o022:
                    return False
            if not stat.S_ISREG(state.st_mode) or state.st_size > 4096:
                return False
            pid = json.loads(marker.read_bytes())["pid"]
            if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 1:
                return False
            os.kill(pid, 0)
        except (OSError, ValueError, TypeError, KeyError, OverflowError):
            return False
        return True

    def program(self, name: str) -> Path | None:
        """The executable file, from the host's tool directories, then (live host only) from PATH entries that nobody else
        may write to."""
        directories = list(TOOL_DIRECTORIES)
        if self.live:
            directories += [item for item in os.environ.get("PATH", "").split(os.pathsep) if _trusted(item)]
        for directory in directories:
            where = self.place(f"{directory}/{name}")
            if where is not None and where.is_file() and os.access(where, os.X_OK):
                return where
        return None

    def lacks(self, name: str) -> str:
        """Why there is no `program` of this name, "" where there is one."""
        if self.program(name) is not None:
            return ""
        there = any(self.is_file(f"{directory}/{name}") for directory in TOOL_DIRECTORIES)
        return "not executable by this user" if there else "not installed"

    def run(self, argv: Sequence[str], timeout: float = 10.0, limit: int = 8 * 1024 * 1024, *, tied: bool = False) -> Output:
        """Runs a tool of the host, at most `timeout` seconds, with no input, few variables and its own process group. `tied`: it
        dies with us, even when we are killed."""
        process = self.start(argv, tied=tied)
        return Output(reason=process) if isinstance(process, str) else _collect(process, timeout, limit)

    def start(self, argv: Sequence[str], *, tied: bool = False, terminal: int | None = None) -> subprocess.Popen[bytes] | str:
        """A tool of the host with pipes for stdout and stderr, or on a terminal (a descriptor), or why there is none ("not
        installed", ...)."""
        if not self.may_run():
            return "not executed: the root is not a live host"
        where = self.program(argv[0])
        if where is None:
            return self.lacks(argv[0])
        command = [str(where), *argv[1:]]
        if tied and sys.executable:
            command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("tied.py")), str(os.getpid()), *command]
        environment = _environment() if terminal is None else {**_environment(), "TERM": "xterm"}
        try:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL if terminal is None else terminal,
                stdout=subprocess.PIPE if terminal is None else terminal, stderr=subprocess.PIPE if terminal is None else terminal,
                env=environment, cwd=os.sep, start_new_session=True, close_fds=True,
            )  # fmt: skip
        except OSError as error:
            return f"not started: {(error.strerror or str(error)).lower()}"


def _read(descriptor: int, limit: int) -> bytes:
    chunks, left = [], limit
    while left > 0:
        chunk = os.read(descriptor, min(left, 1 << 20))
        if not chunk:
            break
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _trusted(directory: str) -> bool:
    try:
        state = Path(directory).stat()
    except (OSError, ValueError):
        return False
    return Path(directory).is_absolute() and stat.S_ISDIR(state.st_mode) and not state.st_mode & 0o022


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("NEURON_LOGICAL_NC_CONFIG",) if name in os.environ}
    return {"PATH": os.pathsep.join(TOOL_DIRECTORIES), "LC_ALL": "C", "TZ": "UTC", **kept}


def _collect(process: subprocess.Popen[bytes], timeout: float, limit: int) -> Output:
    """Output until the end, the time limit or the size limit; the whole process group ends with it."""
    import selectors

    deadline = time.monotonic() + timeout
    chunks: dict[str, list[bytes]] = {"out": [], "err": []}
    size, reason = 0, ""
    with selectors.DefaultSelector() as selector:
        for name, pipe in (("out", process.stdout), ("err", process.stderr)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, name)
        while selector.get_map() and not reason:
            left = deadline - time.monotonic()
            if left <= 0:
                reason = f"no answer within {timeout:g} s"
                break
            for key, _ in selector.select(left):
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                    continue
                size += len(data)
                chunks[key.data].append(data)
                if size > limit:
                    reason = f"more than {limit} bytes of output"
    status: int | None = None
    if not reason:
        try:
            status = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            reason = f"no end within {timeout:g} s"
    if status is None:
        end(process)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    return Output(b"".join(chunks["out"])[:limit], b"".join(chunks["err"])[:limit], status, reason)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills the process and its group."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2.0)  # a process in uninterruptible sleep (stuck in the driver) is left to init


def numbered(names: Iterator[str] | Sequence[str], prefix: str) -> list[int]:
    """The N of all `<prefix>N`, sorted."""
    found = (name[len(prefix) :] for name in names if name.startswith(prefix))
    return sorted(int(number) for number in found if number.isascii() and number.isdecimal() and len(number) < 6)
