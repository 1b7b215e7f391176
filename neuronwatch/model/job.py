"""The words of supervised jobs: what a job is, one start of it, how it ended, and where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.records import Value

Phase = Literal[
    "import", "data", "trace", "compile", "load", "warmup", "step", "checkpoint", "evaluate", "serve", "exit", "unknown",
]  # fmt: skip
Mode = Literal["observe", "ask", "act"]


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What a job is. Actions change the spec, never the user's files.

    `env`: overlay of the environment; None removes a variable. `config`: overlay of a TOML config that the command reads through
    `--set key=value` (train, serve). `interpreter`: replaces the Python of a command that starts with one. `hang_limits`: phase to
    seconds without progress; None: no limit in that phase; what is not named has the shipped limit. `grace`: seconds from SIGTERM
    to SIGKILL. `settled`: seconds after which a run of which no step is known counts as begun.
    `step_pattern`: a user's regular expression with a group `step`. `price_per_hour`: for the report."""

    name: str
    argv: tuple[str, ...]
    cwd: str = "/"
    env: Mapping[str, str | None] = field(default_factory=dict)
    config: Mapping[str, Value] = field(default_factory=dict)
    interpreter: str = ""
    grace: float = 8.0
    settled: float = 60.0
    hang_limits: Mapping[str, float | None] = field(default_factory=dict)
    step_pattern: str = ""
    price_per_hour: float | None = None


class Exit(NamedTuple):
    """How a run ended. Both None: unknown (the shim died), which is never success. `time`: seconds since the epoch."""

    status: int | None
    signal: int | None
    time: float
    reason: str = ""

    @property
    def known(self) -> bool:
        return self.status is not None or self.signal is not None

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def code(self) -> int:
        """The exit status for a shell: 128+n for signal n, 125 where it is not known."""
        if self.status is not None:
            return self.status
        return 125 if self.signal is None else 128 + self.signal


class Identity(NamedTuple):
    """A process, also after its pid was given to another. `start`: clock ticks since boot (field 22 of /proc/PID/stat)."""

    boot_id: str
    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is. `since`: when the phase began, `moved`: when anything last moved (seconds since the epoch, None: never).
    `graphs`, `of_graphs`: compiled so far; None is not known, never 0."""

    phase: Phase = "unknown"
    since: float = 0.0
    moved: float | None = None
    step: int | None = None
    max_steps: int | None = None
    loss: float | None = None
    tokens_per_s: float | None = None
    step_time: float | None = None
    graphs: int | None = None
    of_graphs: int | None = None
    cache_hits: int | None = None
    cache_misses: int | None = None
    checkpoint: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a spec's diff. `where`: `argv`, `env` or `config`; `old`/`new` None: absent before/after. `words`: for people."""

    where: Literal["argv", "env", "config"]
    name: str
    old: Value
    new: Value
    words: str = ""
