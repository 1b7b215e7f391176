"""A matcher for one text is made beside the loop: it takes a few tenths of a second, in which no other text may wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

from neuronwatch.judge.match import Matcher


class Making:
    """`make` runs in a thread; it may use nothing that changes. Where it fails, that is a defect of ours: it is logged, and the
    matcher is never ready (there is another one, which takes longer)."""

    def __init__(self, make: Callable[[], Matcher]) -> None:
        self._make = make
        self.made: Matcher | None = None
        """None: it is not ready yet."""
        threading.Thread(target=self._run, name="matcher", daemon=True).start()

    def _run(self) -> None:
        try:
            self.made = self._make()
        except Exception:
            import logging

            logging.getLogger("neuronwatch.source").warning("a matcher could not be made", exc_info=True)
