"""config.json against the headers of the safetensors files beside it: what a loader would fail on late, or fill with noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from checks import Problem, Seen

MEND = "take config.json and weights of the same checkpoint"
LARGEST = 100_000_000
"""Bytes of a header, as safetensors itself allows."""


def check(seen: Seen) -> list[Problem]:
    if seen.directory is None or not (files := sorted(seen.directory.glob("*.safetensors"))):
        return []  # a hub id, or weights of another form: nothing to compare with
    shapes: dict[str, list[int]] = {}
    for file in files:
        try:
            shapes.update(header(file))
        except (OSError, ValueError, KeyError, TypeError) as error:
            return [Problem(f"{file}: its header cannot be read: {error}", "copy it again")]
    return [*_sizes(seen, shapes), *_layers(seen, shapes)]


def header(file: Path) -> dict[str, list[int]]:
    """Shape of each tensor. Raises OSError, ValueError, KeyError, TypeError."""
    with open(file, "rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if not 2 <= length <= LARGEST:
            raise ValueError("no safetensors file")
        entries = json.loads(opened.read(length))
    return {name: list(entry["shape"]) for name, entry in entries.items() if name != "__metadata__"}


def _sizes(seen: Seen, shapes: dict[str, list[int]]) -> list[Problem]:
    said = seen.stated
    hidden, vocabulary, heads = (said.get(key) for key in ("hidden_size", "vocab_size", "num_attention_heads"))
    pairs = said.get("num_key_value_heads", heads)
    width = said.get("head_dim") or (hidden // heads if _numbers(hidden, heads) and heads else None)
    wanted = {
        "model.embed_tokens.weight": ("vocab_size, hidden_size", [vocabulary, hidden]),
        "model.layers.0.self_attn.q_proj.weight": ("num_attention_heads x head_dim, hidden_size", [_product(heads, width), hidden]),
        "model.layers.0.self_attn.k_proj.weight": ("num_key_value_heads x head_dim, hidden_size", [_product(pairs, width), hidden]),
        "model.layers.0.mlp.gate_proj.weight": ("intermediate_size, hidden_size", [said.get("intermediate_size"), hidden]),
    }
    found = []
    for name, (keys, shape) in wanted.items():
        have = shapes.get(name)
        if have is not None and _numbers(*shape) and have != shape:
            found.append(Problem(f"{seen.path}: config.json says {shape} ({keys}) of {name}, the weights are {have}", MEND))
    return found


def _layers(seen: Seen, shapes: dict[str, list[int]]) -> list[Problem]:
    said, found = seen.stated, []
    numbers = {int(parts[2]) for name in shapes if (parts := name.split("."))[:2] == ["model", "layers"] and parts[2].isdecimal()}
    stated = said.get("num_hidden_layers")
    if numbers and _numbers(stated) and numbers != set(range(stated)):
        wrong = f"{seen.path}: config.json says num_hidden_layers = {stated}, the weights have {len(numbers)} layers"
        found.append(Problem(wrong, MEND))
    if numbers and said.get("tie_word_embeddings") is False and "lm_head.weight" not in shapes:
        wrong = f"{seen.path}: tie_word_embeddings is false, but the weights have no lm_head: it would be filled with noise"
        found.append(Problem(wrong, MEND))
    return found


def _numbers(*values: Any) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _product(one: Any, other: Any) -> Any:
    return one * other if _numbers(one, other) else None
