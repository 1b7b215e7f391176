"""The configuration of a run: TOML, sections [run] [model] [data] [peft] [train], changed by `--set section.key=value`.

A key that is not known is an error with file, line and the nearest one that is. The keys of [train] are those of the backend's own
arguments (TrainingArguments, SFTConfig, NeuronSFTConfig), which says later what it does not know.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
BACKENDS = ("auto", "neuron", "cpu")
KINDS = ("none", "lora", "bottleneck")
DTYPES = ("float32", "bfloat16", "float16")
CHECKS = ("dtype", "weights", "rope", "published", "vocabulary")


class ConfigError(Exception):
    """What is wrong and where, in one line for people."""


@dataclass
class Run:
    backend: str = "auto"
    output_dir: str = "output"
    seed: int = 42


@dataclass
class Model:
    """`path`: a directory or hub id; empty: a tiny Qwen3 made from scratch, of these sizes."""

    path: str = ""
    vocab_size: int = 1024
    hidden_size: int = 64
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 16
    intermediate_size: int = 192
    rope_theta: float = 0.0
    """0: as config.json says; of a model from scratch 1,000,000."""
    dtype: str = "float32"
    accept: list[str] = field(default_factory=list)
    """Checks (checks/) whose problems are said and do not stop the run."""


@dataclass
class Data:
    """Files of rows with `prompt` and `completion`, or `messages`. Relative to the configuration's directory, else to this
    program's."""

    train: str = "data/finance-qa.train.jsonl"
    validation: str = "data/finance-qa.validation.jsonl"
    max_length: int = 128
    normalize_punctuation: bool = False


@dataclass
class Peft:
    """`alpha` is divided by r (LoRA) or width (bottleneck). With `alpha_to` it rises from step ramp_start to ramp_end."""

    kind: str = "none"
    r: int = 8
    width: int = 64
    alpha: float = 16.0
    alpha_to: float = 0.0
    ramp_start: int = 0
    ramp_end: int = 0
    dropout: float = 0.0
    targets: list[str] = field(default_factory=lambda: ["q_proj", "k_proj", "v_proj", "o_proj"])


@dataclass
class Config:
    run: Run = field(default_factory=Run)
    model: Model = field(default_factory=Model)
    data: Data = field(default_factory=Data)
    peft: Peft = field(default_factory=Peft)
    train: dict[str, Any] = field(default_factory=dict)
    directory: Path = HERE
    """Relative paths of [data] are looked up here first."""


TRAIN = {
    "per_device_train_batch_size": 16, "gradient_accumulation_steps": 1, "learning_rate": 4e-3, "num_train_epochs": 20,
    "lr_scheduler_type": "cosine", "warmup_ratio": 0.05, "logging_steps": 10, "save_steps": 100, "save_total_limit": 2,
    "weight_decay": 0.0, "max_grad_norm": 1.0,
}  # fmt: skip
"""Of the tiny model, where [model] names no other and the configuration says nothing."""


def load(path: str | None, settings: list[str]) -> Config:
    """Raises ConfigError."""
    text, name = "", path or "(no file)"
    if path:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: {error}") from error
    config = Config(directory=Path(path).resolve().parent if path else HERE)
    for section, values in found.items():
        _section(config, section, values, name, text)
    for setting in settings:
        key, equals, value = setting.partition("=")
        section, dot, option = key.strip().partition(".")
        if not equals or not dot:
            raise ConfigError(f"--set {setting}: SECTION.KEY=VALUE, for example train.learning_rate=1e-4")
        _section(config, section, {option: _value(value.strip())}, f"--set {setting}", "")
    if not config.model.path:
        config.train = {**TRAIN, **config.train}
    if config.run.backend not in BACKENDS:
        raise ConfigError(f"{name}: run.backend = {config.run.backend!r}: one of {', '.join(BACKENDS)}")
    if config.peft.kind not in KINDS:
        raise ConfigError(f"{name}: peft.kind = {config.peft.kind!r}: one of {', '.join(KINDS)}")
    if config.model.dtype not in DTYPES:
        raise ConfigError(f"{name}: model.dtype = {config.model.dtype!r}: one of {', '.join(DTYPES)}")
    for word in config.model.accept:
        if word not in CHECKS:
            raise ConfigError(f"{name}: model.accept: no check {word!r}{_near(str(word), CHECKS)}")
    if min(config.peft.r, config.peft.width) < 1 or config.peft.ramp_end < config.peft.ramp_start:
        raise ConfigError(f"{name}: [peft]: r and width are 1 at least, and ramp_end is not before ramp_start")
    return config


def _section(config: Config, section: str, values: Any, name: str, text: str) -> None:
    known = ("run", "model", "data", "peft", "train")
    if section not in known:
        raise ConfigError(f"{_at(name, text, section)}: no section [{section}]{_near(section, known)}")
    if not isinstance(values, dict):
        raise ConfigError(f"{_at(name, text, section)}: [{section}] is a section, not a value")
    if section == "train":
        config.train.update(values)
        return
    target = getattr(config, section)
    for key, value in values.items():
        if not hasattr(target, key):
            raise ConfigError(f"{_at(name, text, key)}: no key {key!r} in [{section}]{_near(key, vars(target))}")
        now = getattr(target, key)
        if isinstance(now, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not type(now):
            wanted = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "list": "a list"}
            raise ConfigError(f"{_at(name, text, key)}: {section}.{key} must be {wanted[type(now).__name__]}, not {value!r}")
        setattr(target, key, value)


def _near(word: str, known: Any) -> str:
    found = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f"; did you mean {found[0]!r}?" if found else f"; one of {', '.join(known)}"


def _at(name: str, text: str, key: str) -> str:
    pattern = re.compile(rf"^\s*(?:\[\s*)?{re.escape(key)}\s*[\].=]")
    for number, line in enumerate(text.splitlines(), 1):
        if pattern.match(line):
            return f"{name}:{number}"
    return name


def _value(text: str) -> Any:
    """A TOML value; what is none is a text."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def resolve(config: Config, name: str) -> Path:
    """A data file. Raises ConfigError."""
    for place in (config.directory / name, HERE / name):
        if place.exists():
            return place
    raise ConfigError(f"{name}: no such file in {config.directory}" + ("" if config.directory == HERE else f" or {HERE}"))
