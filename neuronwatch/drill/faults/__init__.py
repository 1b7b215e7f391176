"""The faults that can be injected, one file each, found by their files.

A fault is a module with `ID` (taxonomy id), `WHAT` (one sentence: what breaks), `NEAR_MISS` (one sentence: what looks alike and
must stay silent) and `run(machine, injection)`, a generator. It changes the state of driver, devices or processes, yields the
seconds of host time until it wants to go on, waits in `yield from injection.held()` until the fault is cleared, and then mends
what it broke. It never writes a log line or a counter that the driver, the runtime or the job would write: those follow from
the state. With `injection.near_miss` it plays the harmless likeness instead. `NEEDS`, where it is there, says on which host it
can be played and how long it takes to show.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import NamedTuple, Protocol, cast

from neuronwatch.drill.machine import Machine


class Needs(NamedTuple):
    """What a fault needs: the options of a host, "" for the usual ones; `shows`: host seconds until the host shows it at the
    latest, the job's next start (45 s after its end) included."""

    instance: str = "trn1.2xlarge"
    load: str = ""
    driver: str = ""
    shows: float = 130.0


class Injection:
    """One fault that is switched on. `cleared` becomes true when somebody clears it; the fault then mends and ends."""

    def __init__(self, fault: str, near_miss: bool, since: float) -> None:
        self.fault = fault
        self.near_miss = near_miss
        self.since = since
        self.cleared = False

    def held(self) -> Iterator[float]:
        """Waits until the fault is cleared."""
        while not self.cleared:
            yield 1.0


class Fault(Protocol):
    """A module of this package."""

    ID: str
    WHAT: str
    NEAR_MISS: str

    def run(self, machine: Machine, injection: Injection) -> Iterator[float]: ...


def needs(fault: Fault) -> Needs:
    found = getattr(fault, "NEEDS", None)
    return found if isinstance(found, Needs) else Needs()


def options(fault: Fault) -> str:
    """The options of `drill host` that it needs, "" where any host that trains will do."""
    wanted, usual = needs(fault), Needs()
    shown = [f"--{name} {value}" for name, value in (("instance", wanted.instance), ("load", wanted.load), ("driver", wanted.driver))
             if value != getattr(usual, name)]  # fmt: skip
    return " ".join(shown)


def all_faults() -> dict[str, Fault]:
    """Every fault, by id, in the order of the ids."""
    names = sorted(item.name for item in pkgutil.iter_modules(__path__) if not item.name.startswith("_"))
    found = [cast(Fault, importlib.import_module(f"{__name__}.{name}")) for name in names]
    return {fault.ID: fault for fault in sorted(found, key=lambda fault: fault.ID)}
