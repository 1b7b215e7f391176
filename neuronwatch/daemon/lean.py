"""The daemon starts anew in a Python without docstrings, without columns of source positions and without the parser of the
command line: that is 2 MB of what would be resident for months. The process id stays."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
from importlib import import_module
from importlib.util import MAGIC_NUMBER, cache_from_source, find_spec
from pathlib import Path

from neuronwatch.daemon.start import Start

HANDED = "NEURONWATCH_START"
"""The variable with which `__main__` is told what to do; it is removed there."""
TIMEOUT = 120.0
_OURS = ("daemon.service", "judge.engine", "judge.match.fast", "source.live.registry", "source.rule_reload")
_OTHERS = ("glob", "gzip", "hyperscan", "msgspec", "psutil", "zstandard")
"""What is loaded late."""


def again(start: Start) -> None:
    """Does not return where it can be done. To find a defect, NEURONWATCH_DEBUG=1 keeps everything in one process."""
    program = Path(__file__).with_name("__main__.py")
    if os.environ.get("NEURONWATCH_DEBUG") or not sys.executable or not program.is_file() or not hasattr(os, "fork"):
        return
    flags = [*_flags(), *(["-OO"] if _without_docstrings(program) else []), "-X", "no_debug_ranges"]
    argv = [sys.executable, *flags, str(program), *sys.argv[1:]]
    handed = json.dumps({"path": [os.path.abspath(place) for place in sys.path], "start": start._asdict()})
    with contextlib.suppress(OSError, ValueError):  # an interpreter that went away, options too long: it goes on as it is
        os.execve(sys.executable, argv, {**os.environ, HANDED: handed})


def _flags() -> list[str]:
    """The options with which this interpreter was started, but those for optimisation."""
    return [flag for flag in subprocess._args_from_interpreter_flags() if not flag.startswith("-O")]  # type: ignore[attr-defined]


def _without_docstrings(program: Path) -> bool:
    """Whether there is bytecode without docstrings, of us and of what we load. Compiling it at each start would take a second
    and more memory than it saves; where it can be written it is compiled once, by a child."""
    samples = [program.with_name("service.py"), *(_place(name) for name in ("typing", "psutil"))]
    cached = [Path(cache_from_source(str(place), optimization=2)) for place in samples]
    if all(_fresh(made, place) for made, place in zip(cached, samples, strict=True)):
        return True
    if sys.dont_write_bytecode or not all(_writable(made) for made in cached):
        return False
    return compile_ahead()


def compile_ahead() -> bool:
    """Writes the bytecode of all that the daemon loads, where it is not there; whether it could be done."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from neuronwatch.daemon import lean; lean.load_all()"
    quiet = subprocess.DEVNULL
    argv = [sys.executable, "-I", "-OO", "-c", code]
    try:
        done = subprocess.run(argv, timeout=TIMEOUT, check=False, cwd=os.sep, stdin=quiet, stdout=quiet, stderr=quiet)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def load_all() -> None:
    """Loads what the daemon loads, also what it loads late."""
    for name in (*(f"neuronwatch.{name}" for name in _OURS), *_OTHERS):
        if find_spec(name) is not None:
            import_module(name)
    import_module("neuronwatch.source.formats").shipped()


def _place(name: str) -> Path:
    spec = find_spec(name)
    return Path(spec.origin) if spec is not None and spec.origin else Path()


def _fresh(made: Path, source: Path) -> bool:
    """Whether Python would take this bytecode: of its version, and of this source by time and size (or it does not ask)."""
    try:
        with made.open("rb") as file:
            head = file.read(16)
        info = source.stat()
    except OSError:
        return False
    if len(head) < 16 or head[:4] != MAGIC_NUMBER:
        return False
    flags, moment, size = struct.unpack("<3I", head[4:])
    return bool(flags) or (moment, size) == (int(info.st_mtime) & 0xFFFFFFFF, info.st_size & 0xFFFFFFFF)


def _writable(made: Path) -> bool:
    place = made.parent if made.parent.is_dir() else made.parent.parent
    return place.is_dir() and os.access(place, os.W_OK)
