"""The sources whose texts grow: runtime and job logs, the kernel log, the journal of an old runtime daemon."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Source
from neuronwatch.source.live.flood import Sieve
from neuronwatch.source.live.holders import Holders
from neuronwatch.source.live.journal import Journal
from neuronwatch.source.live.kernel_log import KernelLog
from neuronwatch.source.live.logs import SHIPPED, RuntimeLogs

NAMES = (RuntimeLogs.name, KernelLog.name, Journal.name)


def of(
    root: HostRoot, state: Path | None, *, globs: Sequence[str] = (), shipped: bool = True, holders: Holders | None = None,
    sieve: Sieve | None = None,
) -> list[Source]:  # fmt: skip
    """`state`: the directory for the positions. `globs`: logs besides the usual ones (`shipped`). `holders`: whose outputs are
    followed. `sieve`: `LiveScan.sieve`, with a time that the scan knows; it is called in the loop's thread."""

    def positions(name: str) -> Path | None:
        return None if state is None else state / f"positions-{name}.json"

    patterns = (*(SHIPPED if shipped else ()), *globs)
    return [
        RuntimeLogs(root, patterns, state=positions(RuntimeLogs.name), holders=holders, sieve=sieve),
        KernelLog(root, state=positions(KernelLog.name), sieve=sieve),
        Journal(root, state=positions(Journal.name), sieve=sieve),
    ]
