"""Hugging Face model files: config.json with its `neuron` section, neuron_config.json, generation_config.json,
adapter_config.json, tokenizer_config.json, safetensors indexes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from neuronwatch.model.records import Record, Value
from neuronwatch.parse._json import Places, as_map, get, head_keys, load, texts
from neuronwatch.parse._text import to_bool, to_float, to_int
from neuronwatch.parse.api import Document, FileFormat

_CONFIG_KEYS = {
    "model_type",
    "architectures",
    "num_attention_heads",
    "hidden_size",
    "num_hidden_layers",
    "vocab_size",
    "rope_theta",
    "n_positions",
    "n_embd",
    "n_head",
    "id2label",
    "num_key_value_heads",
    "max_position_embeddings",
    "rope_scaling",
    "rope_parameters",
    "d_model",
    "transformers_version",
    "tie_word_embeddings",
    "head_dim",
    "intermediate_size",
    "_name_or_path",
    "hidden_act",
}
_NEURON_KEYS = {
    "_serialized_key",
    "tp_degree",
    "num_cores",
    "compiler_version",
    "neuronxcc_version",
    "optimum_neuron_version",
    "auto_cast_type",
    "static_batch_size",
    "static_sequence_length",
    "checkpoint_id",
    "neuron_config",
    "continuous_batching",
    "ctx_batch_size",
    "torch_dtype",
    "on_device_sampling",
    "logical_nc_config",
    "max_context_length",
    "compiler_type",
    "batch_size",
    "sequence_length",
    "seq_len",
    "target",
}
_INTEGERS = (
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_size",
    "num_hidden_layers",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "n_embd",
    "sliding_window",
)
DIMENSIONS = frozenset({*_INTEGERS, "rope_theta"})
"""Names that a model's Config class takes and that are facts `config.*`."""
_ALIASES = {
    "n_head": "num_attention_heads",
    "n_layer": "num_hidden_layers",
    "n_embd": "hidden_size",
    "d_model": "hidden_size",
    "num_heads": "num_attention_heads",
    "num_layers": "num_hidden_layers",
}


def _text(value: object) -> Value:
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None


def _number(value: object) -> Value:
    """JSON's 1e6 and 1000000 are both the float 1000000.0; NaN says nothing."""
    number = to_float(value)
    return number if number is not None and math.isfinite(number) else None


