"""The contract of remedies: the case that is judged, what may be proposed, and what an action is. Pure: no clock, no process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Union

from neuronwatch.dialect.rewrite import Refusal as Refusal
from neuronwatch.dialect.rewrite import Rewritten
from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.job import Change, Exit, JobSpec, Progress
from neuronwatch.model.records import Value

Kind = Literal["spec", "cache", "process", "restart", "stop", "host"]
Verdict = Literal["pending", "helped", "did not help"]


class Checkpoint(NamedTuple):
    """A checkpoint that was verified. `step` None: its name does not say."""

    path: str
    step: int | None
    time: float


class CacheEntry(NamedTuple):
    """An entry of the compile cache that should not be used. `state`: failed, empty, empty-neff, done-without-neff, foreign."""

    path: str
    state: str
    time: float


class Lock(NamedTuple):
    """A lock in the compile cache. `why_alive`: what speaks against moving it aside, "" where it is proved that nobody holds it."""

    path: str
    age: float
    why_alive: str


class Holder(NamedTuple):
    """A process that holds what the job needs (device files, a port). `start`: clock ticks since boot. `ours`: why it may be ended
    ("" : it may not): the mark of an earlier run of a job of this state directory."""

    pid: int
    start: int
    command: str
    holds: str
    ours: str


class Past(NamedTuple):
    """An earlier run: how it ended, whether it made a step (None: not known), and the fault that was found."""

    exit: Exit
    stepped: bool | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """What was looked up on the host for the faults that were found (`remedy/survey.py`). `ports`: free ones. `cores`: visible
    cores that nobody holds, None: not known."""

    cache: tuple[CacheEntry, ...] = ()
    locks: tuple[Lock, ...] = ()
    holders: tuple[Holder, ...] = ()
    ports: tuple[int, ...] = ()
    cores: tuple[int, ...] | None = None
    cache_root: str = ""
    torn: tuple[str, ...] = ()
    """Checkpoints that do not verify, newest first."""
    host_root: str = "/"
    """Where the host is that actions on it touch."""
    jobs: str = ""
    """The directory of this state directory's jobs."""
    mark: str = ""
    """What the processes of the newest run carry."""
    writable: tuple[str, ...] = ()
    """Directories on a local file system with room where a compile cache could be."""


@dataclass(frozen=True, slots=True)
class Case:
    """All that a decision is made of. `spec`: as it runs, `asked`: as asked for, `run`: number of the newest run. `exit` None: it
    lives. `findings`: best first. `stepped`: this run made a step (None: not known). `stall`: it hangs (a fault id names why).
    `facts`: of this job and its host, flat. `checkpoints`: the verified ones, newest first. `online`: None: not known.
    `answers`: what people answered, by proposal id. `asked_to_end`: a person ends it."""

    spec: JobSpec
    asked: JobSpec
    run: int = 1
    exit: Exit | None = None
    findings: tuple[Finding, ...] = ()
    progress: Progress = Progress()
    stepped: bool | None = None
    stall: str = ""
    facts: Mapping[str, Value] = field(default_factory=dict)
    checkpoints: tuple[Checkpoint, ...] = ()
    online: bool | None = None
    history: tuple[Past, ...] = ()
    survey: Survey = Survey()
    answers: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    asked_to_end: bool = False
    began: float = 0.0

    @property
    def made_step(self) -> bool:
        return bool(self.stepped) or self.progress.step is not None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an action would do. `spec`: the new spec, None: unchanged. `hand`: what the hands need, as JSON can say it. `words`: one
    sentence for people. `restart`: the job is ended and started for it. `undo`: how it is undone, in words."""

    words: str
    changes: tuple[Change, ...] = ()
    spec: JobSpec | None = None
    hand: Mapping[str, Value] = field(default_factory=dict)
    restart: bool = True
    undo: str = "the spec of before"


Answer = Union[Proposal, Refusal]


class RemedyError(Exception):
    """Hands that could not do it: one sentence; `mend` says what a person can do."""

    def __init__(self, message: str, mend: str = "") -> None:
        super().__init__(message)
        self.mend = mend


@dataclass(frozen=True, slots=True)
class Action:
    """One remedy. `faults`: what it is for. `propose(case, finding)` is pure. `apply(hand)` gives the record that `undo(record)`
    takes back (cache, process, host only; both raise RemedyError). `budget`: times a day, `cool_down`: seconds between two.
    `live`: worth ending a run that still makes progress. `repeats`: one step may not be enough (8, 4, 2, 1), the next ones are the
    same remedy. `verified(case, began)`: None: the usual postcondition. `confidence`: findings below it are proposed at most."""

    name: str
    kind: Kind
    title: str
    faults: tuple[str, ...]
    propose: Callable[[Case, Finding | None], Answer]
    apply: Callable[[Mapping[str, Value]], Mapping[str, Value]] | None = None
    undo: Callable[[Mapping[str, Value]], str] | None = None
    verified: Callable[[Case], bool | None] | None = None
    budget: int = 3
    cool_down: float = 60.0
    live: bool = False
    repeats: bool = False
    confidence: float = 0.6


def proposed(action: Action, case: Case, finding: Finding | None) -> Answer:
    """What the action proposes; a change of the spec that changes nothing is none."""
    answer = action.propose(case, finding)
    if action.kind == "spec" and isinstance(answer, Proposal) and answer.spec in (None, case.spec):
        return Refusal(f"it is so already: {answer.words}")
    return answer


def changed(words: str, *steps: Rewritten | Refusal, restart: bool = True) -> Answer:
    """A proposal of rewrites that were made one on the other; the first refusal wins."""
    changes = []
    spec = None
    for step in steps:
        if isinstance(step, Refusal):
            return step
        spec = step[0]
        changes.append(step[1])
    return Proposal(words, tuple(changes), spec, restart=restart)
