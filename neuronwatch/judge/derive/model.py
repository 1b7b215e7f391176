"""How large the model is, and whether its weights alone fit the memory of a core."""

from __future__ import annotations

import re
from collections.abc import Iterable

from neuronwatch.data import models
from neuronwatch.judge.derive._packages import first_text, number
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin
from neuronwatch.parse._lazy import lazy

GATED = ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "phi3", "olmo2", "granite", "smollm3")
"""Dense types whose layers are attention plus a gated feed-forward, so that the dimensions give the size."""
BYTES = {"float32": 4, "fp32": 4, "float": 4, "bfloat16": 2, "bf16": 2, "float16": 2, "fp16": 2, "half": 2, "fp8": 1, "int8": 1}
HEADROOM = 0.95
_SIZE = lazy(r"(?:^|[-_/])(\d{1,3}(?:\.\d{1,2})?)b(?:$|[-_./])", re.I)


def derive(facts: FactsView) -> Iterable[Fact]:
    sized = _parameters(facts)
    if sized is not None:
        yield Fact("model.params", *sized)
    weights = _weights(facts, sized)
    if weights is None:
        return
    yield Fact("model.weight_bytes", *weights)
    degree = _degree(facts)
    if degree is None:
        return
    share = weights[0] // degree
    yield Fact("model.bytes_per_core", share, weights[1])
    memory = number(facts.get("instance.core_memory"))
    if memory:
        yield Fact("model.fits_core", share <= memory * HEADROOM, weights[1])


def _parameters(facts: FactsView) -> tuple[int, Origin] | None:
    kind = facts.first("config.model_type")
    if kind is not None and kind.value in GATED:
        names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")
        hidden, layers, heads, wide, vocab = (number(facts.get(f"config.{name}")) or 0 for name in names)
        if hidden and layers and heads and wide and vocab:
            kv_heads = number(facts.get("config.num_key_value_heads")) or heads
            head_dim = number(facts.get("config.head_dim")) or hidden // heads
            tied = facts.get("config.tie_word_embeddings") is True
            return models.parameters(hidden, layers, heads, kv_heads, head_dim, wide, vocab, tied), kind.origin
    published = facts.first("published.params")
    count = number(published.value) if published is not None else None
    if published is not None and count:
        return count, published.origin
    for name in ("launch.model", "config.name", "adapter.base_model"):
        named = first_text(facts, name)
        if named is None:
            continue
        found = models.by_name(str(named.value))
        if found is not None:
            return found[0].params, named.origin
        size = _SIZE.search(str(named.value))
        if size:
            return int(float(size.group(1)) * 1e9), named.origin
    return None


def _weights(facts: FactsView, sized: tuple[int, Origin] | None) -> tuple[int, Origin] | None:
    stored = facts.first("weights.bytes")
    total = number(stored.value) if stored is not None else None
    if stored is not None and total:
        return total, stored.origin
    if sized is None:
        return None
    width = _bytes_each(facts)
    return (sized[0] * width, sized[1]) if width else None


def _bytes_each(facts: FactsView) -> int | None:
    """Bytes of one weight at the run's dtype; None where nothing states it."""
    if str(facts.get("config.quantization") or "").lower() in BYTES:
        return BYTES[str(facts.get("config.quantization")).lower()]
    if facts.get("launch.bf16") is True or facts.get("launch.fp16") is True:
        return 2
    cast = str(facts.get("artifact.auto_cast_type") or facts.get("launch.auto_cast_type") or "").lower()
    for stated in (cast, facts.get("arg.dtype"), facts.get("arg.torch_dtype"), facts.get("config.dtype")):
        width = BYTES.get(str(stated or "").lower().removeprefix("torch."))
        if width:
            return width
    return 2 if facts.get("published.name") is not None else None  # every model of the table is published in 16 bits


def _degree(facts: FactsView) -> int | None:
    """Cores that share the weights: tensor times pipeline degree, or the cores of an export."""
    degree = number(facts.get("launch.tp")) or number(facts.get("artifact.tp"))
    if degree:
        return degree * (number(facts.get("launch.pp")) or 1)
    return number(facts.get("launch.num_cores")) or number(facts.get("artifact.num_cores")) or None
