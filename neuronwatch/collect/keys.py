"""Private keys, whole and cut at either end, secrets inside of base64, and the data of Kubernetes Secrets."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from neuronwatch.collect.patterns import is_opaque
from neuronwatch.parse._lazy import lazy

Hide = Callable[[str], str]
"""Gives the token for a secret."""

LINE_END = "[\n\ufdd1\ufdd2]"
"""Also the line end that JSON writes out, see redact.ESCAPES."""
_BLOCK = lazy(r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)((?:(?!-----).){0,16384})", re.DOTALL)
_END = lazy(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LINES = lazy(rf"({LINE_END})")
_LONG_WORD = lazy(r"([A-Za-z0-9+/=]{16,4096})")
_LAST_WORD = lazy(r"(?<![A-Za-z0-9+/=])([A-Za-z0-9+/]{1,4096}={0,3})\r?$")
_LONG_LAST_WORD = lazy(rf"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{{60,76}}={{0,2}}(?=\r?(?:{LINE_END}|\Z))")
_BODY = 16 * 1024
"""As long as a private key may be."""
ROWS = 3
"""So many lines of a key in a row are taken for one, whose beginning and end were cut off."""


def hide_blocks(text: str, hide: Hide) -> str:
    """Each line of the body of a key as one token: line ends and launcher prefixes stay as they are."""
    return _BLOCK.sub(lambda m: m[1] + _rows(m[2], hide, ended=m.string.startswith("-----END", m.end())), text)


def _rows(body: str, hide: Hide, ended: bool) -> str:
    """A body with its long words hidden, and the short one at the end of the line behind them: the key's last line."""
    parts = _LINES.split(body)
    before = False
    for at in range(0, len(parts), 2):
        made = _LONG_WORD.sub(lambda m: hide(m[1]), parts[at])
        long = made != parts[at]
        if not long and before and ended:
            made = _LAST_WORD.sub(lambda m: hide(m[1]), made)
        parts[at], before = made, long
    return "".join(parts)


def hide_ends(text: str, hide: Hide) -> str:
    """The lines before an END line whose BEGIN line was cut off (by `tail`, by a rotated log)."""
    out: list[str] = []
    done = 0
    for end in _END.finditer(text):
        low = max(done, end.start() - _BODY)
        body = text[low : end.start()]
        if "-----BEGIN" not in body:
            parts = _LINES.split(body)
            first = next(_before_key(parts), 0)
            kept = "".join(parts[:first])
            out += [text[done:low], kept, _whole_rows(parts[first:], hide)]
        else:
            out.append(text[done : end.start()])
        out.append(end[0])
        done = end.end()
    return "".join([*out, text[done:]]) if out else text


def _before_key(parts: list[str]) -> Iterator[int]:
    """Where in the lines (each followed by its end) the key begins: the last index from which all are lines of a key."""
    last = len(parts) - 1  # what stands before END in its own line: a prefix
    for at in range(last - 2, -1, -2):
        found = _LAST_WORD.search(parts[at])
        if found is None or (len(found[1]) < 16 and at < last - 2):
            yield at + 2
            return


def _whole_rows(parts: list[str], hide: Hide) -> str:
    """The last word of each line hidden; the last part is what stands before END in its line."""
    made = [_LAST_WORD.sub(lambda m: hide(m[1]), part) if at % 2 == 0 else part for at, part in enumerate(parts[:-1])]
    return "".join([*made, *(_LONG_WORD.sub(lambda m: hide(m[1]), part) for part in parts[-1:])])


def hide_rows(text: str, hide: Hide) -> str:
    """Lines of a key without both ends: ROWS or more lines in a row that end in words of the same length, mixed as in a key."""
    run: list[re.Match[str]] = []
    hidden: list[re.Match[str]] = []
    for found in _LONG_LAST_WORD.finditer(text):
        if run and not (len(found[0]) == len(run[-1][0]) and _is_next_line(text, run[-1].end(), found.start())):
            hidden += run if len(run) >= ROWS else []
            run = []
        run.append(found)
    hidden += run if len(run) >= ROWS else []
    out: list[str] = []
    done = 0
    for found in hidden:
        if any(char.isupper() for char in found[0]) and any(char.islower() for char in found[0]):
            out += [text[done : found.start()], hide(found[0])]
            done = found.end()
    return "".join([*out, text[done:]])


def _is_next_line(text: str, end: int, start: int) -> bool:
    between = text[end:start] if start - end < 200 else ""
    return len(_LINES.findall(between)) == 1


PACKED = lazy(r"(?<![A-Za-z0-9+/_.%-])[A-Za-z0-9+/]{24,8192}={0,2}(?![A-Za-z0-9+/=_-])")


def packed_secret(word: str, redacted: Callable[[str], str]) -> bool:
    """Whether a long word is a key itself, or base64 of a text in which there is a secret."""
    if is_opaque(word):
        return True
    if len(word) % 4 or word.startswith("/"):
        return False
    try:
        text = base64.b64decode(word).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    readable = "".join(text.split()).isprintable()
    return readable and ("-----BEGIN" in text or bool(_LOGIN.match(text)) or redacted(text) != text)


_LOGIN = lazy(r"[\w.@$+-]{1,64}:\S{6,200}$")
PEM_PACKED = lazy(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{16,16384}={0,2}")
"""base64 of `-----BEGIN`, as kubeconfigs have it."""

_DOCUMENTS = lazy(r"(?m)^(---[^\n]*\n)")
_KIND = lazy(r"kind[\"']?\s{0,4}:\s{0,4}[\"']?Secret\b")
_YAML_DATA = lazy(r"(?m)^( {0,40})(?:- )?((?:data|stringData):[ \t]*\n)((?:\1[ \t]+\S[^\n]*(?:\n|\Z))*)")
_JSON_DATA = lazy(r"([\"'\ufdd4](?:data|stringData)[\"'\ufdd4]\s*:\s*\{)([^{}]*)(\})")
_YAML_VALUE = lazy(r"(?m)^([ \t]+(?:[\w.-]{1,253}:[ \t]*)?)([\"']?)(?![|>][+-]?\s*$)([^\s\"'][^\n\"']*)")
_JSON_VALUE = lazy(r"([\"\ufdd4]\s*:\s*[\"\ufdd4])([^\"\ufdd4\\]+)")


def hide_kubernetes(text: str, hide: Hide) -> str:
    """The values of `data` and `stringData` of Secrets, whatever they are called."""
    return "".join(_secret_object(part, hide) if _KIND.search(part) else part for part in _DOCUMENTS.split(text))


def _secret_object(text: str, hide: Hide) -> str:
    def of_yaml(found: re.Match[str]) -> str:
        start = found[0][: len(found[0]) - len(found[3])]
        return start + _YAML_VALUE.sub(lambda m: m[1] + m[2] + hide(m[3].rstrip()), found[3])

    def of_json(found: re.Match[str]) -> str:
        return found[1] + _JSON_VALUE.sub(lambda m: m[1] + hide(m[2]), found[2]) + found[3]

    return _JSON_DATA.sub(of_json, _YAML_DATA.sub(of_yaml, text))
