"""The Python of the jobs, and runs of training/ in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "training"
PYTHON = Path(os.environ.get("NEURONWATCH_JOBS_PYTHON") or ROOT / ".venv-jobs" / "bin" / "python")
needs_torch = pytest.mark.skipif(not PYTHON.exists(), reason=f"no Python with torch: {PYTHON} (`make .venv-jobs/.ready`)")
SHORT = ("train.num_train_epochs=4", "train.logging_steps=1", "train.save_steps=10")


def words(output: Path, *settings: str) -> list[str]:
    return [word for setting in (f"run.output_dir={output}", *settings) for word in ("--set", setting)]


def start(output: Path, *settings: str, emit: Path | None = None, **more: Any) -> subprocess.Popen[str]:
    env = {**os.environ, "OMP_NUM_THREADS": "1", **({"NEURONWATCH_EMIT": str(emit)} if emit else {})}
    return subprocess.Popen([str(PYTHON), str(PROGRAM), *words(output, *settings)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=env, **more)  # fmt: skip


def finished(output: Path, *settings: str, emit: Path | None = None) -> str:
    """What it printed; it must have gone well."""
    process = start(output, *settings, emit=emit)
    said, wrong = process.communicate(timeout=600)
    assert process.returncode == 0, wrong[-3000:]
    return said


def losses(said: str) -> list[tuple[str, str]]:
    return re.findall(r"'loss': (\S+), 'grad_norm': (\S+),", said)


def told(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")] if path.exists() else []


def in_job(script: str, *arguments: str) -> str:
    """A script in the jobs' Python."""
    return subprocess.run([str(PYTHON), "-c", script, *arguments], check=True, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout  # fmt: skip


def module(name: str) -> Any:
    """One of training/'s modules that needs no torch, in this Python."""
    import importlib.util

    sys.path.insert(0, str(PROGRAM))
    before = {key: sys.modules.pop(key) for key in ("config", "rows", "emit") if key in sys.modules}
    try:
        spec = importlib.util.spec_from_file_location(f"training_{name}", PROGRAM / f"{name}.py")
        assert spec is not None and spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = made
        spec.loader.exec_module(made)
        return made
    finally:
        sys.path.remove(str(PROGRAM))
        for key in ("config", "rows", "emit"):
            sys.modules.pop(key, None)
        sys.modules.update(before)
