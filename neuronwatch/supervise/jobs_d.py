"""A job written down for unattended starts: a TOML file `jobs.d/<name>.toml`. A mistake is one line with file and line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.job import JobSpec, Mode
from neuronwatch.store.settings_file import Reader, SettingsError, read, record
from neuronwatch.supervise.directory import NAME

PHASES = ("unknown", "import", "data", "trace", "compile", "load", "warmup", "step", "checkpoint", "evaluate", "serve", "exit")
DAY = 86400.0


def _said(default: Any, **limits: Any) -> Any:
    return field(default_factory=default, metadata=limits) if callable(default) else field(default=default, metadata=limits)


@dataclass(frozen=True, slots=True)
class JobFile:
    """What may stand in the file. `command`: program and arguments. `env`: set in its environment; `unset`: removed from it.
    `config`: overlay of a configuration (`--set` of train and serve). `hang_limits`: phase to seconds without progress, or `inf`.
    `start`: the daemon starts it. `report`: where the report goes when it has ended."""

    command: tuple[str, ...] = _said(())
    name: str = _said("")
    cwd: str = _said("", form=r"|/.*")
    env: dict[str, str] = _said(dict)
    unset: tuple[str, ...] = _said(())
    config: dict[str, str] = _said(dict)
    python: str = _said("")
    grace: float = _said(8.0, least=0.0, most=3600.0)
    settled: float = _said(60.0, least=0.0, most=DAY)
    hang_limits: dict[str, float] = _said(dict, names="phases", least=1.0, most=math.inf)
    step_pattern: str = _said("")
    price_per_hour: float | None = _said(None, least=0.0, most=1e6)
    policy: str = _said("observe", choices=("observe", "ask", "act"))
    start: bool = _said(False)
    report: str = _said("")


class Job(NamedTuple):
    """`start`: the daemon may start it; `report`: a path, or ""."""

    spec: JobSpec
    mode: Mode
    start: bool
    report: str


def load(path: Path) -> Job:
    """Raises SettingsError: also where others may write to the file, since it names programs that are run."""
    return parse(read(path), str(path))


def parse(text: str, path: str) -> Job:
    """The job in a text. Without `name` it is called as the file, without `cwd` it runs where the file is. Raises SettingsError."""
    found, reader = record(JobFile, text, path, {"phases": PHASES})
    if not found.command:
        raise reader.error(("command",), "`command` is missing: the program and its arguments, as a list of texts")
    name = found.name or Path(path).stem
    if not NAME.fullmatch(name):
        raise reader.error(("name",), f"{name[:80]!r} is no name for a job: letters, digits, '.', '_' and '-', at most 64")
    _check_pattern(found.step_pattern, reader)
    mode: Mode = "act" if found.policy == "act" else "ask" if found.policy == "ask" else "observe"
    spec = JobSpec(
        name, found.command, found.cwd or str(Path(path).resolve().parent), {**found.env, **dict.fromkeys(found.unset)},
        dict(found.config), found.python, found.grace, found.settled,
        {phase: None if math.isinf(limit) else limit for phase, limit in found.hang_limits.items()}, found.step_pattern,
        found.price_per_hour,
    )  # fmt: skip
    return Job(spec, mode, found.start, found.report)


def _check_pattern(pattern: str, reader: Reader) -> None:
    import re

    try:
        groups = re.compile(pattern).groupindex
    except re.error as error:
        raise reader.error(("step_pattern",), f"`step_pattern` is no regular expression: {error}") from error
    if pattern and "step" not in groups:
        raise reader.error(("step_pattern",), "`step_pattern` needs a group named step: (?P<step>[0-9]+)")


def to_start(places: list[Path]) -> tuple[list[tuple[Path, Job]], list[str]]:
    """The files that are marked `start`, each job's name once; and what is wrong with the others, in words."""
    found: dict[str, tuple[Path, Job]] = {}
    said: list[str] = []
    for path in (path for place in places if place.is_dir() for path in sorted(place.glob("*.toml"))):
        try:
            job = load(path)
        except SettingsError as error:
            said.append(f"job left out: {error}")
            continue
        if job.spec.name in found:
            said.append(f"job left out: {path}: {found[job.spec.name][0]} names a job {job.spec.name} already")
        elif job.start:
            found[job.spec.name] = path, job
    return list(found.values()), said
