"""A recording: a directory that `neuronwatch diagnose` reads as evidence and that can be played again.

    manifest.json      as in a bundle: the last time, the original path of each file, what the sources could not read
    evidence/...       the last state of each text, the whole of each followed one, host-facts.json
    timeline/*.timeline  every delivery with its time (timeline.py)

Nothing is redacted here: the files are for the owner alone (0600, 0700), and `neuronwatch collect DIR` redacts what is passed on.
kill -9 loses at most the last five seconds of the timeline. Without room the recording says so, counts what is lost, and goes on
when there is room again. `recording.py` plays it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
from pathlib import Path
from typing import Any, Literal, NamedTuple

from neuronwatch import __version__
from neuronwatch.model import plain
from neuronwatch.model.dataclass import dataclass
from neuronwatch.model.live import Appended, Delivery, Whole
from neuronwatch.store import timeline
from neuronwatch.store.errors import StoreError
from neuronwatch.store.keeper import Worker
from neuronwatch.store.names import TIMELINE, Names, plain_path, safe_path

SCHEMA = "neuronwatch.bundle/1"
FACTS_SCHEMA = "neuronwatch.facts/1"
FLUSH_SECONDS = 5.0
_FLUSH_BYTES = 256 * 1024
_WAITING_BYTES = 32 * 1024 * 1024
_MIB = 1024 * 1024
_LATE = 20

RecorderState = Literal["ok", "full", "failed", "closed"]


@dataclass(frozen=True, slots=True)
class RecorderLimits:
    """Bytes. `total`: the timeline; its oldest segments go. `segment`: one of its files. `text`: one followed text; its beginning
    and its end are kept. `files`: number of texts."""

    total: int = 1024 * _MIB
    segment: int = 16 * _MIB
    text: int = 64 * _MIB
    files: int = 20_000


class RecorderHealth(NamedTuple):
    """`lost`: deliveries that were not written, `left_out`: texts beyond the number of files, `size`: bytes of the timeline."""

    state: RecorderState
    reason: str
    since: float
    lost: int
    left_out: int
    size: int


class Recorder:
    """Writes one recording. `add` only remembers; a thread of its own writes."""

    def __init__(self, directory: Path, now: float, limits: RecorderLimits | None = None, threaded: bool = True) -> None:
        """Begins a recording in a new or empty directory. Raises StoreError."""
        self._lock = threading.Lock()
        self._waiting: list[Delivery] = []
        self._bytes = 0
        self._lost = 0
        self._given = now
        self._late = 0
        self._writer = _Writer(_begin(directory), now, limits or RecorderLimits())
        self._worker = Worker(self._work, self._writer.close, "recorder") if threaded else None

    def add(self, delivery: Delivery) -> None:
        """Takes a delivery; those of one source come in order."""
        with self._lock:
            self._waiting.append(delivery)
            self._bytes += _weight(delivery)
            while self._bytes > _WAITING_BYTES and len(self._waiting) > 1:
                self._bytes -= _weight(self._waiting.pop(0))
                self._lost += 1
            self._late += delivery.time < self._given  # a late source, or a clock that was set back
            due = self._bytes >= _FLUSH_BYTES or delivery.time - self._given >= FLUSH_SECONDS or self._late >= _LATE
        if due:
            self._flush(delivery.time)

    def _flush(self, now: float) -> None:
        self._given, self._late = now, 0
        if self._worker is not None:
            self._worker.call(now)
        else:
            self._work(now)

    def _work(self, now: float) -> None:
        with self._lock:
            deliveries, self._waiting, self._bytes = self._waiting, [], 0
            lost, self._lost = self._lost, 0
        self._writer.write(deliveries, now, lost)

    def health(self) -> RecorderHealth:
        return self._writer.health()

    def close(self, timeout: float = 5.0) -> bool:
        """Writes what waits. False: the disk did not answer within `timeout` seconds."""
        if self._writer.state == "closed":
            return True
        self._flush(self._given)
        if self._worker is not None:
            return self._worker.end(timeout)
        self._writer.close()
        return True


def _weight(delivery: Delivery) -> int:
    """About how many bytes a delivery is."""
    texts = sum(len(whole.data or b"") for whole in delivery.wholes) + sum(len(part.data) for part in delivery.appended)
    return 200 + texts + 20 * len(delivery.readings) + 200 * len(delivery.facts or ())


def _begin(directory: Path) -> Path:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise StoreError(f"{directory} is not empty", "record into a new directory")
        for name in ("evidence", "timeline"):
            (directory / name).mkdir(mode=0o700)
    except OSError as error:
        raise StoreError(
            f"{directory} cannot be recorded into: {error.strerror}", "name a directory that can be written"
        ) from error
    return directory


class _Text(NamedTuple):
    """A followed text in the evidence: its size so far, bytes that were left out of its middle, lines that the source dropped."""

    size: int = 0
    cut: int = 0
    dropped: int = 0


class _Writer:
    def __init__(self, directory: Path, now: float, limits: RecorderLimits) -> None:
        self._directory = directory
        self._limits = limits
        self._names = Names()
        self._places: dict[str, str] = {}
        """Original path to the name below evidence/."""
        self._texts: dict[str, _Text] = {}
        self._standing = timeline.Standing()
        self._segments: list[tuple[Path, int]] = []
        self._segment: int | None = None
        self._number = 0
        self._time = now
        self._lost = self._left_out = 0
        self._stale = False
        """Texts of the evidence may be older than what is known."""
        self.state: RecorderState = "ok"
        self._reason, self._since = "", now
        self._names.free("host-facts.json")
        self.write([], now, 0)

    def write(self, deliveries: list[Delivery], now: float, lost: int) -> None:
        """Never raises: a disk that takes nothing is a state, and the next segment tells how things stand then."""
        self._lost += lost
        done = 0
        try:
            if self._stale:
                self._write_again()
            if deliveries:
                self._write_timeline(deliveries, now)
            for item in deliveries:
                self._standing.take(item)
                self._time = item.time
                done += 1
                self._write_evidence(item)
            self._write_documents()
        except OSError as error:
            for item in deliveries[done:]:
                self._standing.take(item)
                self._time = item.time
            self._lost += len(deliveries) - done
            self._stale = True
            self._end_segment()
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            self._is("full" if full else "failed", "the disk is full" if full else str(error.strerror or error), now)
            return
        self._is("ok", "", now)

    def _is(self, state: RecorderState, reason: str, now: float) -> None:
        if state != self.state:
            self._since = now
        self.state, self._reason = state, reason

    def health(self) -> RecorderHealth:
        size = sum(size for _, size in list(self._segments))
        return RecorderHealth(self.state, self._reason, self._since, self._lost, self._left_out, size)

    def _write_timeline(self, deliveries: list[Delivery], now: float) -> None:
        if self._segment is None:
            self._new_segment(now)
        self._append(timeline.encode(deliveries))
        if self._segments[-1][1] >= self._limits.segment:
            self._end_segment()
        while len(self._segments) > 1 and sum(size for _, size in self._segments) > self._limits.total:
            self._segments.pop(0)[0].unlink(missing_ok=True)

    def _new_segment(self, now: float) -> None:
        self._number += 1
        path = self._directory / "timeline" / f"{self._number:06}{timeline.SUFFIX}"
        self._segment = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._segments.append((path, 0))
        self._append(TIMELINE)
        state = self._standing.deliveries(self._time)
        if state:
            self._append(timeline.encode(state, state=True))

    def _write_again(self) -> None:
        for path, (_, data) in self._standing.wholes.items():
            self._whole(Whole(path, data))
        self._stale = False

    def _append(self, data: bytes) -> None:
        assert self._segment is not None
        _write_all(self._segment, data)
        path, size = self._segments[-1]
        self._segments[-1] = (path, size + len(data))

    def _end_segment(self) -> None:
        if self._segment is not None:
            with contextlib.suppress(OSError):
                os.close(self._segment)
            self._segment = None

    def _write_evidence(self, item: Delivery) -> None:
        for whole in item.wholes:
            self._whole(whole)
        for part in item.appended:
            self._appended(part)

    def _place(self, path: str) -> Path | None:
        name = self._places.get(path)
        if name is None:
            if len(self._places) >= self._limits.files:
                self._left_out += 1
                return None
            name = self._places[path] = self._names.free(_name(path))
        return self._directory / "evidence" / name

    def _whole(self, whole: Whole) -> None:
        if whole.data is None:
            name = self._places.get(whole.path)
            if name is not None and whole.path not in self._texts:  # of a followed text all that was read stays
                (self._directory / "evidence" / name).unlink(missing_ok=True)
            return
        place = self._place(whole.path)
        if place is not None:
            self._replace(place, whole.data)

    def _replace(self, place: Path, data: bytes) -> None:
        """Puts a whole file in place of the one before in one step."""
        _make_parent(place)
        new = self._directory / ".new"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                _write_all(descriptor, data)
            finally:
                os.close(descriptor)
            new.replace(place)
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink()
            raise

    def _appended(self, part: Appended) -> None:
        place = self._place(part.path)
        if place is None:
            return
        text = self._texts.get(part.path, _Text())
        if part.fresh and text.size:
            self._rotate(part.path, place)
            text = _Text(0, text.cut, text.dropped)
        data = part.data
        if part.dropped:
            data = b"[neuronwatch: %d lines left out here]\n" % part.dropped + data
        half = self._limits.text // 2
        if text.size and text.size + len(data) > half:  # the first half stays, of the rest the newest does
            text = text._replace(size=0, cut=text.cut + self._second_half(part.path, place))
        _make_parent(place)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)
        self._texts[part.path] = text._replace(size=text.size + len(data), dropped=text.dropped + part.dropped)

    def _rotate(self, path: str, place: Path) -> None:
        """A text that begins anew: what it was before stays beside it, as a rotated log does."""
        if len(self._places) < self._limits.files:
            name = self._names.free(f"{self._places[path]}.1")
            self._places[f"{path} (before {name.rsplit('.', 1)[-1]})"] = name
            place.replace(self._directory / "evidence" / name)
        else:
            self._left_out += 1
            place.unlink(missing_ok=True)

    def _second_half(self, path: str, place: Path) -> int:
        """Makes room: the first half becomes `.head`, later ones `.middle`, of which the last is kept. Returns the bytes that
        were thereby left out."""
        for word in ("head", "middle"):
            key = f"{path} ({word})"
            if key not in self._places:
                self._places[key] = self._names.free(f"{self._places[path]}.{word}")
                place.replace(self._directory / "evidence" / self._places[key])
                return 0
        older = self._directory / "evidence" / self._places[f"{path} (middle)"]
        size = older.stat().st_size if older.exists() else 0
        place.replace(older)
        return size

    def _write_documents(self) -> None:
        facts = [fact for told in self._standing.facts.values() for fact in told]
        document = {"schema": FACTS_SCHEMA, "facts": [
            {"name": fact.name, "value": plain.of_value(fact.value), "path": fact.origin.path, "line": fact.origin.line,
             "text": fact.origin.text, "entity": fact.entity, "past": fact.past} for fact in facts]}  # fmt: skip
        self._replace(self._directory / "evidence" / "host-facts.json", _json(document))
        self._replace(self._directory / "manifest.json", _json(self._manifest()))

    def _manifest(self) -> dict[str, Any]:
        files = []
        for original, name in self._places.items():
            text = self._texts.get(original, _Text())
            why = [f"{text.cut} bytes of its middle"] * bool(text.cut) + [f"{text.dropped} lines"] * bool(text.dropped)
            reason = f"{' and '.join(why)} were left out" if why else ""
            files.append({"path": f"evidence/{name}", "original": original, "cut": bool(why), "reason": reason})
        left_out = [{"path": "(further texts)", "format": "bundle", "reason": f"more than {self._limits.files} texts"}] * bool(
            self._left_out
        )
        sources = [
            {"path": report.path, "format": report.format, "state": report.state, "reason": report.reason}
            for told in self._standing.reports.values() for report in told if report.state != "read"
        ]  # fmt: skip
        return {"created": self._time, "version": __version__, "schema": SCHEMA, "recording": True, "lost": self._lost,
                "files": files, "left_out": left_out, "sources": sources, "redacted": {}}  # fmt: skip

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._write_documents()
        self._end_segment()
        self.state = "closed"


def _name(path: str) -> str:
    """A relative name for any path: printable ASCII, no `..`, not too long for a file system."""
    return safe_path(plain_path(path).encode("ascii", "replace").decode().replace("?", "-")[-2000:])


def _json(document: object) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode()


def _make_parent(place: Path) -> None:
    if not place.parent.is_dir():
        for parent in reversed(place.parents):
            with contextlib.suppress(FileExistsError):
                parent.mkdir(mode=0o700)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
