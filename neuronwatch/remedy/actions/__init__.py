"""The closed set of remedies, one file each; the order is that in which the remedies of one fault are tried."""

from __future__ import annotations

from neuronwatch.remedy.actions import batch_size, restart, stop
from neuronwatch.remedy.api import Action

RESTART, STOP = restart.ACTION, stop.ACTION
ACTIONS: tuple[Action, ...] = (stop.ACTION, batch_size.ACTION, restart.ACTION)


def of_fault(fault: str) -> list[Action]:
    return [action for action in ACTIONS if fault in action.faults]


def named(name: str) -> Action | None:
    return next((action for action in ACTIONS if action.name == name), None)
