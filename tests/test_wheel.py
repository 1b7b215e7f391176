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
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", directory, ROOT], check=True
    )
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
    """Another user, no writable home or cache: the same answer."""
    (tmp_path / "job.log").write_text(LOG)
    nowhere = tmp_path / "nowhere"
    script = (
        "import os, sys; os.setgid(65534); os.setuid(65534); from neuronwatch.cli.main import main; "
        f"sys.exit(main(['diagnose', {str(tmp_path / 'job.log')!r}, '--format', 'json']))"
    )
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == os.geteuid() and directory != Path("/"):
            directory.chmod(directory.stat().st_mode | 0o055)
    for path in installed.parents[1].parents:
        if path.stat().st_uid == os.geteuid() and str(path) != "/":
            path.chmod(path.stat().st_mode | 0o055)
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    interpreter = Path(os.path.realpath(installed))
    if any(not parent.stat().st_mode & 0o001 for parent in interpreter.parents):
        # The venv's own interpreter lies in a directory that other users may not enter: take the system's.
        pytest.skip(f"other users cannot reach {interpreter}")
    result = subprocess.run(
        [installed, "-B", "-c", script], cwd="/", capture_output=True, text=True, timeout=60, check=False,
        env={"HOME": str(nowhere), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert json.loads(result.stdout)["findings"][0]["fault"] == "env.disk-full", result.stderr


@pytest.mark.wheel
def test_wheel_carries_its_data(installed, tmp_path):
    result = run(installed, "rules", "list", cwd=tmp_path)
    assert result.stdout.count("\n") > 140, result.stderr
