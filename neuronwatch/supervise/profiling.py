"""A profile of the next run of a job that hung on the device.

Neuron Explorer and neuron-profile cannot look into a process that runs already: the runtime writes a profile only where its
variables were set before it started (documentation of Neuron Explorer, environment variables, 2.33). So what hung is not profiled,
what is started after it is, and only where there is a device.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

DEVICES = "/dev/neuron0"


def environment(place: Path, have: Mapping[str, str | None], device: str = DEVICES) -> dict[str, str]:
    """Variables for the next start, writing below `place`; empty without a device or where the job profiles itself: torch.profiler
    and these conflict."""
    if not Path(device).exists() or any(name.startswith("NEURON_RT_INSPECT") for name in have):
        return {}
    return {
        "NEURON_RT_INSPECT_ENABLE": "1",
        "NEURON_RT_INSPECT_SYSTEM_PROFILE": "1",
        "NEURON_RT_INSPECT_DEVICE_PROFILE": "0",  # the hardware's own traces fill a disk in minutes
        "NEURON_RT_INSPECT_OUTPUT_DIR": str(place / "profile"),
    }
