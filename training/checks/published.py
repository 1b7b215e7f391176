"""A model against the published config.json of its base (`published.json`): by name, else by its dimensions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from checks import Problem, Seen
from checks.rope import NEAR, in_effect

SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size")


def check(seen: Seen) -> list[Problem]:
    config = seen.model.config
    found: list[Problem] = []
    base = named(seen.path) or named(str(seen.stated.get("_name_or_path") or ""))
    if base is not None:
        for key in SIZES:
            if getattr(config, key, None) != base[key]:
                wrong = f"{key} is {getattr(config, key, None)}, {base['id']} was published with {base[key]}"
                found.append(Problem(wrong, "take the config.json of the base model"))
    bases = [base] if base is not None and not found else alike(config)
    now = in_effect(seen.model)
    right = sorted({row["rope_theta"] for row in bases if not row["rope_scaling"]})
    if now is not None and right and all(abs(now - theta) > NEAR * theta for theta in right):
        theirs = " or ".join(f"{theta:.9g}" for theta in right)
        wrong = f"rope_theta = {now:.6g} is in effect, {bases[0]['id']} was published with {theirs}"
        found.append(Problem(wrong, f"set it back, for example --set model.rope_theta={right[0]:.0f}"))
    return found


def rows() -> list[dict[str, Any]]:
    """The Qwen3 that are known."""
    found: list[dict[str, Any]] = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
    return found


def named(path: str) -> dict[str, Any] | None:
    """The base whose name is the last part of a path or hub id."""
    last = path.rstrip("/").rpartition("/")[2].lower()
    return next((row for row in rows() if row["id"].rpartition("/")[2].lower() == last), None)


def alike(config: Any) -> list[dict[str, Any]]:
    """Those of the same dimensions; of the same context too, where there are such."""
    same = [row for row in rows() if all(getattr(config, key, None) == row[key] for key in SIZES)]
    context = [row for row in same if row["max_position_embeddings"] == getattr(config, "max_position_embeddings", None)]
    return context or same
