"""The faults that neuronwatch can name: one id for each root cause at the level where the fix differs."""

from __future__ import annotations

from functools import cache

from neuronwatch.data import tables


@cache
def faults() -> dict[str, tables.Row]:
    """Fault id to its row: id, title, what, severity, remediation, article (whether the project's article names it)."""
    return {str(row["id"]): row for row in tables.load("taxonomy").rows}


def known(fault: str) -> bool:
    """Whether a rule may name this fault: an id of the taxonomy, "" (no cause of its own), or an operator's `site.*`."""
    return not fault or fault.startswith("site.") or fault in faults()
