"""The published configuration of the base model, and the rope theta that the installed transformers really uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from neuronwatch.data import models
from neuronwatch.data.models import How, Published
from neuronwatch.judge.derive._packages import environments, first_text, number
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin
from neuronwatch.model.version import Version

COPIED = (
    "model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
    "vocab_size", "max_position_embeddings", "rope_scaling", "params",
)  # fmt: skip
DIMENSIONS = (*models.COMPARED, "vocab_size", "max_position_embeddings")
DEFAULT_THETA = 10_000.0
"""What transformers takes when config.json has no theta."""
ROPE_TYPES = (
    "llama", "qwen2", "qwen3", "qwen3_moe", "qwen2_moe", "mistral", "mixtral", "gemma", "gemma2", "phi3", "olmo2", "granite",
)  # fmt: skip


def derive(facts: FactsView) -> Iterable[Fact]:
    yield from _effective(facts)
    found = _find(facts)
    if found is None:
        return
    candidates, how, origin = found
    yield Fact("published.match", how, origin)
    thetas = {item.rope_theta for item in candidates}
    if len(thetas) == 1:
        yield Fact("published.rope_theta", thetas.pop(), origin)
    else:
        # Variants of one base differ in theta: a value that one of them has published is that variant's.
        stated = facts.get("config.rope_theta")
        if stated not in thetas:
            return
        candidates = tuple(item for item in candidates if item.rope_theta == stated)
        yield Fact("published.rope_theta", float(candidates[0].rope_theta), origin)
    yield Fact("published.name", candidates[0].id, origin)
    for name in COPIED:
        values = {getattr(item, name) for item in candidates}
        if len(values) == 1:
            yield Fact(f"published.{name}", values.pop(), origin)


def _find(facts: FactsView) -> tuple[tuple[Published, ...], How, Origin] | None:
    dimensions = _dimensions(facts)
    unknown_name = False
    for name in ("config.name", "adapter.base_model", "launch.model"):
        for reading in facts.all(name):
            if not isinstance(reading.value, str) or not reading.value:
                continue
            found = models.by_name(reading.value, dimensions)
            if found is not None:
                return (found[0],), found[1], reading.origin
            unknown_name = unknown_name or bool(re.fullmatch(r"[\w.-]+/[\w.-]+", reading.value))
    model_type = first_text(facts, "config.model_type")
    if model_type is None or unknown_name:
        return None  # a hub name that the table does not have may be a model of its own with the same dimensions
    same = models.by_dimensions(str(model_type.value), dimensions)
    return (same, "dimensions", model_type.origin) if same else None


def _dimensions(facts: FactsView) -> Mapping[str, int]:
    """Dimensions of one config.json: those of the file that states the model type or the hidden size."""
    anchor = facts.first("config.hidden_size") or facts.first("config.model_type")
    if anchor is None:
        return {}
    found = {}
    for name in DIMENSIONS:
        for reading in facts.all(f"config.{name}"):
            value = number(reading.value)
            if reading.origin.path == anchor.origin.path and value is not None:
                found[name] = value
                break
    return found


def _effective(facts: FactsView) -> Iterable[Fact]:
    """transformers 4 reads `rope_theta` at the top of config.json only; a file written by transformers 5 keeps it in
    `rope_parameters`, and 4 then takes its default without a word."""
    model_type = first_text(facts, "config.model_type")
    if model_type is None or model_type.value not in ROPE_TYPES:
        return
    form = facts.get("config.rope_form")
    nested = facts.first("config.rope_parameters_theta")
    top = facts.first("config.rope_theta")
    if form is None:
        form = "rope_parameters" if nested is not None and top is None else "top" if top is not None else None
    if form == "top" and top is not None:
        yield Fact("config.rope_effective", top.value, top.origin)
        return
    version, where = _transformers(facts)
    if version is None:
        return
    origin = (nested or top or model_type).origin
    if form == "none":
        yield Fact("config.rope_effective", DEFAULT_THETA, model_type.origin)
    elif form == "rope_parameters":
        new = version >= Version("5")
        value = (nested or top).value if new and (nested or top) else DEFAULT_THETA  # type: ignore[union-attr]  # not None here
        yield Fact("config.rope_effective", value, origin if new else where)
    elif form == "both" and top is not None:
        value = nested.value if version >= Version("5") and nested is not None else top.value
        yield Fact("config.rope_effective", value, origin)


def _transformers(facts: FactsView) -> tuple[Version | None, Origin]:
    for item in environments(facts):
        version = item.version("transformers")
        if version is not None:
            return Version(version), item.origin("transformers")
    return None, Origin("")
