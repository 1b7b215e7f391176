"""Jobs as the host's logs and processes tell of them: a followed text with steps is a training run, one with a queue is a server.

The owner of a job (the supervisor) will know more; this is what can be known of any job that only writes a log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from neuronwatch.daemon import processes, status
from neuronwatch.daemon.job_pace import Asked, Point, pace
from neuronwatch.daemon.job_processes import Runner, history, runners
from neuronwatch.judge.heard import Heard
from neuronwatch.judge.live import Followed
from neuronwatch.judge.series import SeriesView
from neuronwatch.model.live import Incident

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service

POINTS = 240
"""Points of a curve that are told."""
TRAINS = ("loss", "progress", "step_time")
SERVES = ("running", "waiting", "kv_usage", "prompt_tokens_per_s")
CURVES = ("loss", "grad_norm", "tokens_per_s", "samples_per_s", "step_time", "learning_rate", "eval_loss", "running", "waiting",
          "kv_usage", "prompt_tokens_per_s", "preempted")  # fmt: skip
SILENT = 120.0
"""Seconds without a line after which a run is called silent: a step or a report of its server should have come."""
BEFORE = 900.0
"""Seconds before a restart in which the incident that explains it opened."""
_PLAIN = frozenset(("train", "training", "log", "logs", "output", "out", "stdout", "stderr", "server", "serve", "run", "main"))
MOST = 64
_ARGUMENT = {
    "max_steps": re.compile(r"--max[_-](?:train[_-])?steps[= ](\d{1,9})\b"),
    "logging_steps": re.compile(r"--logging[_-]steps[= ](\d{1,6})\b"),
    "batch_limit": re.compile(r"--max[_-]num[_-]seqs[= ](\d{1,6})\b"),
}
_BUCKETS = re.compile(r"buckets?[\"']?\s{0,2}[:= ]\s{0,2}\[?((?:\d{1,7}[, ]{1,2}){0,31}\d{1,7})\b")
_OF_PROCESSES = ("pids", "owner", "cores", "utilization", "device_memory", "p50", "p99")


def of(service: Service, detail: str = "") -> list[dict[str, Any]]:
    """The jobs of the daemon's host. `detail`: the id of the one whose cores' history is told too."""
    rows = processes.processes(service)
    found = jobs(service.watch.followed(), service.loop.clock.now().mono, runners(service, rows))
    if any(job["restarts"] for job in found):
        beside = {f"host:{name}": {f"host:{other}" for other in names} for name, names in service.details.beside.items()}
        explain(found, service.incidents(), beside)
    chosen = next((job for job in found if job["id"] == detail), None)
    points = history(service, chosen["cores"]) if chosen is not None else []
    if chosen is not None and points:
        chosen["curves"]["utilization"] = points
    return found


def jobs(texts: Iterable[Followed], mono: float, running: Mapping[str, Runner] | None = None) -> list[dict[str, Any]]:
    """The runs, the one that spoke last first. `running`: path of a text to what runs and writes there, None: not known."""
    known = running or {}
    found = [(text, kind) for text in texts if (kind := _kind(text) or _kind_of(known.get(text.path)))]
    found.sort(key=lambda item: (-item[0].spoke, item[0].path))
    return [_job(text, kind, mono, known.get(text.path)) for text, kind in found[:MOST]]


def _kind(text: Followed) -> str:
    """By what it tells, or what an earlier run told there: a job that dies before its first number is still a job."""
    names = text.heard.names.union(text.series.names())
    return "train" if names.intersection(TRAINS) else "serve" if names.intersection(SERVES) else ""


def _kind_of(runner: Runner | None) -> str:
    """Of a job that has not told a number yet: it compiles, or loads."""
    return runner.kind if runner is not None and runner.holds and runner.stdout else ""


def _job(text: Followed, kind: str, mono: float, runner: Runner | None) -> dict[str, Any]:
    """One run. `age`: seconds since its last line; `curves`: name to points of (step, value, time); null is not known."""
    curves = {name: points for name in CURVES if (points := _curve(text.series, name, text.heard))}
    age = max(0.0, mono - text.spoke)
    asked, buckets, model = _asked(text, runner)
    progress = _curve(text.series, "progress", text.heard)
    phase = _phase(kind, age, _spoke(text.heard, curves, progress), runner)
    return {
        "id": status.hidden(text.path), "name": status.hidden(_name(text.path)), "kind": kind, "age": round(age, 3),
        "phase": phase, **asked._asdict(), "buckets": buckets, "model": model,
        "ranks": len(text.series.tails("loss", 1)), "curves": curves, **{name: points[-1][1] for name, points in curves.items()},
        **{name: getattr(runner, name) if runner is not None else None for name in _OF_PROCESSES}, **pace(progress, curves, asked),
        "restarts": [{"time": time, "reason": "", "incident": ""} for time in text.heard.restarts],
    }  # fmt: skip


def _spoke(heard: Heard, curves: Mapping[str, list[Point]], progress: list[Point]) -> bool:
    """Whether the run that goes on has told a number."""
    return bool(curves or progress) and (heard.spoken or not heard.restarts)


def _phase(kind: str, age: float, told: bool, runner: Runner | None) -> str:
    """compile while a compiler of its own lives; ended when what wrote is gone; silent; load before the first number."""
    if runner is not None and runner.compiles:
        return "compile"
    if runner is not None and runner.ended:
        return "ended"
    if age > SILENT:
        return "silent"
    return "load" if not told else "serve" if kind == "serve" else "step"


def _asked(text: Followed, runner: Runner | None) -> tuple[Asked, list[int] | None, str | None]:
    """What the run was started with, its buckets and its model: the log's word, else the command's."""
    command = runner.command if runner is not None else ""
    facts = text.facts

    def stated(argument: str, *names: str) -> float | None:
        for name in names:
            value = facts.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
                return float(value)
        found = _ARGUMENT[argument].search(command)
        return float(found.group(1)) or None if found else None

    buckets = _BUCKETS.search(command)
    model = next((facts[name] for name in ("launch.model", "arg.model") if isinstance(facts.get(name), str)), None)
    asked = Asked(
        stated("max_steps", "launch.max_steps"), stated("logging_steps"),
        stated("batch_limit", "serve.batch_limit", "launch.max_num_seqs", "arg.max_num_seqs"),
    )  # fmt: skip
    sizes = sorted({int(size) for size in re.findall(r"\d+", buckets.group(1))}) if buckets else None
    return asked, sizes, status.hidden(str(model))[:200] if model else None


def _curve(series: SeriesView, name: str, heard: Heard) -> list[Point]:
    """The points of the rank that has the most: ranks tell the same loss. Without a time of its own a point has the one at which
    its line came."""
    longest = max(series.tails(name, POINTS).values(), key=len, default=[])
    return [[_number(step), _number(value), _number(time) if time is not None else heard.time_of(line)]
            for step, value, time, line in longest]  # fmt: skip


def _number(value: float | None) -> float | None:
    return value if value is None or math.isfinite(value) else None


def explain(found: list[dict[str, Any]], incidents: Iterable[Incident], beside: Mapping[str, set[str]]) -> None:
    """Gives each restart the incident that opened last before it and stands on the job's own log, or on a log `beside` it: of its
    runtime."""
    known = [(item, {origin.path for part in item.conditions for origin in part.finding.evidence}) for item in incidents]
    for job in found:
        own = {job["id"], *beside.get(job["id"], ())}
        for restart in job["restarts"]:
            near = [item for item, paths in known
                    if own & paths and restart["time"] - BEFORE <= item.opened <= restart["time"] + 60.0]  # fmt: skip
            if near:
                best = max(near, key=lambda item: item.opened)
                restart["reason"], restart["incident"] = best.fault or "an incident without a known cause", best.id


def _name(path: str) -> str:
    """The file's name, or its directory's where the file is called as all are."""
    place = PurePosixPath(path.partition(":")[2] or path)
    stem = place.name.partition(".")[0]
    return stem if stem.lower() not in _PLAIN or not place.parent.name else place.parent.name
