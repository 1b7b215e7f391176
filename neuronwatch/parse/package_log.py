"""What apt, dpkg, yum and dnf installed or upgraded: their terminal output, /var/log/apt/history.log, /var/log/dpkg.log.
Only Neuron, EFA and kernel packages become facts; the version after the change is the package's version, as of then: what
is installed now (`dpkg -l`, `rpm -qa`) counts for more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.dataclass import replace
from neuronwatch.model.records import Fact, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse._versions import clean_version, system_package
from neuronwatch.parse.api import Line, LineFormat

_NAME = r"((?:aws-neuron|linux-image-|linux-headers-|kernel|libfabric|efa)[a-z0-9.+\-]{0,60}?)"
_VER = r"((?:[0-9]{1,3}:)?[0-9][\w.+~\-]{0,80})"
_HISTORY = lazy(r"^(Install|Upgrade|Downgrade|Remove|Purge|Reinstall): (.{1,20000})$")
_HISTORY_ITEM = lazy(r"(?:^|, )([a-z0-9][\w.+\-]{1,90}):\w{2,6} \((?:([^,()\s]{1,90}), )?([^,()\s]{1,90})(, automatic)?\)")
_DPKG_LOG = lazy(r"^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d )?(install|upgrade) ([a-z0-9][\w.+\-]{1,90}):\w{2,6} (\S{1,90}) (\S{1,90})")
_SETTING_UP = lazy(r"\b(?:Setting up|Unpacking) " + _NAME + r"(?::\w{2,6})? \(" + _VER + r"\)(?: over \(" + _VER + r"\))?")
_REMOVING = lazy(r"\bRemoving " + _NAME + r"(?::\w{2,6})? \(" + _VER + r"\)")
_YUM_DONE = lazy(r"^\s{0,4}(?:[\w.\-]{1,40}:\s{1,8})?" + _NAME + r"\.(x86_64|aarch64|noarch)\s{1,60}" + _VER + r"(?:\s|$)")
_DNF_DONE = lazy(r"^\s{0,4}" + _NAME + r"-((?:[0-9]{1,3}:)?[0-9]{1,3}\.[\w.+~\-]{1,60})\.(x86_64|aarch64|noarch)\s{0,60}$")
_YUM_TABLE = lazy(r"^[\s=>.\w:\-]{0,40}?\s" + _NAME + r"\s{1,40}(x86_64|aarch64|noarch)\s{1,40}" + _VER + r"\s{1,40}\S")
_YUM_STEP = lazy(
    r"\b(?:Installing|Updating|Upgrading|Verifying|Installed)\s{0,4}:\s{1,8}" + _NAME + r"-" + _VER + r"\.(x86_64|aarch64|noarch)"
)

_DNF_HISTORY = lazy(
    r"^\s{1,12}(?:Dep-)?(Install|Upgrade|Update|Reinstall|Downgrade)\s{1,12}" + _NAME + r"-" + _VER
    + r"\.(x86_64|aarch64|noarch)\s{1,20}@"
)  # fmt: skip


def _wanted(name: str) -> bool:
    return name.startswith(("aws-neuron", "linux-image-", "linux-headers-", "kernel", "libfabric", "efa"))


def _rpm_version(name: str, version: str, arch: str) -> str:
    """Kernel packages keep release and architecture, since that is what `uname -r` prints."""
    version = re.sub(r"^[0-9]{1,3}:", "", version)
    return f"{version}.{arch}" if name.startswith("kernel") and arch else version


def _history(line: Line, kernels: dict[str, list[str]]) -> Iterator[Record]:
    found = _HISTORY.match(line.body)
    if not found:
        return
    action, changed = found.group(1), []
    for item in list(_HISTORY_ITEM.finditer(found.group(2)))[:2000]:
        name, old, new = item.group(1), item.group(2), item.group(3)
        if old and new == "automatic":
            old, new = None, old
        if not _wanted(name):
            continue
        if action in ("Remove", "Purge"):
            changed.append(f"{name} {clean_version(new)} -")
            continue
        changed.append(f"{name} {clean_version(old) if old else '-'} {clean_version(new)}")
        yield from system_package(line, name, new, kernels)
    if changed:
        yield fact(line, "packages.changed", tuple(changed))


def _apt(line: Line, kernels: dict[str, list[str]]) -> Iterator[Record]:
    log = _DPKG_LOG.match(line.body)
    if log and _wanted(log.group(2)):
        old = "-" if log.group(3) == "<none>" else clean_version(log.group(3))
        yield fact(line, "packages.changed", (f"{log.group(2)} {old} {clean_version(log.group(4))}",))
        yield from system_package(line, log.group(2), log.group(4), kernels)
    setting = _SETTING_UP.search(line.body)
    if setting:
        name, version, old_version = setting.group(1), setting.group(2), setting.group(3)
        if old_version:
            change = f"{name} {clean_version(old_version)} {clean_version(version)}"
            yield fact(line, "packages.changed", (change,))
        yield from system_package(line, name, version, kernels)
    removing = _REMOVING.search(line.body)
    if removing:
        yield fact(line, "packages.changed", (f"{removing.group(1)} {clean_version(removing.group(2))} -",))
        yield from system_package(line, removing.group(1), removing.group(2), kernels)


def _yum(line: Line, kernels: dict[str, list[str]]) -> Iterator[Record]:
    """One row or step of yum or dnf; packer puts its builder's name in front."""
    text = line.body.split("amazon-ebs", 1)[-1].split(": ", 1)[-1] if line.body.startswith("==>") else line.body
    step = _YUM_STEP.search(text)
    table = _YUM_DONE.match(text) or _YUM_TABLE.match(text)
    if step:
        name, version, arch = step.groups()
    elif table:
        name, arch, version = table.groups()
    else:
        return
    if not name.startswith("kernel"):
        version = clean_version(version)
    yield from system_package(line, name, _rpm_version(name, version, arch), kernels)


