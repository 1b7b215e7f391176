"""History of packages fills in and never beats what is installed now."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_support import diagnose

HISTORY = """Start-Date: 2026-03-01  10:00:00
Upgrade: aws-neuronx-dkms:amd64 (2.27.4.0, 2.28.0.0)
End-Date: 2026-03-01  10:00:09

Start-Date: 2026-06-01  10:00:00
Upgrade: aws-neuronx-dkms:amd64 (2.28.0.0, 2.29.0.0)
End-Date: 2026-06-01  10:00:09
"""
DPKG = "ii  aws-neuronx-dkms  2.30.2.0  amd64  aws-neuronx driver in DKMS format.\n"


@pytest.mark.parametrize("names", [("apt-history.log", "dpkg-l.txt"), ("z-history.log", "a-dpkg.txt")])
def test_what_is_installed_beats_history(tmp_path: Path, names: tuple[str, str]) -> None:
    (tmp_path / names[0]).write_text(HISTORY)
    (tmp_path / names[1]).write_text(DPKG)
    facts = diagnose(tmp_path).facts
    assert facts["driver.package"] == facts["pkg.aws_neuronx_dkms"] == "2.30.2.0"
    assert facts["packages.changed"]


def test_the_last_of_a_history_fills_in(tmp_path: Path) -> None:
    (tmp_path / "history.log").write_text(HISTORY)
    assert diagnose(tmp_path).facts["driver.package"] == "2.29.0.0"


def kernel(version: str) -> str:
    return f"[    0.000000] Linux version {version} (buildd@x) (gcc) #1 SMP\n"


def driver(version: str) -> str:
    return f"[    8.210000] Neuron Driver Started with Version:{version}-abc1 at: 2026-nov-28 01:09:57.1\n"


def test_of_the_kernel_log_the_last_boot_and_the_last_driver_count(tmp_path: Path) -> None:
    log = tmp_path / "kern.log"
    log.write_text(kernel("6.8.0-1033-aws") + driver("2.20.1.0") + driver("2.24.7.0"))
    assert diagnose(tmp_path).facts["driver.loaded"] == "2.24.7.0"
    log.write_text(log.read_text() + kernel("6.8.0-1036-aws"))
    facts = diagnose(tmp_path).facts
    assert "driver.loaded" not in facts, "after the boot none was loaded"
    log.write_text(log.read_text() + driver("2.25.1.0"))
    assert diagnose(tmp_path).facts["driver.loaded"] == "2.25.1.0"
    (tmp_path / "version.txt").write_text("$ cat /sys/module/neuron/version\n2.26.0.0\n")
    assert diagnose(tmp_path).facts["driver.loaded"] == "2.26.0.0", "the kernel itself knows better"
