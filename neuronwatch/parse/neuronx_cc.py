"""Output of neuronx-cc (and neuron-cc of Inf1) in the styles of all years: codes `[NCC_EOOM001]`, `[XCG815]`, `[F137]`,
the banner of an internal error with its versions, exit codes, and the estimate of peak memory. Sizes are bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from neuronwatch.model.records import Event, Fact, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.units import size

_CODE = lazy(r"(?:\[(?P<a>NCC_[EIWX][A-Z]{2,4}\d{3}|F1\d\d|[A-Z]{3}\d{3})\]|\b(?P<b>NCC_[EIWX][A-Z]{2,4}\d{3})\b)")
_FAMILIES = (
    "BIR", "BVF", "DLO", "DSE", "DVR", "GCA", "HCA", "HLO", "ILS", "ISS", "LDI", "LLC", "LNK", "LUR", "MAC", "MOD", "NLA", "PCC",
    "PGT", "SCH", "SIM", "SPP", "TEN", "TRN", "VRF", "WVR", "XCG", "XTP",
)  # fmt: skip
"""First letters of codes that are looked for anywhere; others are read where the compiler's other words stand."""
_CONTEXT = lazy(r"neuron|ompil|support ticket|\dZ (?:\w{4,7} \d{1,9} )?\[|exceeds|tensorizer|HLO", re.IGNORECASE)
_VERSION = lazy(r"\bNeuronX? Compiler version (?P<version>\d{1,2}(?:\.\d{1,8}){1,4}(?:[ab]\d{1,4})?(?:\+[0-9a-f]{4,40})?)")
_TARGET = lazy(r"--target(?:=|['\",\s]{1,6})['\"]?(?P<target>(?:trn|inf)\d[a-z]{0,2})\b")
_COMPILER = lazy(r"\bneuronx?-cc\b|\bneuronxcc\b|RunNeuronCC|CompileImpl|hlo_module\.pb|\bneuron_external_assembler\b")
_EXITED = lazy(
    r"(?:returned non-zero exit status |[Ee]xited with (?:code|status):? ?|exitcode ?[=:] ?"
    r"|return(?:ed)?(?: with)?(?: code| status):? |(?:neuronx?-cc|compil\w{2,8}) failed with )(?P<code>-?\d{1,5})\b"
)
_SUBCOMMAND = lazy(r"\bSubcommand returned with exitcode=(?P<code>-?\d{1,5})\b")
_SIGNAL = lazy(r"\bdied with <Signals\.(?P<name>SIG[A-Z0-9]{2,8}): (?P<number>\d{1,3})>")
_PEAK = (
    lazy(
        r"\b[Mm]aximum peak HBM usage of (?P<peak>\d{1,6}(?:\.\d{1,6})?\s?[KMGT]B) "
        r"exceeds HBM limit of (?P<limit>\d{1,6}(?:\.\d{1,6})?\s?[KMGT]B)(?: for (?P<chip>\w{3,12}))?"
    ),
    re.compile(
        r"\b[Ee]stimated peak HBM usage \((?P<gib>\d{1,6}(?:\.\d{1,9})?)\) "
        r"exceeds (?P<limit>\d{1,6}(?:\.\d{1,3})?\s?[KMGT]B)"
    ),
)
_PARTS = (
    (re.compile(r"(?P<size>\d{1,6}(?:\.\d{1,6})?\s?[KMGT]?B) I/O tensors"), "compiler.peak_hbm_io"),
    (re.compile(r"(?P<size>\d{1,6}(?:\.\d{1,6})?\s?[KMGT]?B) internal \(scratchpad\)"), "compiler.peak_hbm_scratchpad"),
)
_CLASS = lazy(r"\bError class:\s{1,8}(?P<name>[A-Za-z_][\w.]{1,80})")
_SECONDS = lazy(
    r"(?:\[Compilation Time\]|Finished building model in|[Cc]ompil\w{2,8} (?:took|finished in|time:?)) "
    r"(?P<seconds>\d{1,8}(?:\.\d{1,6})?) ?s"
)
_KILLED_CODES = (-9, 137)


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Facts `compiler.*` and an Event `compiler.error` {code, message} for each code that a line states."""
    for line in lines:
        body = line.body
        yield from _codes(line, line.text)
        version = _VERSION.search(body)
        if version:
            yield fact(line, "compiler.version", version.group("version"))
        target = _TARGET.search(body)
        if target and _COMPILER.search(body):
            yield fact(line, "compiler.target", target.group("target"))
        yield from _exit(line, body)
        yield from _peak(line, body)
        error = _CLASS.search(body)
        if error:
            yield fact(line, "compiler.error_class", error.group("name"))
        seconds = _SECONDS.search(body)
        if seconds:
            yield fact(line, "compiler.seconds", float(seconds.group("seconds")))


def _codes(line: Line, text: str) -> Iterator[Record]:
    said: set[str] = set()
    for found in _CODE.finditer(text[:50_000]):
        code = found.group("a") or found.group("b")
        if code in said or not (code.startswith(("NCC_", "F1", *_FAMILIES)) or _CONTEXT.search(text)):
            continue
        said.add(code)
        message = text[found.end() : found.end() + 600].strip(" :-")
        yield fact(line, "compiler.code", code)
        yield Event("compiler.error", line.origin, {"code": code, "message": message}, entity=line.entity, time=line.time)
        if code == "F137":
            yield fact(line, "compiler.killed", True)


def _exit(line: Line, body: str) -> Iterator[Fact]:
    code: int | None = None
    own = _SUBCOMMAND.search(body)
    if own:
        code = int(own.group("code"))
    elif _COMPILER.search(body):
        exited, signal = _EXITED.search(body), _SIGNAL.search(body)
        if exited:
            code = int(exited.group("code"))
        elif signal:
            code = -int(signal.group("number"))
    if code is None:
        return
    yield fact(line, "compiler.exit_code", code)
    if code in _KILLED_CODES:
        yield fact(line, "compiler.killed", True)


def _peak(line: Line, body: str) -> Iterator[Fact]:
    for pattern in _PEAK:
        found = pattern.search(body)
        if not found:
            continue
        part = found.groupdict()
        peak = size(part["peak"]) if part.get("peak") else int(float(part["gib"]) * 1024**3)
        limit = size(part["limit"])
        if peak:
            yield fact(line, "compiler.peak_hbm", peak)
        if limit:
            yield fact(line, "compiler.hbm_limit", limit)
        for pieces, name in _PARTS:
            piece = pieces.search(body)
            value = size(piece.group("size")) if piece else None
            if value is not None:
                yield fact(line, name, value)
        return


FORMAT = LineFormat(
    name="neuronx-cc",
    kind="log",
    triggers=(
        r"NCC_[EIWX][A-Z]{2,4}\d{3}",
        r"\[F1\d\d\]",
        rf"\[(?:{'|'.join(_FAMILIES)})\d{{3}}\]",
        r"support ticket at https://github\.com/aws-neuron",
        r"\[neuronxcc\.driver",
        r"\bneuronx?-cc (?:was|terminated|failed|compilation|exited|returned|died)",
        r"['\[]neuronx?-cc['\],]",
        r"cmd: .{0,20}neuronx?-cc",
        r"NeuronX? Compiler version \d",
        r"peak HBM usage",
        r"Subcommand returned with exitcode",
        r"Error class: ",
        r"\[Compilation Time\]",
        r"Finished building model in",
        r"(?:RunNeuronCC|CompileImpl)",
    ),
    parse=parse,
)
