"""What is trained in place of all weights: `lora` and `bottleneck`, one module each with `apply(model, peft) -> model`,
`scale(model, alpha)` and `export(model, tokenizer, output) -> directory`."""

from __future__ import annotations

import importlib
from typing import Any


def choose(kind: str) -> Any:
    """The module; None for all weights."""
    return None if kind == "none" else importlib.import_module(f"adapters.{kind}")
