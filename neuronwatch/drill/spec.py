"""What kind of machine the simulated host is: instance type, chip, wiring, and the software of one SDK release."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from neuronwatch.data import instances, releases, tables
from neuronwatch.data.instances import Instance

DEFAULT_RELEASE = "2.26.1"
"""The release that the newest optimum-neuron is made for; the last that carries a driver for every family but trn3."""
INF1_RELEASE = "2.20.2"
TRN3_RELEASE = "2.31.1"
LEGACY_DRIVER = "1.5.0.0"
"""Drivers of the 1.x line belong to the neuron-rtd daemon, on Inf1 alone."""


class NoSuchInstance(ValueError):
    """An instance type that the data does not know. The text names the known ones."""


@dataclass(frozen=True)
class Chip:
    """How one generation is called by the driver (`device`, `core`, `name`, `family`), by neuron-monitor (`type`,
    `device_version`, `core_version`), by libnrt, and on the PCI bus."""

    device: str
    core: str
    name: str
    family: str
    type: str
    device_version: str
    core_version: str
    architecture: str
    pci: str
    lnc_version: str = ""
    """What neuron-monitor and neuron-top call the core where a logical one is two physical ones."""


CHIPS = {
    1: Chip("NDv1", "NCv1", "Inferentia1", "Inf1", "inferentia", "v1", "v1", "INF", "0x7064"),
    2: Chip("NDv2", "NCv2", "Trainium1", "Trn1", "trainium", "v2", "v2", "TRN", "0x7164"),
    20: Chip("NDv3", "NCv2", "Inferentia2", "Inf2", "inferentia2", "v3", "v2", "INF2", "0x7264"),
    3: Chip("NDv3", "NCv3", "Trainium2", "Trn2", "trainium2", "v4", "v3", "TRN2", "0x7364", "v3d"),
    4: Chip("NDv4", "NCv4", "Trainium3", "Trn3", "trainium3", "v5", "v4", "TRN3", "0x7564", "v4d"),
}


def chip_of(instance: Instance) -> Chip:
    return CHIPS[20 if instance.family == "inf2" else instance.generation]


@dataclass
class Software:
    """Versions on the host. `loaded` is the driver in the kernel, `driver` the one of the installed package (they differ when
    an upgrade waits for a reload), `on_disk` the module that modprobe would load."""

    release: str
    driver: str
    loaded: str
    on_disk: str
    runtime: str
    tools: str
    collectives: str
    compiler: str
    python: dict[str, str] = field(default_factory=dict)
    """Distribution name to version, of the venv that the jobs use."""
    kernel: str = "6.8.0-1031-aws"
    os_version: str = "22.04"
    headers: bool = True
    """Whether the headers of the running kernel are installed, so that DKMS can build for it."""
    build_log: str = ""
    """DKMS's make.log of a build that failed."""
    added: dict[str, str] = field(default_factory=dict)
    """Packages beside those of the release, name to version."""
    missing: tuple[str, ...] = ()
    """Packages that somebody removed, or that this image never had."""

    @property
    def legacy(self) -> bool:
        """Whether the runtime is the old daemon neuron-rtd."""
        return self.loaded.startswith("1.")


@dataclass(frozen=True)
class Identity:
    """What the instance metadata says."""

    instance_id: str
    hostname: str
    ami: str
    subnet: str
    zone: str = "us-west-2d"
    zone_id: str = "usw2-az4"
    region: str = "us-west-2"


def identity(rng: random.Random) -> Identity:
    a, b, c = rng.randrange(256), rng.randrange(256), rng.randrange(1, 255)
    return Identity(
        f"i-{rng.getrandbits(68):017x}",
        f"ip-10-{a}-{b}-{c}",
        f"ami-{rng.getrandbits(68):017x}",
        f"subnet-{rng.getrandbits(68):017x}",
    )


def instance(name: str) -> Instance:
    """Raises NoSuchInstance."""
    found = instances.find(name)
    if found is None or not instances.is_neuron(found.name):
        raise NoSuchInstance(f"no instance type {name!r} with Neuron devices in the data; known: {', '.join(known())}")
    return found


def known() -> list[str]:
    """The instance types that can be simulated."""
    return sorted(row["name"] for row in tables.load("instance_types").rows)


def parts(version: str) -> tuple[int, ...]:
    """`2.26.14.0` -> (2, 26, 14, 0)."""
    return tuple(int(part) for part in version.split("+")[0].split(".") if part.isdecimal())


def at_least(version: str, other: str) -> bool:
    return parts(version) >= parts(other)


def legacy_software(driver: str, tools: str | None = None) -> Software:
    """The last stack with the daemon neuron-rtd."""
    python = {"torch-neuron": "1.9.1.2.0.392.0", "neuron-cc": "1.7.3.0", "torch": "1.9.1", "numpy": "1.19.5"}
    return Software(
        "1.15.2", driver, driver, driver, "1.6.24.0", tools or "1.7.25.0", "", "1.7.3.0", python, "5.4.0-1060-aws", "18.04"
    )


def software(kind: Instance, driver: str | None = None, tools: str | None = None) -> Software:
    """The software of one SDK release: the one that ships this driver, else the newest one before it. Raises NoSuchInstance
    for a driver that never knew the chip."""
    if driver is not None and driver.startswith("1."):
        if kind.family != "inf1":
            raise NoSuchInstance(f"driver {driver} knows inf1 only, not {kind.name}; leave --driver out")
        return legacy_software(driver, tools)
    release = _release(kind, driver)
    dkms = driver or _build("aws-neuronx-dkms", release, kind)
    found = Software(
        release, dkms, dkms, dkms, _build("aws-neuronx-runtime-lib", release, kind),
        tools or _build("aws-neuronx-tools", release, kind), _build("aws-neuronx-collectives", release, kind),
        _build("neuronx-cc", release, kind), _python(kind, release),
    )  # fmt: skip
    if kind.family == "inf1":
        found.kernel, found.os_version = "5.15.0-1051-aws", "20.04"
    return found


