"""SDK releases and the package versions that belong to them (table `sdk_releases`), and PyPI's placeholder packages."""

from __future__ import annotations

import re
from typing import Literal

from neuronwatch.data import tables
from neuronwatch.model.dataclass import dataclass
from neuronwatch.model.version import Version

Place = Literal["listed", "between", "newer", "older", "unknown"]
"""Where a version stands: listed in a release, between listed ones, newer or older than all, or of an unknown package."""


@dataclass(frozen=True)
class Build:
    """One version of a package in a release; empty `families` or `pythons` mean that the release does not say."""

    version: str
    families: tuple[str, ...]
    pythons: tuple[str, ...]


@dataclass(frozen=True)
class Release:
    release: str
    date: str
    packages: dict[str, tuple[Build, ...]]


def normal(package: str) -> str:
    """`torch_neuronx`, `Torch.NeuronX` and `torch-neuronx` are one package."""
    return re.sub(r"[-_.]+", "-", package.lower())


def minor(release: str) -> str:
    """`2.26.1` -> `2.26`."""
    return ".".join(release.split(".")[:2])


@tables.cached
def _rows() -> tuple[tuple[str, str, dict[str, list[list[str]]]], ...]:
    """(release, date, normal package name -> rows), newest first; rows become builds for the packages that are asked for."""
    ordered = sorted(tables.load("sdk_releases").rows, key=lambda row: Version(row["release"]), reverse=True)
    return tuple((row["release"], row["date"], {normal(k): v for k, v in row["packages"].items()}) for row in ordered)


def _build(row: list[str]) -> Build:
    return Build(row[0], tuple(row[1].split()), tuple(row[2].split()))


def releases() -> tuple[Release, ...]:
    """All known releases, newest first."""
    return tuple(
        Release(name, date, {package: tuple(map(_build, found)) for package, found in packages.items()})
        for name, date, packages in _rows()
    )


@tables.cached
def _entries(package: str) -> tuple[tuple[Version, str, Build], ...]:
    """(version, release, build) of a package by its normal name, newest release first. The last version of a package that
    later releases no longer carry belongs to those too: nothing newer exists to go with them."""
    carrying = [(name, packages[package]) for name, _, packages in _rows() if package in packages]
    entries = [(Version(row[0]), name, _build(row)) for name, found in carrying for row in found]
    if entries:
        newest = carrying[0][0]
        last = [(version, build) for version, name, build in entries if name == newest]
        for name, _, _ in _rows():
            if name == newest:
                break
            entries.extend((version, name, build) for version, build in last)
    return tuple(entries)


def place(package: str, version: str) -> Place:
    """Where this version of the package stands relative to the table."""
    entries = _entries(normal(package))
    if not entries:
        return "unknown"
    have = Version(version)
    if any(have == known for known, _, _ in entries):
        return "listed"
    if _scheme(package, version) is None:
        return "unknown"
    if _plugin(package, have) < min(_plugin(package, known) for known, _, _ in entries):
        return "older"
    line = [known for known, _, _ in entries if _same_line(package, known, have)]
    if not line:
        line = [known for known, _, _ in entries]
    if have > max(line):
        return "newer" if _plugin(package, have) >= max(_plugin(package, known) for known, _, _ in entries) else "between"
    return "older" if have < min(line) and have < min(known for known, _, _ in entries) else "between"


def _scheme(package: str, version: str) -> Version | None:
    found = re.match(r"v?\d+(?:\.\d+)+", version)
    return Version(version) if found else None


def _plugin(package: str, version: Version) -> tuple[int, ...]:
    """The Neuron part of `<torch x.y.z>.<neuron a.b.c>`; the whole version for other packages."""
    return version.parts[3:] if normal(package) in FRAMEWORK_PREFIXED else version.parts


FRAMEWORK_PREFIXED = frozenset(
    ("torch-neuronx", "torch-neuron", "tensorflow-neuronx", "tensorflow-neuron", "jax-neuronx", "vllm-neuron")
)
"""Packages whose version starts with three numbers of the framework."""


def _same_line(package: str, one: Version, other: Version) -> bool:
    if normal(package) in FRAMEWORK_PREFIXED:
        return one.parts[:3] == other.parts[:3]
    return one.parts[:1] == other.parts[:1]


def releases_of(package: str, version: str) -> tuple[str, ...]:
    """The releases that list exactly this version (build tags do not count), newest first."""
    have = Version(version)
    found = (release for known, release, _ in _entries(normal(package)) if known == have)
    return tuple(sorted(set(found), key=Version, reverse=True))


def minors_of(package: str, version: str) -> frozenset[str]:
    """The minor releases (`2.26`) that this version belongs to. An unlisted build counts for the minor release whose
    builds it shares major and minor number with, when that is exactly one; else the answer is empty (unknown)."""
    exact = releases_of(package, version)
    if exact:
        return frozenset(minor(release) for release in exact)
    if place(package, version) != "between":
        return frozenset()
    have = _plugin(package, Version(version))[:2]
    near = {minor(release) for known, release, _ in _entries(normal(package)) if _plugin(package, known)[:2] == have}
    return frozenset(near) if len(near) == 1 and len(have) == 2 else frozenset()


def release_of(package: str, version: str) -> str | None:
    """The SDK release of this version: `2.26.1`, or the minor (`2.12`) where several patch releases carry it; None when
    it is not known or belongs to several minor releases."""
    exact = releases_of(package, version)
    if len(exact) == 1:
        return exact[0]
    found = minors_of(package, version)
    return next(iter(found)) if len(found) == 1 else None


def builds_of(package: str, version: str) -> tuple[Build, ...]:
    """The rows of exactly this version."""
    have = Version(version)
    return tuple(build for known, _, build in _entries(normal(package)) if known == have)


def builds_in(package: str, release: str) -> tuple[Build, ...]:
    """What a release carries of a package; empty for a release that the data does not know."""
    for name, _, packages in _rows():
        if name == release:
            return tuple(_build(row) for row in packages.get(normal(package), ()))
    return ()


def never_released(package: str, version: str) -> bool:
    """Whether no release can ever have carried this version although it is not newer than the table: the framework and
    plugin numbers (torch-neuronx 2.1.1.1.1.12.0) or the minor number of the line occur nowhere."""
    if place(package, version) != "between":
        return False
    name = normal(package)
    have = Version(version)
    entries = [known for known, _, _ in _entries(name)]
    if name in FRAMEWORK_PREFIXED:
        return not any(k.parts[:3] == have.parts[:3] and k.parts[3:5] == have.parts[3:5] for k in entries)
    if name in ("neuronx-cc", "aws-neuronx-runtime-lib", "aws-neuronx-dkms"):
        return not any(known.parts[:2] == have.parts[:2] for known in entries)
    return False


@tables.cached
def _stubs() -> dict[str, tuple[str, ...]]:
    return {normal(row["package"]): tuple(row["versions"]) for row in tables.load("pypi_stubs").rows}


def is_stub(package: str, version: str) -> bool | None:
    """True for a placeholder version of PyPI, False for any other of a package that has one; None where the version
    was also a real release (neuronx-distributed-inference 0.1.0), so that only its neighbours can tell."""
    known = _stubs().get(normal(package))
    if known is None:
        return False
    if version.split("+")[0] not in known:
        return False
    return None if releases_of(package, version) else True
