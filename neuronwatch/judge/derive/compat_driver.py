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
    """Whether the row is about these versions on this family; None when what decides is not known."""
    answers = [_holds(versions.get(name, ""), spec) for name, spec in item.when.items()]
    if False in answers or (item.families and family is not None and family not in item.families):
        return False
    return None if None in answers or (item.families and family is None) else True


def _span(version: str) -> tuple[str, ...]:
    """A version as stated, and where only `x.y` is stated (`Found neuron driver: 2.20`) the last that it may be."""
    return (version,) if version.count(".") >= 2 else (version, f"{version}.999999")


def _holds(version: str, spec: str) -> bool | None:
    """Whether a version lies in the range; None where the part that is not stated decides."""
    answers = {satisfies(item, spec) for item in _span(version)}
    return answers.pop() if len(answers) == 1 else None


def _pair(driver: Fact, runtimes: list[Fact], family: str | None) -> Iterable[Fact]:
    for kind, name in (("driver", "compat.driver_too_old"), ("runtime", "compat.runtime_too_old")):
        broken: tuple[Fact, Constraint] | None = None
        complete = True
        for runtime in runtimes:
            versions = {"driver": str(driver.value), "runtime": str(runtime.value)}
            for item in table.constraints(kind):
                applies = _applies(item, family, versions)
                holds = [_holds(versions[part], spec) for part, spec in (item.needs or {}).items()]
                if applies and False in holds:
                    broken = broken or (runtime, item)
                elif applies is not False and not all(holds):
                    complete = False
        if broken is not None:
            runtime, item = broken
            origin = driver.origin if kind == "driver" else runtime.origin
            yield Fact(name, True, origin)
            yield Fact("compat.reasons", (f"driver {driver.value} with runtime {runtime.value}: {item.why}",), origin)
        elif (
            complete
            and _known("aws-neuronx-dkms", str(driver.value))
            and all(_known("aws-neuronx-runtime-lib", str(item.value)) for item in runtimes)
        ):
            yield Fact(name, False, driver.origin)


def _kernel(facts: FactsView) -> Iterable[Fact]:
    """The driver that was to be built is the package's; without one the loaded driver proves that it was built."""
    driver = first_text(facts, "driver.package", "driver.version")
    kernel = first_text(facts, "host.kernel")
    if driver is None or kernel is None:
        return
    builds, why = table.kernel_builds(str(driver.value), str(kernel.value))
    if builds is None or len({table.kernel_builds(item, str(kernel.value))[0] for item in _span(str(driver.value))}) > 1:
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
                if reading is not None and _holds(str(reading.value), spec) is False:
                    yield Fact("compat.hw_unsupported", True, reading.origin)
                    yield Fact("compat.reasons", (f"{part} {reading.value} on {family}: {item.why}",), reading.origin)
                    return
    if not rows and (driver is not None or runtimes):
        known = driver or runtimes[0]
        yield Fact("compat.hw_unsupported", False, known.origin)
