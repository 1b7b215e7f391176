"""env.vllm-version-skew: vLLM is upgraded alone."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs, _packages
from neuronwatch.drill.machine import Machine

ID = "env.vllm-version-skew"
WHAT = (
    "vLLM is upgraded past the release that the Neuron plugin is made for: the worker takes a function from where it no longer is."
)
NEAR_MISS = "vLLM is brought to a patch release of the line that the plugin is made for."
BROKEN = {"vllm": "0.13.0"}
NEAR = {"vllm": "0.11.0"}
NEEDS = Needs(load="serve")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    yield from _packages.changed(machine, _jobs.serving(machine), injection, NEAR if injection.near_miss else BROKEN)
