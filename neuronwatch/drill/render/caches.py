"""The compile cache as files: graph, flags, NEFF, log and lock of each entry."""

from __future__ import annotations

import contextlib
import os

from neuronwatch.drill.cache import Entry
from neuronwatch.drill.files import Files
from neuronwatch.drill.machine import Machine


class Caches:
    """NEFFs are sparse files of the right size. Entries that left the model are taken away."""

    def __init__(self, machine: Machine, files: Files) -> None:
        self._machine = machine
        self._files = files
        self._target = machine.kind.family.rstrip("nu") if machine.kind.family.startswith("trn") else machine.kind.family
        self._shown: dict[str, tuple[str, str, int, float, str]] = {}

    def render(self) -> None:
        cache = self._machine.cache
        wanted: dict[str, tuple[str, str, int, float, str]] = {}
        for entry in cache.entries.values():
            where = cache.where(entry.module, entry.flags)
            wanted[where] = (entry.module, entry.state, entry.size, entry.time, entry.log)
            if self._shown.get(where) != wanted[where]:
                self._write(where, entry)
        for where in set(self._shown) - set(wanted):
            self._files.remove(where)
        self._shown = wanted

    def _write(self, where: str, entry: Entry) -> None:
        files, time = self._files, entry.time
        files.remove(where)
        files.directory(where)
        if entry.state != "empty":
            files.put(f"{where}/compile_flags.json", f'["--target={self._target}", "--model-type=transformer", "-O1"]', time=time)
            graph = b"\x0a\x12SyncTensorsGraph." + entry.module.encode() + b"\x12\x05entry" * 40
            files.put(f"{where}/model.hlo_module.pb", graph, time=time)
        if entry.state == "done":
            files.put(f"{where}/model.neff", b"NEFF\x02\x00", size=entry.size, time=time)
        elif entry.state == "empty-neff":
            files.put(f"{where}/model.neff", b"", time=time)
        if entry.state in ("done", "empty-neff"):
            files.put(f"{where}/model.done", "", time=time)
        elif entry.state == "failed":
            files.put(f"{where}/model.log", entry.log, time=time)
        elif entry.state == "locked":
            files.put(f"{where}/model.hlo_module.pb.lock", "", time=time)
        with contextlib.suppress(OSError):
            os.utime(files.where(where), (time, time))
