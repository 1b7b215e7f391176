"""The configuration as TOML (`config print`) and its JSON schema (`schema config`), made from the classes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from neuronwatch.daemon.config import Config

SCHEMA = "neuronwatch.config/1"
SECRET = "(hidden)"


def toml(config: Config, comments: bool = False) -> str:
    """All settings with their values. Values of headers are hidden: they are secrets."""
    return "\n".join(_table(config, (), comments)).strip() + "\n"


def _table(value: Any, path: tuple[str, ...], comments: bool) -> Iterator[str]:
    later: list[tuple[Field[Any], Any]] = []
    types = get_type_hints(type(value))
    for item in fields(value):
        inner, parts = getattr(value, item.name), get_args(types[item.name])
        if is_dataclass(inner) or isinstance(inner, dict) or (isinstance(inner, tuple) and is_dataclass(parts[0])):
            later.append((item, inner))
            continue
        if comments:
            yield f"# {item.metadata['help']}"
        yield f"{item.name} = {_scalar(inner)}" if inner is not None else f"# {item.name} ="
    for item, inner in later:
        name = ".".join((*path, item.name))
        if is_dataclass(inner):
            yield from ("", f"[{name}]")
            yield from _table(inner, (*path, item.name), comments)
        elif isinstance(inner, tuple):
            for entry in inner:
                yield from ("", f"[[{name}]]")
                yield from _table(entry, (*path, item.name), comments)
        elif path:  # headers
            pairs = ", ".join(f"{json.dumps(key)} = {json.dumps(SECRET)}" for key in inner)
            yield f"{item.name} = {{ {pairs} }}" if inner else f"{item.name} = {{}}"
        else:
            for key, entry in inner.items():
                yield from ("", f"[{name}.{json.dumps(key)}]")
                yield from _table(entry, (*path, item.name, key), comments)


def _scalar(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_scalar(item) for item in value) + "]"
    text = json.dumps(value, ensure_ascii=False)  # TOML's escapes know no surrogate pairs
    return text.replace("\x7f", "\\u007f")


def schema() -> dict[str, Any]:
    """JSON schema (2020-12) of the configuration file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, **_object(Config)}


def _object(kind: type[Any]) -> dict[str, Any]:
    types = get_type_hints(kind)
    properties = {item.name: _property(types[item.name], item) for item in fields(kind)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _property(kind: Any, item: Field[Any]) -> dict[str, Any]:
    said: dict[str, Any] = {"description": item.metadata["help"]}
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return {**_object(kind), **said}  # type: ignore[arg-type]
    if origin is dict:
        of = _object(inner[1]) if isinstance(inner[1], type) and is_dataclass(inner[1]) else {"type": "string"}
        return {"type": "object", "additionalProperties": of, **said}
    if origin is tuple:
        of = _object(inner[0]) if isinstance(inner[0], type) and is_dataclass(inner[0]) else _limited("string", item)
        return {"type": "array", "items": of, **said}
    plain = next((part for part in inner if part is not type(None)), kind)
    default = _default_of(item)
    found = {**_limited({str: "string", bool: "boolean", int: "integer", float: "number"}[plain], item), **said}
    return found if default is None else {**found, "default": default}


def _limited(name: str, item: Field[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": name}
    for key, word in (("least", "minimum"), ("most", "maximum"), ("choices", "enum"), ("form", "pattern")):
        if key in item.metadata:
            value = item.metadata[key]
            found[word] = f"^(?:{value})$" if key == "form" else list(value) if key == "choices" else value
    return found


def _default_of(item: Field[Any]) -> Any:
    if item.default is not MISSING:
        return item.default
    return item.default_factory() if item.default_factory is not MISSING else None
