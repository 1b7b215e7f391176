"""Changes one setting of a job where its command says it: an argument in the words of the tool, a variable, a key of the overlay.

Each function takes a JobSpec and gives a new one with the `Change`, or a `Refusal` in words: a command that is not known to
understand a change is never changed. Nothing is executed; the user's files are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from neuronwatch.dialect import _DIALECTS, MAX_DEPTH, _strip_wrapper, docker, mpirun, own_programs
from neuronwatch.dialect._argv import Slot, slots
from neuronwatch.dialect._spelling import Own, Spelling
from neuronwatch.model.dataclass import replace
from neuronwatch.model.job import Change, JobSpec
from neuronwatch.model.records import Value
from neuronwatch.parse._meanings import ENVIRONMENT
from neuronwatch.parse._programs import base
from neuronwatch.parse._shell import ASSIGNMENT, split_assignments
from neuronwatch.parse._text import scalar, to_bool


class Refusal(NamedTuple):
    """Why it cannot be done, for people."""

    why: str


Rewritten = tuple[JobSpec, Change]


class Level(NamedTuple):
    """One program of a command line, the launcher first. `words` begins with the program; word i of it stands at `offset + i` in
    the command (words that only stand for a program that the launcher starts are before its own and are never changed)."""

    words: Sequence[str]
    offset: int


def levels(argv: Sequence[str]) -> list[Level]:
    """The programs that a command starts, one in the other. What stands in a text of a shell (`bash -c "..."`) is not one."""
    found: list[Level] = []
    words, offset = tuple(argv), 0
    for _ in range(MAX_DEPTH):
        rest = tuple(split_assignments(words)[1])
        offset += len(words) - len(rest)
        words = rest
        if not words:
            break
        stripped = _strip_wrapper(words)
        inner = tuple(stripped) if stripped is not None else None
        if inner is None:
            found.append(Level(words, offset))
            unwrap = next((dialect.unwrap for dialect in _DIALECTS if dialect.speaks(words) and hasattr(dialect, "unwrap")), None)
            inner = tuple(unwrap(words)) if unwrap else ()
        same = _common_end(words, inner)
        if not same or same == len(words):
            break
        offset += len(words) - len(inner)
        words = inner
    return found


def _common_end(outer: Sequence[str], inner: Sequence[str]) -> int:
    count = 0
    while count < min(len(outer), len(inner)) and outer[-1 - count] == inner[-1 - count]:
        count += 1
    return count


class _Found(NamedTuple):
    """A flag, or the place of one: `slot` None: it is not there. `start`: where the tool's own words begin in the command."""

    level: Level
    own: Own
    spelling: Spelling
    slot: Slot | None
    end: int


def _spelled(argv: Sequence[str], concept: str) -> Iterator[_Found]:
    """Where the programs of a command say it, the innermost first: that one decides what runs."""
    for level in reversed(levels(argv)):
        speaking = [dialect for dialect in _DIALECTS if hasattr(dialect, "SPELLINGS") and dialect.speaks(level.words)]
        for dialect in speaking:
            spelling = dialect.SPELLINGS.get(concept)
            if spelling is not None:
                yield _look(level, dialect.own(level.words), spelling)


def _look(level: Level, own: Own, spelling: Spelling) -> _Found:
    words = level.words[own.start :]
    there, positionals = slots(words, own.switches, own.short, own.stop)
    slot = next((item for item in reversed(there) if item.name in spelling.names), None)
    end = positionals[0] if own.stop and positionals else words.index("--") if "--" in words else len(words)
    return _Found(level, own, spelling, slot, end)


def _flag(argv: Sequence[str], concept: str) -> _Found | None:
    """The flag that says it, else the place of the innermost one that may be added."""
    found = list(_spelled(argv, concept))
    return next((item for item in found if item.slot), None) or next((item for item in found if item.spelling.add), None)


def read(spec: JobSpec, concept: str) -> Value:
    """What the command says of a setting, else what its tool takes by default; None: neither is known."""
    key = _key(spec, concept)
    if key:
        return spec.config.get(key, _stated(spec, key))
    found = _flag(spec.argv, concept)
    if found is not None and found.slot is not None:
        return True if found.slot.text is None else scalar(found.slot.text)
    for name in _variables(concept):
        text = read_variable(spec, name)
        if text is not None:
            return scalar(text)
    return None if found is None else found.spelling.default


