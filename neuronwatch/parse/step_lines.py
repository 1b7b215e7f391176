"""Training steps as programs print them: `step 10 loss 2.31`, `Epoch 0, Data index: 10, Loss: 0.17`, Megatron and NeMo
tables, NxD's `step_loss : 10.9`, Lightning and Keras bars, `loss=2.3` behind tqdm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.records import Record, Sample
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import to_float
from neuronwatch.parse.api import Line, LineFormat

_NUMBER = r"([-+]?(?:[0-9]{1,12}(?:,[0-9]{3}){0,4}(?:\.[0-9]{0,30})?(?:e[-+]?[0-9]{1,3})?|\.[0-9]{1,30}|nan|inf)(?!\w))"
_JOIN = r"['\"]?\)?\s{0,6}(?:\bis\b|[:=|]|->|\s)\s{0,6}['\"]?(?:tensor\(\[?|devicearray\(|array\()?"
# all patterns look at a line in lower case and begin with a literal, which keeps the search fast
_LOSS = lazy(r"loss(?: (train|val|valid|eval|test))?" + _JOIN + _NUMBER)
_FRONT = lazy(r"(?:^|[^\w.])((?:[a-z]{1,14}[ _/]){0,3})$")


class _Value(NamedTuple):
    """A series beside the loss: `literal` must stand in the line, `factor` brings the number to `unit`."""

    name: str
    unit: str
    literal: str
    pattern: re.Pattern[str]
    factor: float = 1.0


_VALUES: tuple[_Value, ...] = (
    _Value("grad_norm", "", "norm", lazy(r"g(?<![a-z]g)(?:rad(?:ient)?s?)?[ _]?norm\w{0,10}" + _JOIN + _NUMBER)),
    _Value("learning_rate", "", "learning", lazy(r"learning[ _]rate" + _JOIN + _NUMBER)),
    _Value("learning_rate", "", "lr", lazy(r"lr(?<![a-z]lr)" + _JOIN + _NUMBER)),
    _Value("step_time", "s", "(ms)", lazy(r"time per iteration \(ms\)" + _JOIN + _NUMBER), 0.001),
    _Value(
        "step_time",
        "s",
        "time",
        lazy(
            r"(?:step|iter(?:ation)?)[ _]time(?:[ _]\(?s(?:ec)?\)?)?"
            + _JOIN
            + r"([0-9]{1,9}(?:\.[0-9]{1,12})?)\s?(?:s\b|sec|$|[,|\s])"
        ),
    ),
    _Value(
        "step_time",
        "s",
        "step",
        lazy(
            r"step[ _:#=]{0,3}[0-9]{1,12}(?:/[0-9]{1,12})?[,:;|]?\s{1,4}(?:took|time|duration|elapsed)[:=]?\s{0,3}"
            r"([0-9]{1,9}(?:\.[0-9]{1,12})?)\s?s(?:ec|econds)?\b"
        ),
    ),
    _Value("tokens_per_s", "tokens/s", "tok", lazy(r"tok(?:en)?s?[ _]?(?:/|per)[ _]?s(?:ec(?:ond)?)?\w{0,8}" + _JOIN + _NUMBER)),
    _Value("tokens_per_s", "tokens/s", "tps", lazy(r"tps" + _JOIN + _NUMBER)),
    _Value("tokens_per_s", "tokens/s", "tok", lazy(r"(?<![\w.])([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?tok(?:en)?s?/s(?:ec)?\b")),
)
_VALUES += (
    _Value(
        "samples_per_s",
        "1/s",
        "throughput",  # `step_loss : 10.9 learning_rate : 4e-07 throughput : 212.1` of the NxD examples
        lazy(r"throughput(?: \((?:seq|samples?|iter)\w{0,6}/s\w{0,6}\))?" + _JOIN + _NUMBER),
    ),
    _Value(
        "samples_per_s",
        "1/s",
        "/s",
        lazy(r"(?<![\w.])([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?(?:seq|sequence|sample|example|image|img|sentence)s?/s(?:ec)?\b"),
    ),
    _Value(
        "samples_per_s",
        "1/s",
        "per",
        lazy(r"(?:sample|sequence|seq|example|image)s?[ _]per[ _]sec(?:ond)?" + _JOIN + _NUMBER),
    ),
)
_COUNT = r"s?['\"]?\s{0,4}[:=#\[(]{0,2}\s{0,6}([0-9]{1,12}(?:\.0{1,6})?)(?![\w.]*%|\.[1-9])"
_INDEXES = (
    (" step_loss", lazy(r"\([0-9]{1,6}, ([0-9]{1,9})\) step_loss")),
    ("step", lazy(r"step" + _COUNT)),
    ("iter", lazy(r"iter(?:ation)?" + _COUNT)),
    ("batch", lazy(r"batch" + _COUNT)),
    ("index", lazy(r"data index" + _COUNT)),
    ("update", lazy(r"update" + _COUNT)),
    ("epoch", lazy(r"epoch:? \[?[0-9]{1,6}\]?\s{0,4}\[([0-9]{1,12})/[0-9]{1,12}")),
    ("/", lazy(r"(?<![\w./])([0-9]{1,12})/(?:[0-9]{1,12}|\?) (?:\[|[━─-]{3})")),
    ("epoch", lazy(r"epoch['\"]?\s{0,4}[:=#\[(]{0,2}\s{0,6}([0-9]{1,8}(?:\.[0-9]{1,12})?)")),
)
_NOT_A_STEP = lazy(
    r"\b(?:final|best|average|avg|mean|min|minimum|max|lowest|target|initial|scale|scaler|aux|auxiliary|z|packet|"
    r"router|balance|balancing|early|previous|prev|expected|reference|golden)[ _/]?$"
)
_EVAL = lazy(r"\b(?:eval|evaluation|val|valid|validation|test|dev)[ _/]?")
_CODE = lazy(r"\bloss\.(?:backward|item|detach|mean)|def |return |\bassert\b|file \"|print\(|^\s{0,20}#|[=+]\s{0,3}criterion")
_STATED = lazy(r"[:=(]|\bis\b")


def _index(low: str) -> float | None:
    """The step that a line states: a step or iteration word, a progress bar's counter, else the epoch."""
    for literal, pattern in _INDEXES:
        if literal in low:
            found = pattern.search(low)
            if found:
                return float(found.group(1))
    return None


