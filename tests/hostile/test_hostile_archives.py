"""Hostile archives as a user meets them: names that leave the archive, bombs, lies, archives in archives."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
import zstandard
from hostile_support import FAULT, MIB, diagnose, evidence, run, still_judged

TEXT = f"x\n{FAULT}\n".encode()


def tar_of(members: dict[str, bytes], *more: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in more:
            archive.addfile(info)
    return out.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_names_that_lead_out(tmp_path: Path, pack) -> None:
    names = ["../../../../tmp/nw-escaped", "/tmp/nw-escaped", "a/../../b", "C:\\x\\y.log", "-rf", "a\nb\x1b[2J", "x" * 4000]
    root = evidence(tmp_path / "e", {"a.bin": pack(dict.fromkeys(names, TEXT))})
    result = still_judged(diagnose(root))
    inside = [path for path in result.sources if path.startswith("a.bin!")]
    assert len(inside) == len(names) and all(path.isprintable() for path in inside)
    assert not Path("/tmp/nw-escaped").exists() and sorted(os.listdir(root)) == ["a.bin", "good.log"]


def test_links_and_devices_in_a_tar(tmp_path: Path) -> None:
    special = []
    for number, kind in enumerate((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)):
        info = tarfile.TarInfo(f"special{number}")
        info.type, info.linkname = kind, "/etc/passwd"
        special.append(info)
    result = still_judged(diagnose(evidence(tmp_path / "e", {"a.tar": tar_of({"x.log": b"quiet"}, *special)})))
    assert sum(reason.startswith("skipped: ") for reason in result.sources.values()) == 5 and "root:" not in result.out


def lines(compressor, size: int) -> bytes:
    """Packed quiet lines, in memory only packed."""
    block, out = (b"quiet line of a log\n" * (MIB // 20 + 1))[:MIB], []
    for _ in range(size // MIB):
        out.append(compressor.compress(block))
    return b"".join(out) + compressor.flush()


BOMBS = {
    "gz": lambda: lines(zlib.compressobj(9, zlib.DEFLATED, 31), 600 * MIB),
    "zst": lambda: lines(zstandard.ZstdCompressor(level=3).compressobj(), 2048 * MIB),
    "bz2": lambda: bz2.compress(b"quiet line\n" * (6 * MIB)) * 12,
    "xz": lambda: lines(lzma.LZMACompressor(preset=0), 700 * MIB),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_bombs(tmp_path: Path, kind: str) -> None:
    result = still_judged(diagnose(evidence(tmp_path / "e", {f"bomb.log.{kind}": BOMBS[kind]()}), memory=150, seconds=60))
    reason = result.sources[f"bomb.log.{kind}"]  # a .gz cannot pack more than a thousand times: it is read to its end
    assert ("stopped after" in reason and "it unpacks to more than" in reason) or kind == "gz", reason


def test_a_zip_bomb_of_many_members_over_the_same_bytes(tmp_path: Path) -> None:
    """Members that overlap (David Fifield's bomb): each is small, all together are huge."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"\0" * (20 * MIB))
        for number in range(300):
            info = zipfile.ZipInfo(f"m{number}")
            first = archive.infolist()[0]
            info.header_offset, info.CRC = first.header_offset, first.CRC
            info.compress_size, info.file_size, info.compress_type = first.compress_size, first.file_size, first.compress_type
            info.orig_filename = info.filename
            archive.filelist.append(info)
            archive.NameToInfo[info.filename] = info
    still_judged(diagnose(evidence(tmp_path / "e", {"a.zip": out.getvalue()}), seconds=60))


def test_nested_archives(tmp_path: Path) -> None:
    inner = zip_of({"x.log": TEXT})
    deep = inner
    for _ in range(12):
        deep = gzip.compress(tar_of({"next": deep}))
    quine = gzip.compress(gzip.compress(gzip.compress(TEXT)))
    result = still_judged(
        diagnose(evidence(tmp_path / "e", {"deep.tgz": deep, "quine.gz": quine, "one.tar": tar_of({"in.zip": inner})}))
    )
    assert any("is not read" in reason for reason in result.sources.values())
    assert "one.tar!in.zip!x.log" in result.sources


def test_a_compressed_bomb_in_an_archive(tmp_path: Path) -> None:
    bomb = BOMBS["zst"]()
    root = evidence(
        tmp_path / "e", {"a.tar": tar_of({"bomb.zst": bomb, "after.log": b"quiet\n"}), "b.zip": zip_of({"bomb.zst": bomb})}
    )
    result = still_judged(diagnose(root))
    assert "stopped" in result.sources["a.tar!bomb.zst"] and "stopped" in result.sources["b.zip!bomb.zst"]


def test_a_tar_that_lies_about_sizes(tmp_path: Path) -> None:
    files = {}
    for number, field in enumerate((b"77777777777\0", b"\x80" + b"\xff" * 11, b"-0000000001\0", b"9999999999\0\0", b"\xff" * 12)):
        data = bytearray(tar_of({"x.log": TEXT}))
        data[124:136] = field
        data[148:156] = b"%06o\0 " % (sum(data[:148]) + 256 + sum(data[156:512]))
        files[f"{number}.tar"] = bytes(data)
    long_name = tarfile.TarInfo("././@LongLink")
    long_name.type, long_name.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    files["long.tar"] = long_name.tobuf()
    pax = tarfile.TarInfo("pax")
    pax.type, pax.size = tarfile.XHDTYPE, 512
    files["pax.tar"] = pax.tobuf() + b"99999999999999999999 size=9999999999999999999999\n".ljust(512, b"\0") + tar_of({"x": TEXT})
    still_judged(diagnose(evidence(tmp_path / "e", files)))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_with_broken_members(tmp_path: Path, method: int) -> None:
    """zipfile raises what its decompressors raise (lzma.LZMAError is no ValueError)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("a.log", TEXT * 50)
    files = {}
    for at in range(30, min(len(out.getvalue()) - 80, 130), 3):
        data = bytearray(out.getvalue())
        data[at : at + 4] = b"\xff\0\xff\0"
        files[f"{at}.zip"] = bytes(data)
    still_judged(diagnose(evidence(tmp_path / "e", files)))


def test_a_zip_member_without_a_name(tmp_path: Path) -> None:
    data = zip_of({"n": TEXT})
    central = data.rfind(b"PK\x01\x02")
    nameless = bytearray(data)
    nameless[central + 28 : central + 30] = b"\0\0"  # the length of the name in the table of contents
    del nameless[central + 46]
    end = nameless.rfind(b"PK\x05\x06")
    nameless[end + 12 : end + 16] = (end - central).to_bytes(4, "little")
    still_judged(diagnose(evidence(tmp_path / "e", {"a.zip": bytes(nameless)})))


def test_cut_archives(tmp_path: Path) -> None:
    files = {}
    for name, data in {
        "t.tar": tar_of({"a.log": TEXT * 900}), "z.zip": zip_of({"a.log": os.urandom(9000)}), "g.gz": gzip.compress(TEXT * 900),
        "s.zst": zstandard.ZstdCompressor().compress(os.urandom(9000)), "x.xz": lzma.compress(TEXT * 900), "b.bz2": bz2.compress(TEXT * 900),
    }.items():  # fmt: skip
        for share in (0.02, 0.5, 0.95):
            files[f"{share}-{name}"] = data[: int(len(data) * share)]
    still_judged(diagnose(evidence(tmp_path / "e", files)))


def test_an_archive_as_path(tmp_path: Path) -> None:
    (tmp_path / "bundle").write_bytes(gzip.compress(tar_of({"run/stderr.log": TEXT})))
    result = still_judged(diagnose(tmp_path / "bundle"))
    assert result.json["findings"][0]["evidence"][0]["path"].endswith("!run/stderr.log")
    assert run("collect", tmp_path / "bundle", "-o", tmp_path / "b.tar.gz").code in (0, 64)
