"""Writes a bundle: a .tar.gz with evidence/, facts.json and manifest.json (schema neuronwatch.bundle/1).

Every text is redacted; binary files are named in the manifest and not copied. Caps on the size of a file, of the
bundle and on time make it finite; what was cut, left out or could not be read is in the manifest, where `diagnose` finds it.

Two passes: a host or user that only a late file calls by its kind (HOSTNAME=, /home/) is in clear in the files before it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, NamedTuple

from neuronwatch import __version__
from neuronwatch.collect.redact import Redactor
from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact
from neuronwatch.source import recognise
from neuronwatch.store.names import Names, safe_path

SCHEMA = "neuronwatch.bundle/1"
FACTS_SCHEMA = "neuronwatch.facts/1"
MIB = 1024 * 1024


class Piece(NamedTuple):
    """One source for the bundle: `path` inside it, `data` (at most the cap) and the true `size` in bytes."""

    path: str
    data: bytes
    size: int
    tail: bytes = b""
    """The end of a file that was too large, when `data` is only its beginning."""
    note: str = ""
    """What kept the rest of it from being read."""
    binary: bool = False
    """It is a binary document, though its beginning looks like a text: a long header of weights."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Sizes in bytes, time in seconds. A file above `file_bytes` keeps its first and last half of that."""

    file_bytes: int = 64 * MIB
    total_bytes: int = 512 * MIB
    seconds: float = 120.0


@dataclass
class Manifest:
    created: float
    version: str = __version__
    schema: str = SCHEMA
    files: list[dict[str, object]] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)
    sources: list[dict[str, str]] = field(default_factory=list)
    """What the reader of the originals said of those that it could not read."""
    redacted: dict[str, int] = field(default_factory=dict)


def is_text(data: bytes) -> bool:
    """Whether a file is text as `diagnose` sees it, so that a bundle says what its evidence said."""
    head = data[: recognise.SNIFFED]
    return bool(recognise.encoding(head)) or not recognise.is_binary(head)


def partial(target: Path) -> Path:
    """Where a bundle is until it is whole."""
    return target.with_name(target.name + ".partial")


class _Kept(NamedTuple):
    """A redacted piece between the passes: `size` bytes of the shelf from `start`; `known`: how many words the redactor had
    learned before it."""

    piece: Piece
    start: int
    size: int
    known: int


def write(
    target: Path, pieces: Iterable[Piece], facts: Iterable[Fact] = (), caps: Caps | None = None,
    clock: Callable[[], float] = time.time, progress: Callable[[str], None] | None = None, notes: Iterable[SourceReport] = (),
) -> Manifest:  # fmt: skip
    """Writes the bundle atomically (a half-written one never has the final name) and returns its manifest. `facts` and
    `notes` are read when the pieces are through.

    Raises OSError when the target cannot be written.
    """
    caps = caps or Caps()
    manifest = Manifest(created=clock())
    redactor = Redactor()
    unfinished = partial(target)
    try:
        with (
            tarfile.open(unfinished, "w:gz", compresslevel=6) as archive,
            tempfile.TemporaryFile(dir=unfinished.parent) as shelf,
        ):
            kept = list(_keep_pieces(shelf, pieces, redactor, manifest, caps, clock, progress))
            redacted_facts = [_fact(fact, redactor) for fact in facts]
            manifest.sources = [_source(note, redactor) for note in notes if note.state != "read"]
            _add_kept(archive, shelf, kept, redactor, manifest)
            if redacted_facts:
                document = {"schema": FACTS_SCHEMA, "facts": redacted_facts}
                _add(archive, "evidence/host-facts.json", _again(_json(document), redactor), manifest)
            manifest.redacted = redactor.counts
            told = _again(_json(asdict(manifest)), redactor)
            _put(archive, "manifest.json", told, told.seek(0, io.SEEK_END), manifest.created)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return manifest


def _keep_pieces(
    shelf: IO[bytes], pieces: Iterable[Piece], redactor: Redactor, manifest: Manifest, caps: Caps,
    clock: Callable[[], float], progress: Callable[[str], None] | None,
) -> Iterator[_Kept]:  # fmt: skip
    """The first pass: what fits is redacted onto the shelf."""
    total, iterator = 0, iter(pieces)
    for piece in iterator:
        if clock() - manifest.created > caps.seconds:
            reason = f"time limit of {caps.seconds:.0f} s"
            _left_out(manifest, [piece, *_first(iterator, 1000)], "bundle", reason, redactor)
            return
        if piece.binary or not is_text(piece.data):
            reason = f"binary, {piece.size} bytes" + (f"; {piece.note}" if piece.note else "")
            _left_out(manifest, [piece], "binary", reason, redactor)
            continue
        if total + len(piece.data) + len(piece.tail) > caps.total_bytes:
            _left_out(manifest, [piece], "bundle", f"bundle limit of {caps.total_bytes} bytes", redactor)
            continue
        if progress is not None:
            progress(piece.path)
        known = redactor.learned
        redactor.name(piece.path)  # learns from it
        size = _redact(piece, redactor, shelf)
        cut = max(0, piece.size - len(piece.data) - len(piece.tail))
        yield _Kept(piece._replace(data=b"", tail=b"", note=piece.note or (f"{cut} bytes were left out" if cut else "")),
                    total, size, known)  # fmt: skip
        total += size


