"""Shell text as words, without a shell: nothing is executed, globbed or expanded; `$(...)` and `$X` stay text. A script's
own literal assignments (`NPROC=32`) may be put in for `$NPROC`, since that is reading, not running."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from neuronwatch.parse._lazy import lazy

MAX_TEXT = 20_000
MAX_WORDS = 2_000

ASSIGNMENT = lazy(r"^([A-Za-z_][A-Za-z0-9_]{0,100})=(.*)$", re.DOTALL)
_REDIRECT = lazy(r"(?:[0-9]|&)?(?:>>?\|?|<<?<?)(?:&[0-9-])?")
_VARIABLE = lazy(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]{0,100})(?::?-([^{}$`]{0,200}))?\}|([A-Za-z_][A-Za-z0-9_]{0,100}))")


def _quoted(text: str, at: int) -> tuple[str, int]:
    """The content of the quotes that start at `at`, and the place after them; an open quote ends with the text."""
    out: list[str] = []
    quote, at = text[at], at + 1
    while at < len(text):
        char = text[at]
        if char == quote:
            return "".join(out), at + 1
        if quote == '"' and char == "\\" and at + 1 < len(text):
            if text[at + 1] not in '"\\$`\n':
                out.append(char)
            out.append(text[at + 1])
            at += 2
            continue
        out.append(char)
        at += 1
    return "".join(out), at


def _substitution(text: str, at: int) -> int:
    """The place after `$( ... )` that starts at `at`, or the end of the text."""
    depth, at = 0, at + 1
    while at < len(text):
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return at


def split_commands(text: str) -> list[list[str]]:
    """The simple commands of one logical line, each as its words. `&& || ; |` separate; redirections and comments are
    dropped. Never raises."""
    text = text[:MAX_TEXT]
    commands: list[list[str]] = [[]]
    word: list[str] = []
    started = False
    skip = False
    at = count = depth = 0

    def end_word() -> None:
        nonlocal started, skip, count
        if started:
            if not skip and count < MAX_WORDS:
                commands[-1].append("".join(word))
                count += 1
            skip = False
        word.clear()
        started = False

    while at < len(text):
        char = text[at]
        if char in "'\"":
            content, at = _quoted(text, at)
            word.append(content)
            started = True
        elif char == "\\" and at + 1 < len(text):
            if text[at + 1] != "\n":
                word.append(text[at + 1])
                started = True
            at += 2
        elif char == "$" and text[at + 1 : at + 2] == "(":
            end = _substitution(text, at)
            word.append(text[at:end])
            started, at = True, end
        elif char in " \t\r":
            end_word()
            at += 1
        elif char == "#" and not started:
            newline = text.find("\n", at)
            at = len(text) if newline < 0 else newline
        elif char in "<>" or (char == "&" and text[at + 1 : at + 2] == ">"):
            found = _REDIRECT.match(text, at)
            if started and "".join(word) in ("0", "1", "2"):
                word.clear()
                started = False
            end_word()
            at = found.end() if found else at + 1
            skip = not (found and re.search(r"&[0-9-]$", found.group()))
        elif char in ";&|\n" or (char == "(" and not started) or (char == ")" and (depth or not started)):
            depth = max(0, depth + {"(": 1, ")": -1}.get(char, 0))
            end_word()
            skip = False
            if commands[-1]:
                commands.append([])
            at += 1
        else:
            word.append(char)
            started = True
            at += 1
    end_word()
    return [command for command in commands if command]


def split_words(text: str) -> list[str]:
    """The words of the first simple command."""
    commands = split_commands(text)
    return commands[0] if commands else []


def split_assignments(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Leading `NAME=value` words (also after `env` and `export`) and the rest."""
    assigned: dict[str, str] = {}
    rest = list(words)
    while rest:
        found = ASSIGNMENT.match(rest[0])
        if not found:
            break
        assigned[found.group(1)] = found.group(2)
        rest.pop(0)
    return assigned, rest


def put_in(text: str, literals: Mapping[str, str]) -> str:
    """`text` with the script's own literal values for `$NAME` and `${NAME:-default}`; unknown names stay as they are."""

    def value(found: re.Match[str]) -> str:
        name = found.group(1) or found.group(3)
        if name in literals:
            return literals[name]
        return found.group(2) if found.group(2) else found.group()

    return _VARIABLE.sub(value, text[:MAX_TEXT])[:MAX_TEXT] if "$" in text else text
