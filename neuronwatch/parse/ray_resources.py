"""What Ray (Serve, Train, Tune, SkyPilot, vLLM on Ray) says about a request that it cannot place, and what its cluster offers.

Ray prints requests as `{'CPU': 1.0, 'neuron_cores': 2.0}`, and the offer either as such a dictionary or as the `used/total NAME`
lines of `ray status`. A request for a resource that no node of the list has is another fault than a request that is too large,
so both numbers become facts; a list of resources without a Neuron one is a total of 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat

_NEURON = r"(?:neuron_cores|num_neuron_cores|Inferentia\d?|Trainium\d?|aws\.amazon\.com/neuron(?:core|device)?)"
_ACCELERATORS = r"(?:GPU|TPU|HPU|NPU|neuron_cores|Inferentia\d?|Trainium\d?)"

# A request that waits, and the words around it in the several voices of Ray.
_REQUEST = lazy(
    r"fulfill (?:the )?resource request|resource request cannot be|could not find a node type to satisfy|"
    r"[Rr]esources required for each replica|[Rr]equired resources for this actor|resources requested by the placement group|"
    r"pending (?:tasks/actors|placement groups)|trial requested|cannot start without neuron_cores"
)
_DICT_ITEM = lazy(r"['\"]?(" + _NEURON + r")['\"]?\s?:\s?([0-9]{1,6}(?:\.[0-9]{1,6})?)")
_WORD_ITEM = lazy(r"\b([0-9]{1,6}(?:\.[0-9]{1,6})?) (" + _NEURON + r")\b")
_ASKED = lazy(r"['\"](" + _ACCELERATORS + r")['\"]\s?:\s?([0-9]{1,6}(?:\.[0-9]{1,6})?)")

# The offer in one line: everything behind these words up to the end of the dictionary. "Available resources on this node" is
# no offer of the cluster: the head node that prints it often has no accelerator while the workers do.
_OFFER = lazy(
    r"(?:(?:total |current )resources available|current_node_resource)\s?[:=]\s?\{([^{}]{0,2000})\}|"
    r"the cluster (?:only )?has ([^(\n]{1,400})",
)
_OFFER_WORDS = lazy(r"resources available|current_node_resource|the cluster (?:only )?has ")

# `ray status`: a heading, then `0.0/32.0 CPU` for each resource.
_USAGE = lazy(r"^\s{0,8}(?:Total )?Usage:\s{0,4}$")
_ROW = lazy(r"^\s{0,8}[0-9.]{1,20}[KMGT]?i?B?/([0-9]{1,8}(?:\.[0-9]{1,6})?)(?:[KMGT]i?B)? (\S{1,120})")
_MAX = 20_000


def _requests(line: Line) -> Iterator[Record]:
    text = line.text[:_MAX]
    wanted = [float(n) for _, n in _DICT_ITEM.findall(text.split("resources available", 1)[0])]
    wanted += [float(n) for n, _ in _WORD_ITEM.findall(text.split("the cluster", 1)[0]) if "trial requested" in text]
    if not wanted and "cannot start without neuron_cores" in text:
        wanted = [1.0]
    if wanted and max(wanted) > 0:
        yield fact(line, "ray.neuron_requested", max(wanted))


def _offers(line: Line) -> Iterator[Record]:
    found = _OFFER.search(line.text[:_MAX])
    if not found:
        return
    inner = found.group(1) if found.group(1) is not None else found.group(2)
    if "CPU" not in inner and "node:" not in inner:
        return
    totals = [float(n) for _, n in _DICT_ITEM.findall(inner)] or [float(n) for n, _ in _WORD_ITEM.findall(inner)]
    yield fact(line, "ray.neuron_total", max(totals, default=0.0))


def _status(lines: Sequence[Line], start: int) -> Iterator[Record]:
    """The block below `Usage:`; its rows are the whole offer of the cluster."""
    offered: dict[str, float] = {}
    for line in lines[start + 1 : start + 25]:
        row = _ROW.match(line.body)
        if not row:
            break
        offered[row.group(2)] = float(row.group(1))
    if "CPU" not in offered:
        return
    neuron = [amount for name, amount in offered.items() if lazy("^" + _NEURON + "$").match(name)]
    yield fact(lines[start], "ray.neuron_total", max(neuron, default=0.0))
    for line in lines[start + 1 : start + 40]:
        if "pending" not in line.text:
            continue
        missing = tuple(sorted({n for n, k in _ASKED.findall(line.text[:_MAX]) if float(k) > 0 and n not in offered}))
        if missing:
            yield fact(line, "ray.missing", missing)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for index, line in enumerate(lines):
        if _USAGE.match(line.body):
            yield from _status(lines, index)
            continue
        text = line.text[:_MAX]
        if _REQUEST.search(text):
            yield from _requests(line)
        if _OFFER_WORDS.search(text):
            yield from _offers(line)


FORMAT = LineFormat(
    name="ray-resources",
    kind="log",
    triggers=(
        r"fulfill (?:the )?resource request",
        r"resource request cannot be",
        r"could not find a node type to satisfy",
        r"[Rr]esources required for each replica",
        r"[Rr]equired resources for this actor",
        r"resources requested by the placement group",
        r"pending (?:tasks/actors|placement groups)",
        r"trial requested",
        r"cannot start without neuron_cores",
        r"Usage:\s{0,4}$",
    ),
    parse=_parse,
    after=40,
)
