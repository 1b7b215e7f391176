"""Writes a bundle: a .tar.gz with evidence/, facts.json and manifest.json (schema neuronwatch.bundle/1).

Every text is redacted; binary files are named in the manifest and not copied. Caps on the size of a file, of the
bundle and on time make it finite; what was cut or left out is in the manifest.
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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from neuronwatch import __version__
from neuronwatch.collect.redact import Redactor
from neuronwatch.model.records import Fact
from neuronwatch.source import recognise

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
    redacted: dict[str, int] = field(default_factory=dict)


def is_text(data: bytes) -> bool:
    """Whether a file is text as `diagnose` sees it, so that a bundle says what its evidence said."""
    head = data[: recognise.SNIFFED]
    return bool(recognise.encoding(head)) or not recognise.is_binary(head)


def partial(target: Path) -> Path:
    """Where a bundle is until it is whole."""
    return target.with_name(target.name + ".partial")


def write(
    target: Path, pieces: Iterable[Piece], facts: Iterable[Fact] = (), caps: Caps | None = None,
    clock: Callable[[], float] = time.time, progress: Callable[[str], None] | None = None,
) -> Manifest:  # fmt: skip
    """Writes the bundle atomically (a half-written one never has the final name) and returns its manifest.

    Raises OSError when the target cannot be written.
    """
    caps = caps or Caps()
    manifest = Manifest(created=clock())
    redactor = Redactor()
    unfinished = partial(target)
    try:
        with tarfile.open(unfinished, "w:gz", compresslevel=6) as archive:
            _add_pieces(archive, pieces, redactor, manifest, caps, clock, progress)
            redacted_facts = [_fact(fact, redactor) for fact in facts]
            if redacted_facts:
                document = {"schema": FACTS_SCHEMA, "facts": redacted_facts}
                _add(archive, "evidence/host-facts.json", io.BytesIO(_json(document)), manifest)
            manifest.redacted = redactor.counts
            told = _json(asdict(manifest))
            _put(archive, "manifest.json", io.BytesIO(told), len(told), manifest.created)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return manifest


def _add_pieces(
    archive: tarfile.TarFile, pieces: Iterable[Piece], redactor: Redactor, manifest: Manifest, caps: Caps,
    clock: Callable[[], float], progress: Callable[[str], None] | None,
) -> None:  # fmt: skip
    total, iterator = 0, iter(pieces)
    taken: set[str] = set()
    for piece in iterator:
        if clock() - manifest.created > caps.seconds:
            _left_out(manifest, [piece, *_first(iterator, 1000)], f"time limit of {caps.seconds:.0f} s", redactor)
            return
        if not is_text(piece.data):
            _left_out(manifest, [piece], f"binary, {piece.size} bytes", redactor)
            continue
        if total + len(piece.data) + len(piece.tail) > caps.total_bytes:
            _left_out(manifest, [piece], f"bundle limit of {caps.total_bytes} bytes", redactor)
            continue
        if progress is not None:
            progress(piece.path)
        name = _unique(safe_path(redactor.name(piece.path)), taken)
        cut = piece.size > len(piece.data) + len(piece.tail)
        with _redact(piece, redactor) as redacted:
            total += _add(archive, f"evidence/{name}", redacted, manifest, piece.size, cut)


def _first(iterator: Iterator[Piece], count: int) -> list[Piece]:
    return [piece for piece, _ in zip(iterator, range(count), strict=False)]


def _left_out(manifest: Manifest, pieces: Iterable[Piece], reason: str, redactor: Redactor) -> None:
    manifest.left_out.extend({"path": redactor.name(piece.path), "reason": reason} for piece in pieces)


def safe_path(path: str) -> str:
    """A relative path inside the bundle: no root, no `..`, no drive, nothing that unpacks elsewhere."""
    parts = [part for part in path.replace("\\", "/").replace("\0", "").split("/") if part not in ("", ".", "..")]
    return "/".join(part[:200] for part in parts) or "unnamed"


def _unique(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}.{number}"
    taken.add(candidate)
    return candidate


def _redact(piece: Piece, redactor: Redactor) -> IO[bytes]:
    """Redacted text, in a file that is gone when it is closed: a big piece is not held in memory a second and third time.
    A file that was cut keeps a line that says so between its beginning and its end."""
    out = tempfile.SpooledTemporaryFile(MIB)  # noqa: SIM115 (closed by the caller)
    for block in _blocks(_utf8(piece.data)):
        out.write(_redacted(block, redactor))
    if piece.tail:
        gap = piece.size - len(piece.data) - len(piece.tail)
        out.write(f"\n[neuronwatch: {gap} bytes left out here]\n".encode())
        for block in _blocks(_utf8(piece.tail)):
            out.write(_redacted(block, redactor))
    return out


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
    archive: tarfile.TarFile, name: str, data: IO[bytes], manifest: Manifest, original_size: int | None = None, cut: bool = False
) -> int:  # fmt: skip
    """Adds a file with its hash to the manifest; returns its size."""
    size = data.seek(0, io.SEEK_END)
    data.seek(0)
    digest = hashlib.sha256()
    while part := data.read(MIB):
        digest.update(part)
    manifest.files.append({"path": name, "size": size, "sha256": digest.hexdigest(),
                           "original_size": size if original_size is None else original_size, "cut": cut})  # fmt: skip
    data.seek(0)
    _put(archive, name, data, size, manifest.created)
    return size


def _put(archive: tarfile.TarFile, name: str, data: IO[bytes], size: int, when: float) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, int(when), 0o600
    archive.addfile(info, data)
