"""What a job is doing, from what it says: events of the progress protocol where they are spoken, else the marks of its log. Pure.

A mark is a piece of text that a program prints when it begins something. Of several marks in one piece of output the last counts.
Where events are spoken, marks only tell of compiles, which no trainer's callback sees.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from neuronwatch.model.dataclass import dataclass, replace
from neuronwatch.model.job import Phase, Progress
from neuronwatch.parse.emit_events import count, event_of, number

MARKS: Mapping[Phase, tuple[bytes, ...]] = {
    "import": (b"Setting OMP_NUM_THREADS environment variable for each process",),
    "data": (
        b"Generating train split", b"Map (num_proc=", b"Map: ", b"Filter: ", b"Filter (num_proc=", b"Running tokenizer on",
        b"Tokenizing ", b"Grouping texts in chunks", b"Packing train dataset", b"Packing dataset", b"Resolving data files",
        b"Downloading data", b"Adding EOS to", b"Applying chat template",
    ),
    "load": (
        b"Loading checkpoint shards", b"loading weights file", b"Loading safetensors checkpoint shards", b"Loading weights",
        b"Loading sharded checkpoint", b"Starting to load model", b"Loading model", b"Resuming training from", b"load_checkpoint",
    ),
    "trace": (
        b"Extracting graphs", b"Running trial run", b"Generating HLO", b"Tracing model", b"Building model graph",
        b"torch_neuronx.trace",
    ),
    "compile": (
        b"Call compiler with cmd", b"neuronx-cc compile", b"neuron-cc compile", b"Starting compilation", b"Compiling and Profiling",
        b"Compiling model", b"Compilation Successfully Completed", b"Compiler status", b"Waiting for another process to compile",
        b"Current remaining items are",
    ),
    "warmup": (b"***** Running training *****", b"Warming up", b"Warmup", b"Running warmup"),
    "checkpoint": (
        b"Saving model checkpoint to", b"Saving checkpoint", b"saving checkpoint", b"Model weights saved in", b"Saving model to",
    ),
    "evaluate": (b"***** Running Evaluation *****", b"***** Running Prediction *****", b"***** Running evaluation *****"),
    "serve": (
        b"Application startup complete", b"Uvicorn running on", b"Avg prompt throughput", b"Server is ready", b"Serving at ",
    ),
    "exit": (b"Training completed", b"'train_runtime'", b"Application shutdown complete", b"Finished server process"),
}  # fmt: skip
"""Phase to what programs print at its beginning: torchrun, datasets, HF Trainer, optimum-neuron, the wrappers of neuronx-cc, NxD,
vLLM, uvicorn. Letters count as they are: a search for many literals is quick only so."""
HITS = (b"Using a cached neff", b"Found cached NEFF", b"Using a cached NEFF", b"Fetched artifacts from cache")
MISSES = (b"Call compiler with cmd",)
DONE = (b"Compilation Successfully Completed", b"Compiler status PASS")
_OF = re.compile(rb"(?:Total graphs:|Number of graphs to compile:|Total compilation jobs:|remaining items are) {0,3}(\d{1,6})")


@dataclass
class Phases:
    """`piece` takes output as it comes, `event` a line of the protocol, `stepped` a step that a log told of. `progress` is what is
    known now. Times are seconds since the epoch."""

    progress: Progress = Progress()
    spoken: bool = False
    """Whether events are spoken: then the log's marks of training count no more."""

    def piece(self, data: bytes, now: float) -> None:
        """Whole lines of output of any process of the job."""
        if not data:
            return
        found, at = None, -1
        for phase, literals in MARKS.items():
            for literal in literals:
                place = data.rfind(literal)
                if place > at:
                    found, at = phase, place
        if found is not None and (not self.spoken or found == "compile"):
            self._enter(found, now)
        self._count(data)
        self.progress = replace(self.progress, moved=now)

    def line(self, text: str, now: float) -> None:
        """A line of the protocol; anything else is left out."""
        event = event_of(text)
        if event is not None:
            self.spoken = True
            self._event(event, now)

    def stepped(self, step: float | None, now: float, **told: float | None) -> None:
        """A step that a log told of: `loss`, `tokens_per_s`, `step_time`, `max_steps`."""
        known = {name: value for name, value in told.items() if value is not None}
        most = count(known.pop("max_steps", None))
        if most is not None:
            known["max_steps"] = most
        at = self.progress.step if (whole := count(step)) is None else whole
        if at != self.progress.step or step is None:
            self._enter("step", now)
        self.progress = replace(self.progress, step=at, moved=now, **known)  # type: ignore[arg-type]  # floats of these names

    def compiling(self, lives: bool, now: float) -> None:
        """Whether a compiler of the job lives: its log may say nothing for an hour."""
        if lives and self.progress.phase != "compile":
            self._enter("compile", now)
        elif not lives and self.progress.phase == "compile" and self.progress.step is not None:
            self._enter("step", now)

    def _event(self, event: Mapping[str, Any], now: float) -> None:
        kind, step = event["ev"], count(event.get("step"))
        if kind == "phase" and event.get("phase") in (*MARKS, "step"):
            self._enter(event["phase"], now)
        most = count(event.get("max_steps"))
        if most:
            self.progress = replace(self.progress, max_steps=most)
        if kind == "step" and step is not None:
            self.stepped(step, now, loss=number(event.get("loss")), tokens_per_s=number(event.get("tokens_per_s")),
                         step_time=number(event.get("step_time")))  # fmt: skip
        if kind == "checkpoint" and isinstance(event.get("path"), str):
            self.progress = replace(self.progress, checkpoint=event["path"])
        graphs, of = count(event.get("graphs")), count(event.get("of_graphs"))
        if graphs is not None:
            self.progress = replace(self.progress, graphs=graphs, of_graphs=of)
        self.progress = replace(self.progress, moved=now)

    def _enter(self, phase: Phase, now: float) -> None:
        if phase != self.progress.phase:
            self.progress = replace(self.progress, phase=phase, since=now)

    def _count(self, data: bytes) -> None:
        hits, misses, done = (sum(map(data.count, literals)) for literals in (HITS, MISSES, DONE))
        of = _OF.search(data) if b"raphs" in data or b"items are" in data or b"jobs" in data else None
        if hits or misses or done or of:
            now = self.progress
            self.progress = replace(
                now,
                cache_hits=(now.cache_hits or 0) + hits, cache_misses=(now.cache_misses or 0) + misses,
                graphs=(now.graphs or 0) + done, of_graphs=int(of.group(1)) if of else now.of_graphs,
            )  # fmt: skip
