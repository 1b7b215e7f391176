"""The driver: module in the kernel, module on disk, DKMS state, headers of the running kernel."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot, VirtualFile

PLACES = ("updates/dkms", "updates", "extra", "kernel/drivers/neuron", "weak-updates", "kernel/extra", "weak-updates/dkms")
SUFFIXES = ("", ".xz", ".zst", ".gz")
DKMS = "/var/lib/dkms"
MAX_MODULE = 64 * 1024 * 1024
_VERSION = re.compile(rb"\x00version=([0-9][0-9A-Za-z.+_-]{0,60})\x00")
_KERNEL = re.compile(r"^\d{1,2}\.\d{1,3}\.\d")


def collect(root: HostRoot) -> Iterator[HostItem]:
    version = root.text("/sys/module/neuron/version", 256)
    if version:
        yield Fact("driver.loaded", version, Origin("host:/sys/module/neuron/version", 1, version))
    yield from _modules(root)
    yield from _on_disk(root)
    yield from _dkms(root)
    yield from _headers(root)


def _modules(root: HostRoot) -> Iterator[Fact]:
    """/proc/modules: a list without neuron is proof that it is not loaded; on a machine without any module it is none."""
    data = root.read("/proc/modules", 4 * 1024 * 1024)
    rows = (data or b"").decode("utf-8", "replace").splitlines()
    for number, row in enumerate(rows, start=1):
        cells = row.split()
        if cells[:1] == ["neuron"]:
            origin = Origin("host:/proc/modules", number, row)
            yield Fact("driver.module_listed", True, origin)
            if len(cells) > 2 and cells[2].isdecimal():
                yield Fact("driver.use_count", int(cells[2]), origin)
            return
    if rows:
        yield Fact("driver.module_listed", False, Origin("host:/proc/modules", None, f"{len(rows)} modules, no neuron"))


def _running(root: HostRoot) -> str | None:
    release = root.text("/proc/sys/kernel/osrelease", 256)
    if not release:
        found = re.search(r"Linux version (\S{1,80})", root.text("/proc/version", 4096) or "")
        release = found.group(1) if found else None
    return release


def _on_disk(root: HostRoot) -> Iterator[HostItem]:
    """The module that modprobe would load for the running kernel, and its version."""
    release = _running(root)
    if not release or "/" in release:
        return
    for place in PLACES:
        for suffix in SUFFIXES:
            name = f"/lib/modules/{release}/{place}/neuron.ko{suffix}"
            data = root.read(name, MAX_MODULE)
            if data is None:
                continue
            try:
                found = _VERSION.search(_unpacked(data, suffix))
            except (OSError, EOFError, zlib.error, ValueError, ImportError) as error:
                yield SourceReport(f"host:{name}", "kernel-module", "failed", f"cannot be unpacked: {error}")
                return
            if found:
                version = found.group(1).decode("ascii", "replace")
                yield Fact("driver.on_disk", version, Origin(f"host:{name}", None, f"version={version}"))
            return


def _unpacked(data: bytes, suffix: str) -> bytes:
    """The module's bytes, at most MAX_MODULE of them. Raises what the decompressors raise."""
    if suffix == ".xz":
        import lzma

        try:
            return lzma.LZMADecompressor().decompress(data, MAX_MODULE)
        except lzma.LZMAError as error:
            raise ValueError(str(error)) from error
    if suffix == ".gz":
        import gzip
        import io

        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            return packed.read(MAX_MODULE)
    if suffix == ".zst":
        import io

        import zstandard

        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as stream:
            try:
                return bytes(stream.read(MAX_MODULE))
            except zstandard.ZstdError as error:
                raise ValueError(str(error)) from error
    return data


def _dkms(root: HostRoot) -> Iterator[HostItem]:
    """State of the DKMS packages: built and installed kernels, and the log of a build that failed."""
    for package in ("aws-neuronx", "aws-neuron"):
        versions = [name for name in root.names(f"{DKMS}/{package}") if name[:1].isdigit()]
        for version in versions:
            base = f"{DKMS}/{package}/{version}"
            kernels = [name for name in root.names(base) if _KERNEL.match(name)]
            installed = [kernel for kernel in kernels if _is_installed(root, kernel)]
            state = "installed" if installed else "built" if kernels else "added"
            text = f"{package}/{version}: {state}" + (f" for {', '.join(installed or kernels)}" if kernels else "")
            origin = Origin(f"host:{base}", None, text)
            yield Fact("driver.dkms_status", state, origin)
            yield Fact("driver.dkms_kernels", tuple(installed), origin)
            log = f"{base}/build/make.log"
            data = root.tail(log, 1024 * 1024)
            if data and not installed:
                yield VirtualFile(f"host:{log}", data)


def _is_installed(root: HostRoot, kernel: str) -> bool:
    return any(root.exists(f"/lib/modules/{kernel}/{place}/neuron.ko{suffix}") for place in PLACES for suffix in SUFFIXES)


def _headers(root: HostRoot) -> Iterator[Fact]:
    """Kernels whose build directory is there (headers or kernel-devel)."""
    found = tuple(name for name in root.names("/lib/modules") if root.is_dir(f"/lib/modules/{name}/build"))
    if root.names("/lib/modules"):
        yield Fact("host.kernel_headers", found, Origin("host:/lib/modules", None, " ".join(found)))
