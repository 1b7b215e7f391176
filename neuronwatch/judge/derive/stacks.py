"""Where the ranks stand: the collective call of each main thread in the stack dumps of a job."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact

_COLLECTIVES = {
    "all_reduce": "all_reduce",
    "allreduce": "all_reduce",
    "all_gather": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "all_gather_object": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all": "all_to_all",
    "reduce_gradients": "all_reduce",
    "mesh_reduce": "mesh_reduce",
    "rendezvous": "rendezvous",
    "barrier": "barrier",
    "monitored_barrier": "barrier",
    "wait_for_everyone": "barrier",
}
"""Calls that no rank leaves before all have come. Point-to-point calls and broadcasts (the root goes on) do not belong here."""


def derive(facts: FactsView) -> Iterable[Fact]:
    """`python.collectives`: the outermost of these calls in each stack, where a rank entered the wait."""
    found: list[tuple[str, Fact]] = []
    for stack in facts.all("python.stack"):
        if isinstance(stack.value, tuple):
            calls = [_COLLECTIVES[str(name)] for name in stack.value if str(name) in _COLLECTIVES]
            if calls:
                found.append((calls[-1], stack))
    if found:
        yield Fact("python.collectives", tuple(dict.fromkeys(call for call, _ in found)), found[0][1].origin)
