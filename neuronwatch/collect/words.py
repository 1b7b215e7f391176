"""Names that one line gives away (HOSTNAME=, /home/) and that others use without a mark of what they are: the host before each
syslog line, the user column of `ps`. Known once, they are replaced wherever they stand as a word."""

from __future__ import annotations

import re

MOST = 500
"""Each costs a search in every text."""
_COMMON = """
all any api app apps aws base bash batch bench bin boot build cache ckpt client cloud cluster code compile conda config
core cpu cuda daemon data dataset datasets debug default demo dev device disk dist docker driver efa error etc eval exec
failed file files fsx git gpu group head home host hosts hub image inf inf1 inf2 info input instance job jobs kernel kube lib
linux llama local localhost log logs main master memory mnt model models module name nccl network neuron neuroncore neuronx
node nodes none nfs null opt output path pip pod prod proc process project projects python queue qwen rank ray ready release
root run runs runtime scratch script server service session share shared slurm src stage start state step storage system
task tasks team temp test tests tmp tokenizer tool tools torch torchrun train trainer training trn trn1 trn1n trn2 ubuntu
user users usr var venv version vllm warning work worker workers workspace xla you
"""
COMMON = frozenset(_COMMON.split())
"""Words of every log: as the name of a host or a user one is replaced only where it is marked as such."""


class Words:
    """Words with the token of each, compared without regard to case."""

    def __init__(self) -> None:
        self._tokens: dict[str, str] = {}
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def learn(self, word: str, token: str) -> None:
        word = word.lower()
        plain = len(word) < 3 or word in COMMON or (word.isdecimal() and len(word) < 12) or _OURS.fullmatch(word)
        if not plain and len(self._tokens) < MOST:
            self._tokens.setdefault(word, token)

    def replaced(self, text: str) -> str:
        if not self._tokens:
            return text
        lowered = text.lower()
        here = tuple(word for word in self._tokens if word in lowered)
        if not here:
            return text
        pattern = self._patterns.get(here)
        if pattern is None:
            alternatives = "|".join(re.escape(word) for word in sorted(here, key=len, reverse=True))
            pattern = re.compile(rf"(?ia)(?<![a-z0-9])(?:{alternatives})(?![a-z0-9])")
            if len(self._patterns) < 1000:
                self._patterns[here] = pattern
        return pattern.sub(lambda m: self._tokens[m[0].lower()], text)


_OURS = re.compile(r"(?:user|host)\d*|(?:[a-z]{2}-)+(?:[a-z]+-)+\d[a-z]?")
"""Tokens of ours, and regions of AWS."""
