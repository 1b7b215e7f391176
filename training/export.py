"""The trained model as a directory: of all weights and LoRA one that plain transformers loads, else as its adapter says."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def export(model: Any, tokenizer: Any, output: Path, adapter: Any) -> Path:
    """`output/final`."""
    if adapter is not None:
        made: Path = adapter.export(model, tokenizer, output)
        return made
    final = output / "final"
    model.save_pretrained(final, safe_serialization=True)
    tokenizer.save_pretrained(final)
    return final
