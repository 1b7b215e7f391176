"""The order of the rows: of each epoch its own, the same in every run and after every restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from config import ConfigError


def order(count: int, seed: int, epoch: int) -> list[int]:
    """A permutation of `count` rows."""
    import torch

    generator = torch.Generator()
    generator.manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(count, generator=generator).tolist()


class Order:
    """A sampler. Each pass is the next epoch, beginning with `epoch`. It knows no `set_epoch`: the loader of a resumed run that
    skips batches would begin with 0 again."""

    def __init__(self, count: int, seed: int, epoch: int) -> None:
        self._count, self._seed, self._epoch = count, seed, epoch

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        epoch, self._epoch = self._epoch, self._epoch + 1
        return iter(order(self._count, self._seed, epoch))


def epoch_of(checkpoint: Path | None) -> int:
    """The epoch in which a run goes on. Raises ConfigError."""
    if checkpoint is None:
        return 0
    try:
        state: dict[str, Any] = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
        return int(state["epoch"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{checkpoint / 'trainer_state.json'}: {error}") from error
