"""The kernel log: /dev/kmsg, else the journal, else what syslog writes, else `dmesg -w`; of a host below a directory the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended, Delivery
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.dmesg import Dmesg
from neuronwatch.source.live.flood import Flood, Sieve
from neuronwatch.source.live.follow import Follower
from neuronwatch.source.live.followed import Followed
from neuronwatch.source.live.globs import NOT_REGULAR
from neuronwatch.source.live.journal_reader import JournalReader
from neuronwatch.source.live.kmsg import Kmsg
from neuronwatch.source.live.lines import Lines
from neuronwatch.source.live.positions import Positions

FILES = ("/var/log/kern.log", "/var/log/messages", "/var/log/syslog")
"""The first that is there is followed: they say the same."""
HISTORY = 8 << 20
PATIENCE = 3
"""A way that fails so often in a row is left."""
DOUBT, LAST_DOUBT = 300.0, 60.0
"""Seconds after which a better way is tried again that could not be used; of the last way of all, which also may hang unseen: it
prints what the kernel holds whenever it begins."""


class Way(Protocol):
    """One way to read it. `read` raises Absent or Broken."""

    @property
    def heard(self) -> bool:
        """Whether it gave something, or is known to work: a child that says nothing may be blind."""
        ...

    def read(self, now: Now) -> list[Appended]: ...

    def reports(self) -> Sequence[SourceReport] | None: ...

    def descriptors(self) -> Sequence[int]: ...

    def close(self) -> None: ...


class Files:
    """The file that syslog writes."""

    heard = True

    def __init__(self, root: HostRoot, state: Path | None, flood: Flood) -> None:
        self.name = next((name for name in FILES if root.exists(name)), "")
        if not self.name:
            raise Absent(f"none of {', '.join(FILES)}")
        self._root, self._flood = root, flood
        self._followed = Followed(self._make, state)

    def _make(self, positions: Positions) -> Follower:
        return Follower(self._root, [self.name], positions.files, history=HISTORY, flood=self._flood)

    def read(self, now: Now) -> list[Appended]:
        found = self._followed.read(now)
        follower = self._followed.follower
        if not found and not follower.followed:
            reports = follower.reports()
            said = "; ".join(f"{report.path}: {report.reason}" for report in reports)
            broken = any(report.state == "failed" or report.reason == NOT_REGULAR for report in reports)
            raise (Broken if broken else Absent)(said or f"{self.name} is gone")
        return found

    def reports(self) -> Sequence[SourceReport] | None:
        return self._followed.reports()

    def descriptors(self) -> Sequence[int]:
        return self._followed.descriptors()

    def close(self) -> None:
        self._followed.close()


class KernelLog:
    """`state`: the file in which positions outlive a restart, None: they do not."""

    name = "kernel-log"
    budget = 30.0
    interval = 1.0
    mandatory = False
    blocking = False

    def __init__(self, root: HostRoot, *, state: Path | None = None, sieve: Sieve | None = None) -> None:
        self.flood = Flood(sieve)
        self._root = root
        self._state = state
        self._positions: Positions | None = None
        self._way: Way | None = None
        self._place = 0
        """The number of the way in use, 0 is the best."""
        self._failures = 0
        self._alive_at = self._doubt_at = float("-inf")

    def _ways(self) -> Iterable[Callable[[], Way]]:
        root, flood = self._root, self.flood
        files = lambda: Files(root, self._beside("files"), flood)  # noqa: E731
        dmesg = lambda: Lines(Dmesg(root, self._own()), "host:dmesg", flood)  # noqa: E731
        if not root.live:
            return (files, dmesg)
        return (
            lambda: Kmsg(root, self._own(), flood),
            lambda: Lines(JournalReader(root, ["-k"], self._own(), "kernel", never_empty=True), "host:journalctl -k", flood),
            files,
            dmesg,
        )

    def _own(self) -> Positions:
        if self._positions is None:
            self._positions = Positions(self._state)
        return self._positions

    def _beside(self, what: str) -> Path | None:
        return None if self._state is None else self._state.with_name(f"{self._state.stem}-{what}{self._state.suffix}")

    def poll(self, now: Now) -> Delivery | None:
        if self._way is not None and self._place and now.mono >= self._doubt_at:
            self._leave()
        found, reports = self._read(now)
        self._own().save(dict, now.mono)
        heard = self._way is not None and self._way.heard
        if not found and reports is None and (not heard or now.mono - self._alive_at < self.budget / 3):
            return None
        self._alive_at = now.mono
        return Delivery(self.name, now.wall, appended=found, reports=reports)

    def _read(self, now: Now) -> tuple[list[Appended], Sequence[SourceReport] | None]:
        """By the way in use, else by the best one that can be used. Raises what the ways said."""
        said: list[str] = []
        broken, failed = False, -1
        way = self._way
        if way is not None:
            try:
                found = way.read(now)
                self._failures = 0 if found else self._failures
                return found, way.reports()
            except (Absent, Broken) as error:
                said.append(str(error))
                self._failures += 1
                broken = isinstance(error, Broken)
                if broken and not self._place and self._failures < PATIENCE:  # it comes again with a pause of its own
                    raise self._cannot(said, broken) from error
                failed = self._place
                self._leave()
        ways = tuple(self._ways())
        for place, make in enumerate(ways):
            if place == failed:  # the better ones may be there again, too
                continue
            try:
                self._way, self._place = make(), place
                self._failures = 0
                self._doubt_at = now.mono + (LAST_DOUBT if place == len(ways) - 1 else DOUBT)
                return self._way.read(now), self._way.reports()
            except (Absent, Broken) as error:
                said.append(str(error))
                broken = broken or isinstance(error, Broken)
                self._leave()
        raise self._cannot(said, broken)

    @staticmethod
    def _cannot(said: Sequence[str], broken: bool) -> Absent | Broken:
        words = "the kernel log cannot be read: " + "; ".join(dict.fromkeys(said))
        return Broken(words) if broken else Absent(words)

    def _leave(self) -> None:
        way, self._way = self._way, None
        if way is not None:
            way.close()

    def descriptors(self) -> Sequence[int]:
        return self._way.descriptors() if self._way is not None else ()

    def close(self) -> None:
        self._leave()
        if self._positions is not None:
            self._positions.save(dict, 0.0, force=True)
