"""The compile cache: locks and their age, failed and empty entries, size and growth, each half minute. Entries that are good and
as they were are not looked into again. (Whether a compile hit the cache is in the logs of the compiler's wrapper, not here.)"""

from __future__ import annotations

import os

from neuronwatch.model.live import Delivery, Reading
from neuronwatch.source.host import HostItem
from neuronwatch.source.host import compile_cache as host
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.changes import Changes


class CompileCache:
    name = "compile-cache"
    budget = 90.0
    interval = 30.0
    mandatory = False
    blocking = True

    def __init__(self, root: HostRoot) -> None:
        self._root = root
        self._changes = Changes(self.name)
        self._known: dict[str, host.Known] = {}
        self._good: int | None = None
        self._compiled = 0

    def poll(self, now: Now) -> Delivery:
        items: list[HostItem] = []
        listings = []
        wrong = denied = ""
        for directory in host.directories(self._root):
            where = self._root.place(directory)
            if where is None:
                continue
            try:
                os.listdir(where)  # a directory that may not be read looks empty otherwise
            except PermissionError:
                denied = f"{directory}: permission denied"
                continue
            except OSError as error:
                wrong = f"{directory}: {(error.strerror or str(error)).lower()}"
                continue
            known = self._known.setdefault(directory, {})
            listing = host.listed(self._root, directory, known)
            if len(known) > host.MAX_MODULES:
                known.clear()  # entries that are gone
            listings.append(listing)
            wrong = wrong or listing.odd
            items += host.told(directory, listing)
        if wrong:
            raise Broken(wrong)  # what was seen before has not ended
        if denied:
            raise Absent(denied)
        delivery = self._changes.of(items, now.wall, self._readings(listings, now.wall))
        if not listings:
            raise Absent(f"no compile cache at {', '.join(host.directories(self._root))}", delivery)
        return delivery

    def _readings(self, listings: list[host.Listing], time: float) -> list[Reading]:
        if not listings:
            return []
        counts = {state: sum(listing.states[state] for listing in listings) for state in listings[0].states}
        if self._good is not None:
            self._compiled += max(0, counts["good"] - self._good)
        self._good = counts["good"]
        locks = [listing.oldest_lock for listing in listings if listing.oldest_lock is not None]
        found = [
            Reading("cache.entries", "", float(sum(counts.values()))),
            Reading("cache.locks", "", float(counts["locked"])),
            Reading("cache.failed", "", float(counts["failed"])),
            Reading("cache.empty", "", float(counts["empty"])),
            Reading("cache.size", "", float(sum(listing.size for listing in listings))),
            Reading("cache.compiled", "", float(self._compiled)),
        ]
        if locks:
            found.append(Reading("cache.oldest_lock", "", max(0.0, time - min(locks))))
        return found

    def descriptors(self) -> tuple[int, ...]:
        return ()

    def close(self) -> None:
        pass
