"""Small readings shared by the parsers of listings: lines of a document, sizes, scalars, shell prompts and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.records import Fact, Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse.api import Document, Line

MAX_LINES = 200_000
"""A whole-file format reads at most this many lines; a listing is never longer."""

_ANSI = lazy(r"\x1b\[[0-9;?]{0,20}[ -/]{0,4}[@-~]")
_SIZE = lazy(r"^([0-9]{1,18}(?:\.[0-9]{1,6})?)\s?([KMGTPE]?)(i?)(B?|bytes?)$", re.IGNORECASE)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_INT = lazy(r"^[-+]?[0-9]{1,18}$")
_FLOAT = lazy(r"^[-+]?(?:[0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?$")
_PROMPT = lazy(
    r"^(?:\([^()]{1,60}\)\s{0,4})?"
    r"(?:\[?[\w.-]{1,40}@[\w.:~/ -]{1,80}\]?\s?[$#%]|(?:ba|z)?sh-[\d.]{1,8}[$#]|[$#%])\s{1,4}(?P<command>\S.{0,4000})$"
)


class Block(NamedTuple):
    """A command of a transcript and the lines that it printed."""

    command: str
    line: Line
    output: tuple[Line, ...]


def document_lines(document: Document) -> list[Line]:
    """The lines of a whole file, without line ends and ANSI escapes; `body` equals `text`."""
    lines: list[Line] = []
    for number, text in enumerate(document.text.split("\n")[:MAX_LINES], start=1):
        clean = _ANSI.sub("", text.rstrip("\r")) if "\x1b" in text else text.rstrip("\r")
        lines.append(Line(document.path, number, clean, clean))
    if lines and not lines[-1].text:
        lines.pop()
    return lines


def parse_size(text: str, unit: str = "") -> int | None:
    """Bytes of `7847964Ki`, `1.2T`, `256.0KB`, `32 GB`; units are powers of 1024 as the tools mean them. A bare number is
    taken in `unit` (`K` for the columns of df and free)."""
    found = _SIZE.match(text.strip().replace(",", ""))
    if not found:
        return None
    power = found.group(2).upper() or ("" if found.group(4) else unit)
    return int(float(found.group(1)) * 1024 ** _POWER[power])


def to_int(text: object) -> int | None:
    """The whole number that `text` states (`8`, `"8"`, `8.0`, `'8'`), else None."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int):
        return text
    if isinstance(text, float):
        return int(text) if text == text and abs(text) < 1e18 and text == int(text) else None
    clean = str(text).strip().strip("'\"").replace("_", "")
    return int(clean) if _INT.match(clean) else None


def to_float(text: object) -> float | None:
    """The number that `text` states, also `nan` and `inf`; thousands separators are removed."""
    if isinstance(text, bool):
        return None
    if isinstance(text, (int, float)):
        return float(text)
    clean = str(text).strip().strip("'\"").replace(",", "")
    if _FLOAT.match(clean):
        return float(clean)
    lowered = clean.lower().lstrip("+-")
    if lowered in ("nan", "inf", "infinity"):
        return float(clean.lower())
    return None


def to_bool(text: object) -> bool | None:
    """True and False of `true`, `1`, `yes`, `on` and their opposites; None for anything else."""
    if isinstance(text, bool):
        return text
    lowered = str(text).strip().strip("'\"").lower()
    if lowered in ("true", "1", "yes", "on", "y", "t"):
        return True
    if lowered in ("false", "0", "no", "off", "n", "f"):
        return False
    return None


def scalar(text: str) -> Value:
    """`8` as int, `1e-4` as float, `true` as bool, anything else as the text without its quotes."""
    clean = text.strip()
    if len(clean) >= 2 and clean[0] == clean[-1] and clean[0] in "'\"":
        return clean[1:-1]
    if _INT.match(clean):
        return int(clean)
    if _FLOAT.match(clean):
        return float(clean)
    if clean.lower() in ("true", "false"):
        return clean.lower() == "true"
    return clean


def fact(line: Line, name: str, value: Value) -> Fact:
    """A fact read from one line, of the rank that the line's prefix names."""
    return Fact(name, value, line.origin, line.entity)


def package_fact(name: str) -> str:
    """The fact name of a package: `torch-neuronx` and `Torch_NeuronX` are both `pkg.torch_neuronx`."""
    return "pkg." + re.sub(r"[-_.]+", "_", name.strip().lower())


def prompt_command(text: str) -> str | None:
    """The command of a transcript line (`$ ls`, `user@host:~$ ls`, `(venv) # ls`, `bash-5.1$ ls`), else None. A lone `#`
    before prose is a comment: there the word after it must look like a program, in lower case and without a colon."""
    start = text.lstrip()[:100]
    if start[:1] not in "$#%([" and "@" not in start[:45] and not start.startswith(("sh-", "bash-", "zsh-")):
        return None
    found = _PROMPT.match(text.lstrip())
    if not found:
        return None
    command = found.group("command").strip()
    if text.lstrip().startswith("#") and not re.match(r"^[./]{0,3}[a-z][a-z0-9_./-]{0,80}(?:\s[^:]|\s?$)", command):
        return None
    return command


def blocks(lines: Sequence[Line]) -> Iterator[Block]:
    """The commands of a transcript with their output (up to the next prompt)."""
    command: str | None = None
    at: Line | None = None
    output: list[Line] = []
    for line in lines:
        found = prompt_command(line.body)
        bare = found is None and line.body.strip() in ("$", "#")
        if found is None and not bare:
            output.append(line)
            continue
        if command is not None and at is not None:
            yield Block(command, at, tuple(output))
        command, at, output = found, line, []
    if command is not None and at is not None:
        yield Block(command, at, tuple(output))
