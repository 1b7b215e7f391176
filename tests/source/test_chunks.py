"""Where a text is cut into chunks makes no difference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_support import FAULT, KERNEL, LOSS, PATTERNS, TRACEBACK

from neuronwatch.source import chunks as module
from neuronwatch.source.chunks import Chunk, chunks
from neuronwatch.source.limits import DEFAULT
from neuronwatch.source.plan import Plan
from neuronwatch.source.streams import Memory
from neuronwatch.source.textscan import Item, TextScan

LINES = (
    "ordinary", "", "x" * 90, "Traceback (most recent call last)", "  File 'x'", FAULT, "neuron: nd3 reset", "{'loss': 2.3}", "Error: op timed out",
    "\r10%\r20%", "end\r", "caf\u00e9", "\x1b[31mNeuronCore(s)\x1b[0m not available",
)  # fmt: skip
PLAN: list[Plan] = []


class Pieces(Memory):
    """Gives at most `size` bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.most = size

    def read(self, size: int) -> bytes:
        return super().read(min(size, self.most))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "CHUNK", 256)
    monkeypatch.setattr(module, "CONTEXT", 512)
    monkeypatch.setattr(module, "OVERLAP", 64)
    yield


def scanned(data: bytes, size: int) -> list[Item]:
    if not PLAN:
        PLAN.append(Plan(PATTERNS, (TRACEBACK, KERNEL, LOSS), (), None))
    scan = TextScan("log", PLAN[0], DEFAULT, exact=True, kind="log")
    items: list[Item] = []
    for chunk in chunks(Pieces(data, size), 0):
        items.extend(scan.feed(chunk.data, chunk.base, chunk.start, chunk.end, chunk.left))
    items.extend(scan.finish())
    return items


def test_the_first_chunk_may_be_small() -> None:
    data = b"".join(b"line %d\n" % n for n in range(300_000))
    found = [(chunk.start, chunk.end, bytes(chunk.data[chunk.start : chunk.end])) for chunk in chunks(Memory(data), 0, first=1000)]
    assert len(found[0][2]) <= 1000 < len(found[1][2]) and b"".join(part for _, _, part in found) == data


def whole(data: bytes) -> list[Item]:
    scan = TextScan("log", PLAN[0], DEFAULT, exact=True, kind="log")
    return [*scan.feed(data, 0, 0, len(data)), *scan.finish()]


@pytest.mark.usefixtures("small")
def test_chunking_changes_nothing() -> None:
    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.sampled_from(LINES), max_size=60), st.integers(1, 300), st.sampled_from(["\n", "\r\n"]))
    def check(lines: list[str], size: int, end: str) -> None:
        data = end.join(lines).encode()
        found = scanned(data, size)
        assert sorted(found, key=repr) == sorted(whole(data), key=repr)

    check()


@pytest.mark.usefixtures("small")
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=3000), st.integers(1, 700))
def test_chunks_cover_everything_in_order(data: bytes, size: int) -> None:
    position = 0
    found: list[Chunk] = []
    for chunk in chunks(Pieces(data, size), 0):
        begin, end = chunk.base + chunk.start, chunk.base + chunk.end
        assert begin <= position < end
        assert chunk.data[chunk.start : chunk.end] == data[begin:end]
        assert chunk.data[: chunk.start] == data[chunk.base : begin]
        position = end
        found.append(chunk)
    assert position == len(data)
    assert not found or found[-1].left == 0


def test_the_end_of_a_stream_is_known_in_time() -> None:
    data = b"0123456\n" * (40 * module.CHUNK // 8)
    lefts = [chunk.left for chunk in chunks(Memory(data), 8 * module.CHUNK)]
    assert lefts[0] == module.UNKNOWN and lefts[-1] == 0
    known = [left for left in lefts if left != module.UNKNOWN]
    assert 7 <= len(known) <= 9 and known == sorted(known, reverse=True)
