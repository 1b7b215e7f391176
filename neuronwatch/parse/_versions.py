"""What a table of installed packages says beyond the versions: driver, runtime, kernels and their headers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronwatch.model.records import Fact
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact, package_fact
from neuronwatch.parse.api import Line

_HASH = lazy(r"[-_][0-9a-f]{7,40}$")
_EPOCH = lazy(r"^[0-9]{1,3}:")
_KERNEL_RELEASE = lazy(r"^[0-9]{1,2}\.[0-9]{1,3}\.[0-9]{1,3}[\w.+-]{0,60}$")
_DEB_IMAGE = lazy(r"^linux-image(?:-unsigned)?-([0-9].{0,60})$")
_DEB_HEADERS = lazy(r"^linux-headers-([0-9].{0,60})$")
_RPM_KERNEL = lazy(r"^kernel(?:[0-9]\.[0-9]{1,3})?(?:-(core|devel|headers))?$")


def clean_version(version: str) -> str:
    """Without epoch, `-dkms` and a build hash: `0:2.0.450.0-dkms` is 2.0.450.0, `2.32.31.0-0234f5ed2` is 2.32.31.0. Local
    parts of Python versions (`+2909d26a2`) stay, since they tell builds apart."""
    text = _EPOCH.sub("", version.strip())
    text = re.sub(r"-(?:dkms|1)$", "", text)
    return _HASH.sub("", text)


def system_package(line: Line, name: str, version: str, kernels: dict[str, list[str]]) -> Iterator[Fact]:
    """Facts of one deb or rpm package. Kernel and header packages are collected in `kernels` (`image`, `headers`)."""
    name = re.sub(r"(?::(?:amd64|arm64|all|i386)|\.(?:x86_64|aarch64|noarch|i686))$", "", name)
    image, headers = _DEB_IMAGE.match(name), _DEB_HEADERS.match(name)
    if image and _KERNEL_RELEASE.match(image.group(1)):
        kernels.setdefault("image", []).append(image.group(1))
        return
    if headers and _KERNEL_RELEASE.match(headers.group(1)):
        kernels.setdefault("headers", []).append(headers.group(1))
        return
    rpm = _RPM_KERNEL.match(name)
    if rpm and _KERNEL_RELEASE.match(version):
        kind = "headers" if rpm.group(1) == "devel" else "image" if rpm.group(1) in (None, "core") else ""
        if kind:
            kernels.setdefault(kind, []).append(version)
        return
    version = clean_version(version)
    yield fact(line, package_fact(name), version)
    if name in ("aws-neuronx-dkms", "aws-neuron-dkms"):
        yield fact(line, "driver.package", version)
    elif name == "aws-neuronx-runtime-lib":
        yield fact(line, "runtime.version", version)
    elif name == "aws-neuronx-collectives":
        yield fact(line, "runtime.collectives_version", version)


def kernel_facts(line: Line, kernels: dict[str, list[str]]) -> Iterator[Fact]:
    """The collected kernels, with the first of their lines as origin."""
    if kernels.get("image"):
        yield fact(line, "host.kernels_installed", tuple(dict.fromkeys(kernels["image"])))
    if kernels.get("headers"):
        yield fact(line, "host.kernel_headers", tuple(dict.fromkeys(kernels["headers"])))
