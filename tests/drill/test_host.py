"""The simulated host as neuronwatch sees it: healthy of itself, ill when a fault is injected, healthy again when it is cleared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from drill.conftest import MakeHost, run

from neuronwatch.cli.main import main
from neuronwatch.drill import spec


def diagnose(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    status = main(["diagnose", "--host-root", str(root), "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("instance", spec.known())
def test_a_healthy_host_of_every_type_is_healthy(make_host: MakeHost, instance: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = diagnose(make_host(instance, seconds=40).root, capsys)
    assert (status, found["verdict"]) == (0, "healthy"), found["findings"]


@pytest.mark.parametrize("load", ["idle", "serve", "mixed"])
def test_every_load_is_healthy(make_host: MakeHost, load: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert diagnose(make_host("trn1.32xlarge", workload=load, seconds=40).root, capsys)[0] == 0


def test_a_fault_is_seen_and_gone_when_it_is_cleared(make_host: MakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host = make_host()
    host.inject("hw.uncorrectable-memory")
    run(host, 10)
    status, found = diagnose(host.root, capsys)
    causes = [item for item in found["findings"] if item["role"] == "cause"]  # type: ignore[union-attr, attr-defined]
    assert status == 2 and causes[0]["fault"] == "hw.uncorrectable-memory"
    assert host.clear(None) == ["hw.uncorrectable-memory"]
    run(host, 120)
    assert not host.running
    assert host.machine.devices[0].ecc["sram_ecc_uncorrected"] == 0
    assert host.machine.jobs[0].processes, "the job starts anew on the new hardware"


def test_a_near_miss_stays_silent(make_host: MakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host = make_host(driver="2.30.2.0")
    host.inject("hw.uncorrectable-memory", near_miss=True)
    run(host, 60)
    assert host.machine.devices[0].ecc["sram_ecc_corrected"] > 1
    assert diagnose(host.root, capsys)[0] == 0


def test_the_same_seed_gives_the_same_machine(make_host: MakeHost) -> None:
    one, other = make_host(seed=7), make_host(seed=7)
    assert one.machine.identity == other.machine.identity
    assert [d.serial for d in one.machine.devices] == [d.serial for d in other.machine.devices]
    assert one.machine.identity != make_host(seed=8).machine.identity


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "neuronwatch", "drill", *arguments], capture_output=True, text=True, timeout=60)


def test_a_host_runs_until_it_is_stopped(tmp_path: Path) -> None:
    root = tmp_path / "host"
    process = subprocess.Popen([sys.executable, "-m", "neuronwatch", "drill", "host", "--dir", str(root), "--instance", "inf2.xlarge",
                                "--rate", "20"], stderr=subprocess.PIPE)  # fmt: skip
    try:
        marker = root / ".neuronwatch-drill-host"
        deadline = time.monotonic() + 30
        while not marker.exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        told = json.loads(marker.read_text())
        assert abs(told.pop("begin") - time.time()) < 60
        assert told == {"pid": process.pid, "rate": 20.0, "instance": "inf2.xlarge"}
        assert marker.stat().st_mode & 0o777 == 0o600
        assert cli("inject", str(root), "hw.uncorrectable-memory").returncode == 0
        again = cli("inject", str(root), "hw.uncorrectable-memory")
        assert again.returncode == 64 and "injected already" in again.stderr
        wrong = cli("inject", str(root), "hw.uncorectable-memory")
        assert wrong.returncode == 64 and "did you mean `hw.uncorrectable-memory`" in wrong.stderr
        assert "hw.uncorrectable-memory" in cli("clear", str(root)).stdout
        second = cli("host", "--dir", str(root), "--instance", "inf2.xlarge")
        assert second.returncode == 64 and "runs there already" in second.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert not marker.exists()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_where_no_host_runs(tmp_path: Path) -> None:
    for action in ("inject", "clear"):
        result = cli(action, str(tmp_path), "hw.uncorrectable-memory")
        assert result.returncode == 64 and "no drill host runs there" in result.stderr
    (tmp_path / "something").write_text("of mine")
    result = cli("host", "--dir", str(tmp_path), "--instance", "trn1.2xlarge")
    assert result.returncode == 64 and "is not empty" in result.stderr
    assert os.listdir(tmp_path) == ["something"]
    result = cli("host", "--dir", str(tmp_path / "new"), "--instance", "g5.xlarge")
    assert result.returncode == 64 and "trn1.32xlarge" in result.stderr


def test_a_host_without_its_directory_ends(tmp_path: Path) -> None:
    root = tmp_path / "host"
    process = subprocess.Popen([sys.executable, "-m", "neuronwatch", "drill", "host", "--dir", str(root), "--instance", "trn1.2xlarge",
                                "--rate", "10"], stderr=subprocess.PIPE, text=True)  # fmt: skip
    try:
        deadline = time.monotonic() + 30
        while not (root / ".drill" / "control.sock").exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        root.rename(tmp_path / "away")
        assert process.wait(20) == 1
        assert process.stderr is not None and "the directory of the host is gone" in process.stderr.read()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
