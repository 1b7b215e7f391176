"""Stand-in for source/live/runner.py until it lands: polls sources on the loop's timers, keeps their health."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from neuronwatch.daemon.loop import READ, Loop
from neuronwatch.model.live import Delivery, Health
from neuronwatch.source.live.api import Absent, Broken, Source


class Runner:
    def __init__(self, loop: Loop, sources: Sequence[Source], deliver: Callable[[Delivery], None]) -> None:
        self._loop = loop
        self._deliver = deliver
        self._sources = sources
        now = loop.clock.now().wall
        self._health = {s.name: Health(s.name, "starting", now, s.budget, mandatory=s.mandatory) for s in sources}

    def start(self) -> None:
        for source in self._sources:
            self._loop.after(0.0, lambda source=source: self._poll(source))  # type: ignore[misc]
            if source.interval:
                self._loop.every(source.interval, lambda source=source: self._poll(source))  # type: ignore[misc]

    def _poll(self, source: Source) -> None:
        now = self._loop.clock.now()
        try:
            delivery = source.poll(now)
        except Absent as error:
            self._set(source.name, "missing", str(error), now.wall)
            return
        except Broken as error:
            self._set(source.name, "failed", str(error), now.wall)
            return
        if delivery is not None:
            old = self._health[source.name]
            since = old.since if old.state == "fresh" else now.wall
            self._health[source.name] = replace(old, state="fresh", reason="", since=since, last=delivery.time)
            self._deliver(delivery)
        for number in source.descriptors():
            self._loop.watch(number, READ, lambda _events: self._poll(source))

    def _set(self, name: str, state: str, reason: str, now: float) -> None:
        old = self._health[name]
        since = old.since if old.state == state else now
        self._health[name] = replace(old, state=state, reason=reason, since=since)  # type: ignore[arg-type]

    def health(self) -> list[Health]:
        now = self._loop.clock.now().wall
        found = []
        for item in self._health.values():
            if item.state == "fresh" and item.last is not None and now - item.last > item.budget:
                item = replace(item, state="stale", since=item.last + item.budget, reason=f"nothing for {now - item.last:.0f} s")
            found.append(item)
        return found

    def close(self) -> None:
        for source in self._sources:
            source.close()
