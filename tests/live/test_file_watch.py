"""Directories of rules and configuration: changes are said once, whatever way they are made."""

from __future__ import annotations

import select
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_support import until

from neuronwatch.source.live.watch import FileWatch


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[FileWatch]:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/a.toml").write_text("a")
    found = FileWatch([tmp_path / "rules", tmp_path / "etc/neuronwatch.toml"])
    assert found.active
    yield found
    found.close()


def said(watch: FileWatch) -> bool:
    return bool(select.select([watch.descriptor], [], [], 0)[0]) and watch.changed()


def test_changes_of_a_directory(tmp_path: Path, watch: FileWatch) -> None:
    assert not said(watch)
    for change in (
        lambda: (tmp_path / "rules/b.toml").write_text("b"),
        lambda: (tmp_path / "rules/a.toml").write_text("changed"),
        lambda: (tmp_path / "rules/b.toml").rename(tmp_path / "rules/c.toml"),
        lambda: (tmp_path / "rules/c.toml").unlink(),
    ):
        change()
        until(lambda: said(watch))
        quiet(watch)
    (tmp_path / "rules/a.toml").read_text()
    (tmp_path / "other.txt").write_text("nobody's business")
    assert not select.select([watch.descriptor], [], [], 0.1)[0] or not watch.changed()


def quiet(watch: FileWatch) -> None:
    """Takes what still comes of one change."""
    while select.select([watch.descriptor], [], [], 0.1)[0]:
        watch.changed()


def test_a_file_whose_directory_comes_later(tmp_path: Path, watch: FileWatch) -> None:
    (tmp_path / "etc").mkdir()
    until(lambda: said(watch))
    quiet(watch)
    (tmp_path / "etc/neuronwatch.toml").write_text("x")
    until(lambda: said(watch))
    quiet(watch)
    new = tmp_path / "etc/new"
    new.write_text("y")
    quiet(watch)
    new.rename(tmp_path / "etc/neuronwatch.toml")  # as editors do
    until(lambda: said(watch))


def test_a_directory_that_goes_and_comes_back(tmp_path: Path, watch: FileWatch) -> None:
    (tmp_path / "rules/a.toml").unlink()
    (tmp_path / "rules").rmdir()
    until(lambda: said(watch))
    quiet(watch)
    (tmp_path / "rules").mkdir()
    until(lambda: said(watch))
    quiet(watch)
    (tmp_path / "rules/z.toml").write_text("z")
    until(lambda: said(watch))


def test_readers_wake_nobody(tmp_path: Path, watch: FileWatch) -> None:
    """Each program that starts reads files of /etc: what only reads is not even heard of."""
    (tmp_path / "etc").mkdir()
    until(lambda: said(watch))
    (tmp_path / "etc/other").write_text("nobody's business")
    quiet(watch)
    for name in ("etc/other", "rules/a.toml"):
        for _ in range(20):
            (tmp_path / name).read_text()
    list((tmp_path / "rules").iterdir())
    assert not select.select([watch.descriptor], [], [], 0.1)[0]
    (tmp_path / "rules/last.toml").write_text("z")
    until(lambda: said(watch))


def test_directories_within(tmp_path: Path, watch: FileWatch) -> None:
    """A new one, with what was in it before it was watched; and one that is moved away takes no watch along."""
    (tmp_path / "new/deep").mkdir(parents=True)
    (tmp_path / "new").rename(tmp_path / "rules/new")
    until(lambda: said(watch))
    quiet(watch)
    (tmp_path / "rules/new/deep/b.toml").write_text("b")
    until(lambda: said(watch))
    quiet(watch)
    (tmp_path / "rules/new").rename(tmp_path / "away")
    until(lambda: said(watch))
    quiet(watch)
    (tmp_path / "away/deep/b.toml").write_text("nobody's business")
    assert not select.select([watch.descriptor], [], [], 0.1)[0] or not watch.changed()


def test_a_file_written_in_the_very_moment_of_its_directory(tmp_path: Path, watch: FileWatch) -> None:
    (tmp_path / "rules/sub").mkdir()
    (tmp_path / "rules/sub/c.toml").write_text("c")
    until(lambda: said(watch))


def test_close_leaves_no_thread_and_no_descriptor(tmp_path: Path) -> None:
    import os
    import threading

    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    watch = FileWatch([tmp_path])
    assert threading.active_count() == threads
    watch.close()
    assert len(os.listdir("/proc/self/fd")) == files
    assert not watch.active and not watch.changed()
