"""Words of the matcher: a pattern to look for, a hit, and what a matcher can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple, Protocol, Union

if TYPE_CHECKING:
    from neuronwatch.judge.match.confirm import Confirmer

Buffer = Union[bytes, bytearray]

Apart = Callable[[bytes], Union[bytes, None]]
"""Gives the answer of `compile.py` to a request, or None when the caller has to do the work himself."""

Place = tuple[int, int]
"""The offset of a byte of a window or match in a buffer, and the number of the window or expression."""

PIECE = 64 * 1024
OVERLAP = 4 * 1024


class Pattern(NamedTuple):
    """A regular expression that is searched in single lines. `literals`: any one of them occurs in every line that
    matches (see `required_literals`); with `ignore_case` they are lower-case and ASCII case does not count. Without literals
    the matcher works them out itself."""

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
    """Finds every line that any of its patterns matches. Lines end at \\n or \\r; `re` sees a line decoded as UTF-8 with
    replacement, without ANSI escapes and NULs. A line longer than PIECE bytes is searched in overlapping pieces."""

    def scan(self, buffer: Buffer, base: int, start: int = 0, end: int | None = None) -> list[Hit]:
        """The hits in `buffer[start:end]`, which holds whole lines. `base` is the offset of `buffer[0]` in the source; the
        hits' offsets are counted from there. Ordered by place, then by pattern id; each pattern once a line."""
        ...

    def lean(
        self, ids: frozenset[int], plus: Sequence[Pattern] = (), sample: bytes = b"", left: int = 1 << 40,
        minor: Set[int] = frozenset(),
    ) -> Matcher:  # fmt: skip
        """The same without some patterns and with others, for the `left` bytes of a big text of which `sample` is a part.
        Of the patterns `minor` those may be left out too that look frequent without being found."""
        ...

    def tally(self, buffer: Buffer, start: int, end: int) -> Mapping[int, int]:
        """For each pattern how many places in `buffer[start:end]` look like it: cheap, and more or less proportional to
        its hits in one text."""
        ...

    @property
    def left_out(self) -> int:
        """How many branches of minor patterns `lean` has left out."""
        ...

    sieving: bool
    """May be set for a big text: what is found often and for nothing is passed by with whatever has to be made for that."""

    @property
    def confirm(self) -> Confirmer: ...
