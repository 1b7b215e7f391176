"""Where a run trains: `cpu` and `neuron`, one module each with `train(job) -> model`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any


def choose(name: str) -> Any:
    """The module of a backend; `auto`: neuron where there is a device."""
    if name == "auto":
        name = "neuron" if Path("/dev/neuron0").exists() else "cpu"
    return importlib.import_module(f"backends.{name}")
