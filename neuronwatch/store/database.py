"""SQLite files that outlive crashes: opened, checked, and set aside (never deleted) when they are damaged.

WAL with synchronous=NORMAL: after kill -9 nothing that was committed is lost, after a power loss the file is intact and ends at the
last fsync. `durable` makes one commit fsync. A reader in another process never waits for the writer and never makes it wait.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from neuronwatch.store.errors import StoreError

APPLICATION = 0x4E575354  # "NWST"
_BUSY_SECONDS = 2.0
_CHECKED_BYTES = 32 * 1024 * 1024
"""Files up to this size are checked as a whole when they are opened (0.1 s); larger ones show damage when it is met."""
_WAL_BYTES = 1024 * 1024
_PARTS = ("", "-wal", "-shm")


class Schema(NamedTuple):
    """`version` grows with each change of the tables; `statements` make them."""

    version: int
    statements: Sequence[str]


class Opened(NamedTuple):
    """`aside`: where a damaged file was put, None: there was none; `why` it counts as damaged."""

    connection: sqlite3.Connection
    aside: Path | None = None
    why: str = ""


class Newer(StoreError):
    """Written by a newer neuronwatch."""


def open_writer(path: Path, schema: Schema, now: float) -> Opened:
    """The file for writing, made where there is none. One that is damaged or not ours is set aside and a new one begun.
    Raises Newer, and StoreError when the file cannot be opened or made."""
    try:
        return Opened(_open(path, schema))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not is_damage(error):
            raise StoreError(f"{path} cannot be opened: {error}", f"make {path.parent} writable, with free space") from error
        why = str(error)
    aside = set_aside(path, now)
    try:
        return Opened(_open(path, schema), aside, why)
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be opened: {error}", f"make {path.parent} writable, with free space") from error


def _open(path: Path, schema: Schema) -> sqlite3.Connection:
    try:  # SQLite gives -wal and -shm the mode of the file
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be opened: {error.strerror}", f"make {path.parent} writable, or move {path} away"
        ) from error
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.text_factory = _text
    try:
        if _is_new(connection):
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # counts only before the first table
            _configure(connection)
            with transaction(connection):
                for statement in schema.statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id={APPLICATION}")
                connection.execute(f"PRAGMA user_version={schema.version}")
        else:
            _check(connection, path, schema)  # before anything is changed: a newer file is left alone
            _configure(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _text(data: bytes) -> str:
    """Text of a damaged file may be no UTF-8."""
    return data.decode("utf-8", "replace")


def _configure(connection: sqlite3.Connection) -> None:
    """A small cache: the daemon has 40 MB for everything. A small write-ahead log keeps its length, so that a full disk still
    has room for it."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint={_WAL_BYTES // 4096}")
    connection.execute(f"PRAGMA journal_size_limit={_WAL_BYTES}")
    connection.execute("PRAGMA cache_size=-1024")
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")


def _is_new(connection: sqlite3.Connection) -> bool:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return version == 0 and application == 0 and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _check(connection: sqlite3.Connection, path: Path, schema: Schema) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise Damage("file is not a database of neuronwatch")
    check_version(version, path, schema)
    with path.open("rb") as file:
        if file.read(20)[18:] != b"\2\2":  # SQLite takes a file of a later format for one that may only be read
            raise Damage("file has another format")
    if path.stat().st_size <= _CHECKED_BYTES:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise Damage(str(verdict))


def check_version(version: int, path: Path, schema: Schema) -> None:
    if version > schema.version:
        raise Newer(
            f"{path} was written by a newer neuronwatch (schema {version}, this one knows {schema.version})",
            "use the newer version, or pass another --state-dir",
        )
    if version < schema.version:
        raise Damage(f"schema {version} is unknown")


class Damage(sqlite3.DatabaseError):
    """Our own word that a file is damaged."""


_OUTSIDE = ("unable to open", "readonly", "disk I/O error", "is full", "locked", "out of memory", "interrupted", "permission")
"""What SQLite says of disks, locks and rights. Our statements are right for an intact file, so that all else is damage."""


def is_damage(error: Exception) -> bool:
    """Whether the error says that the content of the file is bad (not the disk, a lock or a permission)."""
    if isinstance(error, UnicodeDecodeError):
        return True  # the names in an intact file are UTF-8
    if not isinstance(error, sqlite3.DatabaseError) or isinstance(error, sqlite3.ProgrammingError):
        return False
    return isinstance(error, Damage) or not any(word in str(error) for word in _OUTSIDE)


def is_full(error: sqlite3.Error, directory: Path) -> bool:
    """Whether the disk is full: SQLite says so, or says only `disk I/O error` and there is no room."""
    text = str(error)
    return "is full" in text or ("I/O error" in text and free_bytes(directory) < 256 * 1024)


def free_bytes(directory: Path) -> int:
    """What a user without privilege may still write; a very large number where it cannot be asked."""
    try:
        status = os.statvfs(directory)
    except OSError:
        return 1 << 62
    return status.f_bavail * status.f_frsize


def set_aside(path: Path, now: float) -> Path:
    """Renames a damaged file with its journal to `NAME.damaged-TIME` (a free name) and returns that. Raises StoreError."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(max(0.0, now)))
    base, number = f"{path.name}.damaged-{stamp}", 1
    target = path.with_name(base)
    while os.path.lexists(target):
        number += 1
        target = path.with_name(f"{base}.{number}")
    try:
        for part in reversed(_PARTS):  # the main file last: as long as it is there, its journal is found again
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + part).rename(f"{target}{part}")
    except OSError as error:
        raise StoreError(f"damaged {path} cannot be set aside: {error.strerror}", f"make {path.parent} writable") from error
    return target


def open_reader(path: Path, schema: Schema) -> sqlite3.Connection:
    """The file for reading, while another process may write. Raises Newer and StoreError."""
    if not path.is_file():
        raise StoreError(f"there is no {path}", "start the daemon, or pass --state-dir")
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.text_factory = _text
        try:
            connection.execute("PRAGMA cache_size=-1024")
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA query_only=ON")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION:
                raise Damage("file is not a database of neuronwatch")
            check_version(version, path, schema)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, UnicodeDecodeError) as error:
        mend = (
            f"run as the user that owns {path.parent}" if "unable to open" in str(error) else "the daemon sets a damaged file aside"
        )
        raise StoreError(f"{path} cannot be read: {error}", mend) from error
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, durable: bool = False) -> Iterator[None]:
    """All or nothing. `durable`: the commit is on the disk when it returns."""
    if durable:
        connection.execute("PRAGMA synchronous=FULL")
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
    finally:
        if durable:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("PRAGMA synchronous=NORMAL")


def used_bytes(connection: sqlite3.Connection) -> int:
    """Bytes of pages in use (without free ones)."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)


def room(connection: sqlite3.Connection) -> int:
    """Bytes of free pages inside the file."""
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(free * size)


def vacuum(connection: sqlite3.Connection, pages: int = 256) -> None:
    """Gives free pages back to the file system, some at a time."""
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    if free > pages:  # a few are kept: the next block takes them
        connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
