"""Documented incompatibilities (tables `constraints`, `kernels`, `model_types`)."""

from __future__ import annotations

from typing import cast

from neuronwatch.data import releases, tables
from neuronwatch.data.spec import satisfies
from neuronwatch.model.dataclass import dataclass
from neuronwatch.model.version import Version


@dataclass(frozen=True)
class Constraint:
    """When all of `when` hold (package -> range) on one of `families` (empty: any), `needs` must hold too; `needs` None
    means that nothing can make it work. `kind`: driver, runtime, generation, framework, third_party or hf."""

    id: str
    kind: str
    families: tuple[str, ...]
    when: dict[str, str]
    needs: dict[str, str] | None
    why: str
    source: str


@tables.cached
def _constraints() -> tuple[Constraint, ...]:
    return tuple(
        Constraint(row["id"], row["kind"], tuple(row.get("families") or ()), row["when"], row["needs"], row["why"], row["source"])
        for row in tables.load("constraints").rows
    )


def constraints(*kinds: str) -> tuple[Constraint, ...]:
    """The rows of these kinds."""
    return tuple(item for item in cast("tuple[Constraint, ...]", _constraints()) if item.kind in kinds)


def kernel_builds(driver: str, kernel: str) -> tuple[bool | None, str]:
    """Whether the driver's sources build on this kernel release, with the reason. None: not known (the kernel is newer
    than every tested one, or the pair is neither documented as broken nor near a tested one)."""
    running = kernel.split("-")[0]
    rows = tables.load("kernels").rows
    for row in rows:
        if row["kind"] == "builds" and satisfies(running, row["kernel"]) and satisfies(driver, row["driver"]):
            return bool(row["ok"]), str(row["why"])
    series = Version(".".join(running.split(".")[:2]))
    newest = _newest_tested(driver)
    if Version("5.10") <= series <= newest:
        return True, f"kernels 5.10 to {newest} are documented or tested for driver {driver}"
    return None, f"kernel {running} is in no table of kernels for driver {driver} of {tables.load('kernels').date}"


def _newest_tested(driver: str) -> Version:
    """The newest kernel series tested with this driver or an older one; 5.15 for drivers from before such tables."""
    have, newest = Version(driver), Version("5.15")
    for row in tables.load("kernels").rows:
        if row["kind"] != "tested" or row["component"] != "driver":
            continue
        carried = releases.builds_in("aws-neuronx-dkms", row["release"])
        if any(Version(build.version) <= have for build in carried):
            newest = max(newest, *(Version(kernel) for kernel in row["kernels"]))
    return newest


def first_transformers(model_type: str) -> str | None:
    """The first transformers release that knows a model type, None when the data does not say."""
    for row in tables.load("model_types").rows:
        if row["model_type"] == model_type:
            return str(row["since"])
    return None
