"""A rule as a record: what one TOML file says (docs/design/0001-rule-format.md)."""

from __future__ import annotations

from collections.abc import Mapping

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.diagnosis import Role, Severity


@dataclass(frozen=True, slots=True)
class Signature:
    """A trigger in text. `literals`: any one must occur in the line (in lower case when `ignore_case`)."""

    name: str
    pattern: str
    literals: tuple[str, ...]
    ignore_case: bool = False
    on: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    confidence: float | None = None
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """A trigger in facts and counts. `needs`: see `expr.needs`, so that most joins are decided without evaluating."""

    name: str
    when: tuple[str, ...]
    confidence: float | None = None
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Clue:
    when: tuple[str, ...]
    add: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Unless:
    when: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Ends:
    """How the condition clears: `how` is exit, pattern, fact, ttl or manual."""

    how: str
    pattern: str = ""
    literals: tuple[str, ...] = ()
    ignore_case: bool = False
    when: tuple[str, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RuleSample:
    """`files` maps a relative path to its text. `fires` says whether the rule must fire on it."""

    fires: bool
    files: Mapping[str, str]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    fault: str
    title: str
    stage: str
    severity: Severity
    maturity: str
    role: Role
    confidence: float
    cause: str
    fix: tuple[str, ...]
    confirm: tuple[str, ...]
    action: str
    references: tuple[str, ...]
    yields_to: tuple[str, ...]
    require: tuple[str, ...]
    ends: Ends
    signatures: tuple[Signature, ...] = ()
    joins: tuple[Join, ...] = ()
    clues: tuple[Clue, ...] = ()
    unless: tuple[Unless, ...] = ()
    samples: tuple[RuleSample, ...] = field(default=(), repr=False)
    tell: str = ""
    """A fact made of sentences that are told after `cause`."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """What is wrong with a rule file: file, 1-based line, and a message with the mend."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class RuleError(Exception):
    """A rule file that cannot be used, with every problem found in it."""

    def __init__(self, problems: list[RuleProblem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
