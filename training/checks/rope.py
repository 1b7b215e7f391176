"""rope_theta in effect, from the frequencies of the model in memory, against what its config.json and the run's configuration say.

transformers 4 keeps `rope_theta` at top level, 5 in `rope_parameters`; a config of 5 that 4 reads has silently theta 10000.
"""

from __future__ import annotations

from typing import Any

from checks import Problem, Seen

NEAR = 1e-3
"""Relative: the frequencies are float32."""


def check(seen: Seen) -> list[Problem]:
    now, said = in_effect(seen.model), seen.rope_theta or stated(seen.stated)
    if now is None or said is None or abs(now - said) <= NEAR * said:
        return []
    where = "the run's configuration" if seen.rope_theta else f"{seen.path}/config.json"
    return [Problem(f"rope_theta = {now:.6g} is in effect, {where} says {said:.9g}", "load it with the library that wrote it")]


def in_effect(model: Any) -> float | None:
    """None where it cannot be told: no rotary embedding, or one that is scaled (yarn and the like change the frequencies)."""
    rotary = getattr(getattr(model, "model", None), "rotary_emb", None)
    if rotary is None or getattr(rotary, "rope_type", "default") != "default":
        return None
    frequencies = rotary.inv_freq
    count = len(frequencies)  # of theta ** (-k / count), k = 0 .. count - 1
    if count < 2:
        return None
    return float(frequencies[-1].double() ** (-count / (count - 1)))


def stated(config: dict[str, Any]) -> float | None:
    """What a config.json says, in either form; None where it says nothing."""
    nested = config.get("rope_parameters")
    for value in (config.get("rope_theta"), nested.get("rope_theta") if isinstance(nested, dict) else None):
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            return float(value)
    return None