def _add_kept(archive: tarfile.TarFile, shelf: IO[bytes], kept: Iterable[_Kept], redactor: Redactor, manifest: Manifest) -> None:
    """The second pass: what the redactor learned later is replaced in what came before."""
    names = Names()
    for item in kept:
        name = names.free(safe_path(redactor.name(item.piece.path)))
        shelf.seek(item.start)
        with tempfile.SpooledTemporaryFile(MIB) as whole:
            left = item.size
            while left > 0:
                block = shelf.read(min(MIB, left))
                block += shelf.readline(left - len(block)) if left > len(block) else b""
                left -= len(block)
                whole.write(_again(block, redactor).getbuffer() if redactor.learned > item.known else block)
            _add(archive, f"evidence/{name}", whole, manifest, item.piece.size, item.piece.note)


def _again(data: bytes, redactor: Redactor) -> io.BytesIO:
    text = data.decode("utf-8", "surrogateescape")
    return io.BytesIO(redactor.again(text).encode("utf-8", "surrogateescape"))


def _first(iterator: Iterator[Piece], count: int) -> list[Piece]:
    return [piece for piece, _ in zip(iterator, range(count), strict=False)]


def _left_out(manifest: Manifest, pieces: Iterable[Piece], fmt: str, reason: str, redactor: Redactor) -> None:
    """`fmt`: binary for what diagnose would not have read either, bundle for what is missing because of a cap."""
    manifest.left_out.extend({"path": redactor.name(piece.path), "format": fmt, "reason": reason} for piece in pieces)


def _source(note: SourceReport, redactor: Redactor) -> dict[str, str]:
    return {"path": redactor.name(note.path), "format": note.format, "state": note.state, "reason": redactor.text(note.reason)}


def _redact(piece: Piece, redactor: Redactor, out: IO[bytes]) -> int:
    """Writes the redacted text block by block (a big piece is not held in memory a second and third time) and returns its
    size. A file that was cut keeps a line that says so between its beginning and its end."""
    begun = out.tell()
    for block in _blocks(_utf8(piece.data)):
        out.write(_redacted(block, redactor))
    if piece.tail:
        gap = piece.size - len(piece.data) - len(piece.tail)
        out.write(f"\n[neuronwatch: {gap} bytes left out here]\n".encode())
        for block in _blocks(_utf8(piece.tail)):
            out.write(_redacted(block, redactor))
    return out.tell() - begun


def _redacted(data: bytes, redactor: Redactor) -> bytes:
    return redactor.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _utf8(data: bytes) -> bytes:
    encoding = recognise.encoding(data[: recognise.SNIFFED])
    return data.decode(encoding, "replace").encode("utf-8", "replace") if encoding else data


_LONGEST, _KEY = 4 * MIB, 20 * 1024
_ROW = re.compile(rb"[A-Za-z0-9+/=]{40,76}\r?\n\Z")
_SECRET_NEAR = re.compile(
    rb"(?i)token|secret|passw|passphrase|key|credential|authorization|cookie|bearer|basic|account|host|user|://"
)


def _blocks(data: bytes, size: int = MIB) -> Iterator[bytes]:
    """The text in blocks of about `size` bytes. What the redactor must see in one piece is not cut: they end at a line end
    outside of a private key, or, in a line longer than _LONGEST, between words of which none speaks of a secret."""
    start = 0
    while start < len(data):
        end = min(start + size, len(data))
        if end < len(data):
            newline = data.rfind(b"\n", start, end)
            if newline < 0:
                newline = data.find(b"\n", end, start + _LONGEST)
            end = newline + 1 if newline >= 0 else _between_words(data, start, min(start + _LONGEST, len(data)))
            end = _before_rows(data, start, end)
            key = data.rfind(b"-----BEGIN", max(start + 1, end - _KEY), end)
            if key > start and data.find(b"-----END", key, end) < 0:
                end = key
        yield data[start:end]
        start = end


def _before_rows(data: bytes, start: int, end: int) -> int:
    """`end`, or the beginning of the lines before it that may be those of a private key without its first line."""
    at = end
    while at > max(start, end - _KEY) and data[at - 1 : at] == b"\n":
        line = data.rfind(b"\n", start, at - 1) + 1
        if line <= start or not _ROW.search(data, line, at):
            break
        at = line
    return at if at > start else end


def _between_words(data: bytes, start: int, end: int) -> int:
    """The last place before `end` between two words that has no name of a secret in the 160 bytes before it."""
    if end >= len(data):
        return end
    at = end
    while at > start + 4096:
        at = max(data.rfind(mark, start, at) for mark in (b" ", b",", b"\t", b";"))
        if at > start and not _SECRET_NEAR.search(data, max(start, at - 160), at):
            return at
        at -= 160
    return end


def _fact(fact: Fact, redactor: Redactor) -> dict[str, object]:
    return {"name": fact.name, "value": redactor.value(fact.name, fact.value), "path": redactor.text(fact.origin.path),
            "line": fact.origin.line, "text": redactor.text(fact.origin.text), "entity": fact.entity}  # fmt: skip


def _json(document: object) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode()


def _add(
    archive: tarfile.TarFile, name: str, data: IO[bytes], manifest: Manifest, original_size: int | None = None, note: str = ""
) -> None:  # fmt: skip
    """Adds a file with its hash to the manifest. `note`: what is missing of it."""
    size = data.seek(0, io.SEEK_END)
    data.seek(0)
    digest = hashlib.sha256()
    while part := data.read(MIB):
        digest.update(part)
    manifest.files.append({"path": name, "size": size, "sha256": digest.hexdigest(),
                           "original_size": size if original_size is None else original_size,
                           "cut": bool(note), "reason": note})  # fmt: skip
    _put(archive, name, data, size, manifest.created)


def _put(archive: tarfile.TarFile, name: str, data: IO[bytes], size: int, when: float) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, int(when), 0o600
    data.seek(0)
    archive.addfile(info, data)
