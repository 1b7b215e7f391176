"""Faults of the way to look instead of the host: a source that is killed, hung, slow, garbled, absent, denied or flapping.

The Neuron tools and dmesg are programs: they ask the host how they fail. Everything else is files: a part of the tree is
taken away, blocks its readers, or holds rubbish, while the machine goes on below it.
"""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Iterator
from typing import NamedTuple

from neuronwatch.drill.faults import Injection
from neuronwatch.drill.files import Files
from neuronwatch.drill.machine import Machine


class Source(NamedTuple):
    """`what`: what it is, for a sentence; `trees`: where its files lie; `blocking`: ends of the names of the files whose readers wait
    where it hangs, for the first devices or processes that have them; `some`: which these are, in words; `programs`: what is run
    to ask it."""

    what: str
    trees: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    some: str = ""
    programs: tuple[str, ...] = ()


TOOLS = "/opt/aws/neuron/bin/"
SOURCES = {
    "sysfs": Source("the driver's sysfs tree", ("/sys/devices/virtual/neuron_device", "/sys/class/neuron_device"),
                    ("serial_number", "/stats/power/utilization", "_ecc_uncorrected", "device_mem/total", "success/total"),
                    "ECC, power, serial number, memory"),
    "neuron-monitor": Source("neuron-monitor", programs=(TOOLS + "neuron-monitor",)),
    "neuron-ls": Source("neuron-ls", programs=(TOOLS + "neuron-ls",)),
    "neuron-top": Source("neuron-top", programs=(TOOLS + "neuron-top",)),
    "kernel-log": Source("the kernel log", ("/var/log/kern.log",), ("kern.log",), programs=("/usr/bin/dmesg",)),
    "runtime-log": Source("each log of the runtime and the jobs", ("/var/log/neuron", "/var/log/jobs"), (".log",)),
    "processes": Source("/proc", ("/proc",), ("/cmdline", "/environ", "/stat"), "cmdline, environ and stat of processes"),
    "compile-cache": Source("the compile cache", ("/var/tmp/neuron-compile-cache",), ("model.neff", "compile_flags.json", "model.log"),
                            "NEFFs, flags, logs"),
}  # fmt: skip
OF_FILES = {
    "killed": "{What} vanishes for two seconds and comes back under new inodes, again and again.",
    "hung": "Who reads certain files of {what} ({some}) waits as long as the fault lasts.",
    "slow": "Who reads certain files of {what} ({some}) gets an answer after eight seconds; then reads are normal for four.",
    "garbled": "{What} holds half of what it should, with bytes behind that are no text.",
    "absent": "{What} is not there.",
    "denied": "{What} may be read by nobody but root.",
    "flapping": "{What} is away for ten seconds and there for fourteen, again and again.",
}
OF_LOGS = {
    **OF_FILES,
    "hung": "Who reads {what} waits as long as the fault lasts.",
    "slow": "Who reads {what} gets an answer after eight seconds; then reads are normal for four.",
    "garbled": "{What} gets bytes that are no text, and half a line, between its lines every five seconds.",
    "absent": "{What} is not there; it comes back with all its lines.",
}
OF_PROGRAMS = {
    "killed": "{what} dies by SIGKILL whenever it is asked, also while it runs.",
    "hung": "{what} does not answer: it waits as long as the fault lasts.",
    "slow": "{what} answers many seconds late.",
    "garbled": "{what} prints half a document, then bytes that are no text.",
    "absent": "{what} is not there, and what runs of it ends.",
    "denied": "{what} may be executed by nobody, and what runs of it ends.",
    "flapping": "{what} is away for ten seconds and there for fourteen, again and again.",
}
HOW = tuple(OF_FILES)
RUBBISH = b"\xff\xfe\x00\x81{[nan \x1b"
MAX_BLOCKED = 256
AWAY, THERE = 10.0, 14.0
"""Seconds for which a flapping source is away, then there again."""


def names() -> list[str]:
    return [f"source.{source}.{how}" for source in SOURCES for how in HOW]


def what(name: str) -> str:
    """One sentence about `source.NAME.HOW`."""
    source, how = named(name)
    found = SOURCES[source]
    texts = OF_PROGRAMS if not found.trees else OF_FILES if found.some else OF_LOGS
    subject = found.what[0].upper() + found.what[1:]
    return texts[how].format(what=found.what.replace("each", "any"), What=subject, some=found.some)


def named(name: str) -> tuple[str, str]:
    """(source, how). Raises ValueError with the nearest name."""
    if name not in names():
        near = difflib.get_close_matches(name, names(), 1)
        raise ValueError(
            f"no fault {name!r}" + (f", did you mean `{near[0]}`?" if near else "; `neuronwatch drill faults` lists them")
        )
    source, how = name.removeprefix("source.").rsplit(".", 1)
    return source, how


def run(machine: Machine, files: Files, fault: tuple[str, str], injection: Injection) -> Iterator[float]:
    """Takes the source away in that way until it is cleared."""
    name, how = fault
    machine.outages[name] = how
    try:
        yield from _during(machine, files, name, how, injection)
    finally:
        machine.outages.pop(name, None)


def _during(machine: Machine, files: Files, name: str, how: str, injection: Injection) -> Iterator[float]:
    source = SOURCES[name]
    everything = (*source.trees, *source.programs)
    if how in ("absent", "denied"):
        with _Taken(files, everything if how == "absent" else ()), _Denied(files, everything if how == "denied" else ()):
            yield from injection.held()
    elif how == "flapping":
        while not injection.cleared:
            machine.outages[name] = "absent"  # programs that run already end
            with _Taken(files, everything):
                yield from _wait(AWAY, injection, machine)
            machine.outages[name] = how
            yield from _wait(THERE, injection, machine)
    elif how == "killed":
        while not injection.cleared:
            with _Taken(files, source.trees):
                yield from _wait(2.0, injection, machine)
            yield from _wait(THERE, injection, machine)
    elif how == "garbled":
        yield from _garbled(machine, files, source, injection)
    elif how == "hung":
        with _Blocked(files, source):
            yield from injection.held()
    else:
        while not injection.cleared:
            with _Blocked(files, source) as blocked:
                yield from _wait(8.0, injection, machine)
                blocked.answer()
            yield from _wait(4.0, injection, machine)


