"""When the watch evaluates the rules again: at once for what may decide something, rarely for what goes on all the time."""

from __future__ import annotations

from neuronwatch.model.live import Now

GAP = 0.1
"""Seconds between two judgements, at least."""
TOKENS, REFILL = 30.0, 5.0
"""So many judgements may follow each other at GAP; then REFILL a second, so that a line is judged within 0.2 seconds also in
a storm of news. Such a storm ends by itself: what comes again and again is news only the first times."""
LAZY = 15.0
"""Seconds until further points of a series, or further hits of a known signature, are judged."""
ANYWAY = 60.0
"""Seconds after which everything is judged again: ages and windows change without news."""
AGING = 2.0
"""Seconds between two looks at conditions that wait for their end."""


class Pace:
    """Monotonic times only."""

    def __init__(self) -> None:
        self._urgent = self._lazy = False
        self._ripe = float("inf")
        self._since = 0.0
        self._judged: float | None = None
        self._concluded = 0.0
        self._tokens = TOKENS

    def urgent(self, now: Now) -> None:
        self._urgent = True

    def lazy(self, now: Now) -> None:
        if not self._lazy:
            self._lazy, self._since = True, now.mono

    def ripe(self, mono: float) -> None:
        """A finding may begin then."""
        self._ripe = mono

    def judge_in(self, now: Now) -> float:
        """Seconds until the rules are evaluated; 0: now."""
        if self._judged is None:
            return 0.0
        passed = now.mono - self._judged
        wait = min(ANYWAY - passed, max(self._ripe - now.mono, GAP - passed))
        if self._urgent:
            tokens = min(TOKENS, self._tokens + passed * REFILL)
            wait = min(wait, GAP - passed if tokens >= 1.0 else (1.0 - tokens) / REFILL)
        if self._lazy:
            wait = min(wait, self._since + LAZY - now.mono)
        return max(0.0, wait)

    def conclude_in(self, now: Now) -> float:
        """Seconds until `conclude` is worth a call."""
        return max(0.0, min(self.judge_in(now), self._concluded + AGING - now.mono))

    def judged(self, now: Now) -> None:
        passed = 0.0 if self._judged is None else now.mono - self._judged
        self._tokens = max(0.0, min(TOKENS, self._tokens + passed * REFILL) - 1.0)
        self._judged, self._urgent, self._lazy = now.mono, False, False

    def concluded(self, now: Now) -> None:
        self._concluded = now.mono
