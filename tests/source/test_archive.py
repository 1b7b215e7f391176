"""Archives and compressed logs, good and hostile."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading_support import FAULT, NOT_AVAILABLE, documents, matches, read, reports, virtual

from neuronwatch.source.limits import MIB, Limits
from neuronwatch.source.streams import PACKED, Budget, Memory, StreamError, Unpacked, take

TEXT = f"first\n{FAULT}\n".encode()


def tar_of(files: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]  # mode is a plain str
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


PLAIN = tar_of({"dir/a.log": TEXT, "b.log": b"quiet\n", "z.log": TEXT})


@pytest.mark.parametrize(
    "data",
    [PLAIN, gzip.compress(PLAIN), bz2.compress(PLAIN), lzma.compress(PLAIN), zstandard.compress(PLAIN),
     zip_of({"dir/a.log": TEXT, "b.log": b"quiet\n", "z.log": TEXT}), zip_of({"dir/a.log": TEXT, "z.log": TEXT}, zipfile.ZIP_STORED)],
    ids=["tar", "tar.gz", "tar.bz2", "tar.xz", "tar.zst", "zip", "stored zip"],
)  # fmt: skip
def test_archives_of_any_name(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "evidence.bin"
    path.write_bytes(data)
    found = [(NOT_AVAILABLE, "evidence.bin!dir/a.log", 2), (NOT_AVAILABLE, "evidence.bin!z.log", 2)]
    assert matches(read(path)) == found
    assert matches(virtual(data, path="evidence.bin")) == found
    assert matches(read(tmp_path)) == found


@pytest.mark.parametrize(
    "data",
    [gzip.compress(TEXT), gzip.compress(TEXT[:6]) + gzip.compress(TEXT[6:]), zstandard.compress(TEXT), bz2.compress(TEXT), lzma.compress(TEXT)],
    ids=["gz", "two gz members", "zst", "bz2", "xz"],
)  # fmt: skip
def test_compressed_logs_keep_their_path(data: bytes) -> None:
    assert matches(virtual(data, path="train.log.1.gz")) == [(NOT_AVAILABLE, "train.log.1.gz", 2)]


def test_numbers_in_a_big_compressed_log() -> None:
    filler = b"some ordinary line of a log\n" * (6 * MIB // 28)
    found = matches(virtual(gzip.compress(filler + TEXT + filler + TEXT, 1)))
    count = filler.count(b"\n")
    assert [number for _, _, number in found] == [count + 2, 2 * count + 4]


def test_names_are_only_names(tmp_path: Path) -> None:
    names = ["../../etc/passwd", "/etc/shadow", "a/../../b", "\x1b[31mred", "x" * 300]
    data = tar_of(dict.fromkeys(names, TEXT))
    before = sorted(os.listdir(tmp_path))
    paths = [path for _, path, _ in matches(virtual(data, path="t"))]
    assert paths == ["t!../../etc/passwd", "t!/etc/shadow", "t!a/../../b", "t!\\x1b[31mred", "t!" + "x" * 300]
    assert len(matches(virtual(zip_of({"../x": TEXT, "/y": TEXT})))) == 2
    assert sorted(os.listdir(tmp_path)) == before


def test_links_and_devices_in_a_tar_are_said() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in (
            ("link", tarfile.SYMTYPE),
            ("hard", tarfile.LNKTYPE),
            ("dev", tarfile.CHRTYPE),
            ("pipe", tarfile.FIFOTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("real.log")
        info.size = len(TEXT)
        archive.addfile(info, io.BytesIO(TEXT))
    items = virtual(out.getvalue(), path="t")
    assert matches(items) == [(NOT_AVAILABLE, "t!real.log", 2)]
    said = reports(items)
    assert {said[f"t!{name}"][1] for name in ("link", "hard", "dev", "pipe")} == {"skipped"}


def test_one_archive_inside_another() -> None:
    inner = tar_of({"x.log": TEXT}, "w:gz")
    assert matches(virtual(zip_of({"in.tgz": inner}), path="z")) == [(NOT_AVAILABLE, "z!in.tgz!x.log", 2)]
    assert matches(virtual(tar_of({"in.zip": zip_of({"x.log": TEXT})}), path="t")) == [(NOT_AVAILABLE, "t!in.zip!x.log", 2)]
    assert matches(virtual(tar_of({"x.log.gz": gzip.compress(TEXT)}), path="t")) == [(NOT_AVAILABLE, "t!x.log.gz", 2)]
    third = virtual(zip_of({"in.tar": tar_of({"deep.zip": zip_of({"x.log": TEXT})})}), path="z")
    assert not matches(third)
    assert reports(third)["z!in.tar!deep.zip"][1] == "skipped"
    assert reports(virtual(gzip.compress(gzip.compress(TEXT))))["log"][2] == "compressed twice: not read"


def test_documents_in_archives() -> None:
    items = virtual(tar_of({"m/config.json": b'{"model_type": "qwen3"}'}), path="t")
    assert [document.path for document in documents(items)] == ["t!m/config.json"]
    assert documents(items)[0].name == "config.json"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bz2.compress, lzma.compress])
def test_bombs_stop_with_a_note(pack: object) -> None:
    bomb = pack(b"\n" * (64 * MIB))  # type: ignore[operator]  # parametrized as object
    limits = Limits(archive_free=8 * MIB, archive_ratio=100)
    begun = time.process_time()
    tracemalloc.start()
    said = reports(virtual(bomb, limits))["log"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert said[1] == "partial" and "stopped after" in said[2] and "it unpacks to more than" in said[2]
    assert time.process_time() - begun < 5
    assert peak < 40 * MIB


def test_a_bomb_of_zeros_is_bounded_too() -> None:
    limits = Limits(archive_free=8 * MIB, archive_ratio=10)
    said = reports(virtual(gzip.compress(b"text\n" * 100 + bytes(64 * MIB)), limits))["log"]
    assert said[1] == "partial"


def test_a_zip_whose_members_share_one_budget() -> None:
    files = {f"{n}.log": b"text\n" * (MIB // 5) for n in range(20)}
    limits = Limits(archive_free=8 * MIB, archive_ratio=2)
    said = reports(virtual(zip_of(files), limits, "z"))
    assert any("stopped" in reason for _, _, reason in said.values())


def test_encrypted_and_broken_zips_are_said() -> None:
    data = bytearray(zip_of({"a.log": TEXT, "b.log": TEXT}))
    central = data.find(b"PK\x01\x02")
    data[central + 8] |= 1
    local = data.find(b"PK\x03\x04")
    data[local + 6] |= 1
    items = virtual(bytes(data), path="z")
    assert reports(items)["z!a.log"][1:] == ("skipped", "encrypted")
    assert matches(items) == [(NOT_AVAILABLE, "z!b.log", 2)]
    assert reports(virtual(zip_of({"a": TEXT})[:40], path="z"))["z"][1] == "partial"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bz2.compress, lzma.compress])
def test_what_is_before_the_break_is_read(pack: object) -> None:
    noise = b"".join(os.urandom(30).hex().encode() + b"\n" for _ in range(40_000))
    data = pack(TEXT + noise)  # type: ignore[operator]  # parametrized as object
    items = virtual(data[: len(data) // 2])
    assert matches(items) == [(NOT_AVAILABLE, "log", 2)] or pack is bz2.compress
    assert reports(items)["log"][1] in ("partial", "failed")


def test_a_broken_tar_is_read_up_to_the_break() -> None:
    items = virtual(PLAIN[: 2048 - 100], path="t")
    assert matches(items)[:1] == [(NOT_AVAILABLE, "t!dir/a.log", 2)]
    assert reports(items)["t"][1] == "partial"
    broken = bytearray(PLAIN)
    broken[1024 + 150] ^= 0xFF
    assert reports(virtual(bytes(broken), path="t"))["t"][2] == "broken archive: a header has a wrong checksum"


def test_a_tar_header_that_states_a_huge_size_takes_no_memory() -> None:
    info = tarfile.TarInfo("x")
    info.size = 8**11 - 1
    for kind in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.REGTYPE):
        info.type = kind
        tracemalloc.start()
        items = virtual(info.tobuf(tarfile.GNU_FORMAT) + TEXT * 100, path="t")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 30 * MIB
        assert reports(items)["t"][1] == "partial"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([PLAIN, gzip.compress(PLAIN), zip_of({"a": TEXT, "b": TEXT * 9}), zstandard.compress(PLAIN)]), st.data())
def test_damaged_archives_never_raise(data: bytes, draw: st.DataObject) -> None:
    damaged = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 8))):
        at = draw.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = draw.draw(st.integers(0, 255))
    cut = draw.draw(st.integers(1, len(damaged)))
    assert reports(virtual(bytes(damaged[:cut])))


def test_zip_member_without_a_name(tmp_path: Path) -> None:
    """Found by the archive fuzzer: is_dir() of the library fails on it."""
    target = tmp_path / "a.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(zipfile.ZipInfo(""), TEXT)
        archive.writestr("fine.log", TEXT)
    assert any(name.endswith("fine.log") for name in reports(read(target)))


def test_a_slow_bomb_of_gzip_is_stopped_and_a_slow_log_is_not() -> None:
    """gzip packs at most a thousand times, so the ratio alone never stops it."""
    now = 0.0

    def spent(packed: int, unpacked: int, seconds: float) -> int:
        nonlocal now
        now = 0.0
        budget = Budget(packed, 1 << 50, 1000, 1 << 20, 60.0, lambda: now)
        for part in range(100):
            now = seconds * part / 100
            budget.spend(unpacked // 100)
        return unpacked

    assert spent(1 << 20, 900 << 20, 50) and spent(1 << 20, 150 << 20, 5000)
    with pytest.raises(StreamError, match=r"stopped after [0-9,]+ bytes: .* 200 times its size and takes longer than 60 s"):
        spent(1 << 20, 900 << 20, 100)


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_member_that_begins_at_the_border_of_a_read(cut: int) -> None:
    """The first bytes of the next member may come one by one: what was behind was lost without a word."""
    over = len(gzip.compress(bytes(PACKED), 0)) - PACKED
    first = gzip.compress(os.urandom(PACKED - over - cut), 0)
    assert len(first) < PACKED
    data = first + gzip.compress(b"the second\n") + b"\0" * 20
    assert take(Unpacked(Memory(data), "gzip"), 1 << 20).endswith(b"the second\n")


def test_a_million_members_of_nothing_take_linear_time() -> None:
    """Each left a copy of up to 128 KiB: and looked for an optional library: 20 MB took minutes."""
    data = gzip.compress(b"") * 200_000 + gzip.compress(b"the end\n")
    begun = time.process_time()
    assert take(Unpacked(Memory(data), "gzip"), 1 << 20) == b"the end\n"
    assert time.process_time() - begun < 20
