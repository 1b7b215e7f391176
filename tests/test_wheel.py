"""The wheel is self-contained: installed into an empty venv, away from the checkout, also read-only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOG = "train.py: OSError: [Errno 28] No space left on device: '/fsx/out/checkpoint-400'\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The Python of a venv that holds nothing but the wheel and its dependencies."""
    directory = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", directory, ROOT], check=True)
    (wheel,) = directory.glob("neuronwatch-*.whl")
    venv.create(directory / "venv", with_pip=True)
    python = directory / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    return python


def run(python: Path, *args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python.parent / "neuronwatch", *args], cwd=cwd, capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **env},
    )  # fmt: skip


@pytest.mark.wheel
def test_installed_wheel_diagnoses(installed, tmp_path):
    (tmp_path / "job.log").write_text(LOG)
    result = run(installed, "diagnose", "job.log", "--format", "json", cwd=tmp_path)
    document = json.loads(result.stdout)
    assert document["findings"][0]["fault"] == "env.disk-full", result.stderr
    assert result.returncode == 2


@pytest.mark.wheel
def test_read_only_without_a_cache(installed, tmp_path):
    """Nothing may be written: not the installation, not a home, not a cache. Root keeps its uid but no capability."""
    (tmp_path / "job.log").write_text(LOG)
    tree = [installed.parents[1], *(path for path in installed.parents[1].rglob("*") if path.is_dir()), tmp_path]
    for path in tree:
        path.chmod(0o555)
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    try:
        blocked = subprocess.run([*drop, "touch", tmp_path / "x"], capture_output=True, check=False)
        assert blocked.returncode != 0, "the test could still write"
        result = subprocess.run(
            [*drop, installed.parent / "neuronwatch", "diagnose", tmp_path / "job.log", "--format", "json"],
            cwd="/", capture_output=True, text=True, timeout=60, check=False,
            env={"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": os.environ["PATH"]},
        )  # fmt: skip
    finally:
        for path in tree:
            path.chmod(0o755)
    assert json.loads(result.stdout)["findings"][0]["fault"] == "env.disk-full", result.stderr


@pytest.mark.wheel
def test_wheel_carries_its_data(installed, tmp_path):
    result = run(installed, "rules", "list", cwd=tmp_path)
    assert result.stdout.count("\n") > 140, result.stderr
