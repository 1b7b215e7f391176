"""Words of the matcher: a pattern to look for, a hit, and what a matcher can do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, Union

Buffer = Union[bytes, bytearray, memoryview]


class Pattern(NamedTuple):
    """A regular expression that is searched in single lines. `literals`: any one of them occurs in every line that
    matches (see `required_literals`); with `ignore_case` they are lower-case and ASCII case does not count."""

    id: int
    regex: str
    literals: tuple[str, ...]
    ignore_case: bool = False


class Hit(NamedTuple):
    """`re.search(regex, line)` is true for the bytes [line_start, line_end), without the line's end."""

    pattern_id: int
    line_start: int
    line_end: int


class Matcher(Protocol):
    """Finds every line that any of its patterns matches. Lines end at \\n or \\r."""

    def scan(self, buffer: Buffer, base: int) -> Iterable[Hit]:
        """The hits in `buffer`, which holds whole lines; offsets are counted from `base`. Ordered by place in the
        text, then by pattern id; each pattern once a line."""
        ...
