"""env.vllm-wrong-build-target: the CUDA build of vLLM, without a plugin for Neuron."""

from __future__ import annotations

from collections.abc import Iterator

from neuronwatch.drill.faults import Injection, Needs, _jobs, _packages
from neuronwatch.drill.machine import Machine

ID = "env.vllm-wrong-build-target"
WHAT = "A new venv has the CUDA wheel of vLLM with its NVIDIA packages, and no plugin for Neuron: vLLM finds no device."
NEAR_MISS = "The venv of the server gets a package for measurements, and vLLM stays."
BROKEN = {"optimum-neuron": "", "nvidia-cublas-cu12": "12.8.4.1", "nvidia-cudnn-cu12": "9.10.2.21"}
NEAR = {"locust": "2.34.0"}
NEEDS = Needs(load="serve")


def run(machine: Machine, injection: Injection) -> Iterator[float]:
    yield from _packages.changed(machine, _jobs.serving(machine), injection, NEAR if injection.near_miss else BROKEN)
