"""The daemon on a simulated host: sees a fault, names it with what follows, sees it go; leaves no child behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from daemon_support import PATIENCE, Daemon, cli, until


@pytest.fixture
def host(tmp_path):
    more = ["--dir", str(tmp_path / "h"), "--instance", "trn1.2xlarge", "--rate", "20"]
    argv = [sys.executable, "-m", "neuronwatch", "drill", "host", *more]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        until((tmp_path / "h/.neuronwatch-drill-host").exists, "the host")
        yield tmp_path / "h"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def test_a_fault_is_seen_named_and_gone_and_no_child_stays(host, tmp_path):
    with Daemon(host, tmp_path / "s") as daemon, daemon.client() as client:
        until(lambda: client.call("status")["verdict"] == "healthy", "a healthy host")
        assert client.call("snapshot")["metrics"]["core.utilization"]
        done = cli("drill", "inject", str(host), "hw.uncorrectable-memory")
        assert done.returncode == 0, done.stderr
        until(lambda: [item for item in client.call("incidents", state=["open"])["incidents"]
                       if item["fault"] == "hw.uncorrectable-memory"], "the incident")  # fmt: skip
        until(lambda: len(client.call("incidents", state=["open"])["incidents"][0]["findings"]) > 2, "what follows from it")
        assert cli("drill", "clear", str(host)).returncode == 0
        until(lambda: client.call("incidents", state=["open"])["incidents"] == [], "no incident that is open")
        until(lambda: client.call("status")["verdict"] == "healthy", "a healthy host again")
        assert "hw.uncorrectable-memory" in {item["fault"] for item in client.call("incidents", state=["resolved"])["incidents"]}
        children = descendants(daemon.pid)
        assert children  # neuron-monitor
        assert daemon.end() == 0
        until(lambda: not [pid for pid in children if os.path.exists(f"/proc/{pid}")], "no child is left")
        assert not daemon.socket.exists()
