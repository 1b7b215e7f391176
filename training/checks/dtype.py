"""The number type of the weights while they are trained."""

from __future__ import annotations

from checks import Problem, Seen


def check(seen: Seen) -> list[Problem]:
    if seen.dtype == "float16":
        wrong = (
            "model.dtype = float16: gradients below 6e-8 become 0 (underflow), above 65504 inf, and nothing scales the loss here"
        )
        return [Problem(wrong, "use bfloat16 or float32")]
    return []
