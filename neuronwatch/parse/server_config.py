"""Configuration files of model servers: TorchServe config.properties, DJL serving.properties, model-config.yaml; and the
lines in which DJL, TorchServe, TGI and Triton state what they run with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import flag_name, of_argument
from neuronwatch.parse._text import document_lines, fact, scalar
from neuronwatch.parse.api import Document, FileFormat, Line, LineFormat

_PROPERTY = lazy(r"^\s{0,8}([A-Za-z][\w.\-]{1,80})\s{0,4}[=:]\s{0,4}(\S.{0,2000}?)\s{0,8}$")
_KNOWN = lazy(
    r"^(?:option[._]|default_workers_per_model|inference_address|management_address|metrics_address|"
    r"job_queue_size|engine$|model_store|load_models|models$|"
    r"minWorkers|maxWorkers|batchSize|maxBatchDelay|responseTimeout|default_response_timeout|"
    r"number_of_netty_threads|install_py_dep|batch_size$|"
    r"max_batch_delay|min_workers|max_workers|gpu_id|netty|enable_envvars_config|startupTimeout|"
    r"disable_token_authorization|max_request_size|translatorFactory)"
)
_NAMES = {
    "minWorkers": "min_workers",
    "maxWorkers": "max_workers",
    "batchSize": "batch_size",
    "maxBatchDelay": "max_batch_delay",
    "startupTimeout": "startup_timeout",
}
_DJL = lazy(
    r"\b(rolling_batch|tensor_parallel_degree|max_rolling_batch_size|n_positions|engine|dtype|batch_size|"
    r"option\.[\w.]{2,60})\s?[:=]\s?([\w./\-]{1,120})"
)
_WORKERS = lazy(
    r"Default workers per model: ([0-9]{1,5})|Number of (?:Netty )?workers: ([0-9]{1,5})|(?:scaling up|"
    r"scale) (?:min|max) ?[wW]orkers? to ([0-9]{1,5})|starting [Ww]orkers? \((?:min|max)?\s?([0-9]{1,5})"
)
_LOADING = lazy(
    r"(?:Start loading the model|Starting check and download process for|"
    r"Successfully downloaded weights for) ((?!the\b)[\w.\-]{1,80}(?:/[\w.\-]{1,100})?)(?: using|\s{0,4}$)"
)
_TGI = lazy(r"Args \{ (.{2,20000}?) \}\s{0,4}$")
_TGI_OPEN = lazy(r"\bArgs \{\s{0,8}$")
_TGI_ROW = lazy(r"^[\w.\-]{0,60}\s{0,8}\|?\s{1,40}(?=\S)")
_TGI_MOST = 400  # lines of one dump, a value of `Some(` takes three
_TGI_FIELD = lazy(r"\b([a-z_]{3,60}): (?:Some\( ?)?(\"[^\"]{0,300}\"|[\w.\-]{1,60})")


def _facts(line: Line, key: str, text: str) -> Iterator[Record]:
    name = flag_name(_NAMES.get(key, re.sub(r"^option[._]", "", key)))
    value = scalar(text)
    if not name:
        return
    yield fact(line, f"arg.{name}", value)
    for meaning, read in of_argument(name, value):
        yield fact(line, meaning, read)


def _sniff(document: Document) -> float:
    lines = [line for line in document_lines(document)[:300] if line.text.strip() and not line.text.lstrip().startswith(("#", "!"))]
    if not lines:
        return 0.0
    known = rows = 0
    for line in lines:
        found = _PROPERTY.match(line.body)
        rows += bool(found)
        known += bool(found and _KNOWN.match(found.group(1)))
    return 0.85 if known and rows >= len(lines) * 0.8 else 0.0


def _parse_file(document: Document) -> Iterator[Record]:
    for line in document_lines(document):
        found = _PROPERTY.match(line.body)
        if found and not line.body.lstrip().startswith("#"):
            yield from _facts(line, found.group(1), found.group(2))


def _tgi(line: Line, text: str) -> Iterator[Record]:
    yield fact(line, "launch.program", "text-generation-launcher")
    for key, value in _TGI_FIELD.findall(text)[:200]:
        if value not in ("None", "false", "Auto"):
            yield from _facts(line, key, value)


def _tgi_block(lines: Sequence[Line]) -> Iterator[Record]:
    """Launcher arguments printed one a line (`Args {`, fields, `}`), a `Some(` over three lines; each field keeps its line."""
    start: Line | None = None
    name, taken = "", 0
    for line in lines:
        if start is None:
            if _TGI_OPEN.search(line.body[:2000]):
                start, name, taken = line, "", 0
                yield fact(line, "launch.program", "text-generation-launcher")
            continue
        taken += 1
        row = _TGI_ROW.sub("", line.body[:2000]).strip()
        if row == "}" or taken > _TGI_MOST:
            start = None
            continue
        if name:
            text, name = f"{name}: {row.rstrip(',')}", ""
        elif re.fullmatch(r"[a-z_]{3,60}: Some\(", row):
            name = row.partition(":")[0]
            continue
        else:
            text = row
        found = _TGI_FIELD.match(text)
        if found and found.group(2) not in ("None", "false", "Auto", "Some"):
            yield from _facts(line, found.group(1), found.group(2))


def _parse_lines(lines: Sequence[Line]) -> Iterator[Record]:
    for line in lines:
        text = line.body[:24_000]
        tgi = _TGI.search(text)
        if tgi:
            yield from _tgi(line, tgi.group(1))
            continue
        for key, value in (
            _DJL.findall(text)[:40] if "LmiUtils" in text or "PyEngine" in text or "option." in text or "mpi_mode" in text else ()
        ):
            if value not in ("null", "None", "auto"):
                yield from _facts(line, key, value)
        loading = _LOADING.search(text)
        if loading:
            yield fact(line, "launch.model", loading.group(1))
        workers = _WORKERS.search(text)
        number = next((group for group in workers.groups() if group), None) if workers else None
        if number:
            yield fact(line, "launch.workers", int(number))


FORMATS = (
    FileFormat(name="server-config", kind="config", sniff=_sniff, parse=_parse_file),
    LineFormat(
        name="server-log",
        kind="log",
        triggers=(
            r"LmiUtils",
            r"(?:Start loading the model|check and download process for|downloaded weights for) \S",
            r"mpi_mode",
            r"Default workers per model: ",
            r"Args \{ ",
            r"workers? to [0-9]",
            r"option\.\w",
        ),
        parse=_parse_lines,
    ),
    LineFormat(
        name="tgi-arguments",
        kind="log",
        triggers=(r"\bArgs \{",),
        parse=_tgi_block,
        after=_TGI_MOST,
    ),
)
