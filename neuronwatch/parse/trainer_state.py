"""trainer_state.json and training_summary_metrics.json of the Hugging Face and Neuron trainers."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.model.records import Origin, Record, Sample
from neuronwatch.parse._json import Places, as_list, as_map, head_keys, load
from neuronwatch.parse._meanings import of_argument
from neuronwatch.parse._text import to_float
from neuronwatch.parse.api import Document, FileFormat, Line
from neuronwatch.parse.trainer_dicts import samples_of

MAX_ENTRIES = 200_000


def _sniff(document: Document) -> float:
    keys = head_keys(document)
    if "log_history" in keys and ("global_step" in keys or "loss" in keys):
        return 0.95
    return 0.8 if "metadata" in keys and any(key.startswith("summary/") for key in keys) else 0.0


def _numbers(entry: object) -> dict[str, float]:
    return {key: number for key, value in as_map(entry).items() if (number := to_float(value)) is not None} if as_map(entry) else {}


def _entry_lines(document: Document, entries: int) -> list[int | None]:
    """The lines on which the entries begin, as the pretty-printed file has them; None for each where that is unclear."""
    found: list[int | None] = []
    inside = False
    for number, text in enumerate(document.text.split("\n"), start=1):
        inside = inside or '"log_history"' in text
        if inside and text.strip() == "{":
            found.append(number)
    return found if len(found) == entries else [None] * entries


def _parse(document: Document) -> Iterator[Record]:
    root = as_map(load(document))
    history = as_list(root.get("log_history"))[:MAX_ENTRIES]
    numbers = _entry_lines(document, len(history))
    for entry, number in zip(history, numbers, strict=True):
        values = _numbers(entry)
        text = ", ".join(f"{key}: {value:g}" for key, value in list(values.items())[:12])
        yield from samples_of(Line(document.path, number, text, text), values)
    if "log_history" in root:
        return
    places = Places(document)
    for key, value in as_map(root.get("metadata")).items():
        if isinstance(value, (str, int, float)):
            for name, read in of_argument(key, value):
                yield places.fact(name, read, key)
    rate = to_float(as_map(root.get("metrics")).get("summary/tokens_per_sec_avg", ""))
    if rate is not None:
        yield Sample("tokens_per_s", rate, Origin(document.path, None, ""), "tokens/s")


FORMAT = FileFormat(name="trainer-state", kind="metrics", sniff=_sniff, parse=_parse)
