"""Do not start the job again, with the reason: a restart cannot help. It is no remedy and needs no undo."""

from __future__ import annotations

from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.job import Exit
from neuronwatch.remedy.api import Action, Answer, Case, Proposal, Refusal

FAULTS = (
    "env.not-a-neuron-instance",
    "env.driver-not-installed",
    "env.driver-module-not-built",
    "env.kernel-unsupported-by-driver",
    "env.driver-too-old-for-runtime",
    "env.runtime-too-old-for-driver",
    "env.hw-generation-unsupported",
    "env.device-not-in-container",
    "env.device-permission-denied",
    "env.legacy-neuron-packages",
    "env.sdk-version-skew",
    "env.native-abi-mismatch",
    "env.hf-stack-skew",
    "env.vllm-version-skew",
    "env.vllm-wrong-build-target",
    "env.python-package-missing",
    "env.shared-library-missing",
    "env.invalid-argument",
    "env.hub-access-denied",
    "env.disk-full",
    "runtime.neff-version-unsupported",
    "train.model-path-missing",
    "serve.artifact-environment-mismatch",
    "serve.artifact-target-mismatch",
    "hw.uncorrectable-memory",
    "hw.device-missing",
)
SURE = 0.6
"""A finding below this confidence does not keep a job from another start."""


def propose(case: Case, finding: Finding | None) -> Answer:
    if case.exit is None:
        return Refusal("the run lives")
    if finding is not None and finding.confidence >= SURE and not case.made_step:
        fix = f"; fix: {finding.fix[0]}" if finding.fix else ""
        return Proposal(f"a restart cannot help: {finding.title}{fix}", restart=False, undo="start the job by hand")
    if finding is None and twice(case) and not case.findings:
        said = f"it failed twice before its first step in the same way ({_how(case.exit)}): a restart cannot help"
        return Proposal(said, restart=False, undo="start the job by hand")
    return Refusal("a restart may help")


def twice(case: Case) -> bool:
    """Whether this run and the one before it ended in the same way, with the same fault, before their first step."""
    before = case.history[-1] if case.history else None
    if case.exit is None or before is None or case.made_step or before.stepped or not case.exit.known:
        return False
    fault = next((item.fault for item in case.findings if item.role == "cause" and item.fault), "")
    return (before.exit.status, before.exit.signal, before.fault) == (case.exit.status, case.exit.signal, fault)


def _how(end: Exit) -> str:
    return f"status {end.status}" if end.status is not None else f"signal {end.signal}"


ACTION = Action("stop", "stop", "leave the job ended", FAULTS, propose)
