"""Reboot the host. Everything on it ends; the job is started again by whoever starts the supervisor at boot."""

from __future__ import annotations

from collections.abc import Mapping

from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.records import Value
from neuronwatch.remedy.actions import _host
from neuronwatch.remedy.api import Action, Answer, Case, Proposal

FAULTS = ("hw.hbm-repairable-error", "runtime.dma-abort", "env.driver-reload-blocked")


def propose(case: Case, finding: Finding | None) -> Answer:
    return Proposal("reboot the host: everything on it ends", hand=_host.hand_of(case), undo="irreversible")


def apply(hand: Mapping[str, Value]) -> Mapping[str, Value]:
    _host.run(_host.root_of(hand), "systemctl", "reboot")
    return {"did": "the host reboots"}


ACTION = Action("reboot", "host", "reboot the host", FAULTS, propose, apply, _host.irreversible, budget=1, cool_down=86400.0)
