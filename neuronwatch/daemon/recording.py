"""`record`: what the sources deliver, written as a capture while it lasts. One at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuronwatch.daemon.intake import Intake
from neuronwatch.daemon.log import Log
from neuronwatch.model.live import Appended, Delivery, Whole
from neuronwatch.store.errors import StoreError

if TYPE_CHECKING:
    from neuronwatch.store.capture import Recorder


class Recordings:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._recorder: Recorder | None = None
        self.directory = ""

    @property
    def active(self) -> bool:
        return self._recorder is not None

    def start(self, directory: Path, now: float, intake: Intake) -> None:
        """Begins, with the texts as they are now: they may not change for hours. Raises StoreError."""
        if self._recorder is not None:
            raise StoreError(f"a recording to {self.directory} is under way", "stop it first")
        from neuronwatch.store.capture import Recorder

        self._recorder, self.directory = Recorder(directory, now), str(directory)
        for delivery in standing(intake, now):
            self._recorder.add(delivery)
        self._log.info("recording", directory=self.directory)

    def ending(self) -> Callable[[str], None]:
        """A function that ends the recording that is under way now, and no later one; it is told why."""
        mine = self._recorder

        def end(why: str) -> None:
            if mine is not None and self._recorder is mine:
                self._log.info("the recording ends", directory=self.directory, why=why)
                self.stop()

        return end

    def add(self, delivery: Delivery) -> None:
        if self._recorder is not None:
            self._recorder.add(delivery)

    def health(self) -> dict[str, Any]:
        if self._recorder is None:
            return {"active": False, "directory": self.directory}
        health = self._recorder.health()
        return {"active": True, "directory": self.directory, "state": health.state, "reason": health.reason, "lost": health.lost,
                "bytes": health.size}  # fmt: skip

    def stop(self) -> dict[str, Any]:
        """Ends it; what it wrote. Raises StoreError when there is none."""
        if self._recorder is None:
            raise StoreError("no recording is under way", "start one with `neuronwatch record`")
        recorder, self._recorder = self._recorder, None
        whole = recorder.close()
        health = recorder.health()
        self._log.info("recorded", directory=self.directory, bytes=health.size, lost=health.lost)
        return {"directory": self.directory, "bytes": health.size, "lost": health.lost, "whole": whole}

    def close(self) -> None:
        if self._recorder is not None:
            self.stop()


def standing(intake: Intake, now: float) -> list[Delivery]:
    """How everything stands, as deliveries: texts as they are, facts, reports, and the last lines of followed texts."""
    found = []
    for source, told in sorted(intake.told.items()):
        found.append(Delivery(source, now, facts=told.facts, reports=told.reports, alive=told.alive))
    for source, path, data in intake.wholes_of():
        found.append(Delivery(source, now, wholes=(Whole(path, data),)))
    for source, path, lines in intake.tails_of():
        found.append(Delivery(source, now, appended=(Appended(path, lines, fresh=True),)))
    return found
