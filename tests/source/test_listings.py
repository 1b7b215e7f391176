"""Directories that say something as a whole, given as evidence: a compile cache, the driver's sysfs tree."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from case_support import diagnose, items

from neuronwatch.collect.bundle import Caps
from neuronwatch.collect.pieces import of_directory
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.source.tree import Listing, SourceFile, walk

COMPILER = "neuronxcc-2.21.33363.0+82129205"
HOUR = 3600


def cache(root: Path) -> Path:
    """A good entry, an empty NEFF, one with an old lock, and one that failed and left nothing but its log."""
    files = {
        "MODULE_1+aaaaaaaa/model.neff": b"\0\1\2neff", "MODULE_1+aaaaaaaa/model.done": b"",
        "MODULE_2+aaaaaaaa/model.neff": b"", "MODULE_2+aaaaaaaa/model.done": b"",
        "MODULE_3+aaaaaaaa/model.hlo_module.pb.lock": b"", "MODULE_3+aaaaaaaa/model.hlo_module.pb": b"\0hlo",
        "MODULE_4+aaaaaaaa/model.log": b"it failed\n",
    }  # fmt: skip
    for name, data in files.items():
        path = root / COMPILER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    os.utime(root / COMPILER / "MODULE_3+aaaaaaaa/model.hlo_module.pb.lock", (1_780_000_000, 1_780_000_000))
    return root


def check_cache(found: Diagnosis) -> None:
    assert found.facts["cache.entries"] == 4
    assert (found.facts["cache.locks"], found.facts["cache.empty_neffs"], found.facts["cache.failed_entries"]) == (1, 1, 1)
    assert "MODULE_2+aaaaaaaa/model.neff" in str(found.facts["cache.empty_neff"])
    assert "MODULE_4+aaaaaaaa" in str(found.facts["cache.failed_entry"])
    assert found.facts["cache.lock_time"] == 1_780_000_000


@pytest.mark.parametrize("below", ["", "home/my user/var/tmp/neuron-compile-cache"])
def test_cache_directory(tmp_path: Path, below: str) -> None:
    cache(tmp_path / below)
    found = diagnose(tmp_path)
    check_cache(found)
    assert found.facts["cache.compilers"] == (COMPILER.removeprefix("neuronxcc-"),)
    assert any(source.path.endswith(f"{COMPILER}/(listing)") for source in found.sources)


def test_compiler_directory_and_single_entry(tmp_path: Path) -> None:
    cache(tmp_path)
    check_cache(diagnose(tmp_path / COMPILER))
    assert diagnose(tmp_path / COMPILER / "MODULE_4+aaaaaaaa").facts["cache.failed_entries"] == 1
    assert diagnose(tmp_path / COMPILER / "MODULE_1+aaaaaaaa").facts["cache.failed_entries"] == 0


def test_age_of_the_lock(tmp_path: Path) -> None:
    cache(tmp_path)
    (tmp_path / "date.txt").write_text("$ date\nThu May 28 23:26:40 UTC 2026\n")
    assert diagnose(tmp_path).facts["cache.lock_age"] == pytest.approx(3 * HOUR, abs=HOUR)


def test_a_bundle_has_the_listing(tmp_path: Path) -> None:
    cache(tmp_path / "cache")
    pieces = {piece.path: piece.data for piece in of_directory(tmp_path, Caps(), [], [])}
    assert b"MODULE_3+aaaaaaaa/model.hlo_module.pb.lock" in pieces[f"cache/{COMPILER}/(listing)"]


@pytest.mark.skipif(sys.platform == "win32", reason="names of bytes")
def test_odd_names_in_a_cache(tmp_path: Path) -> None:
    """A name cannot write rows of its own, and bytes that are no text are shown."""
    cache(tmp_path)
    for name in (b"a\n-rw-r--r-- 1 0 0 0 2026-01-01 00:00:00 +0000 x\n", b"\xff\xfe", b"MODULE_9"):
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path / COMPILER / "MODULE_1+aaaaaaaa"), name))).write_bytes(b"x")
    (tmp_path / COMPILER / "MODULE_5+aaaaaaaa").symlink_to("/")
    (tmp_path / COMPILER / "MODULE_6+aaaaaaaa").write_bytes(b"a file")
    listing = next(entry for entry in walk([tmp_path]) if isinstance(entry, Listing))
    assert not any(line.startswith("-rw-r--r-- 1 0 0 0 2026-01-01") for line in listing.data.decode().splitlines())
    assert "etc" not in listing.data.decode()
    assert diagnose(tmp_path).facts["cache.failed_entries"] == 1


def sysfs(root: Path, **values: str) -> Path:
    """The files of a device as `cp -r` brings them from a host."""
    files = {
        "core_count": "2", "connected_devices": "1, 2", "info/architecture/instance_type": "Trn1", "reset": "",
        "stats/hardware/mem_ecc_uncorrected": "0", "stats/hardware/sram_ecc_uncorrected": "0",
        "neuron_core0/stats/status/success/total": "9", "neuron_core0/stats/status/exec_bad_input/total": "0",
        "neuron_core0/stats/memory_usage/device_mem/total": "512", "stats/notes.bin": "x" * 40_000, **values,
    }  # fmt: skip
    for name, value in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value + "\n")
    return root


def test_sysfs_tree(tmp_path: Path) -> None:
    base = tmp_path / "sys/devices/virtual/neuron_device"
    sysfs(base / "neuron0", **{"stats/hardware/mem_ecc_uncorrected": "3"})
    sysfs(base / "neuron1")
    found = diagnose(tmp_path)
    assert found.facts["neuron.ecc_uncorrected"] == 3
    assert found.facts["neuron.physical_cores_per_device"] == 2
    assert "process.exit_code" not in found.facts
    assert {source.path for source in found.sources if "(listing)" in source.path} == {
        f"sys/devices/virtual/neuron_device/neuron{number}/(listing)" for number in (0, 1)
    }


@pytest.mark.parametrize("given", ["", "neuron_device", "neuron_device/neuron0"])
def test_a_healthy_tree_has_no_symptom(tmp_path: Path, given: str) -> None:
    sysfs(tmp_path / "neuron_device/neuron0")
    found = diagnose(tmp_path / given)
    assert found.findings == () and found.facts["neuron.ecc_uncorrected"] == 0


def test_what_is_no_value_is_read_as_a_file(tmp_path: Path) -> None:
    sysfs(tmp_path / "neuron0")
    (tmp_path / "neuron12").mkdir()
    (tmp_path / "neuron12/train.log").write_text("loss\n")
    read = [entry.path for entry in walk([tmp_path]) if isinstance(entry, SourceFile)]
    assert read == ["neuron0/reset", "neuron0/stats/notes.bin", "neuron12/train.log"]


def test_no_way_out_of_the_evidence(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("4242\n")
    sysfs(tmp_path / "evidence/neuron0")
    (tmp_path / "evidence/neuron0/stats/hardware/link").symlink_to(secret)
    (tmp_path / "evidence/neuron0/stats/up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "evidence/neuron0/stats/pipe")
    assert "4242" not in str(items(tmp_path / "evidence"))