def write(spec: JobSpec, concept: str, value: Value, words: str = "") -> Rewritten | Refusal:
    """Sets it where it is said, else adds it where the tool is known to take it. `value` None or False removes a switch."""
    key = _key(spec, concept)
    if key:
        old = spec.config.get(key, _stated(spec, key))
        return replace(spec, config={**spec.config, key: value}), Change("config", key, old, value, words)
    found = _flag(spec.argv, concept)
    if found is None or found.slot is None:
        for name in _variables(concept):
            if read_variable(spec, name) is not None:
                return write_variable(spec, name, _text(value), words)
    if found is None:
        return Refusal(f"`{_program(spec.argv)}` has no argument for {concept.replace('_', ' ')} that neuronwatch knows")
    argv, change = _put(spec.argv, found, value)
    return replace(spec, argv=argv), Change("argv", change[0], change[1], change[2], words)


def remove(spec: JobSpec, concept: str, words: str = "") -> Rewritten | Refusal:
    """Takes the argument out, so that the tool's default holds."""
    found = _flag(spec.argv, concept)
    if found is None or found.slot is None:
        return Refusal(f"`{_program(spec.argv)}` is not started with an argument for {concept.replace('_', ' ')}")
    at, slot = found.level.offset + found.own.start + found.slot.at, found.slot
    count = 1 if slot.text is None or slot.joined else 2
    old = True if slot.text is None else scalar(slot.text)
    change = Change("argv", spec.argv[at].partition("=")[0], old, None, words)
    return replace(spec, argv=(*spec.argv[:at], *spec.argv[at + count :])), change


def _put(argv: Sequence[str], found: _Found, value: Value) -> tuple[tuple[str, ...], tuple[str, Value, Value]]:
    """The command with the flag set or added, and (flag, old, new)."""
    start, slot, spelling = found.level.offset + found.own.start, found.slot, found.spelling
    if slot is None:
        at = start + found.end
        new: tuple[str, ...] = (spelling.add, _text(value))
        if spelling.switch and isinstance(value, bool):
            new = (spelling.add,) if value else ()
        return (*argv[:at], *new, *argv[at:]), (spelling.add, None, value if new else None)
    at = start + slot.at
    flag = argv[at].partition("=")[0]
    old: Value = True if slot.text is None else scalar(slot.text)
    if slot.joined:
        return (*argv[:at], f"{flag}={_text(value)}", *argv[at + 1 :]), (flag, old, value)
    if slot.text is not None:
        return (*argv[: at + 1], _text(value), *argv[at + 2 :]), (flag, old, value)
    if value is True:
        return tuple(argv), (flag, old, value)
    if value in (None, False):
        return (*argv[:at], *argv[at + 1 :]), (flag, old, None)
    return (*argv[: at + 1], _text(value), *argv[at + 1 :]), (flag, old, value)


