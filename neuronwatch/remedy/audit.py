"""The audit log of a job: one line of JSON for each decision and what came of it, each with the hash of the one before.

A line holds `n` (1, 2, ...), `t`, `kind`, what it tells, `prev` (the `hash` of the line before) and `hash` (of all of that).
The newest number and hash are in `audit.head` too, so that lines that are cut off at the end are missed. Whoever can write both
files can write another history: the chain shows damage and careless hands, and a copy of the head elsewhere shows the rest.

A line is appended by one write under a lock and is on disk when `append` returns. What a writer that was killed left of a line is
moved aside and said in the next line, never silently dropped.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch.model.digest import blake2b

NAME, HEAD = "audit.jsonl", "audit.head"
START = "0" * 32
MAX_LINE = 256 * 1024
_OWN = ("n", "t", "kind", "prev", "hash")


class Problem(NamedTuple):
    """What is wrong with the chain; `line` is 1-based, 0: with the file as a whole."""

    line: int
    what: str


class Entry(NamedTuple):
    """One line that could be read."""

    n: int
    time: float
    kind: str
    told: Mapping[str, Any]


class Audit:
    """The log in a job's directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / NAME

    def append(self, kind: str, now: float, told: Mapping[str, Any]) -> None:
        """Raises OSError where it cannot be written; then nothing of it is in the file, and nothing should be done."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(22, "not a plain file", str(self.path))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size, torn = self._mend(descriptor)
            last = _line_before(descriptor, size)
            if torn:
                size, last = self._write(descriptor, size, last, "repair", now, {"torn_bytes": torn[0], "moved_to": torn[1]})
            self._write(descriptor, size, last, kind, now, told)
        finally:
            os.close(descriptor)

    def _write(self, descriptor: int, size: int, last: bytes, kind: str, now: float, told: Mapping[str, Any]) -> tuple[int, bytes]:
        number, prev = _after(descriptor, size, last)
        line = _line(number, prev, kind, now, told)
        if len(line) > MAX_LINE:
            line = _line(number, prev, kind, now, {"too_long": len(line), "begins": json.dumps(told, default=str)[:4000]})
        try:
            written = os.pwrite(descriptor, line, size)
            if written != len(line):
                raise OSError(28, "No space left on device", str(self.path))
            os.fsync(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
        self._keep_head(number, json.loads(line)["hash"])
        return size + len(line), line

    def _mend(self, descriptor: int) -> tuple[int, tuple[int, str] | None]:
        """The size of the whole lines; what is after them is moved aside: how many bytes, and where to."""
        size = os.fstat(descriptor).st_size
        if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
            return size, None
        whole = _last_end(descriptor, size)
        name = f"{NAME}.torn-{time.time_ns()}"
        aside = os.open(self.directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            for start in range(whole, size, 1 << 20):
                os.write(aside, os.pread(descriptor, min(1 << 20, size - start), start))
            os.fsync(aside)
        finally:
            os.close(aside)
        os.ftruncate(descriptor, whole)
        return whole, (size - whole, name)

    def _keep_head(self, number: int, value: str) -> None:
        """For the end of the chain; a head that is one line behind (a kill between the two writes) is no problem."""
        temporary = self.directory / f".{HEAD}.tmp"
        with contextlib.suppress(OSError):
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(json.dumps({"n": number, "hash": value}))
            temporary.replace(self.directory / HEAD)

    def entries(self) -> Iterator[Entry]:
        """The lines that can be read, oldest first. Raises OSError, not where there is no file."""
        for line in self._lines():
            found = _read(line)
            if found is not None:
                told = {key: value for key, value in found.items() if key not in _OWN}
                yield Entry(found["n"], float(found["t"]), found["kind"], told)

    def verify(self) -> tuple[int, list[Problem]]:
        """How many lines there are, and what is wrong with them. Raises OSError."""
        problems: list[Problem] = []
        prev, number, count = START, 0, 0
        hashes: dict[int, str] = {}
        for count, line in enumerate(self._lines(), 1):
            found = _read(line)
            if found is None:
                problems.append(
                    Problem(count, "not a line of this log" if line.endswith(b"\n") else "torn: the end of it is missing")
                )
                prev, number = _digest(line), number + 1
                continue
            if _digest_of(found) != found["hash"] or _text(found) != line:
                problems.append(Problem(count, "was changed"))
            if found["n"] != number + 1:
                missing = found["n"] - number - 1
                problems.append(
                    Problem(count, f"{missing} lines before it are missing" if missing > 0 else "stands out of its order")
                )
            elif found["prev"] != prev:
                problems.append(Problem(count, "does not follow from the line before"))
            prev, number = found["hash"], found["n"]
            hashes[number] = prev
        problems.extend(self._against_head(number, hashes))
        return count, problems

    def _against_head(self, number: int, hashes: Mapping[int, str]) -> Iterator[Problem]:
        try:
            head = json.loads((self.directory / HEAD).read_text()[:1000])
            said, value = int(head["n"]), str(head["hash"])
        except FileNotFoundError:
            if number:
                yield Problem(0, f"{HEAD} is missing: lines that were cut off at the end would not be seen")
            return
        except (OSError, ValueError, KeyError, TypeError):
            yield Problem(0, f"{HEAD} cannot be read")
            return
        if said > number:
            yield Problem(number, f"the last {said - number} lines are missing")
        elif said in hashes and hashes[said] != value:
            yield Problem(said, f"is not the line that {HEAD} was written for")

    def _lines(self) -> Iterator[bytes]:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(22, "not a plain file", str(self.path))
            while line := file.readline(MAX_LINE + 1):
                yield line


def _line(number: int, prev: str, kind: str, now: float, told: Mapping[str, Any]) -> bytes:
    made = {**{key: value for key, value in told.items() if key not in _OWN}, "n": number, "t": now, "kind": kind, "prev": prev}
    return _text({**made, "hash": _digest_of(json.loads(_text(made)))})


def _text(found: Mapping[str, Any]) -> bytes:
    return json.dumps(found, sort_keys=True, separators=(",", ":"), default=str).encode() + b"\n"


def _digest_of(found: Mapping[str, Any]) -> str:
    return _digest(_text({key: value for key, value in found.items() if key != "hash"}))


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _read(line: bytes) -> dict[str, Any] | None:
    """A line of this log, whether or not its hash is right."""
    try:
        found = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("n"), int) or isinstance(found["n"], bool):
        return None
    if not isinstance(found.get("t"), (int, float)) or not all(isinstance(found.get(key), str) for key in ("kind", "prev", "hash")):
        return None
    return found


def _after(descriptor: int, size: int, last: bytes) -> tuple[int, str]:
    """The number of the next line and the hash that it follows."""
    found = _read(last)
    if found is not None:
        return found["n"] + 1, found["hash"]
    return (_count(descriptor, size) + 1, _digest(last)) if last else (1, START)


def _last_end(descriptor: int, size: int) -> int:
    """Where the last whole line ends."""
    end = size
    while end > 0:
        start = max(0, end - 65536)
        at = os.pread(descriptor, end - start, start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def _line_before(descriptor: int, size: int) -> bytes:
    """The last whole line, b"" where there is none."""
    start = _last_end(descriptor, size - 1) if size else 0
    return os.pread(descriptor, min(size - start, MAX_LINE + 1), start)


def _count(descriptor: int, size: int) -> int:
    count = 0
    for start in range(0, size, 1 << 20):
        count += os.pread(descriptor, min(1 << 20, size - start), start).count(b"\n")
    return count
