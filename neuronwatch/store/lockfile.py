"""Writing and reading the lock: a TOML record of kernel, image, driver, runtime, packages, tools and model facts.

The order is stable (sections as in the layout, keys sorted), so that two locks can be compared with diff; a new file takes the
place of the old one in one step, and the old one is kept as `<name>.bak`.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Value
from neuronwatch.parse.neuronwatch_lock import LAYOUT, SCHEMA, Entry, LockError, entries

__all__ = ["DEFAULT_NAME", "MAX_BYTES", "Entry", "LockError", "entries", "read", "text_of", "write"]

DEFAULT_NAME = "neuronwatch.lock.toml"
MAX_BYTES = 4 * 1024 * 1024

TOOLS = (
    "aws_neuronx_tools", "aws_neuron_tools", "efa", "libfabric1_aws", "libfabric_aws", "libfabric", "openmpi40_aws", "dkms",
    "docker", "docker_ce", "docker_io", "containerd",
)  # fmt: skip
LOCKED_PACKAGES = (
    "torch", "torchvision", "torchaudio", "torch_xla", "transformers", "optimum", "accelerate", "peft", "trl", "datasets",
    "tokenizers", "safetensors", "huggingface_hub", "numpy", "protobuf", "vllm", "jax", "jaxlib", "tensorflow", "triton",
    "diffusers", "sentence_transformers", "islpy", "nki", "nrtpy", "evaluate",
)  # fmt: skip
"""Besides every package with neuron in its name: what the stack is built from. Others change without effect on it."""


def read(path: Path) -> list[Entry]:
    """The entries of a lock file. Raises LockError (with the line where it is known) and OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(descriptor, "rb") as handle:  # a directory is an OSError here
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise LockError("not a regular file")
        data = handle.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise LockError(f"larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LockError(f"not UTF-8 at byte {error.start}", data[: error.start].count(b"\n") + 1) from error
    return entries(text)


def text_of(facts: FactsView, written: float) -> str:
    """The lock of these facts; `written` is epoch seconds. A fact that is not known is left out."""
    stamp = datetime.fromtimestamp(written, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = [
        "# Written by `neuronwatch lock write`; compare with `neuronwatch lock check`.",
        f"schema = {_toml(SCHEMA)}",
        f"written = {_toml(stamp)}",
    ]
    hostname = facts.get("host.hostname")
    if isinstance(hostname, str):
        lines.append(f"hostname = {_toml(hostname)}")
    for section, keys in LAYOUT.items():
        if section == "model":
            continue
        lines += _section(section, [(key, facts.get(fact)) for key, fact in keys.items()])
    packages = dict(_packages(facts))
    tools = {name: packages.pop(name) for name in list(packages) if name in TOOLS}
    lines += _section("packages", [(_shown(name), packages[name]) for name in sorted(packages)])
    lines += _section("tools", [(_shown(name), tools[name]) for name in sorted(tools)])
    lines += _section("model", [(key, facts.get(fact)) for key, fact in LAYOUT["model"].items()])
    return "\n".join(lines) + "\n"


def _packages(facts: FactsView) -> Iterator[tuple[str, Value]]:
    for name, readings in facts.with_prefix("pkg.").items():
        short = name[len("pkg.") :]
        if short == "neuronwatch" or not ("neuron" in short or short in LOCKED_PACKAGES or short in TOOLS):
            continue
        value = next((item.value for item in readings if isinstance(item.value, str) and item.value), None)
        if value is not None:
            yield short, value


def _shown(name: str) -> str:
    return name.replace("_", "-")


def _section(name: str, pairs: list[tuple[str, Value]]) -> list[str]:
    told = [f"{key} = {_toml(value)}" for key, value in pairs if isinstance(value, (str, int, float)) and value != ""]
    return ["", f"[{name}]", *told] if told else []


def _toml(value: str | int | float) -> str:
    """A TOML literal: JSON's escapes are TOML's, but for DEL and lone surrogates."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        clean = value.encode("utf-8", "replace").decode("utf-8")
        return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def write(path: Path, text: str) -> Path | None:
    """Puts the text in place of the file in one step. Returns where the old one is kept, None when there was none.
    Raises OSError; the old file is then untouched."""
    directory = path.parent if str(path.parent) else Path()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=directory)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):
            Path(name).chmod(0o644)
        kept = _keep(path)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return kept


def _keep(path: Path) -> Path | None:
    """The old file once more as `<name>.bak` (a copy, so that the lock is never away)."""
    if not path.is_file():
        return None
    kept = path.with_name(path.name + ".bak")
    kept.write_bytes(path.read_bytes())
    return kept