def _wait(seconds: float, injection: Injection, machine: Machine) -> Iterator[float]:
    """So long (at a high rate at least some moments of ours), or until it is cleared."""
    if not injection.cleared:
        yield max(seconds, machine.clock.rate * seconds / 10)


class _Taken:
    """The trees are off the disk; logs are only moved, and come back with all their lines."""

    def __init__(self, files: Files, trees: tuple[str, ...]) -> None:
        self._files = files
        self._trees = trees
        self._moved: list[tuple[str, str]] = []

    def __enter__(self) -> _Taken:
        for tree in self._trees:
            self._files.take(tree)
            where, aside = self._files.where(tree), self._files.where("/.drill/aside" + tree.replace("/", "-"))
            if self._files.logs(tree):
                with contextlib.suppress(OSError):
                    os.rename(where, aside)
                    self._moved.append((aside, where))
            else:
                self._files.erase(tree)
        return self

    def __exit__(self, *error: object) -> None:
        for aside, where in self._moved:
            with contextlib.suppress(OSError):
                os.rename(aside, where)
        for tree in self._trees:
            self._files.give(tree)


class _Denied:
    """Nobody but root may read the trees, and nobody may execute the programs."""

    def __init__(self, files: Files, trees: tuple[str, ...]) -> None:
        self._files = files
        self._modes: dict[str, int] = {}
        self._trees = trees

    def __enter__(self) -> _Denied:
        for tree in self._trees:
            self._files.take(tree)
            where = self._files.where(tree)
            with contextlib.suppress(OSError):
                self._modes[where] = os.lstat(where).st_mode & 0o7777
                os.chmod(where, 0)
        return self

    def __exit__(self, *error: object) -> None:
        for where, mode in self._modes.items():
            with contextlib.suppress(OSError):
                os.chmod(where, mode)
        for tree in self._trees:
            self._files.give(tree)


class _Blocked:
    """The whole of the trees is there anew, and some of its files are pipes that nobody fills: a reader waits in the kernel."""

    def __init__(self, files: Files, source: Source) -> None:
        self._files = files
        self._trees = source.trees
        self._ends = source.blocking
        self._pipes: dict[str, int] = {}

    def __enter__(self) -> _Blocked:
        for tree in self._trees:
            self._files.take(tree)
            chosen = [path for path in self._files.below(tree) if path.endswith(self._ends)][:MAX_BLOCKED]
            logs = [path for path in self._files.logs(tree) if path.endswith(self._ends)]
            self._files.renew(tree)
            for path in [*chosen, *logs[:MAX_BLOCKED]]:
                self._pipe(path)
        return self

    def _pipe(self, path: str) -> None:
        where = self._files.where(path)
        with contextlib.suppress(OSError):
            if not self._files.content(path):
                os.rename(where, f"{where}.aside")
            os.mkfifo(f"{where}.new", 0o644)
            os.rename(f"{where}.new", where)
            self._pipes[path] = os.open(where, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def answer(self) -> None:
        """Who waits gets the value, late."""
        for path, descriptor in self._pipes.items():
            with contextlib.suppress(OSError):
                os.write(descriptor, self._files.content(path)[:4096])

    def __exit__(self, *error: object) -> None:
        for path, descriptor in self._pipes.items():
            where = self._files.where(path)
            with contextlib.suppress(OSError):
                os.unlink(where)
            with contextlib.suppress(OSError):
                os.rename(f"{where}.aside", where)
            os.close(descriptor)  # readers that wait get the end of the file
        for tree in self._trees:
            self._files.give(tree)


def _garbled(machine: Machine, files: Files, source: Source, injection: Injection) -> Iterator[float]:
    """Values are half of what they should be, with bytes behind that are no text; logs get such lines again and again."""
    for tree in source.trees:
        files.take(tree)
    try:
        for tree in source.trees:
            for path in files.below(tree):
                _spoil(files, path)
        while not injection.cleared:
            for tree in source.trees:
                _spoil_logs(files, tree)
            yield from _wait(5.0, injection, machine)
    finally:
        for tree in source.trees:
            files.give(tree)


def _spoil(files: Files, path: str) -> None:
    """In place: a reader that keeps the file open sees it too."""
    data = files.content(path)
    with contextlib.suppress(OSError), _writable(files.where(path)) as descriptor:
        half = data[: len(data) // 2] + RUBBISH
        os.pwrite(descriptor, half, 0)
        os.ftruncate(descriptor, len(half))


@contextlib.contextmanager
def _writable(where: str) -> Iterator[int]:
    """The file, opened to be written; also where its mode (that of the driver's and the kernel's files) forbids it to its owner."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    known = os.open(where, os.O_RDONLY | flags)
    try:
        mode = os.fstat(known).st_mode & 0o7777
        os.fchmod(known, mode | 0o200)
        try:
            descriptor = os.open(where, os.O_WRONLY | flags)
        finally:
            os.fchmod(known, mode)
    finally:
        os.close(known)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _spoil_logs(files: Files, tree: str) -> None:
    for path in files.logs(tree):
        with contextlib.suppress(OSError), open(files.where(path), "ab") as file:
            file.write(b"\x00" * 64 + RUBBISH + b"2026-Dec-01 0\n{'lo\n")
