"""Training steps as programs print them: `step 10 loss 2.31`, `Epoch 0, Data index: 10, Loss: 0.17`, Megatron and NeMo
tables, NxD's `step_loss : 10.9`, Lightning and Keras bars, `loss=2.3` behind tqdm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record, Sample
from neuronwatch.parse._text import to_float
from neuronwatch.parse.api import Line, LineFormat

_NUMBER = r"[-+]?(?:[0-9]{1,12}(?:,[0-9]{3}){0,4}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,3})?|\.[0-9]{1,30}|nan|inf)(?![\w])"
_JOIN = r"['\"]?\)?\s{0,6}(?:\bis\b|[:=|]|->|\s)\s{0,6}['\"]?(?:tensor\(\[?|Tensor\(|DeviceArray\(|Array\()?"
_LOSS = re.compile(
    r"(?<![\w.])((?:[A-Za-z]{1,14}[ _/]){0,3})(loss)(?: (train|val|valid|eval|test))?" + _JOIN + r"(" + _NUMBER + ")", re.I
)
_VALUES: tuple[tuple[str, str, float, re.Pattern[str]], ...] = (
    (
        "grad_norm",
        "",
        1.0,
        re.compile(r"(?<![A-Za-z])(?:global[ _])?grad(?:ient)?s?[ _]?norm\w{0,10}" + _JOIN + r"(" + _NUMBER + ")", re.I),
    ),
    ("learning_rate", "", 1.0, re.compile(r"(?<![A-Za-z])(?:learning[ _]rate|lr)" + _JOIN + r"(" + _NUMBER + ")", re.I)),
    (
        "step_time",
        "s",
        0.001,
        re.compile(r"(?<![A-Za-z])(?:elapsed )?time per iteration \(ms\)" + _JOIN + r"(" + _NUMBER + ")", re.I),
    ),
    (
        "step_time",
        "s",
        1.0,
        re.compile(
            r"(?<![A-Za-z])(?:step|iter(?:ation)?)[ _]time(?:[ _]\(?s(?:ec)?\)?)?"
            + _JOIN
            + r"([0-9]{1,9}(?:\.[0-9]{1,12})?)\s?(?:s\b|sec|$|[,|\s])",
            re.I,
        ),
    ),
    (
        "tokens_per_s",
        "tokens/s",
        1.0,
        re.compile(
            r"(?<![A-Za-z])(?:tok(?:en)?s?[ _]?(?:/|per)[ _]?s(?:ec(?:ond)?)?\w{0,8}|tps)" + _JOIN + r"(" + _NUMBER + ")", re.I
        ),
    ),
    ("tokens_per_s", "tokens/s", 1.0, re.compile(r"(?<![\w.])([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?tok(?:en)?s?/s(?:ec)?\b", re.I)),
)
_STEP = re.compile(
    r"(?<![A-Za-z])(?:global[ _]?step|steps?|iter(?:ation)?s?|it|batch|data index|update)s?['\"]?\s{0,4}"
    r"[:=#\[(]{0,2}\s{0,6}([0-9]{1,12}(?:\.0)?)(?![\w.]*%|\.[1-9])",
    re.I,
)
_NXD = re.compile(r"- \([0-9]{1,6}, ([0-9]{1,9})\) step_loss")
_EPOCH = re.compile(r"(?<![A-Za-z])epoch['\"]?\s{0,4}[:=#\[(]{0,2}\s{0,6}([0-9]{1,8}(?:\.[0-9]{1,12})?)", re.I)
_BAR = re.compile(r"(?<![\w.])([0-9]{1,12})/([0-9]{1,12}|\?) \[")
_KERAS = re.compile(r"(?<![\w./])([0-9]{1,12})/([0-9]{1,12}) \[[=>.]{3,60}\]|^\s{0,4}([0-9]{1,12})/([0-9]{1,12}) [━─-]{3,60}")
_MNIST = re.compile(r"Epoch:? \[?[0-9]{1,6}\]?\s{0,4}\[([0-9]{1,12})/[0-9]{1,12}")
_NOT_A_STEP = re.compile(
    r"\b(?:final|best|average|avg|mean|min|minimum|max|lowest|target|initial|scale|scaler|aux|auxiliary|z|"
    r"router|balance|balancing|early|previous|prev|expected|reference|golden)[ _/]?$",
    re.I,
)
_EVAL = re.compile(r"\b(?:eval|evaluation|val|valid|validation|test|dev)[ _/]?", re.I)
_CODE = re.compile(r"\bloss\.(?:backward|item|detach|mean)|def |return |\bassert\b|File \"|print\(|^\s{0,20}#|[=+]\s{0,3}criterion")


def _index(text: str) -> float | None:
    """The step that a line states: a step or iteration word, a progress bar's counter, else the epoch."""
    for pattern in (_NXD, _STEP, _MNIST, _BAR, _KERAS, _EPOCH):
        found = pattern.search(text)
        if found:
            number = next((group for group in found.groups() if group), None)
            return to_float(number) if number else None
    return None


def _read(line: Line, text: str) -> Iterator[Sample]:
    index = _index(text)
    seen: set[str] = set()
    for found in _LOSS.finditer(text):
        front, behind = found.group(1) or "", found.group(3) or ""
        if _NOT_A_STEP.search(front.rstrip(" _/")) or _NOT_A_STEP.search(text[max(0, found.start() - 16) : found.start()].rstrip()):
            continue
        name = "eval_loss" if _EVAL.search(front) or behind.lower() in ("val", "valid", "eval", "test") else "loss"
        # without a step, only a line that begins with the loss and states it as a value is a print of it
        stated = re.search(r"[:=(]|\bis\b", text[found.start() : found.start(4)])
        if name in seen or (index is None and (found.start() > 40 or not stated)):
            continue
        value = to_float(found.group(4))
        if value is not None:
            seen.add(name)
            yield Sample(name, value, line.origin, "", line.entity, line.time, index)
    if not seen:
        return
    for name, unit, factor, pattern in _VALUES:
        if name in seen:
            continue
        other = pattern.search(text)
        value = to_float(other.group(1)) if other else None
        if value is not None:
            seen.add(name)
            yield Sample(name, value * factor, line.origin, unit, line.entity, line.time, index)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        body = line.body
        if len(body) > 100_000 or ("oss" not in body and "OSS" not in body):
            continue
        for text in body.split("\r") if "\r" in body else (body,):
            # dicts of the HF trainer have their own parser
            if "oss'" in text or 'oss"' in text or len(text) > 4000 or _CODE.search(text):
                continue
            yield from _read(line, text)


FORMAT = LineFormat(
    name="training-steps",
    kind="log",
    triggers=(
        r"(?i)loss(?: (?:train|val|valid|eval|test))?\)?\s{0,6}(?:is\b|[:=|]|->|\s)\s{0,6}(?:tensor\(\[?|"
        r"Tensor\()?[-+]?(?:[0-9.]|nan|inf)",
    ),
    parse=_parse,
)
