"""What a text is by its first bytes: encoding, binary or not, and which file format owns it."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.parse.api import Document, FileFormat

SNIFFED = 64 * 1024
SURE = 0.5
"""A file format that is at least this sure reads the file."""
OWNED = 0.75
"""Below this the line formats look at it too."""

_CONTROLS = bytes(code for code in range(32) if code not in (0, 7, 8, 9, 10, 11, 12, 13, 27)) + b"\x7f"


def encoding(head: bytes) -> str:
    """The encoding of a text that is no UTF-8, by its mark or its zeros, else ""."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if len(head) >= 16:
        even, odd = head[0:4096:2], head[1:4096:2]
        if odd.count(0) > 0.4 * len(odd) and even.count(0) < 0.02 * len(even) and even.isascii():
            return "utf-16-le"
        if even.count(0) > 0.4 * len(even) and odd.count(0) < 0.02 * len(odd) and odd.isascii():
            return "utf-16-be"
    return ""


def is_binary(head: bytes) -> bool:
    """Whether this is no text. A text may hold runs of zeros (a log that was truncated while it was written has a hole
    in front) and some bytes in another encoding."""
    solid = head.translate(None, b"\0")
    if not solid:
        return bool(head)
    zeros = len(head) - len(solid)
    if zeros and _runs(head) > 8 and _runs(head) * 64 > len(solid):
        return True
    controls = len(solid) - len(solid.translate(None, _CONTROLS))
    if controls * 50 > len(solid):
        return True
    # A cut in the middle of a character at the end is no sign of anything.
    text = solid.decode("utf-8", "replace")
    return text.count("\ufffd") * 10 > len(text)


def _runs(head: bytes) -> int:
    """The number of runs of zeros."""
    return sum(1 for part in head.split(b"\0") if part)


def owner(head: Document, formats: Sequence[FileFormat]) -> tuple[FileFormat | None, float]:
    """The file format that is most sure of a document, if one is sure enough, and how sure."""
    best: FileFormat | None = None
    most = 0.0
    for fmt in formats:
        try:
            sure = fmt.sniff(head)
        except Exception:  # a defect of one parser must not end the reading
            continue
        if sure > most:
            best, most = fmt, sure
    return (best, most) if most >= SURE else (None, most)
