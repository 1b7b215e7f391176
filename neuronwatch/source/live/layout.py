"""Logical against physical NeuronCores. sysfs counts physical cores; jobs, neuron-ls and neuron-monitor count logical ones, of
which each holds `logical_neuroncore_config` physical ones (trn2: 2 unless told otherwise)."""

from __future__ import annotations

import os
from collections.abc import Mapping

PAIRED = frozenset(("Trn2", "Trn3"))
"""Values of info/architecture/instance_type whose cores are paired unless something says that they are not."""


class Layout:
    """What is known of it, shared by the sources of one host: the tools tell it, sysfs needs it."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        told = environment.get("NEURON_LOGICAL_NC_CONFIG", "")
        self._environment = int(told) if told in ("1", "2") else None
        self._tool: int | None = None
        self.physical: int | None = None
        """Physical cores of a device, from sysfs."""
        self.paired = False
        """Whether this kind of chip pairs its cores by itself."""

    def told(self, config: int | None) -> None:
        """A tool names the configuration."""
        if config in (1, 2, 4, 8):
            self._tool = config

    @property
    def config(self) -> int:
        """Physical cores of a logical one."""
        return self._tool or self._environment or (2 if self.paired else 1)

    @property
    def per_device(self) -> int | None:
        """Logical cores of a device."""
        return max(1, self.physical // self.config) if self.physical else None

    def entity(self, device: int, physical: int) -> str:
        """The logical core that a physical one belongs to."""
        return f"nd{device}:nc{physical // self.config}"
