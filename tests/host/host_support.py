"""Hosts made of files: `host(tmp_path, {"/proc/version": "..."})`, and the facts that its sources give through the parsers."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from neuronwatch.judge import engine
from neuronwatch.judge.evidence import DocumentHit, Window
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.state import State
from neuronwatch.model import vocabulary
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact
from neuronwatch.source import formats, reader
from neuronwatch.source.host import HostRoot, VirtualFile, host_sources

TRN1 = {
    "/sys/class/dmi/id/product_name": "trn1.2xlarge\n",
    "/proc/sys/kernel/osrelease": "6.8.0-1021-aws\n",
    "/proc/version": "Linux version 6.8.0-1021-aws (buildd@lcy02) (gcc 12) #23~22.04.1-Ubuntu SMP\n",
    "/proc/modules": "ena 151552 0 - Live 0x0\nneuron 356352 1 - Live 0x0 (OE)\n",
    "/sys/module/neuron/version": "2.26.10.0\n",
    "/dev/neuron0": "",
    "/sys/devices/virtual/neuron_device/neuron0/core_count": "2",
    "/sys/devices/virtual/neuron_device/neuron0/info/architecture/arch_type": "NDv2\n",
    "/sys/devices/virtual/neuron_device/neuron0/stats/hardware/sram_ecc_uncorrected": "0\n",
    "/sys/devices/virtual/neuron_device/neuron0/stats/hardware/mem_ecc_uncorrected": "3\n",
    "/sys/devices/virtual/neuron_device/neuron0/reset": "",
    "/proc/1/cgroup": "0::/init.scope\n",
}
"""A small Trainium host."""


def host(where: Path, files: Mapping[str, str | bytes], **options: bool) -> HostRoot:
    for name, content in files.items():
        path = where / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content)
    return HostRoot(where, **options)


def gathered(root: HostRoot, python: str | None = None) -> tuple[FactsView, list[SourceReport], dict[str, bytes]]:
    """Facts (parsed and derived), reports, and virtual files of all ways."""
    state, reports, texts = State(), [], {}
    for item in host_sources(root, python):
        if isinstance(item, Fact):
            assert vocabulary.known(item.name), item.name
            state.file(item.origin.path).facts.append(item)
        elif isinstance(item, SourceReport):
            reports.append(item)
        else:
            assert isinstance(item, VirtualFile)
            texts[item.path] = item.data
            for piece in reader.read_virtual(item.path, item.data, (), *formats.shipped()):
                if isinstance(piece, Window) and piece.lines:
                    for record in piece.format.parse(piece.lines):
                        if isinstance(record, Fact):
                            state.file(record.origin.path).facts.append(record)
                elif isinstance(piece, DocumentHit):
                    for record in piece.format.parse(piece.document):
                        if isinstance(record, Fact):
                            state.file(record.origin.path).facts.append(record)
    return engine.gather(state)[0], reports, texts


def as_other_user(action: Callable[[], None]) -> None:
    """Runs `action` in a child of uid 65534 and fails when it does. Only root can do so."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            action()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
