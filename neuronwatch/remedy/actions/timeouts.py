"""Longer limits where something is slow and not stuck."""

from __future__ import annotations

from neuronwatch.dialect import rewrite, vllm
from neuronwatch.model.diagnosis import Finding
from neuronwatch.remedy.actions._spec import variable
from neuronwatch.remedy.api import Action, Answer, Case, Refusal

FAULTS = ("runtime.exec-timeout", "serve.startup-timeout")
LIMITS = {
    "NEURON_RT_EXEC_TIMEOUT": (30, 600),
    "VLLM_ENGINE_READY_TIMEOUT_S": (600, 7200),
    "SAGEMAKER_TS_STARTUP_TIMEOUT": (600, 3600),
    "SERVING_STARTUP_TIMEOUT": (600, 3600),
}
"""Variable to its default and the value that is set, seconds."""


def propose(case: Case, finding: Finding | None) -> Answer:
    if finding is not None and finding.fault == "runtime.exec-timeout":
        return _longer(case, "NEURON_RT_EXEC_TIMEOUT")
    for name in list(LIMITS)[2:]:
        if rewrite.read_variable(case.spec, name, case.environ) is not None:
            return _longer(case, name)
    if any(vllm.speaks(level.words) for level in rewrite.levels(case.spec.argv)):
        return _longer(case, "VLLM_ENGINE_READY_TIMEOUT_S")
    return Refusal("who ends this server's start is not part of its command: raise the limit there, or compile ahead")


def _longer(case: Case, name: str) -> Answer:
    default, longer = LIMITS[name]
    text = rewrite.read_variable(case.spec, name, case.environ)
    now = int(text) if text and text.isdigit() else default
    if now >= longer:
        return Refusal(f"{name} is {now} s already: that is no slow graph but a hang")
    return variable(case, name, str(longer), f"{longer} s instead of {now}")


ACTION = Action("timeouts", "spec", "wait longer for what is slow", FAULTS, propose)
