"""Which file systems live on the network or in memory; shared by df, mount and /proc/mounts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Fact
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line

NETWORK = lazy(
    r"^(?:nfs[234]?|efs|lustre|cifs|smb3?|fuse(?:\..{1,40})?|fuseblk|ceph|glusterfs|beegfs|gpfs|9p|s3fs|mount-s3|wekafs)$"
)
MEMORY = lazy(r"^(?:tmpfs|ramfs|overlay|aufs)$")
REMOTE_DEVICE = lazy(r"^(?:[\w.\-]{1,200}(?:@tcp|@o2ib)?:/|fs-[0-9a-f]{8,20}\b|s3://|//)")
_SYSTEM = lazy(r"^/(?:proc|sys|dev(?!/shm)|run)(?:/|$)")


def guess_type(device: str) -> str:
    """File system type that a df row without `-T` lets one guess: nfs, lustre, tmpfs, overlay, else ""."""
    if "@tcp" in device or "@o2ib" in device:
        return "lustre"
    if device in ("tmpfs", "overlay", "ramfs"):
        return device
    if REMOTE_DEVICE.match(device):
        return "nfs"
    return ""


def mount_facts(mounts: Sequence[tuple[Line, str, str]]) -> Iterator[Fact]:
    """Facts of (line, mount point, type) rows; pseudo file systems are left out."""
    wanted = [(line, point, kind) for line, point, kind in mounts if kind and not _SYSTEM.match(point)]
    network = [(line, point) for line, point, kind in wanted if NETWORK.match(kind)]
    memory = [(line, point) for line, point, kind in wanted if MEMORY.match(kind)]
    if wanted:
        pairs = tuple(dict.fromkeys(f"{point} {kind}" for _, point, kind in wanted))
        yield fact(wanted[0][0], "host.mounts", pairs[:500])
    if network:
        yield fact(network[0][0], "host.network_mounts", tuple(dict.fromkeys(point for _, point in network)))
    if memory:
        yield fact(memory[0][0], "host.tmpfs_mounts", tuple(dict.fromkeys(point for _, point in memory)))
