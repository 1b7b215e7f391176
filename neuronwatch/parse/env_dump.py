"""Environment variables: `env` and `printenv` dumps, `export` and `ENV` lines, `declare -x`, `os.environ[...]` in code,
kubectl's Environment block, container JSON, and /proc/PID/environ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Origin, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import of_environment
from neuronwatch.parse._programs import is_launch
from neuronwatch.parse._shell import ASSIGNMENT, split_commands
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Document, FileFormat, Line, LineFormat

_NAME = r"([A-Z_][A-Z0-9_]{1,80}|http_proxy|https_proxy|no_proxy|container)"
_PLAIN = lazy(r"^\s{0,8}(?:-\s)?" + _NAME + r"=(.{0,8000})$")
_EXPORT = lazy(r"^\s{0,12}(?:[+$]\s)?(?:export|declare -x|set -x|setenv|ENV|environment=)\s{0,4}(" + _NAME + r"[= ].{0,8000})$")
_CODE = lazy(
    r"os\.environ(?:\[\s?|\.setdefault\(\s?|\.update\(\{\s?)['\"]"
    + _NAME
    + r"['\"]\]?\s{0,2}[=,:]\s{0,2}(?:str\()?['\"]?([^'\"\n)]{0,400})"
)
_JSON = lazy(r"\"" + _NAME + r"=([^\"]{0,2000})\"")
_YAML = lazy(r"^\s{4,24}" + _NAME + r":\s{1,12}(\S.{0,2000})$")


def _pairs(line: Line) -> Iterator[tuple[str, str]]:
    text = line.body
    exported = _EXPORT.match(text)
    if exported:
        content = exported.group(1)
        space = re.match(r"^" + _NAME + r" (.{0,4000})$", content)
        if space:
            yield space.group(1), space.group(2).strip().strip("'\"")
            return
        for words in split_commands(content)[:1]:
            for word in words:
                assigned = ASSIGNMENT.match(word)
                if assigned:
                    yield assigned.group(1), assigned.group(2)
        return
    plain = _PLAIN.match(text)
    if plain:
        words = text.split(None, 60)
        if len(words) > 1 and any(is_launch(command) for command in split_commands(text)):
            return  # `XLA_USE_BF16=1 torchrun ...`: a command, which the dialects read
        value = plain.group(2).strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        yield plain.group(1), value
        return
    if "os.environ" in text:
        for found in list(_CODE.finditer(text))[:20]:
            yield found.group(1), found.group(2).strip()
        return
    if '="' not in text and '"' in text:
        for found in list(_JSON.finditer(text))[:200]:
            yield found.group(1), found.group(2)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    block = False
    for line in lines:
        if re.match(r"^\s{2,12}Environment:\s{0,10}$", line.body):
            block = True
            continue
        if block:
            found = _YAML.match(line.body)
            if found and not found.group(2).startswith("<set to the key"):
                for name, value in of_environment(found.group(1), found.group(2).strip()):
                    yield fact(line, name, value)
                continue
            block = bool(found)
        for name, text in _pairs(line):
            for fact_name, value in of_environment(name, text):
                yield fact(line, fact_name, value)


def _sniff_environ(document: Document) -> float:
    head = document.data[:65_536]
    parts = [part for part in head.split(b"\0") if part]
    if head.count(b"\0") < 2 or len(parts) < 3 or b"\n" in parts[0]:
        return 0.0
    good = sum(1 for part in parts if re.match(rb"^[A-Za-z_][A-Za-z0-9_]{0,100}=", part))
    return 0.9 if good >= len(parts) - 1 else 0.0


def _parse_environ(document: Document) -> Iterator[Record]:
    for part in document.data.split(b"\0")[:5000]:
        text = part.decode("utf-8", "replace")
        assigned = ASSIGNMENT.match(text)
        if not assigned:
            continue
        origin = Origin(document.path, None, text[:2000])
        line = Line(document.path, None, origin.text, origin.text)
        for name, value in of_environment(assigned.group(1), assigned.group(2)):
            yield fact(line, name, value)


FORMATS = (
    LineFormat(
        name="environment",
        wide=True,
        kind="config",
        triggers=(
            r"(?:NEURON(?:CORE)?|XLA|PJRT|FI|NCCL|CCOM|HF|VLLM|SLURM|TORCH|OMPI|SM|OPTION|MALLOC|TF|JAX|DS|AWS_NEURON|KUBERNETES|"
            r"TORCHELASTIC|SAGEMAKER)_"
            r"[A-Z0-9_]{1,60}(?:=|:\s{2,12}\S)",
            r"(?:ENV|setenv) [A-Z_][A-Z0-9_]{1,60} ",
            r"(?:WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT|HOSTNAME|OMP_NUM_THREADS|LD_LIBRARY_PATH|VIRTUAL_ENV|NNODES|PYTHONPATH|"
            r"HF_TOKEN|MAX_TOTAL_TOKENS|MAX_BATCH_SIZE|ENDPOINT_SERVER_TIMEOUT|MODEL_ID)=",
            r"(?:^|\s)(?:PATH|HOME|SHELL)=/",
            r"export [A-Z_][A-Z0-9_]{1,60}=",
            r"os\.environ",
            r"\sEnvironment:\s",
        ),
        parse=_parse,
        before=30,
        after=30,
    ),
    FileFormat(name="proc-environ", kind="config", sniff=_sniff_environ, parse=_parse_environ),
)