def _dnf(line: Line, kernels: dict[str, list[str]]) -> Iterator[Record]:
    """A row under dnf's `Installed:` or `Upgraded:`; elsewhere such a line is a row of `rpm -qa`."""
    done = _DNF_DONE.match(line.body)
    if done:
        name, version, arch = done.groups()
        version = version if name.startswith("kernel") else clean_version(version)
        yield from system_package(line, name, _rpm_version(name, version, arch), kernels)


def _dnf_history(line: Line, kernels: dict[str, list[str]]) -> Iterator[Record]:
    """A row of `dnf history info` or `yum history info`; `Upgraded`, `Updated` and `Obsoleted` rows name what went away."""
    row = _DNF_HISTORY.match(line.body)
    if row:
        _, name, version, arch = row.groups()
        version = version if name.startswith("kernel") else clean_version(version)
        yield from system_package(line, name, _rpm_version(name, version, arch), kernels)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for record in _records(lines):
        if isinstance(record, Fact) and record.name != "packages.changed":
            record = replace(record, past=True)
        yield record


def _records(lines: Sequence[Line]) -> Iterator[Record]:
    kernels: dict[str, list[str]] = {}
    first: Line | None = None
    done = False
    for line in lines:
        if re.match(r"^\s{0,4}(?:Installed|Upgraded|Updated|Dependency Installed):\s{0,8}$", line.body):
            done = True
        elif not line.body.startswith(" "):
            done = False
        for reader in (_history, _apt, _dnf_history, _yum, _dnf)[: 5 if done else 4]:
            records = list(reader(line, kernels))
            if kernels and first is None:
                first = line
            yield from records
            if records:
                break
    if first is not None:
        if kernels.get("headers"):
            yield fact(first, "host.kernel_headers", tuple(dict.fromkeys(kernels["headers"])))
        if kernels.get("image"):
            yield fact(first, "host.kernels_installed", tuple(dict.fromkeys(kernels["image"])))


FORMAT = LineFormat(
    name="package-log",
    kind="log",
    triggers=(
        r"(?:Install|Upgrade|Downgrade|Remove|Purge|Reinstall): [a-z0-9].{0,200}\(",
        r"(?:install|upgrade) (?:aws-neuron|linux-image|linux-headers)[\w.+\-]{0,60}:",
        r"(?:Setting up|Unpacking|Removing) (?:aws-neuron|linux-image|linux-headers|libfabric|efa)",
        r"(?:aws-neuron|kernel|libfabric)[a-z0-9.+\-]{0,60}\s{1,40}(?:x86_64|aarch64|noarch)\s{1,40}[0-9]",
        r"(?:aws-neuron|kernel|libfabric)[a-z0-9.+\-]{0,60}\.(?:x86_64|aarch64|noarch)\s{1,60}[0-9]",
        r"(?:Installing|Updating|Upgrading|Verifying|Installed)\s{0,4}:\s{1,8}(?:aws-neuron|kernel|libfabric)",
        r"(?:Installed|Upgraded|Updated):\s{0,8}$",
        r"(?:Install|Upgrade|Update|Reinstall|Downgrade)\s{1,12}(?:aws-neuron|kernel|libfabric)[a-z0-9.+\-]{0,60}-[0-9]",
    ),
    parse=_parse,
    after=40,
)