def _losses(low: str, index: float | None) -> Iterator[tuple[str, float]]:
    """(loss or eval_loss, value), each name once."""
    seen: set[str] = set()
    for found in _LOSS.finditer(low):
        at = found.start()
        front = _FRONT.search(low, max(0, at - 60), at)
        if front is None:
            continue
        words = front.group(1)
        before = words if words else low[max(0, at - 16) : at]
        if _NOT_A_STEP.search(words.rstrip(" _/")) or _NOT_A_STEP.search(before.rstrip()):
            continue
        name = "eval_loss" if _EVAL.search(words) or found.group(1) in ("val", "valid", "eval", "test") else "loss"
        # without a step, only a line that begins with the loss and states it as a value is a print of it
        if name in seen or (index is None and (front.start(1) > 40 or not _STATED.search(low, at, found.start(2)))):
            continue
        seen.add(name)
        yield name, float(found.group(2).replace(",", ""))


def _read(line: Line, text: str) -> Iterator[Sample]:
    low = text.lower()
    if _CODE.search(low):
        return
    index = _index(low)
    losses = list(_losses(low, index))
    if not losses:
        return
    origin, entity = line.origin, line.entity
    for name, value in losses:
        yield Sample(name, value, origin, "", entity, line.time, index)
    seen: set[str] = set()
    for item in _VALUES:
        if item.literal not in low or item.name in seen:
            continue
        found = item.pattern.search(low)
        if found:
            seen.add(item.name)
            yield Sample(
                item.name, float(found.group(1).replace(",", "")) * item.factor, origin, item.unit, entity, line.time, index
            )


# timings of a step that a line states without its loss
_TIMED = lazy(r"\bstep[ _]?(?:no\.?)?[:=#]?\s{0,3}[0-9]{1,12}\b")
_COMPUTE = lazy(
    r"\b(?:fwd_bwd|forward_backward|fwd\+bwd|compute)(?:[_ ]time)?(?:_s)?"
    + _JOIN
    + r"([0-9]{1,9}(?:\.[0-9]{1,12})?)\s?(?:s\b|$|[,|;)])"
)
_MEMORY = lazy(
    r"\b(?:rss|host[ _]mem(?:ory)?|cpu[ _]mem(?:ory)?|cpu virtual memory:\s{0,4}used)(?:[ _]used)?"
    r"(?:[ _(]{0,2}([gmk])i?b\)?)?\s{0,2}[:=]?\s{0,3}([0-9]{1,12}(?:\.[0-9]{1,6})?)\s?(?:([gmk])i?b?\b)?"
)
_UNIT = {"k": 1024.0, "m": 1024.0**2, "g": 1024.0**3}


# the time of a step and what of it went to the loader: DETR and detectron2, mmengine, timm, own loops, both orders
_PART = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?s?"
_STEP_FIRST = lazy(
    r"\b(?:(?:step|iter|batch)[ _-]?)?time(?:_s)?['\"]?\s{0,2}[:=]?\s{1,3}" + _PART + r"(?:\s\([0-9.]{1,12}\))?[,;|]?\s{0,3}\(?"
    r"(?:last_time: [0-9.]{1,12}\s{1,4})?data(?:load(?:er|ing)?)?(?:[_ ](?:time|wait))?['\"]?\s{0,2}[:=]?\s{1,3}" + _PART
)
_TIMM = lazy(r"\btime: {1,3}([0-9.]{1,9})s, .{1,90}\bdata: {1,3}([0-9.]{1,9}) \(")
_DATA_FIRST = lazy(
    r"\b(?:data|input|loader)[_ ](?:wait|time)(?:_s(?:ec)?)?['\"]?\s{0,2}[:=]\s{0,2}" + _PART + r"[,;]?\s{1,3}['\"]?"
    r"(?:step|iter|batch)(?:[_ ]time)?(?:_s(?:ec)?)?['\"]?\s{0,2}[:=]\s{0,2}" + _PART
)


