"""What a trainer says when it starts: `***** Running training *****` with its sizes, NxD's parallel groups, summaries, and
library lines that name the plan (`> initializing tensor model parallel with size 8`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Event, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact, to_int
from neuronwatch.parse.api import Line, LineFormat

_FIELD = lazy(
    r"^[\s>*\-]{0,12}(?:\S{1,40} - INFO - |INFO:[\w.]{1,80}:)?\s{0,8}([A-Z][A-Za-z ().,&]{3,100}?)\s{0,4}"
    r"[=:]\s{0,4}([0-9][0-9,]{0,20})\s{0,20}$"
)
_FIELDS = {
    "data parallel size": "launch.dp",
    "tensor parallel size": "launch.tp",
    "pipeline parallel size": "launch.pp",
    "instantaneous batch size per device": "launch.per_device_batch",
    "instantaneous batch size per data parallel rank": "launch.per_device_batch",
    "gradient accumulation steps": "launch.grad_accum",
    "total optimization steps": "launch.max_steps",
    "total train batch size (w. parallel, distributed & accumulation)": "launch.global_batch",
}
_GROUP = lazy(r"initializing (tensor model|pipeline model|data) parallel with size ([0-9]{1,6})")
_NPC = lazy(
    r"NEURON_EXTRACT_GRAPHS_ONLY['\"]?\]?\s?[=:]\s?['\"]?1|NEURON_PARALLEL_COMPILE\|\|: Running trial run|"
    r"Running trial run \(add option"
)
_RUNNING = lazy(r"\*{3,8} Running (\w{3,20}) \*{3,8}")
_NUM_PROC = lazy(r"\(num_proc=([0-9]{1,5})\)")
_GROUPS = {"tensor model": "launch.tp", "pipeline model": "launch.pp", "data": "launch.dp"}


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        group = _GROUP.search(line.body)
        if group:
            yield fact(line, _GROUPS[group.group(1)], int(group.group(2)))
            continue
        running = _RUNNING.search(line.body)
        if running:
            yield Event("train.phase", line.origin, {"phase": running.group(1).lower()}, line.entity, line.time)
            continue
        workers = _NUM_PROC.search(line.body)
        if workers:
            yield fact(line, "launch.num_proc", int(workers.group(1)))
            continue
        if _NPC.search(line.body):
            yield fact(line, "run.trial", True)
            continue
        found = _FIELD.match(line.body)
        name = _FIELDS.get(found.group(1).strip().lower()) if found else None
        number = to_int(found.group(2).replace(",", "")) if found and name else None
        if name and number is not None:
            yield fact(line, name, number)


FORMAT = LineFormat(
    name="trainer-banner",
    kind="log",
    triggers=(
        r"\*{3,8} Running \w{3,20} \*{3,8}",
        r"initializing \w{4,8}(?: model)? parallel with size",
        r"Setting OMP_NUM_THREADS environment variable for each process",
        r"NEURON_EXTRACT_GRAPHS_ONLY",
        r"Running trial run",
        r"\(num_proc=[0-9]",
    ),
    parse=_parse,
    after=14,
)
