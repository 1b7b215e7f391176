"""Rows of question and answer, from JSONL: `prompt` and `completion`, or `messages` in the form of a chat."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from config import ConfigError

FULL_WIDTH = str.maketrans({chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {"\u3000": " ", "。": "."})
"""For those who want it. The tokenizer of Qwen3 knows full-width marks as tokens of their own: nothing is gained by it."""


class Row(NamedTuple):
    messages: list[dict[str, str]]

    @property
    def answer(self) -> str:
        return self.messages[-1]["content"]


def read(path: Path) -> list[Row]:
    """Raises ConfigError with file and line."""
    rows = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                rows.append(Row(_messages(json.loads(line))))
            except ValueError as error:
                raise ConfigError(f"{path}:{number}: {error}") from error
    if not rows:
        raise ConfigError(f"{path}: no rows")
    return rows


def _messages(found: Any) -> list[dict[str, str]]:
    if not isinstance(found, dict):
        raise ValueError("a row is an object with `prompt` and `completion`, or `messages`")
    messages = found.get("messages")
    if messages is None:
        messages = [{"role": "user", "content": found.get("prompt")}, {"role": "assistant", "content": found.get("completion")}]
    if not isinstance(messages, list) or not messages:
        raise ValueError("`messages` must be a list")
    for message in messages:
        if not isinstance(message, dict) or not all(isinstance(message.get(key), str) for key in ("role", "content")):
            raise ValueError("each message needs `role` and `content`; a plain row needs `prompt` and `completion`")
    if messages[-1]["role"] != "assistant" or not messages[-1]["content"]:
        raise ValueError("the last message must be an answer of the assistant")
    return messages


def normalized(rows: list[Row]) -> tuple[list[Row], int]:
    """Full-width punctuation as half-width; how many characters were changed."""
    changed, found = 0, []
    for row in rows:
        changed += sum(ord(sign) in FULL_WIDTH for message in row.messages for sign in message["content"])
        found.append(Row([{**message, "content": message["content"].translate(FULL_WIDTH)} for message in row.messages]))
    return found, changed


def fingerprint(rows: list[Row]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for row in rows:
        digest.update(json.dumps(row.messages, ensure_ascii=False, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()
