"""Reset the Neuron devices that the evidence names, through the driver's sysfs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.records import Value
from neuronwatch.remedy.actions import _host
from neuronwatch.remedy.api import Action, Answer, Case, Proposal, Refusal, RemedyError

FAULTS = ("runtime.device-state-stale", "runtime.dma-abort")
FILE = "/sys/devices/virtual/neuron_device/neuron{}/reset"
_DEVICE = re.compile(r"nd(\d{1,3})(?::|$)")


def propose(case: Case, finding: Finding | None) -> Answer:
    named = sorted({int(match[1]) for item in (finding.entities if finding else ()) if (match := _DEVICE.match(item))})
    if not named:
        return Refusal("the evidence names no device")
    words = f"reset device {', '.join(f'nd{number}' for number in named)}: whatever runs there fails"
    return Proposal(words, hand=_host.hand_of(case, devices=tuple(named)), undo="irreversible")


def apply(hand: Mapping[str, Value]) -> Mapping[str, Value]:
    root, devices = _host.root_of(hand), hand.get("devices")
    done = []
    for number in devices if isinstance(devices, tuple) else ():
        where = root.place(FILE.format(int(str(number))))
        if where is None:
            raise RemedyError(f"the driver has no reset for nd{number}")
        try:
            descriptor = os.open(where, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.write(descriptor, b"1")
            finally:
                os.close(descriptor)
        except OSError as error:
            raise RemedyError(f"nd{number} cannot be reset: {error.strerror}") from error
        done.append(f"nd{number}")
    return {"did": f"reset asked for: {', '.join(done)}"}


ACTION = Action(
    "device-reset", "host", "reset Neuron devices", FAULTS, propose, apply, _host.irreversible, budget=2, cool_down=3600.0
)
