"""A model and its tokenizer from a directory or hub id, also one that transformers 5 wrote and 4 would misread."""

from __future__ import annotations

import json
from typing import Any

import checks
from checks import rope
from config import Config, ConfigError

V5_TOKENIZER = "TokenizersBackend"
"""What transformers 5 calls the class of a plain fast tokenizer; 4 knows no such class and refuses."""


def load(config: Config) -> tuple[Any, Any, list[str]]:
    """Model, tokenizer, and what was mended or accepted. Raises ConfigError."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    path, said = config.model.path, []
    seen = checks.look(path, config.model.dtype, config.model.rope_theta)
    said += checks.pass_all(checks.BEFORE, seen, config.model.accept)
    try:
        settings = AutoConfig.from_pretrained(path)
        theta = config.model.rope_theta or (rope.stated(seen.stated) if "rope_theta" not in seen.stated else None)
        if theta and getattr(settings, "rope_theta", theta) != theta:
            source = "configuration" if config.model.rope_theta else "rope_parameters, as transformers 5 writes it"
            said.append(f"rope_theta {settings.rope_theta:.9g} is now {theta:.9g} ({source})")
            settings.rope_theta = theta
        tokenizer = _tokenizer(path, seen, said)
        model = AutoModelForCausalLM.from_pretrained(path, config=settings, dtype=getattr(torch, config.model.dtype))
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"model.path = {path}: {str(error).strip().splitlines()[0]}") from error
    seen.model, seen.tokenizer = model, tokenizer
    said += checks.pass_all(checks.LOADED, seen, config.model.accept)
    return model, tokenizer, said


def _tokenizer(path: str, seen: checks.Seen, said: list[str]) -> Any:
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    kind: Any = AutoTokenizer
    if seen.directory is not None:
        place = seen.directory / "tokenizer_config.json"
        try:
            written = json.loads(place.read_text(encoding="utf-8")).get("tokenizer_class") if place.exists() else None
        except (ValueError, AttributeError) as error:
            raise ConfigError(f"{place}: {error}") from error
        if written == V5_TOKENIZER:
            kind = PreTrainedTokenizerFast
            said.append(f"tokenizer_class {V5_TOKENIZER} of transformers 5 was read as PreTrainedTokenizerFast")
    tokenizer = kind.from_pretrained(path)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer
