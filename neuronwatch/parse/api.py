"""The contract of a parser. One file per format: `parse/<format>.py` defines `FORMAT = LineFormat(...)` or `FileFormat(...)`.

* A `LineFormat` lives inside any text (logs, transcripts, pasted issues). Its `triggers` are searched by the one scan
  of the judge; around each hit it gets the lines it asked for (windows of one format that touch are merged), and it
  must find every instance in the lines that it is given.
* A `FileFormat` owns a whole file (config.json, a safetensors header). `sniff` looks at the head and gives 0.0 to 1.0.

A parser yields records and never raises on content: what it cannot read is an `Issue`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, Union

from neuronwatch.model.dataclass import dataclass
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import MAX_TEXT, Origin, Record

Kind = Literal["log", "kernel", "listing", "config", "script", "metrics", "unknown"]
"""What sort of source a format is; a rule's signature may restrict itself to kinds (`on = ["log", "kernel"]`)."""


class Line(NamedTuple):
    """One line of evidence. `text` has no line end and no ANSI escapes; `body` is `text` without launcher prefixes
    (`[rank3]:`, journald, CloudWatch, kubectl, Ray); `rank`, `time` and `host` come from those prefixes."""

    path: str
    number: int | None
    text: str
    body: str
    rank: int | None = None
    time: float | None = None
    host: str = ""

    @property
    def origin(self) -> Origin:
        return Origin(self.path, self.number, self.text[:MAX_TEXT])

    @property
    def entity(self) -> str:
        return "" if self.rank is None else f"rank{self.rank}"


@dataclass(frozen=True, slots=True)
class LineFormat:
    """`triggers` are regular expressions, each with a literal of at least 3 characters that must occur in one line.
    `before`/`after` are the numbers of lines wanted around a trigger. `kind` classifies a file that is mostly this.
    `series`: the records are Samples of a long series; its lines come in batches whose lines need not be neighbours, and
    beyond 200,000 lines they are thinned (with NaN, inf and the last thousand kept). `wide`: the triggers hit lines of other
    formats too, so that a file is called by this name only where no other suits."""

    name: str
    kind: Kind
    triggers: tuple[str, ...]
    parse: Callable[[Sequence[Line]], Iterable[Record]]
    before: int = 0
    after: int = 0
    series: bool = False
    wide: bool = False


class Document(NamedTuple):
    """A whole file for a FileFormat: `data` are at most MAX_DOCUMENT bytes, `size` is the true size in bytes."""

    path: str
    data: bytes
    size: int

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1].rsplit("!", 1)[-1]


MAX_DOCUMENT = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileFormat:
    """`sniff(document)` sees the first 64 KiB and answers how sure it is by content (the name may only break ties). A
    SourceReport is what a manifest says of another file. `own`: neuronwatch wrote it about other files; no signature is looked
    for in it, since what it quotes is no evidence a second time."""

    name: str
    kind: Kind
    sniff: Callable[[Document], float]
    parse: Callable[[Document], Iterable[Union[Record, SourceReport]]]
    own: bool = False


Format = Union[LineFormat, FileFormat]
