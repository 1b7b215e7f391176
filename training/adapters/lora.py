"""LoRA by peft. Its scale stands in one tensor for all layers, so that a change of alpha is no new graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAME = "default"


def apply(model: Any, peft: Any) -> Any:
    import torch
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=peft.r, lora_alpha=peft.alpha, lora_dropout=peft.dropout, target_modules=peft.targets, task_type="CAUSAL_LM"
    )
    made = get_peft_model(model, config)
    one = torch.tensor(float(peft.alpha) / peft.r)
    for layer in _layers(made):
        layer.scaling[NAME] = one
    return made


def scale(model: Any, alpha: float) -> None:
    """Takes effect from the next forward on; the configuration that is saved says it too."""
    config = model.peft_config[NAME]
    config.lora_alpha = alpha
    for layer in _layers(model):
        layer.scaling[NAME].fill_(alpha / config.r)
        break  # one tensor for all


def export(model: Any, tokenizer: Any, output: Path) -> Path:
    """The adapter in `output/adapter`, the merged model in `output/final`."""
    model.save_pretrained(output / "adapter")
    final = output / "final"
    model.merge_and_unload().save_pretrained(final, safe_serialization=True)
    tokenizer.save_pretrained(final)
    return final


def _layers(model: Any) -> Any:
    return (module for module in model.modules() if isinstance(getattr(module, "scaling", None), dict))
