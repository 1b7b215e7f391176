"""`dataclass`, `field` and `replace` of the standard library, as far as we use them, made in a tenth of the time.

The standard library's write and compile half a dozen methods for each class, and it loads `inspect` to do so: with our forty
classes that is a sixth of the time in which a small directory is diagnosed. Here only `__init__` is written for each class.
The classes are dataclasses for everybody else: `dataclasses.fields`, `asdict` and `replace` take them. What is not supported
(inheritance, InitVar, ClassVar, KW_ONLY, order) is refused when the class is made. The type checker sees the real ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Given", "dataclass", "field", "given", "replace"]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass, field, replace
    from typing import Any, Protocol

    class Given(Protocol):
        """What a class says of a field. Of `default` and `default_factory` at most one is set."""

        default: Any
        default_factory: Callable[[], Any]
        metadata: Mapping[str, Any]

    def given(cls: object) -> Mapping[str, Given]:
        """The fields of a class of ours by name; none of any other."""
        raise NotImplementedError

else:
    from operator import attrgetter

    _MISSING = object()

    class field:
        """The default of a field, or what makes it; `repr`: whether it is shown; `metadata`: what else is said of it."""

        __slots__ = ("default", "default_factory", "metadata", "repr")

        def __init__(self, *, default=_MISSING, default_factory=_MISSING, repr=True, metadata=None):
            self.default = default
            self.default_factory = default_factory
            self.repr = repr
            self.metadata = metadata or {}

    Given = field

    def given(cls):
        return getattr(cls, "__record__", {})

    class _Fields:
        """Stands for `__dataclass_fields__` until somebody asks for it."""

        def __get__(self, instance, owner):
            import dataclasses

            said = []
            for name, given in owner.__record__.items():
                values = {key: value for key in given.__slots__ if (value := getattr(given, key)) is not _MISSING}
                said.append((name, owner.__annotations__[name], dataclasses.field(**values)))
            owner.__dataclass_fields__ = dataclasses.make_dataclass(owner.__name__, said).__dataclass_fields__
            return owner.__dataclass_fields__

    def dataclass(cls=None, /, *, frozen=False, slots=False):
        if cls is None:
            return lambda cls: _made(cls, frozen, slots)
        return _made(cls, frozen, slots)

    def replace(instance, /, **changes):
        """The same object with other values in some fields."""
        if not hasattr(instance, "__record__"):
            import dataclasses

            return dataclasses.replace(instance, **changes)
        values = {name: getattr(instance, name) for name in instance.__record__}
        return instance.__class__(**values | changes)

    def _made(cls, frozen, slots):
        noted = cls.__annotations__
        names = tuple(noted)
        if cls.__bases__ != (object,) or any(str(text).startswith(("ClassVar", "InitVar", "KW_ONLY")) for text in noted.values()):
            raise TypeError(f"{cls.__name__}: use the dataclass of the standard library")
        given = {}
        for name in names:
            default = cls.__dict__.get(name, _MISSING)
            given[name] = default if isinstance(default, field) else field(default=default)
        body = {key: value for key, value in cls.__dict__.items() if key not in ("__dict__", "__weakref__")}
        for name in names:
            if given[name].default is _MISSING or slots:
                body.pop(name, None)
            else:
                body[name] = given[name].default
        if slots:
            body["__slots__"] = names
        values = attrgetter(*names) if len(names) > 1 else lambda self: [getattr(self, name) for name in names]
        body |= {
            "__record__": given, "__match_args__": names, "__dataclass_fields__": _Fields(), "__eq__": _equal(values),
            "__hash__": (lambda self: hash(tuple(values(self)))) if frozen else None,
        }  # fmt: skip
        body.setdefault("__repr__", _repr)
        if frozen:
            body |= {"__setattr__": _refuse, "__delattr__": _refuse}
            if slots:
                body |= {"__getstate__": _state, "__setstate__": _set_state}
        made = type(cls)(cls.__name__, cls.__bases__, body)
        made.__qualname__ = cls.__qualname__
        made.__init__ = _init(made, given, frozen, slots)
        return made

    def _init(made, given, frozen, slots):
        """Frozen fields are set past `__setattr__`: by the descriptors of the slots, which is fastest."""
        known = {"_made": _MISSING, "_set": object.__setattr__}
        arguments, lines = [], []
        for name, item in given.items():
            value = name
            if item.default_factory is not _MISSING:
                known[f"_make_{name}"] = item.default_factory
                arguments.append(f"{name}=_made")
                value = f"_make_{name}() if {name} is _made else {name}"
            elif item.default is not _MISSING:
                known[f"_default_{name}"] = item.default
                arguments.append(f"{name}=_default_{name}")
            else:
                arguments.append(name)
            if frozen and slots:
                known[f"_set_{name}"] = getattr(made, name).__set__
                lines.append(f"  _set_{name}(self, {value})")
            else:
                lines.append(f"  _set(self, {name!r}, {value})" if frozen else f"  self.{name} = {value}")
        exec(f"def __init__({', '.join(['self', *arguments])}):\n" + "\n".join(lines or ["  pass"]), known)
        written = known["__init__"]
        written.__qualname__ = f"{made.__qualname__}.__init__"
        return written

    def _equal(values):
        def equal(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return equal

    def _repr(self):
        shown = (f"{name}={getattr(self, name)!r}" for name, item in self.__record__.items() if item.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _refuse(self, name, *_value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"{self.__class__.__name__} cannot be changed: {name!r}")

    def _state(self):
        return [getattr(self, name) for name in self.__record__]

    def _set_state(self, state):
        for name, value in zip(self.__record__, state, strict=True):
            object.__setattr__(self, name, value)
