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
    return bool(select.select([watch.descriptor], [], [], 0)[0])


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
        watch.clear()
        quiet(watch)
    (tmp_path / "rules/a.toml").read_text()
    (tmp_path / "other.txt").write_text("nobody's business")
    assert not select.select([watch.descriptor], [], [], 0.1)[0]


def quiet(watch: FileWatch) -> None:
    """Takes what still comes of one change."""
    while select.select([watch.descriptor], [], [], 0.1)[0]:
        watch.clear()


def test_a_file_whose_directory_comes_later(tmp_path: Path, watch: FileWatch) -> None:
    (tmp_path / "etc").mkdir()
    until(lambda: said(watch))
    watch.clear()
    quiet(watch)
    (tmp_path / "etc/neuronwatch.toml").write_text("x")
    until(lambda: said(watch))
    watch.clear()
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
    watch.clear()
    quiet(watch)
    (tmp_path / "rules").mkdir()
    until(lambda: said(watch))
    watch.clear()
    quiet(watch)
    (tmp_path / "rules/z.toml").write_text("z")
    until(lambda: said(watch))


def test_readers_wake_nobody(tmp_path: Path, watch: FileWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program that starts reads files of /etc: what only reads is not even heard of."""
    (tmp_path / "etc").mkdir()
    until(lambda: said(watch))
    watch.clear()
    quiet(watch)
    heard: list[str] = []
    happened = watch.happened
    monkeypatch.setattr(watch, "happened", lambda kind, names: (heard.append(kind), happened(kind, names)))
    (tmp_path / "etc/other").write_text("nobody's business")
    for name in ("etc/other", "rules/a.toml"):
        for _ in range(20):
            (tmp_path / name).read_text()
    list((tmp_path / "rules").iterdir())
    (tmp_path / "rules/last.toml").write_text("z")
    until(lambda: said(watch))
    assert heard
    assert not set(heard) & {"opened", "closed_no_write"}


def test_close_leaves_no_thread(tmp_path: Path) -> None:
    import threading

    before = threading.active_count()
    watch = FileWatch([tmp_path])
    watch.close()
    until(lambda: threading.active_count() <= before)
