"""Half the batch of a device and twice the accumulation: the global batch, and with it the training, stays the same."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.api import Action, Answer, Case, Refusal, changed

FAULTS = ("train.batch-size-device-oom", "runtime.hbm-capacity-exceeded")


def propose(case: Case, finding: Finding | None) -> Answer:
    concept = "per_device_batch"
    batch, steps = rewrite.number(rewrite.read(case.spec, concept)), rewrite.number(rewrite.read(case.spec, "grad_accum"))
    if batch is None and steps is not None:  # who accumulates, trains: its batch is that of a device
        concept = "batch_size"
        batch = rewrite.number(rewrite.read(case.spec, concept))
    if batch is None:
        batch = rewrite.number(case.facts.get("launch.per_device_batch"))
    if steps is None:
        steps = rewrite.number(case.facts.get("launch.grad_accum"))
    if steps is None and batch is not None and rewrite.is_ours(case.spec):
        steps = 1  # what our own program does where its configuration says nothing
    if batch is None or steps is None:
        missing = "batch size of a device" if batch is None else "number of accumulation steps"
        return Refusal(f"the command does not say the {missing}; halve the batch and double the accumulation there")
    if batch <= 1:
        return Refusal("the batch of a device is 1 already: use shorter sequences, more tensor parallelism or a smaller model")
    smaller = next(size for size in range(batch // 2, 0, -1) if (batch * steps) % size == 0)
    more = batch * steps // smaller
    said = f"batch of a device {batch} to {smaller}, accumulation {steps} to {more}: the global batch stays"
    first = rewrite.write(case.spec, concept, smaller, "half the batch in device memory")
    if isinstance(first, Refusal):
        return Refusal(f"{first.why}; {said} would be right")
    second = rewrite.write(first[0], "grad_accum", more, "so that the global batch stays")
    if isinstance(second, Refusal):
        return Refusal(f"{second.why}; {said} would be right")
    return changed(said, first, second)


ACTION = Action(
    "batch-size", "spec", "halve the batch, keep the global batch", FAULTS, propose, budget=6, cool_down=0.0, repeats=True
)
