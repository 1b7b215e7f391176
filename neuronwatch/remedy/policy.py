"""What may be done by itself, what is asked for, and what is only reported. Pure; `policy_file.py` reads it from files."""

from __future__ import annotations

from collections.abc import Mapping

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.job import Mode
from neuronwatch.remedy.api import Action

CAREFUL: tuple[Mode, ...] = ("observe", "ask", "act")
DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Rule:
    """What a policy says of one action. None: what the policy or the action says otherwise. `budget`: times a day, `cool_down`:
    seconds."""

    mode: Mode | None = None
    budget: int | None = None
    cool_down: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """`mode` for whatever is not named. `actions` by name, `faults` by id or stage (`train.*`). `host`: host actions that are
    enabled; they always ask. `expires`: seconds that a proposal waits. `source`: where it was read, for people."""

    mode: Mode = "observe"
    actions: Mapping[str, Rule] = field(default_factory=dict)
    faults: Mapping[str, Mode] = field(default_factory=dict)
    host: frozenset[str] = frozenset()
    expires: float = DAY
    source: str = "shipped"

    def mode_of(self, action: Action, fault: str, confidence: float = 1.0) -> Mode:
        """The most careful of what is said of the action and of the fault. A host action that no file enables is only reported,
        an enabled one asks; a finding that is not sure enough for the action asks at most."""
        rule = self.actions.get(action.name, Rule())
        named = self.faults.get(fault) or self.faults.get(f"{fault.partition('.')[0]}.*")
        stated = [mode for mode in (rule.mode, named) if mode is not None] or [self.mode]
        if action.kind == "host":
            stated = ["ask"] if action.name in self.host else ["observe"]
        elif confidence < action.confidence:
            stated.append("ask")
        return min(stated, key=CAREFUL.index)

    def budget_of(self, action: Action) -> int:
        stated = self.actions.get(action.name, Rule()).budget
        return action.budget if stated is None else stated

    def cool_down_of(self, action: Action) -> float:
        stated = self.actions.get(action.name, Rule()).cool_down
        return action.cool_down if stated is None else stated


def shipped(mode: Mode) -> Policy:
    """The policy that `--policy MODE` is."""
    return Policy(mode, source=f"--policy {mode}")
