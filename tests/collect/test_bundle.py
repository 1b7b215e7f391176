"""A bundle holds what its directory or host held, says what is missing, and can be unpacked by anything."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.cli import main
from neuronwatch.collect import bundle, pieces
from neuronwatch.collect.bundle import Caps, Names, Piece, safe_path

FAULT = "2026-08-21 10:14:02.000 1:1 ERROR NRT:nrt_init  Logical Neuron Core(s) not available - Requested:lnc0-lnc1 Available:0"


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


def tar_of(files: dict[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def zip_of(files: dict[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return raw.getvalue()


def collected(root: Path, caps: Caps | None = None) -> tuple[Path, bundle.Manifest]:
    target, facts, notes = root.parent / "b.tgz", [], []
    caps = caps or Caps()
    manifest = bundle.write(target, pieces.of_directory(root, caps, facts, notes), facts, caps, notes=notes)
    return target, manifest


def contents(target: Path) -> dict[str, bytes]:
    with tarfile.open(target) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def looked_at(capsys) -> dict:
    """The diagnosis of the live host."""
    capsys.readouterr()
    main.main(["diagnose", "--format", "json"])
    return json.loads(capsys.readouterr().out)


def diagnosed(path: Path, capsys) -> dict:
    capsys.readouterr()
    main.main(["diagnose", "--format", "json", str(path)])
    return json.loads(capsys.readouterr().out)


def directory(tmp_path: Path, files: dict[str, bytes]) -> Path:
    root = tmp_path / "e"
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


@pytest.mark.parametrize(("name", "pack"), [
    ("a.log.gz", gzip.compress), ("a.log.zst", zstd), ("a.log.bz2", bz2.compress), ("a.log.xz", lzma.compress),
])  # fmt: skip
def test_a_compressed_log_is_in_the_bundle_as_text(name, pack, tmp_path, capsys):
    root = directory(tmp_path, {name: pack(f"{FAULT}\nHF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345\n".encode())})
    target, _ = collected(root)
    text = contents(target)["evidence/a.log"]
    assert FAULT.encode() in text and b"AbCdEf" not in text
    assert diagnosed(target, capsys)["verdict"] == diagnosed(root, capsys)["verdict"] == "fault"


@pytest.mark.parametrize(("name", "pack"), [
    ("run.tgz", tar_of), ("run.zip", zip_of), ("outer.tgz", lambda files: tar_of({"in.zip": zip_of(files)})),
    ("logs.zip", lambda files: zip_of({f"{name}.gz": gzip.compress(data) for name, data in files.items()})),
])  # fmt: skip
def test_the_members_of_an_archive_are_in_the_bundle(name, pack, tmp_path, capsys):
    root = directory(tmp_path, {name: pack({"logs/err.log": FAULT.encode(), "../../x": b"hello\n"})})
    target, _ = collected(root)
    assert any(path.endswith("logs/err.log") and FAULT.encode() in data for path, data in contents(target).items())
    assert diagnosed(target, capsys)["verdict"] == "fault"


def test_a_log_and_its_compressed_neighbour_keep_apart(tmp_path):
    root = directory(
        tmp_path, {"a.log": b"one\n", "a.log.gz": gzip.compress(b"two\n"), "b.gz": gzip.compress(b"x\n"), "b/c": b"y\n"}
    )
    assert sorted(data for name, data in contents(collected(root)[0]).items() if name != "manifest.json") == [
        b"one\n", b"two\n", b"x\n", b"y\n",
    ]  # fmt: skip


def test_a_long_compressed_log_keeps_both_ends_and_is_told_as_partial(tmp_path, capsys):
    text = b"begin\n" + b"line of a log\n" * 3_000_000 + FAULT.encode() + b"\n"
    root = directory(tmp_path, {"a.log.gz": gzip.compress(text, 1)})
    target, _ = collected(root, Caps(file_bytes=100_000))
    kept = contents(target)["evidence/a.log"]
    assert len(kept) < 101_000 and kept.startswith(b"begin") and FAULT.encode() in kept
    said = [item for item in diagnosed(target, capsys)["sources"] if item["path"].endswith("a.log")]
    assert said[0]["state"] == "partial" and "cut in the bundle" in said[0]["reason"]


@pytest.mark.parametrize("damage", [lambda data: data[:-40], lambda data: data[:200] + b"\0" * 50 + data[250:]])
def test_a_broken_compressed_log_is_told(damage, tmp_path, capsys):
    lines = "".join(f"line {number * 7919 % 10007}\n" for number in range(20_000))
    root = directory(tmp_path, {"a.log.gz": damage(gzip.compress(lines.encode()))})
    result = diagnosed(collected(root)[0], capsys)
    assert result["verdict"] == "unknown" and any("a.log" in item for item in result["unknown"])


def test_what_a_header_of_weights_says_stays(tmp_path, capsys):
    header = json.dumps({"w": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}).encode()
    root = directory(tmp_path, {"m.safetensors": struct.pack("<Q", len(header)) + header + b"\x00\xff" * 4})
    before, after = diagnosed(root, capsys), diagnosed(collected(root)[0], capsys)
    for name in ("weights.bytes", "weights.dtype", "weights.files"):
        assert after["facts"][name] == before["facts"][name]


def test_a_bundle_that_is_empty_or_incomplete_is_not_healthy(tmp_path, capsys):
    root = directory(tmp_path, {"x.bin": bytes(range(256)) * 40})
    result = diagnosed(collected(root)[0], capsys)
    assert result["verdict"] == "unknown"
    assert any(item["path"].endswith("evidence/x.bin") and item["state"] == "skipped" for item in result["sources"])
    assert any("x.bin" in item and "binary" in item for item in result["unknown"])
    (root / "a.log").write_bytes(b"all is well\n")
    assert diagnosed(collected(root)[0], capsys)["verdict"] == "healthy"
    for caps in (Caps(total_bytes=3), Caps(file_bytes=6)):
        result = diagnosed(collected(root, caps)[0], capsys)
        assert result["verdict"] == "unknown" and any("a.log" in item for item in result["unknown"]), caps


def test_a_manifest_of_an_enemy(tmp_path, capsys):
    for document in (
        {"left_out": 7, "files": [3, {"cut": True}], "sources": [{"state": []}, {"path": None, "state": "failed"}]},
        {"left_out": [{"path": "x" * 10_000, "reason": {}}] * 5_000}, {"created": "inf"}, {"created": 1e400},
    ):  # fmt: skip
        path = tmp_path / "manifest.json"
        path.write_text(json.dumps({"schema": "neuronwatch.bundle/1", "created": time.time(), **document}))
        assert len(diagnosed(path, capsys)["unknown"]) < 50


def test_what_a_manifest_and_a_facts_file_quote_is_no_evidence_of_its_own(tmp_path, capsys):
    """A manifest says why a source could not be read, often in the words of a failure; a log that quotes a schema stays a log."""
    failed = "exit status -9, no output; NRT_EXEC_BAD_STATE"
    told = {
        "created": time.time(),
        "sources": [{"path": "host:neuron-ls -j", "state": "failed", "format": "neuron-ls", "reason": failed}],
    }
    (tmp_path / "a.log").write_bytes(b"all is well\n")
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": "neuronwatch.bundle/1", **told}, indent=1))
    (tmp_path / "host-facts.json").write_text(json.dumps({"schema": "neuronwatch.facts/1", "facts": [], "why": failed}, indent=1))
    result = diagnosed(tmp_path, capsys)
    assert not any("manifest.json" in item or "exited" in item for item in result["unknown"]) and result["findings"] == []
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "a.log").write_text(
        'read {"schema": "neuronwatch.bundle/1"} and neuronwatch.facts/1\nprocess ended with exit status 137\n'
    )
    result = diagnosed(tmp_path, capsys)
    assert next(item["format"] for item in result["sources"] if item["path"].endswith("a.log")) not in (
        "neuronwatch-bundle",
        "neuronwatch-facts",
    )


def test_hosts_that_a_late_file_gives_away_are_gone_from_the_early_ones(tmp_path):
    root = directory(tmp_path, {
        "a.log": b"Nov  3 01:02:03 trn-node-07 app: 4242 jane of 123456789012\n", "trn-node-07.txt": b"x\n",
        "z.env": b"HOSTNAME=trn-node-07\nUSER=jane\nrole arn:aws:iam::123456789012:role/x\n",
    })  # fmt: skip
    target, _ = collected(root)
    everything = b"".join(name.encode() + data for name, data in contents(target).items())
    assert not any(word in everything for word in (b"trn-node-07", b"jane", b"123456789012"))


def test_a_live_bundle_unpacks_and_says_what_the_live_host_said(tmp_path, capsys):
    for turn in range(5):  # this host lives while it is looked at: until it was the same before and after
        before, target = looked_at(capsys), tmp_path / f"live{turn}.tgz"
        assert main.main(["collect", "-o", str(target)]) == 0
        live = looked_at(capsys)
        if (before["verdict"], before["findings"]) == (live["verdict"], live["findings"]):
            break
    with tarfile.open(target) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "out", filter="data")
    assert not any(other.startswith(f"{name}/") for name in names for other in names)
    assert not any(char in name for name in names for char in " *:?")
    unread = [(item["path"], item["state"]) for item in live["sources"] if item["state"] in ("missing", "failed")]
    for place in (target, tmp_path / "out"):
        told = diagnosed(place, capsys)
        assert told["verdict"] == live["verdict"]
        assert [pair for pair in unread if pair not in [(item["path"], item["state"]) for item in told["sources"]]] == []


@given(st.lists(st.text("ab/.", min_size=1, max_size=6), max_size=12))
def test_no_name_is_a_directory_of_another_one(paths):
    names = Names()
    found = [names.free(safe_path(path)) for path in paths]
    assert len(set(found)) == len(found)
    assert not any(other.startswith(f"{name}/") for name in found for other in found)


def test_the_time_limit_leaves_the_rest_out(tmp_path):
    clock = iter([0.0, 1.0, 500.0])
    manifest = bundle.write(tmp_path / "b.tgz", [Piece(name, b"x\n", 2) for name in "abc"], clock=lambda: next(clock))
    assert [item["path"] for item in manifest.left_out] == ["b", "c"]
