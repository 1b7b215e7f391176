"""Patterns that are compiled at their first use: all of them compile, and they behave as compiled ones."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import neuronwatch.dialect
import neuronwatch.parse
from neuronwatch.parse._lazy import _Lazy, lazy


def patterns() -> Iterator[tuple[str, _Lazy]]:
    """All lazy patterns of the package, also inside tuples and mappings on module level."""
    for package in (neuronwatch.parse, neuronwatch.dialect):
        for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            stack: list[object] = list(vars(importlib.import_module(info.name)).values())
            while stack:
                item = stack.pop()
                if isinstance(item, _Lazy):
                    yield info.name, item
                elif isinstance(item, (tuple, list)):
                    stack.extend(item)
                elif isinstance(item, dict) and len(item) < 500 and "__name__" not in item:
                    stack.extend(item.values())


def test_all_compile() -> None:
    found = list(patterns())
    assert len(found) > 200
    for name, item in found:
        assert re.compile(item.pattern, item.flags), name


def test_behaves_as_a_pattern() -> None:
    word = lazy(r"(?P<w>a+)b", re.IGNORECASE)
    assert word.match("AAB")
    assert word.search("xxab", 2)
    assert word.findall("ab aab") == ["a", "aa"]
    assert word.sub("-", "ab c") == "- c"
    assert word.groupindex == {"w": 1}
