"""Driver against runtime, kernel and chip generation, by the documented constraints."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.data import constraints as table
from neuronwatch.data import releases
from neuronwatch.data.constraints import Constraint
from neuronwatch.data.spec import satisfies
from neuronwatch.judge.derive._packages import first_text
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact


def derive(facts: FactsView) -> Iterable[Fact]:
    driver = first_text(facts, "driver.version")
    runtimes = _runtimes(facts)
    family = facts.get("instance.family")
    family = family if isinstance(family, str) else None
    if driver is not None and runtimes:
        yield from _pair(driver, runtimes, family)
    yield from _kernel(facts)
    if family is not None:
        yield from _generation(family, driver, runtimes)


def _runtimes(facts: FactsView) -> list[Fact]:
    """One reading for each distinct runtime version (host package, container library, start line of a log)."""
    found: dict[str, Fact] = {}
    for reading in facts.all("runtime.version"):
        if isinstance(reading.value, str) and reading.value:
            found.setdefault(reading.value, reading)
    return list(found.values())


def _known(package: str, version: str) -> bool:
    """Not newer than the data: about newer ones the documented constraints may have changed."""
    return releases.place(package, version) != "newer"


def _applies(item: Constraint, family: str | None, versions: dict[str, str]) -> bool | None:
    """Whether the row is about these versions on this family; None when the family decides and is not known."""
    if not all(satisfies(versions.get(name, ""), spec) for name, spec in item.when.items()):
        return False
    if not item.families:
        return True
    return None if family is None else family in item.families


def _pair(driver: Fact, runtimes: list[Fact], family: str | None) -> Iterable[Fact]:
    for kind, name in (("driver", "compat.driver_too_old"), ("runtime", "compat.runtime_too_old")):
        broken: tuple[Fact, Constraint] | None = None
        complete = True
        for runtime in runtimes:
            versions = {"driver": str(driver.value), "runtime": str(runtime.value)}
            for item in table.constraints(kind):
                applies = _applies(item, family, versions)
                needs = item.needs or {}
                holds = all(satisfies(versions[part], spec) for part, spec in needs.items())
                if applies and not holds:
                    broken = broken or (runtime, item)
                elif applies is None and not holds:
                    complete = False
        if broken is not None:
            runtime, item = broken
            origin = driver.origin if kind == "driver" else runtime.origin
            yield Fact(name, True, origin)
            yield Fact("compat.reasons", (f"driver {driver.value} with runtime {runtime.value}: {item.why}",), origin)
        elif complete and _known("aws-neuronx-dkms", str(driver.value)) and all(
            _known("aws-neuronx-runtime-lib", str(item.value)) for item in runtimes
        ):
            yield Fact(name, False, driver.origin)


def _kernel(facts: FactsView) -> Iterable[Fact]:
    """The driver that was to be built is the package's; without one the loaded driver proves that it was built."""
    driver = first_text(facts, "driver.package", "driver.version")
    kernel = first_text(facts, "host.kernel")
    if driver is None or kernel is None:
        return
    builds, why = table.kernel_builds(str(driver.value), str(kernel.value))
    if builds is None:
        return
    yield Fact("compat.kernel_unsupported", not builds, kernel.origin)
    if not builds:
        yield Fact("compat.reasons", (f"kernel {kernel.value} with driver {driver.value}: {why}",), kernel.origin)


def _generation(family: str, driver: Fact | None, runtimes: list[Fact]) -> Iterable[Fact]:
    """True for a chip that driver or runtime dropped; False only where no documented end of support is about the family
    (on Inf1 an old driver proves nothing: builds of it without Inf1 exist)."""
    rows = [item for item in table.constraints("generation") if family in item.families]
    for item in rows:
        for part, spec in (item.needs or {}).items():
            for reading in [driver] if part == "driver" else runtimes:
                if reading is not None and satisfies(str(reading.value), spec) is False:
                    yield Fact("compat.hw_unsupported", True, reading.origin)
                    yield Fact("compat.reasons", (f"{part} {reading.value} on {family}: {item.why}",), reading.origin)
                    return
    if not rows and (driver is not None or runtimes):
        known = driver or runtimes[0]
        yield Fact("compat.hw_unsupported", False, known.origin)
