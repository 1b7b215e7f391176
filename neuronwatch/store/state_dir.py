"""The state directory: where it is, that it is ours, and that one daemon uses it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from neuronwatch.store.errors import Busy, StoreError

SOCKET_NAME = "neuronwatch.sock"
LOCK_NAME = "lock"
MAX_SOCKET_PATH = 107
"""Bytes; sockaddr_un has 108 with the final zero."""


def default(host_root: Path | None = None, environ: Mapping[str, str] | None = None, uid: int | None = None) -> Path:
    """Where the state is when no --state-dir says it. Raises StoreError when the environment names no place."""
    environ = os.environ if environ is None else environ
    uid = os.geteuid() if uid is None else uid
    if host_root is not None and host_root != Path("/"):
        return host_root / "var/lib/neuronwatch"
    given = environ.get("STATE_DIRECTORY", "").split(":")[0]  # systemd lists several with colons; ours is the first
    if given:
        return Path(given)
    if uid == 0:
        return Path("/var/lib/neuronwatch")
    base = environ.get("XDG_STATE_HOME", "")
    if Path(base).is_absolute():  # the specification says that a relative one is ignored
        return Path(base) / "neuronwatch"
    home = environ.get("HOME", "")
    if not Path(home).is_absolute():
        raise StoreError("no state directory: neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME is set", "pass --state-dir DIR")
    return Path(home) / ".local/state/neuronwatch"


def prepare(path: Path) -> Path:
    """Makes the directory (mode 0700) where it is not there, and says no when it cannot be used safely. Returns it
    absolute. Raises StoreError."""
    path = Path(os.path.abspath(path))
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except FileExistsError:
        raise StoreError(f"{path} is not a directory", "pass another --state-dir") from None
    except OSError as error:
        raise StoreError(f"the state directory {path} cannot be made: {error.strerror}", _mend(path)) from error
    check(path, status)
    return path


def check(path: Path, status: os.stat_result) -> None:
    """Raises StoreError when the directory is not ours alone to write."""
    me = os.geteuid()
    if not stat.S_ISDIR(status.st_mode):
        raise StoreError(f"{path} is not a directory", "pass another --state-dir")
    if status.st_uid != me:
        raise StoreError(
            f"the state directory {path} belongs to uid {status.st_uid}, not to us (uid {me})",
            "run as that user, or pass another --state-dir",
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreError(f"others may write to the state directory {path}", f"chmod go-w {path}")
    try:
        writable = os.access(path, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    except OSError:  # pragma: no cover
        writable = False
    if not writable:
        raise StoreError(f"the state directory {path} is not writable", _mend(path))


def _mend(path: Path) -> str:
    return f"make {path} writable for uid {os.geteuid()} (mount, owner, mode), or pass another --state-dir"


def socket_path(state_dir: Path, given: Path | None = None) -> Path:
    """Where the daemon's socket is. Raises StoreError when the path does not fit into a socket address."""
    path = Path(os.path.abspath(given or state_dir / SOCKET_NAME))
    size = len(os.fsencode(path))
    if size > MAX_SOCKET_PATH:
        raise StoreError(
            f"the socket path {path} has {size} bytes, a socket address holds {MAX_SOCKET_PATH}",
            "pass a shorter --socket PATH or --state-dir DIR",
        )
    return path


class Lock:
    """The lock of one state directory: held until `release` or the end of the process, however it ends (flock). The file
    stays; it holds the pid of the last owner."""

    def __init__(self, state_dir: Path) -> None:
        """Takes the lock. Raises Busy with the other's pid, StoreError when the file cannot be used."""
        self.path = state_dir / LOCK_NAME
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self._descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened: {error.strerror}", _mend(state_dir)) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = owner(state_dir)
            os.close(self._descriptor)
            who = f"pid {pid}" if pid else "another process"
            raise Busy(f"a daemon already runs on {state_dir} ({who})", pid, "stop it, or pass another --state-dir") from None
        except OSError as error:
            os.close(self._descriptor)
            raise StoreError(f"{self.path} cannot be locked: {error.strerror}", "put the state on a local file system") from error
        with contextlib.suppress(OSError):  # a full disk: the lock itself needs no byte
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def holds(self) -> bool:
        """Whether the lock file of the directory is still the one that is locked: it may have been deleted or replaced."""
        try:
            mine, there = os.fstat(self._descriptor), os.lstat(self.path)
        except OSError:
            return False
        return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def owner(state_dir: Path) -> int:
    """The pid in the lock file, 0 where there is none. It may have ended since."""
    try:
        descriptor = os.open(state_dir / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        text = os.read(descriptor, 32).strip()
    except OSError:
        return 0
    finally:
        os.close(descriptor)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
