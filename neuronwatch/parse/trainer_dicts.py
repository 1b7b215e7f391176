"""Log dicts of the Hugging Face Trainer and its relatives: `{'loss': 2.31, 'grad_norm': ..., 'epoch': 0.1}`, old and new
(transformers 5 prints the numbers as strings), also as JSON, glued together or behind a progress bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuronwatch.model.records import Record, Sample
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse.api import Line, LineFormat

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
_KEYS = "|".join(sorted((*SERIES, *_INDEX, "train_runtime", "train_samples_per_second"), key=len, reverse=True))
_PAIR = lazy(
    r"['\"](" + _KEYS + r")['\"]\s?:\s?(?:tensor\(|array\(|np\.float(?:32|64)\()?['\"]?"
    r"([-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,3})?|\.[0-9]{1,20}|nan|NaN|inf|Infinity))"
)


def samples_of(line: Line, values: Mapping[str, float]) -> Iterator[Sample]:
    """The series that one log dict states. The summary at the end (`train_runtime`) repeats a mean: it is no step."""
    if "train_runtime" in values or "train_samples_per_second" in values:
        return
    index = next((values[name] for name in _INDEX if name in values), None)
    origin, entity = line.origin, line.entity
    seen: set[str] = set()
    for key, value in values.items():
        series = SERIES.get(key)
        if series and series[0] not in seen:
            seen.add(series[0])
            yield Sample(series[0], value, origin, series[1], entity, line.time, index)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        text = line.body
        if ("loss" not in text and "grad_norm" not in text) or '"ev": ' in text:  # parse/emit_events.py
            continue
        # glued dicts are told apart by their closing brace
        for part in text.split("}") if text.count("{") > 1 else (text,):
            values: dict[str, float] = {}
            for key, number in _PAIR.findall(part, max(0, part.find("{"))):
                values.setdefault(key, float(number))
            if values and not SERIES.keys().isdisjoint(values):
                yield from samples_of(line, values)


FORMAT = LineFormat(
    name="trainer-log",
    kind="log",
    triggers=(r"['\"](?:\w{1,20}[/_])?(?:loss|grad_norm)['\"]\s?:\s?",),
    parse=_parse,
    series=True,
)
