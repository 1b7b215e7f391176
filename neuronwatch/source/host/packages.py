"""Installed packages: dpkg status, rpm, and the metadata of Python environments. Nothing is imported or resolved."""

from __future__ import annotations

import os
import re
import sqlite3
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot, VirtualFile

WANTED = re.compile(
    r"^(?:aws-neuron.*|linux-(?:image|headers)-.*|kernel(?:-.*)?|dkms|libfabric.*|efa.*|openmpi.*|libxml2.*|docker.*|containerd.*|nvidia-.*driver.*)$"
)
STATUS = "/var/lib/dpkg/status"
RPM_DATABASES = ("/var/lib/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/rpmdb.sqlite")
_TAGS = {1000: "name", 1001: "version", 1002: "release", 1022: "arch"}
_STRING = 6
_DIST = re.compile(r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*?)-(?P<version>[0-9][^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info$")
_NEURON = re.compile(r"(?i)neuron(?!watch)")
MAX_DISTRIBUTIONS = 5000
SYSTEM_SITES = ("/usr/lib/python3/dist-packages", "/usr/local/lib", "/usr/lib")


def collect(root: HostRoot, python: str | Path | None = None) -> Iterator[HostItem]:
    yield from _dpkg(root)
    yield from _rpm(root)
    yield from _python(root, python)


def places(root: HostRoot) -> Iterator[str]:
    """Files and directories whose modification time changes when a package is installed or removed."""
    yield from (STATUS, *RPM_DATABASES, "/opt")
    for prefix, _ in _prefixes(root, None):
        yield f"{prefix}/pyvenv.cfg"
        yield from _sites(root, prefix)


def _dpkg(root: HostRoot) -> Iterator[VirtualFile]:
    """The records of the packages that matter, as dpkg keeps them, without their descriptions."""
    data = root.read(STATUS)
    if data is None:
        return
    kept = []
    for block in data.decode("utf-8", "replace").split("\n\n"):
        fields = dict(re.findall(r"(?m)^(Package|Status|Version): (.*)$", block))
        if WANTED.match(fields.get("Package", "")) and "Status" in fields and "Version" in fields:
            kept.append("".join(f"{name}: {fields[name]}\n" for name in ("Package", "Status", "Version")))
    if kept:
        yield VirtualFile(f"host:{STATUS}", "\n".join(kept).encode())


def _rpm(root: HostRoot) -> Iterator[HostItem]:
    """`rpm -qa` where it may run, else the names in rpm's SQLite database (RHEL 9, Amazon Linux 2023)."""
    database = next((name for name in RPM_DATABASES if root.exists(name)), None)
    if database is None and not root.exists("/var/lib/rpm/Packages"):
        return
    answer = root.run(("rpm", "-qa"), timeout=20.0)
    if answer.status == 0 and answer.stdout:
        lines = answer.stdout.decode("utf-8", "replace").splitlines()
    elif database is not None:
        where = root.place(database)
        try:
            lines = list(_sqlite_names(where)) if where is not None else []
        except (sqlite3.Error, ValueError, struct.error) as error:
            yield SourceReport(f"host:{database}", "rpm", "failed", str(error))
            return
    else:
        yield SourceReport("host:/var/lib/rpm/Packages", "rpm", "missing", f"rpm: {answer.reason or answer.status}")
        return
    kept = sorted(line for line in lines if WANTED.match(line.rsplit("-", 2)[0]))
    if kept:
        yield VirtualFile("host:rpm -qa", ("\n".join(kept) + "\n").encode())


def _sqlite_names(where: Path) -> Iterator[str]:
    """name-version-release.arch of every header in the database. Raises sqlite3.Error, ValueError or struct.error."""
    connection = sqlite3.connect(f"{where.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        for (blob,) in connection.execute("SELECT blob FROM Packages LIMIT 20000"):
            tags = _header(bytes(blob))
            if "name" in tags and "version" in tags:
                yield f"{tags['name']}-{tags['version']}-{tags.get('release', '0')}.{tags.get('arch', 'noarch')}"
    finally:
        connection.close()


def _header(blob: bytes) -> dict[str, str]:
    """The string tags of an rpm header: two counts, the index (tag, type, offset, count), then the data."""
    entries, size = struct.unpack_from(">II", blob, 0)
    if entries > 100_000 or 8 + entries * 16 + size > len(blob):
        raise ValueError("not an rpm header")
    data = 8 + entries * 16
    found = {}
    for index in range(entries):
        tag, kind, offset, _ = struct.unpack_from(">IIII", blob, 8 + index * 16)
        if tag in _TAGS and kind == _STRING and offset < size:
            end = blob.find(b"\0", data + offset)
            found[_TAGS[tag]] = blob[data + offset : end].decode("utf-8", "replace")
    return found


def _python(root: HostRoot, python: str | Path | None) -> Iterator[HostItem]:
    """The environment that was named (always told), else every one at the usual places that holds a Neuron package."""
    told = False
    for prefix, named in _prefixes(root, python):
        site = [directory for directory in _sites(root, prefix) if root.is_dir(directory)]
        rows = sorted({row for directory in site for row in _distributions(root, directory)})
        if named and not rows:
            yield SourceReport(f"host:{prefix}", "python", "missing", "no Python environment with packages there")
        if not rows or not (named or any(_NEURON.search(name) for name, _ in rows)):
            continue
        told = True
        width = max(len(name) for name, _ in rows)
        table = [f"{'Package':<{width}} Version", f"{'-' * width} -------"]
        table += [f"{name:<{width}} {version}" for name, version in rows]
        yield VirtualFile(f"host:{prefix}/pip-list", ("\n".join(table) + "\n").encode())
        version = _python_version(root, prefix, site)
        if version:
            yield Fact("python.version", version, Origin(f"host:{prefix}", None, f"Python {version}"))
        yield Fact("host.python", f"{prefix}/bin/python", Origin(f"host:{prefix}"))
        if not named:
            break  # one environment answers; another can be named with --python
    if not told and python is None:
        reason = "no Python environment with Neuron packages at the usual places; `--python` names one"
        yield SourceReport("host:python", "python", "missing", reason)


def _prefixes(root: HostRoot, python: str | Path | None) -> Iterator[tuple[str, bool]]:
    """(prefix, whether it was named) of the environments to look at."""
    if python is not None:
        yield _prefix_of(root, str(python)), True
        return
    if root.live:
        active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
        if active:
            yield active, False
    for name in root.names("/opt"):
        if name.startswith("aws_neuron") or "_venv" in name:
            yield f"/opt/{name}", False
    for home in ("/root", *(f"/home/{name}" for name in root.names("/home")[:200])):
        for name in root.names(home)[:500]:
            if root.exists(f"{home}/{name}/pyvenv.cfg"):
                yield f"{home}/{name}", False
    yield "/opt/venv", False
    yield "/opt/conda", False
    if root.live and Path(sys.prefix).is_absolute():
        yield sys.prefix, False
    yield "/usr/local", False
    yield "/usr", False


def _prefix_of(root: HostRoot, python: str) -> str:
    """`/venv`, `/venv/bin/python3` and `/venv/bin` are all `/venv`; links are not followed, since the interpreter of a venv
    is a link to the system's."""
    path = python.rstrip("/") or "/"
    if root.live:
        import shutil  # loads three compressors

        found = shutil.which(path) if "/" not in path and not Path(path).is_dir() else None
        path = os.path.abspath(found or path)
    if not root.is_dir(path) or path.endswith("/bin"):
        parts = path.split("/bin/")
        path = "/bin/".join(parts[:-1]) if len(parts) > 1 else path.removesuffix("/bin")
    return path or "/usr"


def _sites(root: HostRoot, prefix: str) -> Iterator[str]:
    for lib in ("lib", "lib64"):
        for name in root.names(f"{prefix}/{lib}"):
            if re.fullmatch(r"python3(?:\.\d{1,2})?", name):
                yield f"{prefix}/{lib}/{name}/site-packages"
                yield f"{prefix}/{lib}/{name}/dist-packages"


def _distributions(root: HostRoot, directory: str) -> Iterator[tuple[str, str]]:
    """(name, version) of the metadata directories: their names say it; the METADATA file where they do not."""
    for name in root.names(directory)[: MAX_DISTRIBUTIONS * 4]:
        if not name.endswith((".dist-info", ".egg-info")):
            continue
        found = _DIST.match(name)
        if found:
            yield found.group("name").replace("_", "-"), found.group("version")
            continue
        for inner in ("METADATA", "PKG-INFO", ""):
            text = root.text(f"{directory}/{name}/{inner}".rstrip("/"), 64 * 1024)
            fields = dict(re.findall(r"(?m)^(Name|Version): (\S+)\s*$", (text or "").split("\n\n")[0]))
            if len(fields) == 2:
                yield fields["Name"], fields["Version"]
                break


def _python_version(root: HostRoot, prefix: str, sites: list[str]) -> str | None:
    text = root.text(f"{prefix}/pyvenv.cfg", 8192) or ""
    found = re.search(r"(?m)^version(?:_info)?\s*=\s*(\d+\.\d+(?:\.\d+)?)", text)
    if found:
        return found.group(1)
    for site in sites:
        named = re.search(r"/python(3\.\d{1,2})/", site)
        if named:
            return named.group(1)
    return None
