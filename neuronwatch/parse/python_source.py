"""Python sources beside a run: literal keyword arguments of the calls that configure it (TrainingArguments, LLM,
from_pretrained, DataLoader, map), environment variables that it sets. The code is parsed, never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuronwatch.model.records import Fact, Origin, Record, Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import ARGUMENTS, flag_name, of_argument, of_environment
from neuronwatch.parse.api import Document, FileFormat
from neuronwatch.parse.hf_config import DIMENSIONS

MAX_BYTES = 400_000

_HINT = lazy(
    rb"^\s{0,40}(?:import |from \S{1,80} import |def |class |for .{1,80}:\s{0,4}$|@\w|if __name__|"
    rb"[\w.\[\]]{1,60} = |with .{1,80}:\s{0,4}$|\w[\w.]{1,60}\()",
    re.M,
)
_CALLS = lazy(
    r"(?:TrainingArguments|SFTConfig|TrainConfig|NeuronConfig|LLM|AsyncEngineArgs|EngineArgs|"
    r"from_pretrained|DataLoader|map|trace|compile|LoraConfig|"
    r"ScalingConfig|NeuronModel\w{0,40}|Config|Trainer|filter|load_dataset|Engine|export|main_export)$"
)
_LAUNCH_CALLS = {"map": ("num_proc",), "filter": ("num_proc",), "load_dataset": ("num_proc",), "Trainer": ()}
_SCALARS = (str, int, float, bool)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _tree(document: Document) -> ast.Module | None:
    if document.size > MAX_BYTES or b"\0" in document.data:
        return None
    try:
        return ast.parse(document.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _sniff(document: Document) -> float:
    head = document.data[:65_536]
    if head.lstrip()[:1] in (b"{", b"[", b"") or b"\0" in head:
        return 0.0
    hints = len(_HINT.findall(head[:20_000]))
    if re.match(rb"^#!.{0,60}python", head):
        return 0.95
    lines = [line for line in head.split(b"\n") if line.strip()]
    if not hints or hints < len(lines[:200]) * 0.1:
        return 0.0
    if document.size > len(head):
        return 0.6 if re.search(rb"^(?:import |from \S{1,80} import )", head, re.M) else 0.0
    tree = _tree(document)
    if tree is None or not tree.body:
        return 0.0
    code = sum(1 for node in tree.body if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call))
    return (
        0.85
        if code >= max(1, len(tree.body) * 0.6)
        and any(
            isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.For, ast.With, ast.While, ast.Expr))
            for node in tree.body
        )
        else 0.3
    )


def _values(node: ast.Call) -> Iterator[tuple[str, Value]]:
    call = _name(node.func)
    wanted = _LAUNCH_CALLS.get(call)
    for keyword in node.keywords[:200]:
        value = keyword.value
        if keyword.arg is None or (wanted is not None and keyword.arg not in wanted):
            continue
        if isinstance(value, ast.Attribute) and value.attr in ("bfloat16", "float16", "float32"):
            yield keyword.arg, value.attr
        elif isinstance(value, ast.Constant) and isinstance(value.value, _SCALARS):
            yield keyword.arg, value.value
        elif (
            isinstance(value, ast.UnaryOp)
            and isinstance(value.op, ast.USub)
            and isinstance(value.operand, ast.Constant)
            and isinstance(value.operand.value, (int, float))
        ):
            yield keyword.arg, -value.operand.value


def _literal_arguments(node: ast.AST) -> Iterator[tuple[str, Value]]:
    """`compiler_args = {"num_cores": 24}`, which a call takes apart with `**`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
        return
    if not any(re.search(r"(?:args|shapes|kwargs|config)$", _name(target)) for target in node.targets):
        return
    for key, value in list(zip(node.value.keys, node.value.values, strict=True))[:40]:
        if not isinstance(key, ast.Constant) or not isinstance(value, ast.Constant) or not isinstance(value.value, _SCALARS):
            continue
        if isinstance(key.value, str) and key.value in ARGUMENTS:
            yield key.value, value.value


def _environment(node: ast.AST) -> Iterator[tuple[str, str]]:
    """`os.environ["X"] = "v"` and `os.environ.setdefault("X", "v")`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _name(target.value) == "environ" and isinstance(target.slice, ast.Constant):
                yield str(target.slice.value), str(node.value.value)
    elif isinstance(node, ast.Call) and _name(node.func) in ("setdefault", "putenv") and len(node.args) == 2:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        first, second = node.args
        if (
            owner is not None
            and _name(owner) in ("environ", "os")
            and isinstance(first, ast.Constant)
            and isinstance(second, ast.Constant)
        ):
            yield str(first.value), str(second.value)


def _parse(document: Document) -> Iterator[Record]:
    tree = _tree(document)
    if tree is None:
        return
    lines = document.text.split("\n")

    def origin(node: ast.AST) -> Origin:
        number = getattr(node, "lineno", None)
        text = lines[number - 1].strip() if isinstance(number, int) and 0 < number <= len(lines) else ""
        return Origin(document.path, number, text[:2000])

    for node in ast.walk(tree):
        for name, text in _environment(node):
            if re.fullmatch(r"[A-Za-z_]\w{0,100}", name):
                for fact_name, value in of_environment(name, text):
                    yield Fact(fact_name, value, origin(node))
        for key, value in _literal_arguments(node):
            yield Fact(f"arg.{flag_name(key)}", value, origin(node))
            for fact_name, read in of_argument(key, value):
                yield Fact(fact_name, read, origin(node))
        if not isinstance(node, ast.Call) or not _CALLS.search(_name(node.func)):
            continue
        if (
            _name(node.func) == "from_pretrained"
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield Fact("launch.model", node.args[0].value, origin(node))
        model = re.match(r"^[A-Z]\w{2,60}Config$", _name(node.func))
        for key, value in _values(node):
            name = flag_name(key)
            if model and name in DIMENSIONS and isinstance(value, (int, float)) and not isinstance(value, bool):
                yield Fact(f"config.{name}", value, origin(node))
                continue
            yield Fact(f"arg.{name}", value, origin(node))
            for fact_name, read in of_argument(name, value):
                yield Fact(fact_name, read, origin(node))


FORMAT = FileFormat(name="python-source", kind="script", sniff=_sniff, parse=_parse)
