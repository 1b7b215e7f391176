"""Cases for the tests of remedies."""

from __future__ import annotations

from typing import Any

from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.job import Exit, JobSpec, Progress
from neuronwatch.model.records import Origin
from neuronwatch.remedy.api import Case

FAILED = Exit(1, None, 1000.0)
HF = "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size 8 --gradient_accumulation_steps=2 --bf16"


def finding(fault: str, confidence: float = 0.95, **more: Any) -> Finding:
    given: dict[str, Any] = {"role": "cause", "severity": "error", "evidence": (Origin("stderr.log", 3, "what it said"),)}
    return Finding(rule=fault, fault=fault, confidence=confidence, title=f"title of {fault}", cause="why", **{**given, **more})


def spec(command: str, **more: Any) -> JobSpec:
    return JobSpec("job", tuple(command.split()), **more)


def case(command: str = HF, *faults: str, exit: Exit | None = FAILED, **more: Any) -> Case:
    made = spec(command)
    return Case(**{"spec": made, "asked": made, "exit": exit, "findings": tuple(map(finding, faults)), **more})


def lives(command: str = HF, **more: Any) -> Case:
    return case(command, exit=None, **{"progress": Progress("step", 0.0, 900.0, step=5), **more})
