"""Log dicts of the Hugging Face Trainer and its relatives: `{'loss': 2.31, 'grad_norm': ..., 'epoch': 0.1}`, old and new
(transformers 5 prints the numbers as strings), also as JSON, glued together or behind a progress bar."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from neuronwatch.model.records import Record, Sample
from neuronwatch.parse._text import to_float
from neuronwatch.parse.api import Line, LineFormat

_DICT = re.compile(r"\{\s?['\"](?:[\w/.\- ]{1,60})['\"]\s?:[^{}]{1,4000}\}")
_PAIR = re.compile(
    r"['\"]([\w/.\- ]{1,60})['\"]\s?:\s?(?:tensor\(|array\(|np\.float(?:32|64)\()?(['\"]?)"
    r"([-+]?(?:[0-9][0-9.eE+\-]{0,30}|\.[0-9]{1,20}|nan|NaN|inf|Infinity))\2"
)
SERIES: Mapping[str, tuple[str, str]] = {
    "loss": ("loss", ""),
    "train_loss": ("loss", ""),
    "train/loss": ("loss", ""),
    "training_loss": ("loss", ""),
    "eval_loss": ("eval_loss", ""),
    "eval/loss": ("eval_loss", ""),
    "val_loss": ("eval_loss", ""),
    "validation_loss": ("eval_loss", ""),
    "grad_norm": ("grad_norm", ""),
    "train/grad_norm": ("grad_norm", ""),
    "gradient_norm": ("grad_norm", ""),
    "learning_rate": ("learning_rate", ""),
    "train/learning_rate": ("learning_rate", ""),
    "lr": ("learning_rate", ""),
    "train/tokens_per_sec": ("tokens_per_s", "tokens/s"),
    "tokens_per_second": ("tokens_per_s", "tokens/s"),
    "tokens_per_sec": ("tokens_per_s", "tokens/s"),
    "tps": ("tokens_per_s", "tokens/s"),
    "train/step_time": ("step_time", "s"),
    "step_time": ("step_time", "s"),
    "step_time_s": ("step_time", "s"),
}
_INDEX = ("step", "global_step", "train/global_step", "iteration", "iter", "epoch", "train/epoch")


def samples_of(line: Line, values: Mapping[str, float]) -> Iterator[Sample]:
    """The series that one log dict states. The summary at the end (`train_runtime`) repeats a mean: it is no step."""
    if "train_runtime" in values or "train_samples_per_second" in values:
        return
    index = next((values[name] for name in _INDEX if name in values), None)
    seen: set[str] = set()
    for key, value in values.items():
        series = SERIES.get(key)
        if series and series[0] not in seen:
            seen.add(series[0])
            yield Sample(series[0], value, line.origin, series[1], line.entity, line.time, index)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        text = line.body
        if "loss" not in text and "grad_norm" not in text:
            continue
        for found in _DICT.finditer(text):
            values: dict[str, float] = {}
            for key, _, number in _PAIR.findall(found.group()):
                value = to_float(number)
                if value is not None:
                    values.setdefault(key, value)
            if any(key in SERIES for key in values):
                yield from samples_of(line, values)


FORMAT = LineFormat(
    name="trainer-log",
    kind="log",
    triggers=(r"['\"](?:\w{1,20}[/_])?(?:loss|grad_norm)['\"]\s?:\s?",),
    parse=_parse,
)
