"""Neuron devices: device nodes and their modes, the sysfs tree, PCI, EFA. One line when the machine has none."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source.host import NO_NEURON, HostItem
from neuronwatch.source.host.root import HostRoot, VirtualFile, numbered
from neuronwatch.source.host.sysfs_tree import MAX_FILES, MAX_VALUE, is_told, told_lines, value_files
from neuronwatch.source.host.system import DMI
from neuronwatch.source.tree import shown

TREES = ("/sys/devices/virtual/neuron_device", "/sys/class/neuron_device")
CLASS = "/sys/class/neuron_device"
CLASS_FILES = ("node_id_2", "node_id_4", "server_id_2", "server_id_4", "ultraserver_mode")
NONE = "this machine has no Neuron device: no /dev/neuron*, sysfs tree, PCI device, or inf/trn instance type"
NEURON_PCI = frozenset(("0x7064", "0x7164", "0x7264", "0x7364", "0x7564", "0x7565"))
AMAZON = "0x1d0f"
NO_TREE = "the driver offers no sysfs tree"
NO_DRIVER = "no driver shows the devices: there is neither /dev/neuron* nor its sysfs tree"


class Values(NamedTuple):
    """`path = value` lines of a tree, how many files could not be read, and whether lines are left out."""

    lines: Sequence[str]
    unread: int = 0
    cut: bool = False


def collect(root: HostRoot) -> Iterator[HostItem]:
    """What `diagnose` reads: the devices as the driver and as the bus show them."""
    yield from of_driver(root, read_tree)
    yield from of_bus(root)


def of_driver(root: HostRoot, read: Callable[[HostRoot, str], Values]) -> Iterator[HostItem]:
    """Nodes and tree. `read` gives the values of a tree: the daemon has most of them already."""
    nodes = numbered(root.names("/dev"), "neuron")
    tree = tree_of(root)
    if not nodes and tree is None and not has_hardware(root):
        yield SourceReport(NO_NEURON, "devices", "missing", NONE)
        return
    yield from _nodes(root, nodes)
    if tree is not None:
        yield Fact("neuron.sysfs_devices", tuple(numbered(root.names(tree), "neuron")), Origin(f"host:{tree}"))
        yield from _tree(root, tree, read(root, tree))
    elif nodes:
        yield SourceReport(f"host:{TREES[0]}", "sysfs", "missing", NO_TREE)


def of_bus(root: HostRoot) -> Iterator[HostItem]:
    """PCI devices on a host of Neuron devices, EFA. These are there without a driver too."""
    pci = list(_pci(root))
    if pci and (numbered(root.names("/dev"), "neuron") or tree_of(root) is not None or _is_neuron(root, pci)):
        yield VirtualFile("host:/sys/bus/pci/devices", _lspci(pci))
    else:
        yield from _efa(root)


def has_hardware(root: HostRoot) -> bool:
    """Whether the bus or the instance type say that there are Neuron devices, whatever the driver does."""
    return _is_neuron(root, list(_pci(root)))


def _is_neuron(root: HostRoot, pci: list[tuple[str, str, str, str]]) -> bool:
    on_bus = any(vendor == AMAZON and device in NEURON_PCI for _, vendor, device, _ in pci)
    return on_bus or any(re.match(r"^(?:inf|trn)\d", root.text(name, 1024) or "") for name in DMI)


def _nodes(root: HostRoot, nodes: list[int]) -> Iterator[HostItem]:
    """The nodes as `ls -l` shows them; those that this user may not open for reading and writing are denied ones."""
    denied = []
    for number in nodes:
        state = root.stat(f"/dev/neuron{number}")
        where = root.place(f"/dev/neuron{number}")
        if state is None or where is None:
            continue
        others = state.st_mode & 0o006 == 0o006
        if not others and not (root.live and os.access(where, os.R_OK | os.W_OK) and _unprivileged()):
            denied.append(number)
    text = f"{len(nodes)} device nodes" if nodes else "no /dev/neuron*"
    yield Fact("neuron.dev_nodes", tuple(nodes), Origin("host:/dev", None, text))
    if nodes:
        modes = (_mode(root, number) for number in denied)
        yield Fact("neuron.dev_denied", tuple(denied), Origin("host:/dev", None, "; ".join(modes)))


def _unprivileged() -> bool:
    """Whether access checks mean anything: root may open everything, which tells nothing about the job's user."""
    return hasattr(os, "geteuid") and os.geteuid() != 0


def _mode(root: HostRoot, number: int) -> str:
    state = root.stat(f"/dev/neuron{number}")
    return f"/dev/neuron{number} {stat.filemode(state.st_mode)}" if state else f"/dev/neuron{number}"


def tree_of(root: HostRoot) -> str | None:
    """The directory that holds the driver's devices."""
    return next((item for item in TREES if numbered(root.names(item), "neuron")), None)


def read_tree(root: HostRoot, tree: str) -> Values:
    """The values of the tree that are told, as they are now."""
    lines: list[str] = []
    unread = 0
    for number in numbered(root.names(tree), "neuron"):
        device = f"{tree}/neuron{number}"
        for name, _ in value_files(root, device):
            if not is_told(name):
                continue
            data = root.read(device + name, MAX_VALUE + 1)
            if data is None:
                unread += 1
            else:
                lines += [f"{shown(device + name)} = {text}" for text in told_lines(name, data)]
    return Values(lines[:MAX_FILES], unread, len(lines) > MAX_FILES)


def _tree(root: HostRoot, tree: str, values: Values) -> Iterator[HostItem]:
    """The tree as `path = value` lines."""
    lines = list(values.lines)
    if values.cut:
        yield SourceReport(f"host:{tree}", "sysfs", "partial", f"only the first {MAX_FILES} values were read")
    for name in CLASS_FILES:
        value = root.text(f"{CLASS}/{name}", 1024)
        if value is not None:
            lines.append(f"{CLASS}/{name} = {value}")
    if lines:
        yield VirtualFile(f"host:{tree}", ("\n".join(lines) + "\n").encode())
    if values.unread:
        yield SourceReport(f"host:{tree}", "sysfs", "partial", f"{values.unread} files of the driver may not be read by this user")


def _pci(root: HostRoot) -> Iterator[tuple[str, str, str, str]]:
    """(address, vendor, device, class) of every PCI device."""
    base = "/sys/bus/pci/devices"
    for address in root.names(base)[:4096]:
        cells = [root.text(f"{base}/{address}/{name}", 64) or "" for name in ("vendor", "device", "class")]
        if cells[0] and cells[1]:
            yield address, cells[0].lower(), cells[1].lower(), cells[2].lower()


def _lspci(rows: list[tuple[str, str, str, str]]) -> bytes:
    """The rows as `lspci -nn` prints them."""
    names = {AMAZON: "Amazon.com, Inc."}
    lines = [
        f"{address} Device [{kind[2:6]}]: {names.get(vendor, 'Vendor')} Device [{vendor[2:]}:{device[2:]}]"
        for address, vendor, device, kind in rows
    ]
    return ("$ lspci -nn\n" + "\n".join(lines) + "\n").encode()


def _efa(root: HostRoot) -> Iterator[Fact]:
    """EFA interfaces where PCI is not listed: the RDMA devices of the efa driver."""
    found = []
    for name in root.names("/sys/class/infiniband"):
        driver = root.link(f"/sys/class/infiniband/{name}/device/driver") or ""
        if driver.rsplit("/", 1)[-1] == "efa" or name.startswith("efa"):
            found.append(name)
    if found:
        yield Fact("host.efa_devices", len(found), Origin("host:/sys/class/infiniband", None, " ".join(found)))
