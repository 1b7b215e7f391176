"""What becomes of a delivery: texts that changed become evidence for the judge, readings go to memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from neuronwatch.daemon.judging import Judging
from neuronwatch.judge.evidence import Evidence
from neuronwatch.model.live import Delivery, Whole
from neuronwatch.model.records import Fact
from neuronwatch.source import formats, reader, rule_files


class Intake:
    """`changed` is called when the judge has something new."""

    def __init__(self, judging: Judging, changed: Callable[[], None]) -> None:
        self._judging = judging
        self._changed = changed
        self._wholes: dict[str, bytes] = {}
        """The fingerprint of each text, by its path."""
        self._facts: dict[str, tuple[Evidence, ...]] = {}

    def take(self, delivery: Delivery) -> None:
        news = False
        for whole in delivery.wholes:
            news = self._whole(whole) or news
        news = self._told(delivery) or news
        if news:
            self._changed()

    def _whole(self, whole: Whole) -> bool:
        if whole.data is None:
            known = self._wholes.pop(whole.path, None) is not None
            self._judging.forget(whole.path)
            return known
        mark = hashlib.blake2b(whole.data, digest_size=16).digest()
        if self._wholes.get(whole.path) == mark:
            return False
        self._wholes[whole.path] = mark
        self._judging.forget(whole.path)
        self._judging.observe(self._read(whole.path, whole.data))
        return True

    def _read(self, path: str, data: bytes) -> Iterable[Evidence]:
        return reader.read_virtual(
            path, data, self._judging.rules.patterns, *formats.shipped(), cache_dir=rule_files.cache_directory()
        )

    def _told(self, delivery: Delivery) -> bool:
        """Facts and reports without a text: they take the place of the source's earlier ones."""
        if delivery.facts is None and delivery.reports is None:
            return False
        told: tuple[Evidence, ...] = (*(delivery.facts or ()), *(delivery.reports or ()))
        before = self._facts.get(delivery.source, ())
        if before == told:
            return False
        self._facts[delivery.source] = told
        for path in {item.origin.path for item in (*before, *told) if isinstance(item, Fact)} - self._wholes.keys():
            self._judging.forget(path)
        self._judging.observe(told)
        return True
