"""One poll of a source and what came of it, in the loop's thread or in a thread of the source's own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from neuronwatch.model.live import Delivery, SourceState
from neuronwatch.source.live.api import Absent, Broken, Clock, Now, Source

MAX_REASON = 300


class Outcome(NamedTuple):
    """What one poll gave: a delivery, the state and reason of its failure, or both; all empty: nothing new."""

    begun: Now
    delivery: Delivery | None = None
    failure: SourceState | None = None
    reason: str = ""
    descriptors: Sequence[int] = ()
    """What the source wants to be watched from now on."""


def attempt(source: Source, now: Now) -> Outcome:
    """Polls. What a source raises beside Absent and Broken is a defect of ours: said, never thrown."""
    try:
        delivery = source.poll(now)
        return Outcome(now, delivery, descriptors=source.descriptors())
    except Absent as error:
        return Outcome(now, error.delivery, "missing", _words(error))
    except Broken as error:
        return Outcome(now, error.delivery, "failed", _words(error))
    except Exception as error:
        import logging

        logging.getLogger("neuronwatch.source").warning("defect in source %s", source.name, exc_info=True)
        return Outcome(now, None, "failed", f"a defect of neuronwatch: {type(error).__name__}: {_words(error)}")


def _words(error: Exception) -> str:
    """The text of an exception in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= MAX_REASON else text[: MAX_REASON - 3] + "..."


class Worker:
    """The thread of a source that may block. It begins with the first `ask` and is never waited for. `done` is called in it."""

    def __init__(self, source: Source, clock: Clock, done: Callable[[Outcome], None]) -> None:
        self._source = source
        self._clock = clock
        self._done = done
        self._orders: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.ended = threading.Event()

    def ask(self) -> None:
        """One poll more, when those before are done."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"source-{self._source.name}", daemon=True)
            self._thread.start()
        self._orders.put(True)

    def stop(self) -> None:
        """Closes the source: in its thread, as soon as that is free."""
        if self._thread is None:
            self._source.close()
            self.ended.set()
        else:
            self._orders.put(False)

    def _run(self) -> None:
        while self._orders.get():
            self._done(attempt(self._source, self._clock.now()))
        try:
            self._source.close()
        finally:
            self.ended.set()