def _input_share(line: Line, low: str) -> Iterator[Sample]:
    for pattern, flipped in ((_TIMM, False), (_STEP_FIRST, False), (_DATA_FIRST, True)):
        found = pattern.search(low)
        if found:
            first, second = (to_float(part) or 0.0 for part in found.groups())
            step, wait = (second, first) if flipped else (first, second)
            if step > 0.0 and wait <= step:
                yield Sample("input_share", wait / step, line.origin, "", line.entity, line.time, _index(low))
            return


def _memory(line: Line, low: str) -> Iterator[Sample]:
    """Resident or used host memory that a line of the run states (DeepSpeed's `CPU Virtual Memory: used = 61.2 GB`)."""
    found = _MEMORY.search(low)
    unit = (found.group(1) or found.group(3)) if found else None
    if found and unit:
        yield Sample("host_memory", float(found.group(2)) * _UNIT[unit], line.origin, "bytes", line.entity, line.time, None)


def _timings(line: Line, low: str, with_loss: bool) -> Iterator[Sample]:
    if not _TIMED.search(low) or _CODE.search(low):
        return
    index = _index(low)
    compute = _COMPUTE.search(low)
    if compute:
        yield Sample("compute_time", float(compute.group(1)), line.origin, "s", line.entity, line.time, index)
    if with_loss:
        return  # the loss's own reading has the rest
    for item in _VALUES:
        found = item.pattern.search(low) if item.unit and item.literal in low else None
        if found:
            value = float(found.group(1).replace(",", "")) * item.factor
            yield Sample(item.name, value, line.origin, item.unit, line.entity, line.time, index)
            return


# a bar of training has no title or one that says so; other bars count files, shards, examples and prompts
_BAR = lazy(
    r"(?:^|[\r\]|:])\s{0,6}(?:(?i:train(?:ing)?|steps?|iter(?:ation)?s?|epochs?)\b[^|\r%]{0,40}:?)?\s{0,8}[0-9]{1,3}%\|[^|]{0,200}\|"
    r"\s{0,4}([0-9]{1,9})/[0-9]{1,9} \[[0-9:]{4,12}<[0-9:?]{1,12},\s{1,4}(?:[0-9.]{1,12}|\?)(?:it/s|s/it)[\],]"
)


def _progress(line: Line) -> Iterator[Sample]:
    """States of a bar as a series of its own: without a loss, and none of a bar that has only begun."""
    for found in _BAR.finditer(line.text[:20_000]):
        count = float(found.group(1))
        if count:
            yield Sample("progress", count, line.origin, "", line.entity, line.time, count)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        body = line.body
        if "it/s" in line.text or "s/it" in line.text:
            yield from _progress(line)
        if len(body) > 100_000:
            continue
        has_loss = "oss" in body or "OSS" in body
        if len(body) < 1_000:
            low = body.lower()
            if "rss" in low or " mem" in low or "_mem" in low:
                yield from _memory(line, low)
            if "data" in low and ("time" in low or "step_s" in low):
                yield from _input_share(line, low)
            if "step" in low:
                yield from _timings(line, low, has_loss)
        if not has_loss:
            continue
        # the states of a progress bar are one line, of which a body may hold the last alone
        for text in line.text.split("\r") if "\r" in line.text else (body,):
            # dicts of the HF trainer have their own parser
            if "oss'" in text or 'oss"' in text or len(text) > 4000:
                continue
            yield from _read(line, text)


FORMAT = LineFormat(
    name="training-steps",
    kind="log",
    triggers=(
        r"(?i)loss(?: (?:train|val|valid|eval|test))?\)?\s{0,6}(?:is\b|[:=|]|->|\s)\s{0,6}(?:tensor\(\[?|"
        r"Tensor\()?[-+]?(?:[0-9.]|nan|inf)",
        r"[0-9?](?:it/s|s/it)[\],]",
        r"(?i)step[ _:=#]{1,3}[0-9]{1,12}\b.{1,120}(?:step[ _]time|tok(?:en)?s?(?:/|_per_)s|fwd_bwd|forward_backward|compute)",
        r"(?i)step[ _:=#]{1,3}[0-9]{1,12}\S{0,12}\s{1,4}(?:took|time|duration|elapsed)[:= ]{1,3}[0-9]",
        r"(?i)\bdata[_ ](?:time|wait)\w{0,4}['\"]?\s?[:=]\s?[0-9]",
        r"(?i)(?:\brss|host_mem|cpu_mem|CPU Virtual Memory).{1,24}[0-9]",
    ),
    parse=_parse,
    series=True,
)
