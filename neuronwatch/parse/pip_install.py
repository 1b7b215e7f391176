"""What pip did: packages it installed or found satisfied, the indexes that it asked, its own Python, `pip config list`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact, package_fact
from neuronwatch.parse.api import Line, LineFormat

_INSTALLED = lazy(r"Successfully installed (.{1,20000})$")
_ITEM = lazy(r"^([A-Za-z0-9][\w.\-]{0,80}?)-([0-9][\w.+!]{0,60})$")
_UNINSTALLED = lazy(r"Successfully uninstalled ([A-Za-z0-9][\w.\-]{0,80}?)-([0-9][\w.+!]{0,60})")
_SATISFIED = lazy(r"Requirement already satisfied: ([A-Za-z0-9][\w.\-]{0,80}).{0,400}\(([0-9][\w.+!]{0,60})\)\s{0,4}$")
_LOOKING = lazy(r"Looking in indexes: (\S.{0,2000})$")
_PIP_PYTHON = lazy(r"\bpip [0-9][\w.]{0,20} from \S{1,400} ?\(python ([0-9]\.[0-9]{1,2})\)")
_CONFIG = lazy(r"^\s{0,4}(?:global|install|user|:env:|site)\.((?:extra-)?index-url)\s{0,4}=\s{0,4}(\S.{0,1000})$")
_CONF_FILE = lazy(r"^\s{0,4}((?:extra[-_])?index[-_]url)\s{0,4}=\s{0,4}(\S.{0,1000})$")
_OPTION = lazy(r"(?:--(extra-)?index-url|\s-i)[= ]+['\"]?(https?://[^\s'\"]{4,300})")
_URL = lazy(r"https?://[^\s,'\"\]\[]{4,300}")
_PYPI = lazy(r"//pypi\.org|//(?:[\w.\-]{1,60}\.)?pypi\.|/simple/?$|tuna\.tsinghua|mirrors\.")
_NEURON = "pip.repos.neuron.amazonaws.com"


def _indexes(line: Line, urls: Sequence[str], pypi_implied: bool) -> Iterator[Record]:
    urls = tuple(dict.fromkeys(urls))
    neuron = any(_NEURON in url for url in urls)
    yield fact(line, "pip.indexes", urls)
    yield fact(line, "pip.neuron_index", neuron)
    yield fact(line, "pip.pypi_index", pypi_implied or any(_PYPI.search(url) and _NEURON not in url for url in urls))


def _config_list(lines: Sequence[Line]) -> Iterator[Record]:
    """`$ pip config list` with what it printed: an empty answer means PyPI alone."""
    for block in blocks(lines):
        if not re.match(r"^(?:sudo )?(?:python[\d.]{0,5} -m )?pip[\d.]{0,5} config (?:list|debug)", block.command):
            continue
        urls: list[str] = []
        replaced = False
        for line in block.output:
            found = _CONFIG.match(line.body)
            if found:
                urls.extend(_URL.findall(found.group(2)))
                replaced = replaced or found.group(1) == "index-url"
        yield from _indexes(block.line, urls, pypi_implied=not replaced)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    in_transcript = set()
    for record in _config_list(lines):
        yield record
        in_transcript.add("config")
    removed: dict[str, str] = {}
    for line in lines:
        text = line.body
        looking = _LOOKING.search(text)
        if looking:
            yield from _indexes(line, _URL.findall(looking.group(1)), pypi_implied=False)
        python = _PIP_PYTHON.search(text)
        if python:
            yield fact(line, "python.version", python.group(1))
        gone = _UNINSTALLED.search(text)
        if gone:
            removed[gone.group(1).lower()] = gone.group(2)
        satisfied = _SATISFIED.search(text)
        if satisfied:
            yield fact(line, package_fact(satisfied.group(1)), satisfied.group(2))
        done = _INSTALLED.search(text)
        if done:
            yield from _installed(line, done.group(1), removed)
        option = _OPTION.search(text)
        if option and "pip" in text:
            urls = [found.group(2) for found in _OPTION.finditer(text)]
            plain = any(not found.group(1) for found in _OPTION.finditer(text))
            yield from _indexes(line, urls, pypi_implied=not plain)
        config = None if in_transcript else _CONFIG.match(text) or _CONF_FILE.match(text)
        if config:
            urls = _URL.findall(config.group(2))
            if urls:
                yield from _indexes(line, urls, pypi_implied=config.group(1).startswith("extra"))


def _installed(line: Line, names: str, removed: dict[str, str]) -> Iterator[Record]:
    changed = []
    for word in re.split(r"[\s/]+", names):
        item = _ITEM.match(word)
        if not item:
            continue
        yield fact(line, package_fact(item.group(1)), item.group(2))
        old = removed.get(item.group(1).lower(), "-")
        if old != "-" or "neuron" in item.group(1):
            changed.append(f"{item.group(1)} {old} {item.group(2)}")
    if changed:
        yield fact(line, "packages.changed", tuple(changed))


FORMAT = LineFormat(
    name="pip-install",
    kind="log",
    triggers=(
        r"Successfully (?:un)?installed ",
        r"Requirement already satisfied: ",
        r"Looking in indexes: ",
        r"pip [0-9][\w.]{0,20} from \S{1,400} ?\(python ",
        r"index[-_]url",
        r"pip3? config (?:list|debug)",
    ),
    parse=_parse,
    before=1,
    after=8,
)
