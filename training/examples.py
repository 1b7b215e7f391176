"""Rows as examples of one static length: ids, mask, and labels on the answer alone. Checked before anything is trained on them."""

from __future__ import annotations

from typing import Any

from config import ConfigError
from rows import Row

IGNORED = -100


def encode(rows: list[Row], tokenizer: Any, length: int, name: str) -> tuple[list[dict[str, list[int]]], int]:
    """The examples, and how many answers were cut. Raises ConfigError where a row has nothing to learn."""
    examples, cut = [], 0
    for number, row in enumerate(rows, 1):
        front = tokenizer.apply_chat_template(row.messages[:-1], tokenize=True, add_generation_prompt=True)
        whole = tokenizer.apply_chat_template(row.messages, tokenize=True)
        if whole[: len(front)] != front:
            raise ConfigError(f"{name}, row {number}: the chat template does not put the answer behind the question")
        cut += len(whole) > length
        ids = whole[:length]
        labels = [IGNORED] * min(len(front), length) + ids[len(front) :]
        room = length - len(ids)
        example = {
            "input_ids": ids + [tokenizer.pad_token_id] * room,
            "attention_mask": [1] * len(ids) + [0] * room,
            "labels": labels + [IGNORED] * room,
        }
        check(example, len(tokenizer), f"{name}, row {number}")
        examples.append(example)
    return examples, cut


def check(example: dict[str, list[int]], vocabulary: int, name: str) -> None:
    """Raises ConfigError: lengths that differ, ids outside the vocabulary, no label at all."""
    sizes = {key: len(value) for key, value in example.items()}
    if len(set(sizes.values())) != 1:
        raise ConfigError(f"{name}: lengths differ: {sizes}")
    if not all(0 <= item < vocabulary for item in example["input_ids"]):
        raise ConfigError(f"{name}: an id is outside the vocabulary of {vocabulary}: another tokenizer made it")
    if all(label == IGNORED for label in example["labels"]):
        raise ConfigError(f"{name}: all labels are masked: the question fills data.max_length = {sizes['labels']}")
