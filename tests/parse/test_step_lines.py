"""step_lines: golden records, and no input that makes it raise."""

from __future__ import annotations

import math

from golden_support import check_golden, hostile, survive
from hypothesis import given
from parse_support import records, samples

from neuronwatch.parse import step_lines
from neuronwatch.parse.api import Line


def test_golden() -> None:
    check_golden("step_lines", step_lines.FORMAT)


@given(hostile("step_lines"))
def test_never_raises(text: str) -> None:
    survive(step_lines.FORMAT, text)


def losses(text: str) -> list[float | None]:
    return [sample.value for sample in samples(records(step_lines.FORMAT, text), "loss")]


def test_what_is_no_step() -> None:
    for text in (
        "Final loss is 0.1013",
        "best_loss: 1.2 at step 10",
        "step 10 loss_scale 65536.0",
        "step 10 aux_loss 0.01",
        "    loss.backward()",
        "loss = criterion(out, y)",
        "packet loss 0%, 3 received",
        "assert loss == 2.0",
    ):
        assert losses(text) == [], text


def test_values_that_are_not_finite() -> None:
    found = losses("step 3 loss nan\nstep 4 loss inf\nstep 5 loss: -inf")
    assert math.isnan(found[0] or 0.0)
    assert found[1:] == [math.inf, -math.inf]


def test_states_of_a_bar_in_one_line() -> None:
    text = "  1/9 [00:01<00:08, 1.0s/it, loss=3.5]\r  2/9 [00:02<00:07, 1.0s/it, loss=3.25]"
    found = step_lines.FORMAT.parse([Line("train.log", 1, text, text)])
    assert [sample.value for sample in samples(found, "loss")] == [3.5, 3.25]
