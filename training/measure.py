"""How good a model is: nats a token on held-out rows, against the unigram of the training rows; and its answers by ROUGE-L."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from examples import IGNORED
from rows import Row


def unigram(train: list[dict[str, list[int]]], held: list[dict[str, list[int]]], vocabulary: int) -> float:
    """Nats a label when each is guessed by how often it stood in the training answers (one added to each count)."""
    counts = Counter(label for example in train for label in example["labels"] if label != IGNORED)
    total = sum(counts.values()) + vocabulary
    labels = [label for example in held for label in example["labels"] if label != IGNORED]
    return -sum(math.log((counts[label] + 1) / total) for label in labels) / len(labels)


def loss(model: Any, examples: list[dict[str, list[int]]], batch: int = 16) -> float:
    """Mean nats a label."""
    import torch

    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for at in range(0, len(examples), batch):
            part = {name: torch.tensor([example[name] for example in examples[at : at + batch]]) for name in examples[0]}
            logits = model(input_ids=part["input_ids"], attention_mask=part["attention_mask"]).logits[:, :-1].float()
            labels = part["labels"][:, 1:]
            flat = logits.reshape(-1, logits.shape[-1])
            nats = torch.nn.functional.cross_entropy(flat, labels.reshape(-1), ignore_index=IGNORED, reduction="sum")
            total += float(nats)
            count += int((labels != IGNORED).sum())
    return total / max(1, count)


def answer(model: Any, tokenizer: Any, row: Row, most: int = 96) -> str:
    import torch

    ids = torch.tensor([tokenizer.apply_chat_template(row.messages[:-1], tokenize=True, add_generation_prompt=True)])
    model.eval()
    with torch.no_grad():
        mask = torch.ones_like(ids)
        made = model.generate(ids, attention_mask=mask, max_new_tokens=most, do_sample=False, pad_token_id=tokenizer.pad_token_id)
    return tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True).strip()


def rouge_l(said: str, wanted: str) -> float:
    """F1 of the longest common subsequence, of words where there are blanks, else of characters."""
    a, b = (text.lower().split() if " " in wanted else list(text) for text in (said, wanted))
    if not a or not b:
        return 0.0
    row = [0] * (len(b) + 1)
    for word in a:
        before = 0
        for place, other in enumerate(b, 1):
            before, row[place] = row[place], before + 1 if word == other else max(row[place], row[place - 1])
    return 2 * row[-1] / (len(a) + len(b))