def _integer(value: object) -> Value:
    return to_int(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else None


def _rope(config: Mapping[str, object], places: Places) -> Iterator[Record]:
    top = get(config, "rope_theta", _number)
    nested = get(as_map(config.get("rope_parameters")), "rope_theta", _number)
    if top is not None:
        yield places.fact("config.rope_theta", top, "rope_theta")
    elif nested is not None:
        yield places.fact("config.rope_theta", nested, "rope_parameters")
    if nested is not None:
        yield places.fact("config.rope_parameters_theta", nested, "rope_parameters")
    for key in ("rope_scaling", "rope_parameters"):
        scaling = as_map(config.get(key))
        kind = scaling.get("rope_type", scaling.get("type"))
        if isinstance(kind, str) and kind != "default":
            yield places.fact("config.rope_scaling", kind, key)
            factor = get(scaling, "factor", _number)
            if factor is not None:
                yield places.fact("config.rope_scaling_factor", factor, key)
            break
    if top is None and nested is None and "model_type" not in config:
        return
    form = (
        "both"
        if top is not None and nested is not None
        else "top"
        if top is not None
        else "rope_parameters"
        if nested is not None
        else "none"
    )
    yield places.fact("config.rope_form", form, "rope_theta" if top is not None else "rope_parameters")


def config_facts(config: Mapping[str, object], places: Places) -> Iterator[Record]:
    """Facts of a model configuration. For a multimodal one, missing dimensions come from its text part."""
    inner = next(
        (
            as_map(config[key])
            for key in ("text_config", "language_config", "llm_config", "thinker_config")
            if as_map(config.get(key))
        ),
        {},
    )
    merged: dict[str, object] = {
        **{key: value for key, value in inner.items() if key not in ("model_type", "architectures")},
        **config,
    }
    for key, fact_name in (
        ("model_type", "config.model_type"),
        ("_name_or_path", "config.name"),
        ("transformers_version", "config.transformers_version"),
    ):
        value = get(merged, key, _text)
        if value:
            yield places.fact(fact_name, value, key)
    if merged.get("architectures"):
        yield places.fact("config.architectures", texts(merged["architectures"]), "architectures")
    seen: set[str] = set()
    for key in (*_INTEGERS, *_ALIASES):
        value = get(merged, key, _integer)
        name = _ALIASES.get(key, key) if key != "n_embd" or "hidden_size" not in merged else key
        for target in {name, key} & {*_INTEGERS, "n_embd"}:
            if value is not None and target not in seen:
                seen.add(target)
                yield places.fact(f"config.{target}", value, key)
    if as_map(merged.get("id2label")):
        yield places.fact("config.num_labels", len(as_map(merged["id2label"])), "id2label")
    elif get(merged, "num_labels", _integer) is not None:
        yield places.fact("config.num_labels", get(merged, "num_labels", _integer), "num_labels")
    tie = get(merged, "tie_word_embeddings", to_bool)
    if tie is not None:
        yield places.fact("config.tie_word_embeddings", tie, "tie_word_embeddings")
    for key in ("torch_dtype", "dtype"):
        if get(merged, key, _text):
            yield places.fact("config.dtype", str(merged[key]).removeprefix("torch."), key)
            break
    method = get(as_map(merged.get("quantization_config")), "quant_method", _text)
    if method:
        yield places.fact("config.quantization", method, "quantization_config")
    yield from _rope(merged, places)


def artifact_facts(neuron: Mapping[str, object], places: Places) -> Iterator[Record]:
    """Facts of an exported model: optimum-neuron's `neuron` section or neuron_config.json, or NxD Inference's own."""
    inner = as_map(neuron.get("neuron_config"))
    merged: dict[str, object] = {**inner, **{key: value for key, value in neuron.items() if key != "neuron_config"}}
    yield places.fact("artifact.present", True, "neuron" if "neuron" in neuron else next(iter(neuron), ""))
    for name, keys, read in _ARTIFACT:
        for key in keys:
            value = get(merged, key, read)
            if value is not None:
                yield places.fact(f"artifact.{name}", value, key)
                break


_ARTIFACT = (
    ("batch_size", ("static_batch_size", "max_batch_size", "batch_size", "tkg_batch_size"), _integer),
    ("num_cores", ("num_cores", "num_neuron_cores"), _integer),
    ("sequence_length", ("static_sequence_length", "sequence_length", "seq_len", "n_positions", "max_length"), _integer),
    ("compiler_version", ("compiler_version", "neuronxcc_version", "neuron_compiler_version"), _text),
    ("target", ("target", "instance_type"), _text),
    ("auto_cast", ("auto_cast_type", "auto_cast"), _text),
    ("tp", ("tp_degree", "tensor_parallel_size"), _integer),
    ("optimum_version", ("optimum_neuron_version", "optimum_version"), _text),
)


def _is_artifact(keys: set[str]) -> bool:
    if "_serialized_key" in keys or {"neuron_config", "tp_degree"} <= keys:
        return True
    strong = keys & {
        "neuronxcc_version",
        "tp_degree",
        "num_cores",
        "compiler_version",
        "auto_cast_type",
        "logical_nc_config",
        "static_batch_size",
    }
    return len(strong) >= 1 and len(keys & _NEURON_KEYS) >= 2


def _sniff(document: Document) -> float:
    keys = head_keys(document)
    if document.text.lstrip()[:1] != "{":
        return 0.0
    if "log_history" in keys or "HostConfig" in keys or "neuron_runtime_data" in keys:
        return 0.0
    if "peft_type" in keys or ("lora_alpha" in keys and "target_modules" in keys):
        return 0.9
    if "weight_map" in keys:
        return 0.9
    if "tokenizer_class" in keys or "model_max_length" in keys or "added_tokens_decoder" in keys:
        return 0.8 if "model_type" not in keys or "architectures" not in keys else 0.9
    if "neuron" in keys or _is_artifact(keys):
        return 0.85
    if len(keys & _CONFIG_KEYS) >= 2 or ("model_type" in keys and document.size < 65_536):
        return 0.9
    if document.name in ("config.json", "generation_config.json", "adapter_config.json", "tokenizer_config.json"):
        return 0.6 if keys else 0.0
    return 0.6 if len(keys & {"do_sample", "temperature", "eos_token_id", "bos_token_id", "max_new_tokens", "top_p"}) >= 2 else 0.0


def _adapter(root: Mapping[str, object], places: Places) -> Iterator[Record]:
    yield places.fact("adapter.present", True, "peft_type")
    modules = texts(root.get("target_modules"))
    if modules:
        yield places.fact("adapter.target_modules", modules, "target_modules")
    for name, key, read in (
        ("r", "r", _integer),
        ("alpha", "lora_alpha", _number),
        ("base_model", "base_model_name_or_path", _text),
    ):
        value = get(root, key, read)
        if value is not None:
            yield places.fact(f"adapter.{name}", value, key)


def _tokenizer(root: Mapping[str, object], places: Places) -> Iterator[Record]:
    pad = root.get("pad_token")
    token = as_map(pad).get("content") if isinstance(pad, dict) else pad
    yield places.fact("tokenizer.pad_token", token if isinstance(token, str) else None, "pad_token")
    kind, length = get(root, "tokenizer_class", _text), get(root, "model_max_length", _integer)
    if kind is not None:
        yield places.fact("tokenizer.class", kind, "tokenizer_class")
    # transformers writes 1e30 for "no limit"
    if isinstance(length, int) and length < 1 << 40:
        yield places.fact("tokenizer.model_max_length", length, "model_max_length")


def _parse(document: Document) -> Iterator[Record]:
    root = as_map(load(document))
    if not root:
        return
    places = Places(document)
    keys = set(root)
    if "peft_type" in keys or ("lora_alpha" in keys and "target_modules" in keys):
        yield from _adapter(root, places)
    elif "weight_map" in keys:
        total = get(as_map(root.get("metadata")), "total_size", _integer)
        if total is not None:
            yield places.fact("weights.bytes", total, "total_size")
        names = {str(value) for value in as_map(root["weight_map"]).values()}
        yield places.fact("weights.files", len(names), "weight_map")
    elif "tokenizer_class" in keys or "added_tokens_decoder" in keys or ("model_max_length" in keys and "model_type" not in keys):
        yield from _tokenizer(root, places)
    elif _is_artifact(keys) and not ({"model_type", "architectures"} <= keys):
        yield from artifact_facts(root, places)
    else:
        yield from config_facts(root, places)
        neuron = as_map(root.get("neuron")) or as_map(root.get("neuron_config"))
        if neuron:
            yield from artifact_facts(neuron, places)


FORMAT = FileFormat(name="hf-config", kind="config", sniff=_sniff, parse=_parse)
