"""Reload the Neuron driver: memory rows that wait for their repair are remapped, engines are reset. Every job of the host must be
ended; while a process holds a device, the module stays."""

from __future__ import annotations

from collections.abc import Mapping

from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.records import Value
from neuronwatch.remedy.actions import _host
from neuronwatch.remedy.api import Action, Answer, Case, Proposal, RemedyError

FAULTS = ("hw.hbm-repairable-error", "runtime.dma-abort", "runtime.device-state-stale")
WORDS = "reload the Neuron driver (rmmod neuron; modprobe neuron): all devices of the host are gone for a moment"


def propose(case: Case, finding: Finding | None) -> Answer:
    return Proposal(WORDS, hand=_host.hand_of(case), undo="irreversible")


def apply(hand: Mapping[str, Value]) -> Mapping[str, Value]:
    root = _host.root_of(hand)
    _host.run(root, "rmmod", "neuron")
    try:
        _host.run(root, "modprobe", "neuron")
    except RemedyError as error:
        raise RemedyError(f"{error}; the driver is not loaded now", "modprobe neuron") from error
    return {"did": "the driver was reloaded"}


ACTION = Action(
    "driver-reload", "host", "reload the Neuron driver", FAULTS, propose, apply, _host.irreversible, budget=2, cool_down=3600.0
)
