"""Published configurations of base models (table `published_models`): by name, or by dimensions where there is no name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, cast

from neuronwatch.data import tables
from neuronwatch.model.dataclass import dataclass

How = Literal["name", "derived-name", "dimensions"]
"""How a model was recognised: its own name; a name that contains it and equal dimensions; dimensions alone."""


@dataclass(frozen=True)
class Published:
    """Values of a published config.json. `rope_scaling` is '' when it has none; `experts` is 0 for a dense model."""

    id: str
    aliases: tuple[str, ...]
    model_type: str
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    rope_theta: float
    rope_scaling: str
    experts: int
    moe_intermediate_size: int
    tied: bool
    source: str

    @property
    def params(self) -> int:
        """Number of parameters, from the dimensions (norm and bias vectors of attention left out: below 0.01 %)."""
        return parameters(
            self.hidden_size, self.num_hidden_layers, self.num_attention_heads, self.num_key_value_heads, self.head_dim,
            self.moe_intermediate_size if self.experts else self.intermediate_size, self.vocab_size, self.tied,
            self.experts,
        )  # fmt: skip


def parameters(
    hidden: int, layers: int, heads: int, kv_heads: int, head_dim: int, intermediate: int, vocab: int, tied: bool,
    experts: int = 0,
) -> int:  # fmt: skip
    """Parameters of a Llama-like decoder with gated feed-forward layers (each expert one of them)."""
    attention = 2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim
    feed_forward = 3 * hidden * intermediate * max(experts, 1) + hidden * experts
    return layers * (attention + feed_forward + 2 * hidden) + hidden + vocab * hidden * (1 if tied else 2)


@tables.cached
def _models() -> tuple[Published, ...]:
    fields = list(Published.__annotations__)
    return tuple(
        Published(**{**{name: row[name] for name in fields}, "aliases": tuple(row.get("aliases", ()))})
        for row in tables.load("published_models").rows
    )


def models() -> tuple[Published, ...]:
    return cast("tuple[Published, ...]", _models())


@tables.cached
def _names() -> dict[str, Published]:
    """Lower-case repository names without owner -> model."""
    return {name.split("/")[-1].lower(): item for item in models() for name in (item.id, *item.aliases)}


_NOT_A_NAME = re.compile(r"^(?:snapshots|[0-9a-f]{40}|checkpoint-\d+|models?|final|merged|output|outputs|refs|main|blobs)$")
_PACKING = re.compile(r"[-_.](?:fp8|awq|gptq|int[48]|w[48]a(?:8|16)|bnb-4bit|4bit|8bit|bf16|fp16|gguf|neuron|neuronx)$")


def _candidates(name: str) -> list[str]:
    """The parts of a hub name or path that may name a model, most telling first: `Qwen/Qwen3-8B`, `/data/Qwen3-8B/`,
    `~/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/<hash>`."""
    parts = []
    for part in reversed(re.split(r"[/\\]", name.strip().strip("\"'").lower())):
        part = part.split("--")[-1]
        if part and not _NOT_A_NAME.match(part):
            parts.append(part)
    return parts[:4]


def by_name(name: str, dimensions: Mapping[str, int] | None = None) -> tuple[Published, How] | None:
    """The model of this hub name or path. A name that only contains a published one (a fine-tune) counts when the known
    `dimensions` (keys as in config.json) are those of that model; with none known it does not count."""
    known = cast("dict[str, Published]", _names())
    parts = _candidates(name)
    for part in parts:
        plain = _PACKING.sub("", part)
        found = known.get(part) or known.get(plain)
        if found is not None:
            return (found, "name") if agrees(found, dimensions or {}) is not False else None
    for part in parts[:2]:
        inside = [key for key in known if re.search(rf"(?:^|[-_.]){re.escape(key)}(?:$|[-_.])", part)]
        if inside:
            found = known[max(inside, key=len)]
            if dimensions and agrees(found, dimensions):
                return found, "derived-name"
            return None
    return None


COMPARED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size")
"""Dimensions that tell models apart; vocabularies are often resized by fine-tuning."""


def agrees(model: Published, dimensions: Mapping[str, int]) -> bool | None:
    """Whether the given dimensions are the model's: None when fewer than two of them are known."""
    shared = [name for name in COMPARED if name in dimensions]
    if any(getattr(model, name) != dimensions[name] for name in shared):
        return False
    return True if len(shared) >= 2 else None


def by_dimensions(model_type: str, dimensions: Mapping[str, int]) -> tuple[Published, ...]:
    """All models of that type with these dimensions (at least four must be known). Variants of one base differ in
    rope_theta and positions only; a known `max_position_embeddings` or `vocab_size` narrows them where some agree."""
    if sum(name in dimensions for name in COMPARED) < 4:
        return ()
    found: Iterable[Published] = [m for m in models() if m.model_type == model_type and agrees(m, dimensions)]
    for name in ("max_position_embeddings", "vocab_size"):
        if name in dimensions:
            narrower = [m for m in found if getattr(m, name) == dimensions[name]]
            found = narrower or found
    return tuple(found)
