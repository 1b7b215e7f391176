"""Simulated hosts for tests: in this process, moved by hand, so that nothing waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neuronwatch.drill import place
from neuronwatch.drill.host import DrillHost

MakeHost = Callable[..., DrillHost]


@pytest.fixture
def make_host(tmp_path: Path) -> Iterator[MakeHost]:
    """Makes hosts below the test's directory; each has run for some seconds."""
    made: list[DrillHost] = []

    def make(instance: str = "trn1.2xlarge", *, seconds: float = 20.0, **options: object) -> DrillHost:
        root = tmp_path / f"host{len(made)}"
        place.take(root)
        host = DrillHost(root, instance, **options)  # type: ignore[arg-type]
        made.append(host)
        host.prepare()
        run(host, seconds)
        return host

    yield make
    for host in made:
        host.close()


def run(host: DrillHost, seconds: float, step: float = 2.0) -> None:
    """So many seconds of the host's time go by."""
    while seconds > 0:
        host.machine.clock.advance(min(step, seconds))
        host.tick()
        seconds -= step
