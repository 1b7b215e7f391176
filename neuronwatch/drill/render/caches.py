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
        files = self._files
        files.remove(where)
        files.directory(where)
        if entry.state != "empty":
            files.put(f"{where}/compile_flags.json", '["--target=trn1", "--model-type=transformer", "-O1"]')
            files.put(f"{where}/model.hlo_module.pb", b"\x0a\x12SyncTensorsGraph." + entry.module.encode() + b"\x12\x05entry" * 40)
        if entry.state in ("done", "empty-neff"):
            files.put(f"{where}/model.neff", b"NEFF\x02\x00" if entry.state == "done" else b"")
            if entry.state == "done":
                os.truncate(files.where(f"{where}/model.neff"), entry.size)
            files.put(f"{where}/model.done", "")
        elif entry.state == "failed":
            files.put(f"{where}/model.log", entry.log)
        elif entry.state == "locked":
            files.put(f"{where}/model.hlo_module.pb.lock", "")
        with contextlib.suppress(OSError):
            for name in ["", *os.listdir(files.where(where))]:
                os.utime(files.where(f"{where}/{name}"), (entry.time, entry.time))
