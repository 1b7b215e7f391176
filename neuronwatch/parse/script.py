"""Shell scripts and files that hold nothing but commands: launch lines become `command` events, `export` lines become
environment facts. Nothing is run; a variable is replaced only where the script itself gives it one literal value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import of_environment
from neuronwatch.parse._programs import LAUNCHERS, WRAPPERS, base, command_event, is_launch, is_python
from neuronwatch.parse._shell import ASSIGNMENT, put_in, split_commands
from neuronwatch.parse._text import document_lines, fact
from neuronwatch.parse.api import Document, FileFormat, Line

_SHEBANG = lazy(r"^#!\s?/\S{0,80}\b(?:ba|z|da|k)?sh\b")
_KEYWORD = lazy(
    r"^(?:if|then|else|elif|fi|for|do|done|while|case|esac|function|return|exit|set|cd|source|\.|echo|mkdir|rm|cp|mv|ls|export|unset|"
    r"trap|wait|sleep|ulimit|module|conda|pip3?|python3?|git|wget|curl|chmod|ln|cat|tee|printf|read|shift|local|declare|eval|alias|"
    r"apt|apt-get|yum|dnf|aws|kubectl|helm|sudo|make|uv|tmux|screen|systemctl|sysctl|modprobe|mount|umount|pkill|kill|\[\[?|\}|\{|\S{1,60}\(\))(?:\s|;|$)"
)
_EXPORT = lazy(r"^(?:export|declare -x|typeset -x|setenv)\s{1,8}(\S.{0,8000})$")
_PROSE = lazy(r"[.!?]$|^[A-Z][a-z]+ [a-z]+ ")


class Statement(NamedTuple):
    """A logical line: continuation lines joined, with the first of them as its place."""

    line: Line
    text: str


def statements(lines: Sequence[Line]) -> list[Statement]:
    """Logical lines without comments and blank lines; the bodies of here-documents are left out."""
    found: list[Statement] = []
    index, marker = 0, ""
    while index < len(lines):
        line = lines[index]
        if marker:
            marker = "" if line.body.strip() == marker else marker
            index += 1
            continue
        text, start = line.body, line
        while text.rstrip().endswith("\\") and index + 1 < len(lines) and len(text) < 16_000:
            index += 1
            text = text.rstrip()[:-1] + " " + lines[index].body.strip()
        index += 1
        text = text.strip()
        heredoc = re.search(r"<<-?\s{0,2}['\"]?([A-Za-z_]\w{0,30})['\"]?", text)
        if heredoc and not re.search(r"<<<", text):
            marker = heredoc.group(1)
        if text and not text.startswith("#"):
            found.append(Statement(start, text))
    return found


def _known(text: str) -> bool:
    """Whether a logical line is shell for sure: a keyword, an assignment, an option's rest, or a known program."""
    if _KEYWORD.match(text) or re.match(r"^[A-Za-z_]\w{0,80}(?:\+)?=\S{0,400}", text):
        return True
    words = text.split()
    first = base(words[0])
    return first in LAUNCHERS or first in WRAPPERS or is_python(first) or first.endswith((".sh", ".py"))


def _sniff(document: Document) -> float:
    text = document.text[:65_536]
    if _SHEBANG.match(text):
        return 0.95
    lines = document_lines(document)[:400]
    found = statements(lines)
    if not found or "\0" in text:
        return 0.0
    known = sum(1 for item in found if _known(item.text) and not _PROSE.search(item.text[:200]))
    launches = sum(1 for item in found for words in split_commands(_strip_prompt(item.text)) if is_launch(words))
    exports = sum(1 for item in found if _EXPORT.match(item.text))
    if known < len(found) * 0.9 or not (launches or exports):
        return 0.0
    return 0.8 if launches else 0.7


def _strip_prompt(text: str) -> str:
    return re.sub(r"^(?:\+{1,3}|\$)\s", "", text)


def _literals(found: Sequence[Statement]) -> dict[str, str]:
    """Variables that the script sets to exactly one literal value."""
    values: dict[str, set[str]] = {}
    for item in found:
        for words in split_commands(item.text)[:50]:
            names = words[1:] if words[0] in ("export", "local", "declare", "readonly") else words
            for word in names:
                assigned = ASSIGNMENT.match(word)
                if not assigned:
                    break
                values.setdefault(assigned.group(1), set()).add(assigned.group(2))
    plain = {name: next(iter(value)) for name, value in values.items() if len(value) == 1}
    literals = {name: value for name, value in plain.items() if "$" not in value and "`" not in value and len(value) <= 400}
    for name, value in plain.items():
        once = put_in(value, literals)
        if name not in literals and "$" not in once and "`" not in once and len(once) <= 400:
            literals[name] = once
    return literals


def _environment(item: Statement, literals: dict[str, str]) -> Iterator[Record]:
    exported = _EXPORT.match(item.text)
    if not exported:
        return
    for words in split_commands(put_in(exported.group(1), literals))[:1]:
        for word in words:
            assigned = ASSIGNMENT.match(word)
            if assigned:
                for name, value in of_environment(assigned.group(1), assigned.group(2)):
                    yield fact(item.line, name, value)


def _parse(document: Document) -> Iterator[Record]:
    found = statements(document_lines(document))
    literals = _literals(found)
    for item in found:
        yield from _environment(item, literals)
        for words in split_commands(put_in(_strip_prompt(item.text), literals)):
            if words[0] in ("then", "do", "else", "if", "!", "while", "{"):
                words = words[1:]
            if words and is_launch(words):
                yield command_event(item.line, words, item.text)


FORMAT = FileFormat(name="shell-script", kind="script", sniff=_sniff, parse=_parse)
