"""The compile cache, live: the listing as `diagnose` reads it, its numbers, and entries that are not looked into twice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from host.host_support import as_other_user
from tree_support import Polled, put, values, whole

from neuronwatch.source.host import HostRoot, VirtualFile, compile_cache
from neuronwatch.source.live.api import Absent, Broken
from neuronwatch.source.live.compile_cache import CompileCache

CACHE = "var/tmp/neuron-compile-cache/neuronxcc-2.21.1+abc"
TEXT = "host:/var/tmp/neuron-compile-cache"


def entry(host: Path, name: str, *files: str) -> Path:
    for file in files:
        put(host / CACHE / f"MODULE_{name}" / file, "" if file.endswith(("lock", "done")) else "12345678")
    return host / CACHE / f"MODULE_{name}"


def offline(host: Path) -> bytes:
    return next(item.data for item in compile_cache.collect(HostRoot(host)) if isinstance(item, VirtualFile))


def test_numbers_and_the_listing(tmp_path: Path) -> None:
    entry(tmp_path, "1+a", "model.neff", "model.done")
    lock = entry(tmp_path, "2+a", "model.hlo_module.pb.lock") / "model.hlo_module.pb.lock"
    entry(tmp_path, "3+a", "model.log")
    put(entry(tmp_path, "4+a", "model.done") / "model.neff", "")
    poll = Polled(CompileCache(HostRoot(tmp_path)))
    os.utime(lock, (1_790_000_900, 1_790_000_900))
    first = poll(100.0)  # at 1,790,001,100
    text = whole(first, TEXT)
    assert text is not None
    assert text.data == offline(tmp_path)
    found = values(first)
    assert [found[f"cache.{name}", ""] for name in ("entries", "locks", "failed", "empty", "size", "oldest_lock")] == [
        4,
        1,
        1,
        1,
        16,
        200,
    ]
    assert not poll(30.0).wholes
    lock.unlink()
    entry(tmp_path, "2+a", "model.neff", "model.done")
    again = poll(30.0)
    assert whole(again, TEXT).data == offline(tmp_path)  # type: ignore[union-attr]
    assert (values(again)["cache.locks", ""], values(again)["cache.compiled", ""]) == (0, 1)
    assert ("cache.oldest_lock", "") not in values(again)


def test_good_entries_are_not_looked_into_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_cache, "SHOWN_GOOD", 2)
    for number in range(30):
        entry(tmp_path, f"{number:02d}+a", "model.neff", "model.done")
    poll = Polled(CompileCache(HostRoot(tmp_path)))
    poll()
    looked: list[str] = []
    real = compile_cache._module
    monkeypatch.setattr(compile_cache, "_module", lambda root, entry, label: looked.append(entry) or real(root, entry, label))
    assert values(poll(30.0))["cache.entries", ""] == 30
    assert 0 < len(looked) < 8
    (tmp_path / CACHE / "MODULE_25+a" / "model.neff").unlink()
    put(tmp_path / CACHE / "MODULE_25+a" / "model.log", "failed")
    assert values(poll(30.0))["cache.failed", ""] == 1
    shutil.rmtree(tmp_path / CACHE / "MODULE_26+a")
    assert values(poll(30.0))["cache.entries", ""] == 29


def test_absent_denied_and_something_else(tmp_path: Path) -> None:
    poll = Polled(CompileCache(HostRoot(tmp_path)))
    with pytest.raises(Absent, match="no compile cache at /var/tmp/neuron-compile-cache"):
        poll()
    entry(tmp_path, "1+a", "model.log")
    assert values(poll())["cache.failed", ""] == 1
    shutil.rmtree(tmp_path / "var")
    with pytest.raises(Absent) as error:
        poll()
    assert error.value.delivery is not None
    assert whole(error.value.delivery, TEXT).data is None  # type: ignore[union-attr]
    put(tmp_path / "var/tmp/neuron-compile-cache", "a file")
    with pytest.raises(Broken, match="not a directory"):
        poll()


def test_without_permission(tmp_path: Path) -> None:
    entry(tmp_path, "1+a", "model.log")
    for path in (tmp_path, *tmp_path.parents):
        if path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    (tmp_path / "var/tmp/neuron-compile-cache").chmod(0o700)

    def look() -> None:
        with pytest.raises(Absent, match="permission denied"):
            Polled(CompileCache(HostRoot(tmp_path)))()

    as_other_user(look)
