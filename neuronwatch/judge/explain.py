"""How each rule stands, and why it did not fire: from the last judgement and the conditions. Pure; nothing is judged anew but
the one rule that is asked for.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Literal, NamedTuple

from neuronwatch.judge.engine import Judgement
from neuronwatch.judge.rules.evaluate import Outcome
from neuronwatch.model.live import Condition

Stand = Literal["true", "unknown", "held back", "partly seen", "over", "blind", "never seen"]
"""true: its condition lasts; unknown: it was true and its sources cannot be read now; held back: seen, but not shown to be this
fault, or not for long enough; partly seen: some of its text was seen, not enough; over: it was true; blind: nobody tells what it
needs; never seen: it looks and sees nothing."""
MOST_NAMES = 6


class Standing(NamedTuple):
    """`since`: seconds since the epoch, 0 where that is not known."""

    state: Stand
    reason: str = ""
    since: float = 0.0


def standings(judgement: Judgement, conditions: Mapping[str, Condition], waiting: Mapping[str, float]) -> dict[str, Standing]:
    """By rule. `waiting`: seconds for which a finding must still last before it is believed."""
    return {rule: standing(out, conditions.get(rule), waiting.get(rule)) for rule, out in judgement.outcomes.items()}


def standing(out: Outcome, condition: Condition | None, waits: float | None = None) -> Standing:
    if condition is not None and condition.state != "false":
        return Standing("true" if condition.state == "true" else "unknown", condition.reason, condition.since)
    if waits is not None:
        return Standing("held back", f"must last for another {waits:.0f} s")
    if out.triggers and not out.fired:
        return Standing("held back", "; ".join(out.why))
    if out.fired:  # of what ended, by the same lines
        return Standing("over", condition.reason if condition is not None else "the evidence shows that it is over")
    blind = _named(out.blind)
    if out.touched:
        return Standing("partly seen", f"nobody tells {blind}" if blind else "what was seen is not enough")
    if condition is not None:
        return Standing("over", condition.reason, condition.since)
    if blind and not out.rule.signatures:
        return Standing("blind", f"nobody tells {blind}")
    return Standing("never seen")


def checks(judgement: Judgement, rule: str) -> Outcome:
    """The rule with every condition written down, on the evidence of the last judgement. Raises KeyError."""
    case = copy.copy(judgement.case)
    case.explain = True
    return case.alone(rule)


def _named(names: set[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:MOST_NAMES]) + (f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else "")
