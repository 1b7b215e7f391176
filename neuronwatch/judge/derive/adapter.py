"""Whether a listed directory is an adapter and not a model."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact

ADAPTER = frozenset(("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"))
MODEL = frozenset(("config.json", "model.safetensors", "pytorch_model.bin"))


def derive(facts: FactsView) -> Iterable[Fact]:
    """`checkpoint.adapter_only`: some directory of a listing has an adapter's files and none that a model needs."""
    for listing in facts.all("checkpoint.files"):
        if not isinstance(listing.value, tuple):
            continue
        folders: dict[str, set[str]] = {}
        for name in listing.value:
            folder, _, base = str(name).rpartition("/")
            folders.setdefault(folder, set()).add(base)
        found = [names for names in folders.values() if names & ADAPTER]
        if found:
            alone = any(not names & MODEL for names in found)
            yield Fact("checkpoint.adapter_only", alone, listing.origin)
            return
