"""Headers of .safetensors files, read with struct and json: bytes of weights, dtype, and whether the file is complete."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator

from neuronwatch.model.records import Fact, Issue, Origin, Record
from neuronwatch.parse._json import as_list, as_map
from neuronwatch.parse.api import Document, FileFormat

MAX_HEADER = 100_000_000
"""The format's own limit."""
_DTYPES = {
    "BF16": "bfloat16",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "I8": "int8",
    "U8": "uint8",
}


def _length(document: Document) -> int | None:
    if len(document.data) < 9:
        return None
    length = int(struct.unpack("<Q", document.data[:8])[0])
    return length if 2 <= length <= MAX_HEADER and document.data[8:9] == b"{" else None


def _sniff(document: Document) -> float:
    length = _length(document)
    if length is None:
        return 0.0
    head = document.data[8:4096]
    return 0.95 if b'"data_offsets"' in head or b'"__metadata__"' in head or b'"dtype"' in head else 0.0


def _parse(document: Document) -> Iterator[Record]:
    origin = Origin(document.path, None, "")
    length = _length(document)
    if length is None:
        return
    if document.size < 8 + length:
        yield Fact("weights.truncated", (document.name,), origin)
        return
    if len(document.data) < 8 + length:
        yield Issue(origin, f"header of {length} bytes is longer than what was read")
        return
    try:
        header = json.loads(document.data[8 : 8 + length].decode("utf-8"))
    except (ValueError, RecursionError):
        yield Issue(origin, "the header is not JSON")
        return
    end = total = 0
    kinds: Counter[str] = Counter()
    for name, tensor in as_map(header).items():
        offsets = as_list(as_map(tensor).get("data_offsets"))
        if name == "__metadata__" or len(offsets) != 2 or not all(isinstance(item, int) for item in offsets):
            continue
        begin, stop = int(str(offsets[0])), int(str(offsets[1]))
        if stop < begin:
            continue
        end, total = max(end, stop), total + stop - begin
        kinds[str(as_map(tensor).get("dtype"))] += stop - begin
    yield Fact("weights.bytes", total, origin)
    yield Fact("weights.files", 1, origin)
    if kinds:
        dtype = kinds.most_common(1)[0][0]
        yield Fact("weights.dtype", _DTYPES.get(dtype, dtype), origin)
    if document.size < 8 + length + end:
        yield Fact("weights.truncated", (document.name,), origin)


FORMAT = FileFormat(name="safetensors", kind="config", sniff=_sniff, parse=_parse)
