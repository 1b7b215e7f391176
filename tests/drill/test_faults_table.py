"""docs/drill-faults.md against what there is: each fault has its row, each other id of the taxonomy its reason."""

from __future__ import annotations

import re
from pathlib import Path

from neuronwatch.data import taxonomy
from neuronwatch.drill import faults

PAGE = (Path(__file__).parents[2] / "docs" / "drill-faults.md").read_text(encoding="utf-8")
TABLE, REST = PAGE.split("<!-- made by bench/faults.py: end -->")
ROWS = [line for line in TABLE.splitlines() if re.match(r"\| [a-z]+\.[a-z]", line)]


def test_each_fault_has_a_row_and_each_row_a_fault() -> None:
    assert sorted(row.split("|")[1].strip() for row in ROWS) == list(faults.all_faults())


def test_each_other_fault_of_the_taxonomy_has_a_reason() -> None:
    told = set(re.findall(r"`([a-z]+\.[a-z0-9-]+)`", REST))
    missing = set(taxonomy.faults()) - set(faults.all_faults())
    assert told == missing, (sorted(missing - told), sorted(told - missing))


def test_each_fault_has_a_near_miss_of_its_own() -> None:
    every = faults.all_faults()
    texts = [text for fault in every.values() for text in (fault.WHAT, fault.NEAR_MISS)]
    assert len(set(texts)) == 2 * len(every)
    for name, fault in every.items():
        assert fault.NEAR_MISS.endswith(".") and len(fault.NEAR_MISS) > 20, name
        assert faults.needs(fault).shows >= 60
