"""The trained model as a directory that plain transformers loads: weights, config, tokenizer; of LoRA also the adapter alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def export(model: Any, tokenizer: Any, output: Path) -> Path:
    """`output/final`; of LoRA the merged model there and the adapter in `output/adapter`."""
    if hasattr(model, "merge_and_unload"):
        model.save_pretrained(output / "adapter")
        model = model.merge_and_unload()
    final = output / "final"
    model.save_pretrained(final, safe_serialization=True)
    tokenizer.save_pretrained(final)
    return final
