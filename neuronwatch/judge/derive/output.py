"""Whether a text that the model generated is nonsense.

Judged by form only (function words in a row, endless repetition, digits glued to words): a wrong but well-formed
sentence is not nonsense, neither is a table of numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact

_FUNCTION_WORDS = frozenset({
    "the", "of", "and", "to", "in", "a", "is", "it", "i", "that", "for", "on", "with", "as", "at", "by", "an", "or",
    "be", "this", "was", "are", "from", "so", "but", "not", "he", "she", "they", "we", "you",
})  # fmt: skip
_ONE_TOKEN = re.compile(r"([^\W\d_])\1{23}|([!?,;:&%$@\"'(){}\[\]<>\\\u4e00-\u9fff])\2{15}")
"""One character over and over, as when all logits are NaN and token 0 (often `!`) wins; rulers (`====`) are not it."""
MIN_WORDS = 8
MIN_CHARACTERS = 24


def derive(facts: FactsView) -> Iterable[Fact]:
    """One reading for each generated text, so that `values()` shows whether any of them is nonsense."""
    for found in facts.all("output.text"):
        if isinstance(found.value, str):
            yield Fact("output.nonsense", is_nonsense(found.value), found.origin)


def is_nonsense(text: str) -> bool:
    """Whether a text of some length is word salad, endless repetition or digits glued to fragments."""
    stripped = text.strip()
    if len(text) >= 4 * MIN_CHARACTERS and len(stripped) <= len(text) // 10:
        return True  # hundreds of line feeds
    if len(stripped) < MIN_CHARACTERS:
        return False
    if _ONE_TOKEN.search(stripped) or _glued_digits(stripped):
        return True
    words = re.findall(r"[^\W\d_]+|\d+", stripped.lower())
    if len(words) < MIN_WORDS:
        return False
    most = Counter(words).most_common(1)[0][1]
    doubled = sum(1 for first, second in pairwise(words) if first == second)
    functional = sum(1 for word in words if word in _FUNCTION_WORDS)
    if functional >= 0.6 * len(words) and doubled >= 2:
        return True
    if len(words) >= 16 and (most >= 0.5 * len(words) or len(set(words)) <= 0.2 * len(words)):
        return True
    return doubled >= max(4, 0.3 * len(words))


def _glued_digits(text: str) -> bool:
    """More digits than letters, and words that run into numbers: `think9193`, `So6`. Tables and lists are not it."""
    digits, letters = sum(char.isdigit() for char in text), sum(char.isalpha() for char in text)
    return digits > 2 * letters and digits >= 16 and len(re.findall(r"[A-Za-z]{2,}\d|\d[A-Za-z]{2,}", text)) >= 2
