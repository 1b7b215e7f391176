"""Bottleneck adapters after each attention and each MLP: x + scale * up(silu(down(x))). Nothing of the model's forward changes.

It is not linear, so it cannot be merged into the weights; it is exported as its own weights with a manifest that names the base,
and `load` puts both together again. `up` begins at 0: the first step starts from the base model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FORMAT = "neuronwatch.bottleneck/1"
PLACES = ("self_attn", "mlp")
WEIGHTS, MANIFEST = "adapter.safetensors", "adapter.json"


def apply(model: Any, peft: Any) -> Any:
    """`peft.width` inner units, scale alpha / width. The base is frozen."""
    model.enable_input_require_grads()  # a checkpointed layer has no gradient where nothing that goes in asks for one
    return attach(model, peft.width, peft.alpha)


def attach(model: Any, width: int, alpha: float) -> Any:
    import torch

    for weights in model.parameters():
        weights.requires_grad_(False)
    size, like = model.config.hidden_size, next(model.parameters())
    generator = torch.Generator().manual_seed(0)
    for layer in model.model.layers:
        for place in PLACES:
            host = getattr(layer, place)
            adapter = _layer(size, width, generator).to(dtype=like.dtype)
            adapter.register_buffer("scale", torch.tensor(alpha / width, dtype=like.dtype))
            host.bottleneck = adapter
            host.register_forward_hook(_hook)
    model.bottleneck_width, model.bottleneck_alpha = width, alpha
    return model


def _layer(size: int, width: int, generator: Any) -> Any:
    import torch

    adapter = torch.nn.Module()
    adapter.down = torch.nn.Linear(size, width)
    adapter.up = torch.nn.Linear(width, size)
    with torch.no_grad():
        adapter.down.weight.normal_(0.0, size**-0.5, generator=generator)
        for zero in (adapter.down.bias, adapter.up.weight, adapter.up.bias):
            zero.zero_()
    return adapter


def _hook(host: Any, _given: Any, made: Any) -> Any:
    import torch

    first = made[0] if isinstance(made, tuple) else made
    adapter = host.bottleneck
    first = first + adapter.scale * adapter.up(torch.nn.functional.silu(adapter.down(first)))
    return (first, *made[1:]) if isinstance(made, tuple) else first


def scale(model: Any, alpha: float) -> None:
    """Takes effect from the next forward on. A buffer is filled: no new graph."""
    model.bottleneck_alpha = alpha
    for adapter in _adapters(model).values():
        adapter.scale.fill_(alpha / model.bottleneck_width)


def export(model: Any, tokenizer: Any, output: Path) -> Path:
    """`output/final`: weights and manifest of the adapter, and the tokenizer. The base is named, not copied."""
    from safetensors.torch import save_file

    final = output / "final"
    final.mkdir(parents=True, exist_ok=True)
    config = model.config
    weights = {name: value.contiguous() for name, value in model.state_dict().items() if ".bottleneck." in name}
    save_file(weights, final / WEIGHTS)
    manifest = {
        "format": FORMAT, "base": config.name_or_path, "width": model.bottleneck_width, "alpha": model.bottleneck_alpha,
        "mergeable": False,
        "hidden_size": config.hidden_size, "num_hidden_layers": config.num_hidden_layers, "places": list(PLACES),
    }  # fmt: skip
    (final / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    tokenizer.save_pretrained(final)
    return final


def load(directory: Path, base: str = "") -> Any:
    """Base and adapter together; `base` names another place of the base. Raises ValueError where they do not fit, OSError."""
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{directory / MANIFEST}: not of the format {FORMAT}")
    model = AutoModelForCausalLM.from_pretrained(base or manifest["base"])
    for key in ("hidden_size", "num_hidden_layers"):
        if getattr(model.config, key) != manifest[key]:
            raise ValueError(
                f"{directory}: made for {key} {manifest[key]}, {base or manifest['base']} has {getattr(model.config, key)}"
            )
    model = attach(model, manifest["width"], manifest["alpha"])
    weights = load_file(directory / WEIGHTS)
    missing = {name for name in model.state_dict() if ".bottleneck." in name} ^ set(weights)
    if missing:
        raise ValueError(f"{directory / WEIGHTS}: other tensors than the manifest asks for: {', '.join(sorted(missing)[:3])}")
    model.load_state_dict(weights, strict=False)
    return model


def _adapters(model: Any) -> dict[str, Any]:
    return {name: module for name, module in model.named_modules() if name.endswith(".bottleneck")}
