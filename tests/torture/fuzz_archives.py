"""Fuzz target: the archive reader, on damaged and lying archives of all kinds, nested too.

Whatever the bytes are: reading ends, raises nothing, gives no more than its limits, and each file has its report.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import zstandard
from fuzz_support import campaign, fixture_pool, mutated

from neuronwatch.judge.evidence import Window
from neuronwatch.judge.match import pattern_of
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.source import formats, reader
from neuronwatch.source.limits import MIB, Limits

POOL = [data for _, data in fixture_pool() if len(data) < 50_000]
PATTERNS = (pattern_of(0, r"NeuronCore\(s\) not available"), pattern_of(1, r"Traceback \(most recent"))
LIMITS = Limits(archive_total=8 * MIB, archive_free=MIB, archive_members=200)
NAMES = ("a.log", "../../etc/passwd", "/etc/shadow", "x" * 300, "a\nb", "\udcff.log", "", ".", "d/../../e", "-rf", "con:\\x", "a\0b", "[bold]",
         "\x1b[2J", "a!b/c")  # fmt: skip
DIRECTORY = Path(tempfile.mkdtemp(prefix="neuronwatch-fuzz-"))


def case(rng: random.Random) -> None:
    data = packed(rng, rng.randint(0, 2))
    for _ in range(rng.choice((0, 0, 1))):
        data = wrapped(data, rng)
    data = damaged(data, rng)
    place = DIRECTORY / "archive"
    place.write_bytes(data)
    items = reader.read_evidence([DIRECTORY], PATTERNS, *formats.shipped(), limits=LIMITS)
    reports: list[SourceReport] = []
    for count, item in enumerate(items):
        assert count < 200_000, "items without end"
        if isinstance(item, SourceReport):
            reports.append(item)
        elif isinstance(item, Window):
            assert sum(len(line.text) for line in item.lines) < 64 * MIB
    assert reports and all(report.path.startswith("archive") for report in reports), reports[-1:]
    assert all(report.path.isprintable() for report in reports)
    assert sorted(os.listdir(DIRECTORY)) == ["archive"], "something was unpacked"


def content(rng: random.Random) -> bytes:
    if rng.random() < 0.1:
        return b"\0" * rng.choice((10, 1 << 16, 1 << 22)) + b"x" * rng.choice((0, 1 << 20))
    return mutated(rng.choice(POOL), rng, POOL, 2)


def packed(rng: random.Random, depth: int) -> bytes:
    kind = rng.choice(("tar", "tar", "zip", "zip", "plain"))
    if kind == "plain":
        return content(rng)
    out = io.BytesIO()
    members = [
        (rng.choice(NAMES), packed(rng, depth - 1) if depth and rng.random() < 0.3 else content(rng))
        for _ in range(rng.randint(0, 5))
    ]
    if kind == "zip":
        method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
        with zipfile.ZipFile(out, "w", method) as archive:
            for name, data in members:
                info = zipfile.ZipInfo(name.encode("utf-8", "replace").decode() or "n")
                info.external_attr = rng.choice((0, 0o100644 << 16, 0o120777 << 16, 0o60000 << 16))
                archive.writestr(info, data, method)
        return out.getvalue()
    with tarfile.open(
        fileobj=out, mode="w", format=rng.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)), errors="surrogateescape"
    ) as tar:
        for name, data in members:
            entry = tarfile.TarInfo(name.replace("\0", "") or "n")
            entry.size = len(data)
            entry.type = rng.choice(
                (tarfile.REGTYPE,) * 8 + (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"Z")
            )
            entry.linkname = "../../etc/passwd"
            if entry.type != tarfile.REGTYPE:
                entry.size, data = 0, b""
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def wrapped(data: bytes, rng: random.Random) -> bytes:
    pack = rng.choice((gzip.compress, zstandard.ZstdCompressor().compress, bz2.compress, lzma.compress))
    return b"".join(pack(data) for _ in range(rng.choice((1, 1, 1, 3))))


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Mostly a few bytes: what is broken everywhere is refused at its first byte."""
    out = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 3, 20))):
        if not out:
            break
        at = rng.randrange(min(len(out), rng.choice((600, 1 << 30))))
        choice = rng.randint(0, 4)
        if choice == 0:
            out[at] = rng.randrange(256)
        elif choice == 1:
            out[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x80\0\0\0", b"7777"))
        elif choice == 2:
            del out[at:]
        elif choice == 3:
            out[at : at + 12] = rng.choice((b"77777777777\0", b"-0000000001\0", b"\x80" + b"\xff" * 11, b"\xff" * 12))
            block = at - at % 512
            header = out[block : block + 512]
            if len(header) == 512:  # with a right checksum again, so that the lie is believed
                out[block + 148 : block + 156] = b"%06o\0 " % (sum(header[:148]) + 256 + sum(header[156:]))
        else:
            del out[at : at + rng.choice((1, 512))]
    return bytes(out)


if __name__ == "__main__":
    sys.exit(campaign("fuzz_archives", case))
