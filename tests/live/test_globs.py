"""Which files a pattern means, also through links, and how often the host is asked for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live import globs


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = tmp_path / "h"
    (root / "var/log/jobs/one").mkdir(parents=True)
    for rank in range(40):
        (root / f"var/log/jobs/one/rank{rank}.log").touch()
    (root / "data").symlink_to("/var/log/jobs")
    (root / "out").symlink_to("../../outside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.log").touch()
    os.mkfifo(root / "var/log/jobs/one/pipe.log")
    return root


def test_what_is_found(host: Path) -> None:
    patterns = [
        "/data/one/rank3.log",
        "/var/log/jobs/*/rank3.log",
        "/data/./one/../one/*.log",
        "/out/*.log",
        "/missing/x.log",
        "/var/log",
    ]
    found = globs.expand(HostRoot(host), patterns)
    assert set(found.files) == {f"/var/log/jobs/one/rank{rank}.log" for rank in range(40)}
    assert found.files["/var/log/jobs/one/rank3.log"] == "/data/one/rank3.log"
    assert found.refused == {"/var/log/jobs/one/pipe.log": "not a regular file"}
    assert {"/", "/var/log", "/var/log/jobs", "/var/log/jobs/one"} <= set(found.directories)
    assert not any("outside" in name for name in (*found.files, *found.directories))


def test_the_root_itself() -> None:
    assert "/" in globs.expand(HostRoot("/"), ["/no-such-directory-here/*"]).directories


def test_a_directory_is_resolved_once(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    lstat = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: (asked.append(str(path)), lstat(path))[1])
    globs.expand(HostRoot(host), [f"/var/log/jobs/one/rank{rank}.log" for rank in range(40)])
    assert len(asked) <= 2 * 40 + 10
