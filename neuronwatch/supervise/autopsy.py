"""What a run left behind, judged by the engine of `diagnose`: its output, its progress, its command and how it ended."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from neuronwatch.judge import engine
from neuronwatch.judge.evidence import Evidence
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.series import SeriesView
from neuronwatch.judge.state import State
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.model.job import Exit, JobSpec
from neuronwatch.source import formats, reader, rule_files
from neuronwatch.source.numbering import NUMBERING
from neuronwatch.supervise.directory import Run
from neuronwatch.supervise.story import Curve

CURVES = ("loss", "grad_norm", "learning_rate", "tokens_per_s", "samples_per_s", "step_time", "eval_loss", "running", "waiting")
POINTS = 120
"""Points of a curve that are kept for a report."""


class Autopsy(NamedTuple):
    """`curves`: name to (step, value) in order, thinned. `tokens_per_s`: the mean of what the run told; None: it told none."""

    diagnosis: Diagnosis
    curves: Mapping[str, Curve]
    tokens_per_s: float | None


def autopsy(run: Run, spec: JobSpec, end: Exit | None, rules: RuleSet | None = None) -> Autopsy:
    """Reads all that the run wrote, once. Rules: the shipped and the user's, where none are given."""
    if rules is None:
        rules, _ = rule_files.load_rule_set()
    state = engine.observe(State(), evidence(run, spec, end, rules), rules)
    diagnosis = NUMBERING.numbered(engine.conclude(state, rules))
    _, series = engine.gather(state)
    rates = [point.value for one in series.get("tokens_per_s") for point in one.points if 0 < point.value < 1e12]
    return Autopsy(diagnosis, dict(_curves(series)), sum(rates) / len(rates) if rates else None)


def evidence(run: Run, spec: JobSpec, end: Exit | None, rules: RuleSet) -> Iterator[Evidence]:
    """What is known of a run: its output, its events, its stacks, and as texts `command.sh` and `exit_status.txt`."""
    known = formats.shipped()
    dumps = [run.path / f"stacks-{number}.txt" for number in (1, 2)]
    paths = [path for path in (run.stdout, run.stderr, run.emit, *dumps) if _has_content(os.fspath(path))]
    if paths:
        yield from reader.read_evidence(paths, rules.patterns, *known, cache_dir=rule_files.cache_directory())
    yield from reader.read_virtual("command.sh", command_line(spec).encode("utf-8", "surrogateescape"), (), *known)
    if end is not None and end.known:
        yield from reader.read_virtual("exit_status.txt", f"{end.code}\n".encode(), rules.patterns, *known)


def command_line(spec: JobSpec) -> str:
    """The command as a shell would take it, with what the spec sets in its environment."""
    words = [f"{name}={shlex.quote(value)}" for name, value in sorted(spec.env.items()) if value is not None]
    return " ".join([*words, *map(shlex.quote, spec.argv)]) + "\n"


def _has_content(path: str) -> bool:
    with contextlib.suppress(OSError):
        return os.lstat(path).st_size > 0
    return False


def _curves(series: SeriesView) -> Iterable[tuple[str, Curve]]:
    """Of each name the run (a file, a rank) with the most points: ranks tell the same loss."""
    for name in CURVES:
        points = max((one.points for one in series.get(name)), key=len, default=())
        if len(points) > 1:
            every = max(1, -(-len(points) // POINTS))
            kept = [*points[::every], *([points[-1]] if (len(points) - 1) % every else [])]
            yield name, [(point.step, point.value) for point in kept]
