"""SDK releases of the installed Neuron packages: one release, a mix, placeholders, the discontinued line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from neuronwatch.data import releases
from neuronwatch.judge.derive._packages import NEURON_PYTHON, Environment, environments, everything
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact
from neuronwatch.model.version import Version

LEGACY = (
    "aws-neuron-dkms", "aws-neuron-tools", "aws-neuron-runtime", "aws-neuron-runtime-base", "aws-neuron-k8-plugin",
    "aws-neuron-k8-scheduler",
)  # fmt: skip
SYSTEM = ("aws-neuronx-dkms", "aws-neuronx-runtime-lib", "aws-neuronx-collectives", "aws-neuronx-tools")


def derive(facts: FactsView) -> Iterable[Fact]:
    made = environments(facts)
    yield from _stubs(made)
    yield from _legacy(facts)
    yield from _strangers(facts)
    judged = [_Skew(item) for item in made]
    known = [item for item in judged if item.minors]
    mixed = [item for item in known if item.skewed]
    chosen = (mixed or sorted(known, key=lambda item: -len(item.minors)))[:1]
    for skew in chosen:
        yield from skew.facts()
    yield from _tools(made)


class _Skew:
    """The releases of one environment's Neuron Python packages."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.minors: dict[str, frozenset[str]] = {}
        self.exact: dict[str, frozenset[str]] = {}
        for name in NEURON_PYTHON:
            version = environment.version(name)
            if version is None or releases.is_stub(name, version) is not False:
                continue
            found = releases.minors_of(name, version)
            if found:
                self.minors[name] = found
                self.exact[name] = frozenset(releases.releases_of(name, version))
        self.common = frozenset.intersection(*self.minors.values()) if self.minors else frozenset()
        self.unpaired = _unpaired(environment)
        self.skewed = (len(self.minors) > 1 and not self.common) or bool(self.unpaired)

    def facts(self) -> Iterable[Fact]:
        origin = self.environment.origin(next(iter(self.minors)))
        if self.skewed:
            yield from self._mixed()
            return
        if len(self.minors) > 1:
            yield Fact("compat.sdk_skew", False, origin)
        sets = [found for found in self.exact.values() if found]
        full = frozenset.intersection(*sets) if sets else frozenset()
        named = sorted(full or self.common, key=Version)
        yield Fact("sdk.releases", tuple(named), origin)
        if len(named) == 1:
            yield Fact("sdk.release", named[0], origin)
        elif len({releases.minor(item) for item in named}) == 1:
            yield Fact("sdk.release", releases.minor(named[0]), origin)

    def _mixed(self) -> Iterable[Fact]:
        count = Counter(minor for found in self.minors.values() for minor in found)
        main = max(count, key=lambda minor: (count[minor], Version(minor)))
        outliers = [name for name, found in self.minors.items() if main not in found] or ["libneuronxla"]
        told = []
        for name in self.minors:
            which = " or ".join(sorted(self.minors[name], key=Version)[:3])
            told.append(f"{name} {self.environment.version(name)} (SDK {which})")
        origin = self.environment.origin(outliers[0])
        yield Fact("compat.sdk_skew", True, origin)
        yield Fact("compat.sdk_skew_packages", tuple(told), origin)
        reason = self.unpaired or f"no SDK release has all of these: {', '.join(told)}"
        yield Fact("compat.reasons", (reason,), origin)
        united = sorted({minor for found in self.minors.values() for minor in found}, key=Version)
        yield Fact("sdk.releases", tuple(united), origin)


def _unpaired(environment: Environment) -> str:
    """Why libneuronxla cannot serve this torch-neuronx although one SDK release ships both, or "".

    SDK 2.18 to 2.20 carry two lines of libneuronxla: 0.5 with XRT for PyTorch 1.13 and 2.0 with PJRT for 2.1 and later.
    """
    torch, xla = environment.version("torch-neuronx"), environment.version("libneuronxla")
    if torch is None or xla is None or releases.is_stub("torch-neuronx", torch) or releases.is_stub("libneuronxla", xla):
        return ""
    if Version(torch) >= Version("2.1") and Version(xla) < Version("1"):
        return f"libneuronxla {xla} is of the line for PyTorch 1.13; torch-neuronx {torch} needs 2.0 or later"
    if Version(torch) < Version("2") and Version(xla) >= Version("2"):
        return f"libneuronxla {xla} is of the line for PyTorch 2; torch-neuronx {torch} needs 0.5"
    return ""


def _stubs(made: list[Environment]) -> Iterable[Fact]:
    for environment in made:
        sure: list[str] = []
        unsure: list[str] = []
        for name in environment.packages:
            version = environment.version(name) or ""
            answer = releases.is_stub(name, version)
            if answer is not False:
                (sure if answer else unsure).append(name)
        if sure:
            names = tuple(f"{name} {environment.version(name)}" for name in sorted(sure + unsure))
            yield Fact("sdk.stub_packages", names, environment.origin(sure[0]))


def _legacy(facts: FactsView) -> Iterable[Fact]:
    found = [(name, reading) for name, reading in everything(facts) if name in LEGACY]
    if found:
        names = dict.fromkeys(f"{name} {reading.value}" for name, reading in found)
        yield Fact("sdk.legacy_packages", tuple(names), found[0][1].origin)


def _strangers(facts: FactsView) -> Iterable[Fact]:
    """Versions that nobody released, and versions newer than the data (about which nothing is concluded)."""
    from neuronwatch.data import optimum

    never: dict[str, Fact] = {}
    newer: dict[str, Fact] = {}
    for name, reading in everything(facts):
        version = str(reading.value)
        text = f"{name}=={version.split('+')[0]}"
        if name == "optimum-neuron":
            if optimum.never_released(version):
                never.setdefault(text, reading)
        elif releases.never_released(name, version):
            never.setdefault(text, reading)
        elif releases.place(name, version) == "newer" and ("neuron" in name or name in NEURON_PYTHON):
            newer.setdefault(text, reading)
    for title, found in (("compat.unreleased", never), ("compat.newer_than_data", newer)):
        if found:
            yield Fact(title, tuple(found), next(iter(found.values())).origin)


def _tools(made: list[Environment]) -> Iterable[Fact]:
    """Whether aws-neuronx-tools comes from an earlier SDK release than the runtime library beside it."""
    for environment in made:
        tools, runtime = environment.version("aws-neuronx-tools"), environment.version("aws-neuronx-runtime-lib")
        if tools is None or runtime is None:
            continue
        tools_in = releases.minors_of("aws-neuronx-tools", tools)
        runtime_in = releases.minors_of("aws-neuronx-runtime-lib", runtime)
        if not tools_in or not runtime_in:
            continue
        older = max(map(Version, tools_in)) < min(map(Version, runtime_in))
        origin = environment.origin("aws-neuronx-tools")
        yield Fact("compat.tools_too_old", older, origin)
        if older:
            reason = f"aws-neuronx-tools {tools} is of SDK {_last(tools_in)}, the runtime {runtime} of SDK {_last(runtime_in)}"
            yield Fact("compat.reasons", (reason,), origin)
        return


def _last(minors: Iterable[str]) -> str:
    return max(minors, key=Version)
