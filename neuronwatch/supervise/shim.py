"""The parent of a job's command: opens files, starts the command, waits, writes how it ended. Nothing else.

Started as `python -I -S shim.py` with a socket as standard input; imports nothing of neuronwatch, decides nothing. One message:
eight bytes of length, then JSON {"argv": [...], "cwd": DIR, "env": {...}}; with its first byte come two descriptors: that of the
run's lock, which is held as long as this lives and never passed on, and that of the run's directory (its name may change yet).
All but the start is done then; one more byte starts the command, the end of the socket ends the wait. The answer is a line of
JSON {"pid", "start"}, and at the end how it ended; who does not listen any more finds the same in started.json and exit.json. The
command begins only when started.json is written: were this killed before, nobody could find it.

It is a subreaper, so that whatever the command leaves behind stays below it, and lives until the last of them is gone.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import json
import os
import signal
import socket
import time
from typing import Any

SUBREAPER = 36
RESERVED = 4096
NOT_FOUND, NOT_EXECUTABLE = 127, 126
IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGALRM")


def main() -> None:
    for name in IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    owner = socket.socket(fileno=0)
    asked = _message(owner)
    if asked is None:
        return  # never needed
    order, lock, place = asked
    os.fchdir(place)
    os.close(place)
    reserved = _reserve("exit.tmp")
    gate, opened = os.pipe()
    wait, go = os.pipe()
    child = _fork(order, opened, wait, go)
    os.close(opened)
    os.close(wait)
    start = _start_of(child)
    own = {"shim": os.getpid(), "shim_start": _start_of(os.getpid())}
    started = {"boot_id": _boot_id(), "pid": child, "start": start, **own}
    if not owner.recv(1):
        return  # not needed as it is: the gate closes with us
    _write("started.json", {**started, "time": time.time()})
    with contextlib.suppress(BrokenPipeError):  # somebody killed what waits: that is its end
        os.write(go, b"\0")
    os.close(go)
    failure = os.read(gate, 4096)
    os.close(gate)
    if not failure:
        _tell(owner, {"pid": child, "start": start})
    _reap(child, reserved, failure.decode("utf-8", "replace"), owner)
    os.close(lock)


def _message(owner: socket.socket) -> tuple[dict[str, Any], int, int] | None:
    """The order, the lock and the directory, or None when the owner went away."""
    fds: array.array[int] = array.array("i")
    data, ancillary, _flags, _address = owner.recvmsg(8, socket.CMSG_LEN(8))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    while 0 < len(data) < 8:
        data += owner.recv(8 - len(data)) or b"\0" * 8
    if not data or len(fds) != 2:
        return None
    left, parts = int.from_bytes(data[:8], "little"), []
    while left:
        part = owner.recv(min(left, 1 << 20))
        if not part:
            return None
        parts.append(part)
        left -= len(part)
    os.set_inheritable(fds[0], False)
    return json.loads(b"".join(parts)), fds[0], fds[1]


def _fork(order: dict[str, Any], opened: int, wait: int, go: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.close(go)
        os.set_inheritable(opened, False)
        os.setsid()
        for name in IGNORED:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if not os.read(wait, 1):
            os._exit(NOT_EXECUTABLE)  # the shim was killed, or is not needed
        how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open("stdout.log", how, 0o600), 1)
        os.dup2(os.open("stderr.log", how, 0o600), 2)
        if opened != 3:
            opened = os.dup2(opened, 3, inheritable=False)
        os.closerange(4, 1 << 16)
        os.chdir(order["cwd"])
        os.execvpe(order["argv"][0], order["argv"], order["env"])
    except OSError as error:
        _fail(error, order, opened)
    except BaseException as error:
        os.write(opened, f"{NOT_EXECUTABLE} {type(error).__name__}: {error}".encode()[:4000])
    finally:
        os._exit(NOT_EXECUTABLE)


def _fail(error: OSError, order: dict[str, Any], descriptor: int) -> None:
    missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    where = order["cwd"] if error.filename == order["cwd"] else order["argv"][0]
    os.write(descriptor, f"{NOT_FOUND if missing else NOT_EXECUTABLE} {where}: {error.strerror}".encode()[:4000])
    os._exit(NOT_FOUND if missing else NOT_EXECUTABLE)


def _reap(child: int, reserved: int, failure: str, owner: socket.socket) -> None:
    """Waits for everything below; says how the command ended as soon as it has."""
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return
        if pid != child:
            continue
        end: dict[str, Any] = {"status": None, "signal": None, "time": time.time(), "reason": failure.partition(" ")[2]}
        if failure:
            end["status"] = int(failure.split(" ", 1)[0])
        elif os.WIFSIGNALED(status):
            end["signal"] = os.WTERMSIG(status)
        else:
            end["status"] = os.WEXITSTATUS(status)
        data = json.dumps(end).encode()
        os.pwrite(reserved, data + b" " * (RESERVED - len(data)), 0)
        os.rename("exit.tmp", "exit.json")  # noqa: PTH104 (pathlib takes 10 ms to import)
        _tell(owner, {**end, "left": _left()})


def _left() -> bool:
    """Whether anything is left below; what is only a zombie is reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _reserve(name: str) -> int:
    """Room for the end, taken now: later the disk may be full."""
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    os.set_inheritable(descriptor, False)
    with contextlib.suppress(OSError):  # a file system that cannot, or no room already: then it is tried at the end
        os.posix_fallocate(descriptor, 0, RESERVED)
    return descriptor


def _write(name: str, document: dict[str, Any]) -> None:
    try:
        descriptor = os.open(name + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file)
        os.rename(name + ".tmp", name)  # noqa: PTH104
    except OSError:
        pass  # the owner was told, and the next one finds the tree by its mark


def _tell(owner: socket.socket, document: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        owner.sendall(json.dumps(document).encode() + b"\n", socket.MSG_DONTWAIT)


def _boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def _start_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


if __name__ == "__main__":
    main()
    os._exit(0)  # the next run begins just now: nothing here is worth its time
