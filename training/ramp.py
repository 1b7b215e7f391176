"""Alpha that rises with the steps: from `alpha` to `alpha_to` between two steps, linear. Computed from the step alone, so that a
resumed run goes on with the same values."""

from __future__ import annotations

from typing import Any


def alpha_at(step: int, peft: Any) -> float:
    """Of the step that begins after `step` finished ones."""
    if not peft.alpha_to:
        return float(peft.alpha)
    length = peft.ramp_end - peft.ramp_start
    part = min(1.0, max(0.0, (step - peft.ramp_start) / length)) if length > 0 else float(step >= peft.ramp_end)
    return float(peft.alpha + part * (peft.alpha_to - peft.alpha))


def callback(peft: Any, adapter: Any) -> Any:
    """Sets alpha before each step."""
    from transformers import TrainerCallback

    class Ramp(TrainerCallback):  # type: ignore[misc]  # a class of transformers
        def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            adapter.scale(getattr(model, "module", model), alpha_at(state.global_step, peft))

    return Ramp()