def _text(value: Value) -> str:
    """As a command line says it: 4, 0.5, True, 1000000."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def read_variable(spec: JobSpec, name: str, environ: Mapping[str, str] | None = None) -> str | None:
    """An environment variable as the innermost program gets it: of the command line (`env X=1`, `mpirun -x`, `docker -e`), the
    overlay of the spec, or the environment of the owner."""
    stated = _assignments(spec.argv, name)
    if stated:
        return spec.argv[stated[-1]].partition(f"{name}=")[2]
    if name in spec.env:
        return spec.env[name]
    return None if environ is None else environ.get(name)


def write_variable(spec: JobSpec, name: str, value: str | None, words: str = "") -> Rewritten | Refusal:
    """Sets (None: removes) a variable for the innermost program."""
    stated = _assignments(spec.argv, name)
    old = read_variable(spec, name)
    if stated:
        if value is None:
            return Refusal(f"{name} is set on the command line: take it out there")
        at, argv = stated[-1], list(spec.argv)
        before = argv[at]
        lead = before[: before.index(f"{name}=")]
        argv[at] = f"{lead}{name}={value}"
        return replace(spec, argv=tuple(argv)), Change("env", name, old, value, words)
    for level in levels(spec.argv):
        if docker.speaks(level.words):
            return _pass_on(spec, level, "-e", name, value, words, after=docker.options_at(level.words))
        if mpirun.speaks(level.words):
            return _pass_on(spec, level, "-x", name, value, words, after=1)
    return replace(spec, env={**spec.env, name: value}), Change("env", name, old, value, words)


def _pass_on(spec: JobSpec, level: Level, flag: str, name: str, value: str | None, words: str, after: int) -> Rewritten | Refusal:
    """A launcher that gives its program an environment of its own: the variable is set through its flag."""
    if value is None:
        return replace(spec, env={**spec.env, name: None}), Change("env", name, read_variable(spec, name), None, words)
    at = level.offset + after
    argv = (*spec.argv[:at], flag, f"{name}={value}", *spec.argv[at:])
    return replace(spec, argv=argv), Change("env", name, None, value, words)


def _assignments(argv: Sequence[str], name: str) -> list[int]:
    """The words that give the variable a value before the last program begins: `NAME=v`, `-x NAME=v`, `--env=NAME=v`."""
    found = levels(argv)
    last = found[-1].offset if found else len(argv)
    starts = (f"{name}=", f"--env={name}=", f"-e{name}=")
    return [
        at for at, word in enumerate(argv[: max(0, last)]) if word.startswith(starts) and (ASSIGNMENT.match(word) or word[0] == "-")
    ]


def compared(before: JobSpec, after: JobSpec) -> tuple[Change, ...]:
    """What differs between two commands: flags of the programs that are known, variables, keys of the overlay."""
    found = []
    old, new = _flags_of(before.argv), _flags_of(after.argv)
    pairs: tuple[tuple[Any, Mapping[str, Value], Mapping[str, Value]], ...] = (
        ("argv", old, new), ("env", before.env, after.env), ("config", before.config, after.config),
    )  # fmt: skip
    for where, was, now in pairs:
        for name in dict.fromkeys([*was, *now]):
            if was.get(name) != now.get(name):
                found.append(Change(where, name, was.get(name), now.get(name)))
    return tuple(found)


def _flags_of(argv: Sequence[str]) -> dict[str, Value]:
    """Flags as they stand, the last value of each; of the innermost program where several have it."""
    found: dict[str, Value] = {}
    for level in levels(argv):
        dialect = next((item for item in _DIALECTS if item.speaks(level.words) and hasattr(item, "own")), None)
        if dialect is None:
            continue
        start, switches, short, stop = dialect.own(level.words)
        words = level.words[start:]
        for slot in slots(words, switches, short, stop)[0]:
            found[words[slot.at].partition("=")[0]] = True if slot.text is None else scalar(slot.text)
    return found


def _variables(concept: str) -> list[str]:
    return [name for name, (fact, _) in ENVIRONMENT.items() if fact == f"launch.{concept}"]


def _key(spec: JobSpec, concept: str) -> str:
    """The key of our own programs' configuration that means it, "" where this is none of them."""
    found = levels(spec.argv)
    return own_programs.keys_of(found[-1].words).get(concept, "") if found else ""


def is_ours(spec: JobSpec) -> bool:
    """Whether it starts one of our own programs."""
    found = levels(spec.argv)
    return bool(found) and bool(own_programs.keys_of(found[-1].words))


def _stated(spec: JobSpec, key: str) -> Value:
    return own_programs.stated(levels(spec.argv)[-1].words, key)


def _program(argv: Sequence[str]) -> str:
    found = levels(argv)
    words = found[-1].words if found else argv
    script = next((word for word in words[1:4] if word.endswith(".py")), "")
    return base(script or (words[0] if words else "the command"))


def number(value: Value) -> int | None:
    """A whole number that a command states."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def flag(value: Value) -> bool | None:
    """A switch that a command states."""
    return to_bool(value)


__all__: list[Any] = [
    "Level", "Refusal", "Rewritten", "compared", "flag", "is_ours", "levels", "number", "read", "read_variable", "remove", "write",
    "write_variable",
]  # fmt: skip
