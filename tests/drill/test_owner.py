"""A host of a user who is not root, and who may inject: with another uid, on a Python that everybody may run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import neuronwatch
from neuronwatch.drill import control

SOURCE = Path(neuronwatch.__file__).parents[1]
SYSTEM = Path("/usr/bin/python3")
NOBODY = 65534


def can_run() -> bool:
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or not SYSTEM.exists():
        return False
    test = [str(SYSTEM), "-c", "import sys, neuronwatch; sys.exit(sys.version_info < (3, 10))"]
    return subprocess.run(test, user=NOBODY, cwd=SOURCE, check=False).returncode == 0 and SOURCE.stat().st_mode & 0o005 == 0o005


pytestmark = pytest.mark.skipif(not can_run(), reason="needs root, and a Python and sources that another user may read")


def argv(*arguments: str) -> list[str]:
    return [str(SYSTEM), "-m", "neuronwatch", "drill", *arguments]


def as_nobody(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv(*arguments), user=NOBODY, group=NOBODY, extra_groups=[], cwd=SOURCE, capture_output=True, text=True,
                          timeout=60, env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"})  # fmt: skip


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that everybody may enter; pytest closes its own to others."""
    made = Path(tempfile.mkdtemp(prefix="neuronwatch-drill-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def test_a_host_needs_no_root(public: Path) -> None:
    """All that it writes again is its own, also what nobody may write (0444), and what it had taken all rights from."""
    home = public / "nobody"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    root = home / "host"
    host = subprocess.Popen(argv("host", "--dir", str(root), "--instance", "trn1.2xlarge", "--rate", "20"), user=NOBODY, group=NOBODY,
                            extra_groups=[], cwd=SOURCE, stderr=subprocess.PIPE, text=True,
                            env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"})  # fmt: skip
    try:
        deadline = time.monotonic() + 30
        while not (root / control.DIRECTORY / control.SOCKET).exists():
            assert host.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        for fault in ("source.processes.denied", "source.runtime-log.denied", "source.sysfs.garbled", "hw.uncorrectable-memory"):
            assert as_nobody("inject", str(root), fault).returncode == 0
        assert as_nobody("clear", str(root)).returncode == 0
        uptime = (root / "proc/uptime").read_text()
        deadline = time.monotonic() + 20
        while (root / "proc/uptime").read_text() == uptime:
            assert host.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        host.terminate()
        assert host.wait(20) == 0
        assert host.stderr is not None and "broke" not in host.stderr.read()
    finally:
        if host.poll() is None:
            host.kill()
            host.wait()


def test_another_user_may_not_inject(public: Path) -> None:
    root = public / "host"
    (root / control.DIRECTORY).mkdir(parents=True)
    server = control.Server(root)
    try:
        assert (root / control.DIRECTORY / control.SOCKET).stat().st_mode & 0o777 == 0o600
        refused = as_nobody("inject", str(root), "hw.uncorrectable-memory")
        assert refused.returncode == 64 and "permission denied" in refused.stderr
        root.chmod(0o700)
        refused = as_nobody("clear", str(root))
        assert refused.returncode == 64 and "permission denied" in refused.stderr
    finally:
        server.close()
