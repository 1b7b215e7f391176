"""Python packages against each other: torch lines, Hugging Face pins, vLLM and its plugin, Python, numpy and protobuf."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from neuronwatch.data import constraints as table
from neuronwatch.data import optimum, releases
from neuronwatch.data.spec import satisfies, satisfies_any
from neuronwatch.judge.derive._packages import Environment, environments, first_text
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin
from neuronwatch.model.version import Version

HF = ("transformers", "optimum", "accelerate", "trl", "peft")
THIRD_PARTY = ("numpy", "protobuf")
SDK = ("neuronx-cc", "torch-neuronx", "libneuronxla", "neuronx-distributed", "torch")


def derive(facts: FactsView) -> Iterable[Fact]:
    made = environments(facts)
    yield from _first_true(_torch(item) for item in made)
    yield from _first_true(_hf(item) for item in made)
    yield from _first_true(_optimum_sdk(item) for item in made)
    yield from _first_true(_vllm(item) for item in made)
    for item in made:
        found = list(_third_party(item))
        if found:
            yield from found
            break
    yield from _python(facts, made)
    yield from _framework(facts, made)
    yield from _model_type(facts, made)


def _first_true(answers: Iterable[Iterator[Fact]]) -> Iterator[Fact]:
    """Of several environments the first that is wrong, else the first that could be judged."""
    judged = [found for found in (list(answer) for answer in answers) if found]
    wrong = [found for found in judged if found[0].value is True]
    yield from (wrong or judged or [[]])[0]


def _told(name: str, wrong: list[str], origin: Origin, listed: str = "") -> Iterator[Fact]:
    yield Fact(name, bool(wrong), origin)
    if wrong:
        if listed:
            yield Fact(listed, tuple(wrong), origin)
        yield Fact("compat.reasons", tuple(wrong), origin)


def _torch(item: Environment) -> Iterator[Fact]:
    """torch, torch-xla and the framework part of torch-neuronx (or torch-neuron) must be of one torch x.y."""
    lines: dict[str, tuple[int, ...]] = {}
    for name in ("torch", "torch-xla", "torch-neuronx", "torch-neuron"):
        version = item.version(name)
        if version is not None and releases.is_stub(name, version) is False and len(Version(version).parts) >= 1:
            parts = Version(version).parts
            lines[name] = (*parts, 0, 0)[:2]
    if len(lines) < 2:
        return
    reference = lines.get("torch-neuronx") or lines.get("torch-neuron") or lines["torch"]
    wrong = [name for name, line in lines.items() if line != reference]
    text = ", ".join(f"{name} {item.version(name)}" for name in lines)
    origin = item.origin(wrong[0] if wrong else next(iter(lines)))
    yield from _told("compat.torch_mismatch", [f"built for different torch releases: {text}"] if wrong else [], origin)


def _hf(item: Environment) -> Iterator[Fact]:
    wrong: list[tuple[str, str]] = []
    judged: list[str] = []
    own = item.version("optimum-neuron")
    pins = optimum.pins_of(own) if own else None
    for name in HF if pins else ():
        version = item.version(name)
        specs = pins.pins.get(name) if pins else None
        if version is None or not specs:
            continue
        answer = satisfies_any(version, specs)
        if answer is not None:
            judged.append(name)
        if answer is False:
            wrong.append((name, f"{name} {version}, optimum-neuron {own} pins {' or '.join(specs)}"))
    for row in table.constraints("hf"):
        name, text = _violated(item, row)
        if name and not any(name == other for other, _ in wrong):
            wrong.append((name, text))
    if wrong:
        texts = [text for _, text in wrong]
        yield from _told("compat.hf_skew", texts, item.origin(wrong[0][0]), "compat.hf_skew_packages")
    elif judged:
        yield from _told("compat.hf_skew", [], item.origin(judged[0]))


def _violated(item: Environment, row: table.Constraint) -> tuple[str, str]:
    """The package that breaks the row, with the sentence; empty when the row is about other versions or holds."""
    for package, spec in row.when.items():
        version = item.version(package)
        if version is None or not satisfies(version, spec) or releases.is_stub(package, version) is not False:
            return "", ""
    for package, spec in (row.needs or {}).items():
        version = item.version(package)
        if version is not None and satisfies(version, spec) is False:
            return package, f"{package} {version}: {row.why} (needs {spec})"
    return "", ""


def _optimum_sdk(item: Environment) -> Iterator[Fact]:
    own = item.version("optimum-neuron")
    pins = optimum.pins_of(own) if own else None
    if pins is None:
        return
    wrong, judged = [], []
    for name in SDK:
        version = item.version(name)
        specs = pins.pins.get(name)
        if version is None or not specs or releases.is_stub(name, version) is not False:
            continue
        answer = satisfies_any(version, specs)
        if answer is not None:
            judged.append(name)
        if answer is False:
            wrong.append(f"{name} {version}, optimum-neuron {own} pins {' or '.join(s.lstrip('=') for s in specs)}")
    if judged:
        yield from _told("compat.optimum_sdk_skew", wrong, item.origin(judged[0]), "compat.optimum_sdk_packages")


def _vllm(item: Environment) -> Iterator[Fact]:
    version = item.version("vllm")
    if version is None:
        return
    wrong, judged = [], False
    plugin = item.version("vllm-neuron")
    own = item.version("optimum-neuron")
    if plugin is not None and releases.is_stub("vllm-neuron", plugin) is False:
        parts = Version(plugin).parts
        if len(re.findall(r"\d+", plugin)) >= 5:  # <vLLM x.y.z>.<plugin a.b.c>
            judged = True
            if (*parts, 0)[:2] != (*Version(version).parts, 0, 0)[:2]:
                wrong.append(f"vllm {version}, vllm-neuron {plugin} is for vLLM {parts[0]}.{parts[1]}")
        for row in table.constraints("vllm"):
            if satisfies(plugin, row.when.get("vllm-neuron", "")):
                judged = True
                if satisfies(version, (row.needs or {}).get("vllm", "")) is False:
                    wrong.append(f"vllm {version}, vllm-neuron {plugin}: {row.why}")
    elif own is not None and "neuron" not in version:
        pins = optimum.pins_of(own)
        specs = pins.pins.get("vllm") if pins else None
        if specs:
            judged = True
            if satisfies_any(version, specs) is False:
                wrong.append(f"vllm {version}, optimum-neuron {own} pins {' or '.join(specs)}")
    if judged:
        yield from _told("compat.vllm_skew", wrong, item.origin("vllm"))


def _third_party(item: Environment) -> Iterator[Fact]:
    wrong: dict[str, str] = {}
    for row in table.constraints("third_party"):
        name, text = _violated(item, row)
        if name:
            wrong.setdefault(name, text)
    own = item.version("optimum-neuron")
    pins = optimum.pins_of(own) if own else None
    for name in THIRD_PARTY if pins else ():
        version = item.version(name)
        specs = pins.pins.get(name, ()) if pins else ()
        if version is not None and specs and satisfies_any(version, specs) is False:
            wrong.setdefault(name, f"{name} {version}, optimum-neuron {own} pins {' or '.join(specs)}")
    if wrong:
        origin = item.origin(next(iter(wrong)))
        yield Fact("compat.third_party", tuple(wrong.values()), origin)
        yield Fact("compat.reasons", tuple(wrong.values()), origin)


def _python(facts: FactsView, made: list[Environment]) -> Iterator[Fact]:
    python = first_text(facts, "python.version")
    if python is None:
        return
    line = ".".join(str(part) for part in (*Version(str(python.value)).parts, 0)[:2])
    wrong, judged = [], False
    for item in made:
        compiler = item.version("neuronx-cc")
        if compiler is not None:
            offered = {p for build in releases.builds_of("neuronx-cc", compiler) for p in build.pythons}
            if offered:
                judged = True
                if line not in offered:
                    texts = ", ".join(sorted(offered, key=Version))
                    wrong.append(f"Python {python.value}: neuronx-cc {compiler} has wheels for {texts}")
        own = item.version("optimum-neuron")
        pins = optimum.pins_of(own) if own else None
        if pins is not None and pins.python:
            judged = True
            if satisfies(str(python.value), pins.python) is False:
                wrong.append(f"Python {python.value}: optimum-neuron {own} needs {pins.python}")
    if judged:
        yield from _told("compat.python_unsupported", wrong, python.origin)


def _framework(facts: FactsView, made: list[Environment]) -> Iterator[Fact]:
    """Framework releases that run on newer chips only."""
    family = facts.first("instance.family")
    if family is None or facts.get("instance.is_neuron") is not True:
        return
    for item in made:
        judged = [name for name in ("vllm-neuron", "neuronx-distributed-inference") if item.version(name)]
        for row in table.constraints("framework"):
            for package, spec in row.when.items():
                version = item.version(package)
                if version and satisfies(version, spec) and family.value in row.families:
                    yield Fact("compat.framework_unsupported", True, item.origin(package))
                    reason = f"{package} {version} on {family.value}: {row.why}"
                    yield Fact("compat.reasons", (reason,), item.origin(package))
                    return
        if judged:
            yield Fact("compat.framework_unsupported", False, item.origin(judged[0]))
            return


def _model_type(facts: FactsView, made: list[Environment]) -> Iterator[Fact]:
    named = first_text(facts, "config.model_type")
    since = table.first_transformers(str(named.value)) if named is not None else None
    if named is None or since is None:
        return
    for item in made:
        version = item.version("transformers")
        if version is not None:
            lacks = Version(version) < Version(since)
            yield Fact("compat.transformers_lacks_model", lacks, item.origin("transformers"))
            if lacks:
                reason = f"transformers {version} does not know {named.value} (first in {since})"
                yield Fact("compat.reasons", (reason,), item.origin("transformers"))
            return
