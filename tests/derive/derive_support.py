"""Facts for tests of derivations: `case({"pip-list.txt": {"pkg.torch": "2.8.0"}})` and the facts after all derivations."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from neuronwatch.judge import derive as package
from neuronwatch.judge.facts import FactsView
from neuronwatch.model import vocabulary
from neuronwatch.model.records import Fact, Origin, Value


def case(files: Mapping[str, Mapping[str, Value]]) -> FactsView:
    view = FactsView()
    for path, facts in sorted(files.items()):
        for line, (name, value) in enumerate(facts.items(), start=1):
            assert vocabulary.known(name), name
            view.add(Fact(name, value, Origin(path, line, f"{name} {value}")))
    return view


def derived(files: Mapping[str, Mapping[str, Value]]) -> FactsView:
    """All facts after two rounds of every derivation, as the engine does it."""
    view = case(files)
    for _ in range(2):
        for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda item: item.name):
            step = getattr(importlib.import_module(f"{package.__name__}.{info.name}"), "derive", None)
            for fact in list(step(view)) if step else []:
                assert vocabulary.known(fact.name), fact.name
                if not any(old.value == fact.value and old.origin == fact.origin for old in view.all(fact.name)):
                    view.add(fact)
    return view


def of(facts: Mapping[str, Value]) -> FactsView:
    return derived({"facts.txt": facts})
