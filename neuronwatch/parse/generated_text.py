"""Texts that a model generated: OpenAI-style responses, `generated_text` of pipelines and TGI, files with one quoted text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Fact, Origin, Record
from neuronwatch.parse._json import as_list, as_map, head_keys, load
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Document, FileFormat, Line, LineFormat

MAX_CHARACTERS = 2000

_FIELD = lazy(
    r"['\"](?:generated_text|outputs|output_text|completion)['\"]\s?:\s?(\"(?:[^\"\\]|\\.){0,4000}\"?|'(?:[^'\\]|\\.){0,4000}'?)"
)
_VLLM = lazy(r"\bGenerated text: (\"(?:[^\"\\]|\\.){1,4000}\"|'(?:[^'\\]|\\.){1,4000}')")


def _unquote(text: str) -> str:
    quote = text[:1]
    body = text[1:-1] if text.endswith(quote) and len(text) > 1 else text[1:]
    if quote == '"':
        try:
            return str(json.loads(f'"{body}"'))
        except ValueError:
            pass
    return body.replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')


def _texts(root: object) -> Iterator[str]:
    for item in as_list(root) if isinstance(root, list) else [root]:
        mapping = as_map(item)
        for key in ("generated_text", "outputs", "output_text", "completion", "text"):
            if isinstance(mapping.get(key), str):
                yield str(mapping[key])
        for choice in as_list(mapping.get("choices"))[:20]:
            content = as_map(as_map(choice).get("message")).get("content", as_map(choice).get("text"))
            if isinstance(content, str):
                yield content


def _sniff(document: Document) -> float:
    text = document.text.strip()
    if len(text) > 2 and text[0] == text[-1] == '"' and " " in text and '",' not in text and document.size < 65_536:
        return 0.5
    keys = head_keys(document)
    return (
        0.85
        if "choices" in keys and keys & {"message", "text", "finish_reason"}
        else 0.8
        if keys and keys <= {"generated_text", "details"}
        else 0.0
    )


def _parse_file(document: Document) -> Iterator[Record]:
    stripped = document.text.strip()
    first = next((line for line in stripped.split("\n") if line), "")
    origin = Origin(document.path, 1, first[:MAX_CHARACTERS])
    found = list(_texts(load(document)))
    if not found and stripped[:1] == '"':
        found = [_unquote(stripped)]
    for text in found[:20]:
        if text.strip():
            yield Fact("output.text", text[:MAX_CHARACTERS], origin)


def _parse_lines(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        for pattern in (_FIELD, _VLLM):
            for found in list(pattern.finditer(line.body[:20_000]))[:10]:
                text = _unquote(found.group(1))
                if text.strip():
                    yield fact(line, "output.text", text[:MAX_CHARACTERS])


FORMATS = (
    FileFormat(name="model-response", kind="listing", sniff=_sniff, parse=_parse_file),
    LineFormat(
        name="generated-text",
        kind="log",
        triggers=(r"['\"]generated_text['\"]\s?:", r"Generated text: ['\"]", r"['\"]output_text['\"]\s?:"),
        parse=_parse_lines,
    ),
)
