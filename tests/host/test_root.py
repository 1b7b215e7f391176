"""A root is read without leaving it, nothing blocks, and programs run only where they may."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from host_support import as_other_user, host

from neuronwatch.source.host.root import DRILL_MARKER, HostRoot, numbered

ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")


def test_links_stay_inside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    root = host(tmp_path / "h", {"/etc/real": "inside"})
    base = tmp_path / "h"
    (base / "etc/absolute").symlink_to("/etc/real")
    (base / "etc/up").symlink_to("../../../../secret")
    (base / "etc/loop").symlink_to("loop")
    (base / "out").symlink_to(tmp_path)
    assert root.text("/etc/absolute") == "inside", "an absolute target is one of this host"
    assert root.text("/etc/up") is None and root.text("/out/secret") is None
    assert root.text("/etc/loop") is None and root.text("/../secret") is None
    assert root.why("/etc/up") == "no such file"


def test_only_regular_files_are_read_and_nothing_blocks(tmp_path: Path) -> None:
    root = host(tmp_path, {"/d/file": "x"})
    os.mkfifo(tmp_path / "fifo")
    begun = time.monotonic()
    assert root.read("/fifo") is None and root.tail("/fifo", 10) is None and root.read("/d") is None
    assert time.monotonic() - begun < 2
    assert root.why("/fifo") == "not a regular file"
    assert root.read("/a\0b") is None


def test_reads_are_bounded(tmp_path: Path) -> None:
    root = host(tmp_path, {"/big": "line\n" * 100_000})
    assert len(root.read("/big", 1000) or b"") == 1000
    tail = root.tail("/big", 1003)
    assert tail is not None and len(tail) <= 1003 and tail.startswith(b"line\n")


@ROOT
def test_unreadable_files_say_why(tmp_path: Path) -> None:
    root = host(tmp_path, {"/etc/x": "text"})
    (tmp_path / "etc/x").chmod(0o600)
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(0o755)

    def look() -> None:
        assert root.read("/etc/x") is None and root.why("/etc/x") == "permission denied"

    as_other_user(look)


def tool(where: Path, name: str, script: str) -> None:
    path = where / "opt/aws/neuron/bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_programs_of_another_root_are_not_executed(tmp_path: Path) -> None:
    tool(tmp_path, "neuron-ls", f"touch {tmp_path}/ran")
    answer = HostRoot(tmp_path).run(("neuron-ls",))
    assert answer.status is None and "not executed" in answer.reason and not (tmp_path / "ran").exists()
    assert HostRoot(tmp_path, allow_exec=True).run(("neuron-ls",)).status == 0 and (tmp_path / "ran").exists()


def marker(where: Path, pid: object) -> Path:
    path = where / DRILL_MARKER
    path.write_text(json.dumps({"pid": pid}))
    path.chmod(0o644)
    where.chmod(0o755)
    return path


def test_a_live_drill_host_may_run_its_tools(tmp_path: Path) -> None:
    tool(tmp_path, "neuron-ls", "echo drill")
    marker(tmp_path, os.getpid())
    assert HostRoot(tmp_path).run(("neuron-ls",)).stdout == b"drill\n"


@pytest.mark.parametrize("pid", [1, 0, -1, True, "7", None, 2**40, 4_000_000])
def test_a_drill_host_without_a_living_owner_is_files(tmp_path: Path, pid: object) -> None:
    marker(tmp_path, pid)
    assert not HostRoot(tmp_path).may_run()


def test_a_marker_that_others_may_write_counts_for_nothing(tmp_path: Path) -> None:
    marker(tmp_path, os.getpid()).chmod(0o666)
    assert not HostRoot(tmp_path).may_run()
    marker(tmp_path, os.getpid())
    tmp_path.chmod(0o777)
    assert not HostRoot(tmp_path).may_run()


@ROOT
def test_a_marker_of_another_user_counts_for_nothing(tmp_path: Path) -> None:
    os.chown(marker(tmp_path, os.getpid()), 65534, 65534)
    assert not HostRoot(tmp_path).may_run()


def test_a_hanging_tool_ends_with_its_children(tmp_path: Path) -> None:
    tool(tmp_path, "neuron-ls", f"sleep 60 & echo $! > {tmp_path}/child; echo partial; wait")
    begun = time.monotonic()
    answer = HostRoot(tmp_path, allow_exec=True).run(("neuron-ls",), timeout=0.5)
    assert time.monotonic() - begun < 5
    assert answer.status is None and "0.5 s" in answer.reason and answer.stdout == b"partial\n"
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().split(")")[1].split()[0] == "Z":
            break
        time.sleep(0.02)
    else:
        pytest.fail("the child of the tool still runs")


def test_a_flood_of_output_is_cut(tmp_path: Path) -> None:
    tool(tmp_path, "neuron-ls", "yes")
    answer = HostRoot(tmp_path, allow_exec=True).run(("neuron-ls",), timeout=20, limit=100_000)
    assert answer.status is None and "output" in answer.reason and len(answer.stdout) <= 100_000


def test_tools_get_no_input_and_few_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")
    monkeypatch.setenv("LD_PRELOAD", "")
    tool(tmp_path, "neuron-ls", "cat; env")
    out = HostRoot(tmp_path, allow_exec=True).run(("neuron-ls",)).stdout
    assert b"planted" not in out and b"LC_ALL=C" in out


def test_what_is_not_there_is_not_installed(tmp_path: Path) -> None:
    assert HostRoot(tmp_path, allow_exec=True).run(("neuron-ls",)).reason == "not installed"


def test_numbers_of_names() -> None:
    assert numbered(["neuron10", "neuron2", "neuron", "neuronX", "neuron²", "ng0n1"], "neuron") == [2, 10]


def test_imports_without_linux_modules() -> None:
    """macOS: no fcntl tricks, no Linux constants at import time."""
    code = (
        "import os, sys, pkgutil, importlib\n"
        "sys.platform = 'darwin'\n"
        "for name in ('O_NOFOLLOW', 'O_CLOEXEC', 'ST_RDONLY', 'geteuid', 'statvfs', 'killpg'): "
        "hasattr(os, name) and delattr(os, name)\n"
        "import neuronwatch.source.host as host\n"
        "for item in pkgutil.iter_modules(host.__path__): importlib.import_module('neuronwatch.source.host.' + item.name)\n"
        "found = list(host.host_sources(host.HostRoot('/')))\n"
        "assert any('not a Linux host' in getattr(item, 'reason', '') for item in found)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