def _release(kind: Instance, driver: str | None) -> str:
    if driver is None:
        return {"inf1": INF1_RELEASE, "trn3": TRN3_RELEASE}.get(kind.family, DEFAULT_RELEASE)
    rows = [(item.release, item.packages.get("aws-neuronx-dkms", ())) for item in releases.releases()]
    exact = [name for name, builds in rows if any(build.version == driver for build in builds)]
    if exact:
        return DEFAULT_RELEASE if DEFAULT_RELEASE in exact else exact[0]
    older = [name for name, builds in rows if any(parts(build.version) <= parts(driver) for build in builds)]
    return older[0] if older else rows[-1][0]


def _build(package: str, release: str, kind: Instance) -> str:
    builds = releases.builds_in(package, release)
    family = kind.family.rstrip("nu") if kind.family in ("trn1n", "trn2u") else kind.family
    fitting = [build for build in builds if not build.families or family in build.families] or list(builds)
    return fitting[-1].version if fitting else ""


def _python(kind: Instance, release: str) -> dict[str, str]:
    """The packages of the jobs' venv. Only what the release itself names, and the general packages that go with it."""
    names = ("torch-neuron", "neuron-cc") if kind.family == "inf1" else (
        "neuronx-cc", "torch-neuronx", "libneuronxla", "neuronx-distributed")  # fmt: skip
    found = {name: _build(name, release, kind) for name in names}
    if release == DEFAULT_RELEASE and kind.family != "inf1":
        found.update({"torch-neuronx": "2.8.0.2.10.16998", "torch": "2.8.0", "torch-xla": "2.8.1", "optimum-neuron": "0.4.5",
                      "optimum": "2.0.0", "transformers": "4.57.1", "trl": "0.24.0", "peft": "0.17.0", "accelerate": "1.8.1",
                      "datasets": "4.1.1", "numpy": "1.26.4", "protobuf": "3.20.3", "vllm": "0.11.0"})  # fmt: skip
    elif kind.family == "inf1":
        found.update({"torch": "1.13.1", "numpy": "1.22.2", "protobuf": "3.20.3", "transformers": "4.36.2"})
    else:
        found.update({"torch": ".".join(found.get("torch-neuronx", "2.8.0").split(".")[:3])})
    return {name: version for name, version in found.items() if version}


def wiring(kind: Instance, number: int) -> tuple[int, ...]:
    """The devices that device `number` is connected to, in the order in which driver and neuron-ls name them."""
    count = kind.devices
    if count == 1:
        return ()
    if count == 16 and kind.generation >= 2:
        row, column = divmod(number, 4)
        return (((row - 1) % 4) * 4 + column, row * 4 + (column - 1) % 4, ((row + 1) % 4) * 4 + column, row * 4 + (column + 1) % 4)
    if kind.family == "inf1":
        return tuple(item for item in (number + 1, number - 1) if 0 <= item < count)
    return ((number - 1) % count, (number + 1) % count)


_TRN1 = [
    "10:1c",
    "10:1d",
    "a0:1c",
    "a0:1d",
    "20:1b",
    "20:1c",
    "90:1b",
    "90:1c",
    "20:1d",
    "20:1e",
    "90:1d",
    "90:1e",
    "10:1e",
    "10:1b",
    "a0:1e",
    "a0:1b",
]
_TRN2 = [
    "cc:00",
    "b5:00",
    "b6:00",
    "cb:00",
    "6f:00",
    "58:00",
    "59:00",
    "6e:00",
    "9b:00",
    "84:00",
    "85:00",
    "9a:00",
    "f8:00",
    "e1:00",
    "e2:00",
    "f7:00",
]


def address(kind: Instance, number: int) -> str:
    """PCI address with its domain: `0000:10:1c.0`."""
    if kind.devices == 16 and kind.generation == 2:
        return f"0000:{_TRN1[number]}.0"
    if kind.devices == 16 and kind.generation >= 3:
        return f"0000:{_TRN2[number]}.0"
    if kind.family == "inf1":
        return f"0000:00:{(0x20 - kind.devices + number) if kind.devices <= 4 else 0x10 + number:02x}.0"
    if kind.devices == 1:
        return "0000:33:00.0" if kind.generation >= 3 else "0000:00:1e.0" if kind.family == "trn1" else "0000:00:1f.0"
    return f"0000:{0x10 * (1 + number // 3):02x}:{0x1D + number % 3:02x}.0"


def affinity(kind: Instance, number: int) -> tuple[str, int]:
    """(`0-31,64-95`, NUMA node) of the CPUs near a device."""
    cpus = kind.vcpus or 192
    if cpus < 96:
        return f"0-{cpus - 1}", 0 if cpus > 16 or kind.generation >= 3 else -1
    if kind.generation >= 3:
        node = 0 if 4 <= number < 12 else 1
    elif kind.devices == 16:
        node = 1 if number % 4 >= 2 else 0
    else:
        node = 0 if number < kind.devices // 2 else 1
    half, quarter = cpus // 2, cpus // 4
    return f"{node * quarter}-{node * quarter + quarter - 1},{half + node * quarter}-{half + node * quarter + quarter - 1}", node
