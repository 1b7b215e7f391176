"""Our dataclass against the one of the standard library: whoever uses the classes sees no difference."""

import copy
import dataclasses
import pickle
import pkgutil

import pytest

from neuronwatch import parse
from neuronwatch.judge import derive, detectors
from neuronwatch.model import dataclass as ours
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.model.modules import modules
from neuronwatch.model.records import Event, Fact, Origin, Sample

WAYS = [{}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}]


def made(library, **options):
    @library.dataclass(**options)
    class Record:
        """What it says."""

        name: str
        size: int = 3
        parts: list = library.field(default_factory=list)
        hidden: tuple = library.field(default=(), repr=False)

        @property
        def double(self):
            return 2 * self.size

    return Record


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_like_the_standard_library(options):
    mine, theirs = made(ours, **options), made(dataclasses, **options)
    for make in (lambda kind: kind("a"), lambda kind: kind("a", 4, [1], (2,)), lambda kind: kind(name="b", parts=[3])):
        one, two = make(mine), make(theirs)
        assert repr(one) == repr(two)
        assert dataclasses.asdict(one) == dataclasses.asdict(two)
        assert dataclasses.replace(one, size=9) == ours.replace(one, size=9) != one
        assert ours.replace(two, size=9) == dataclasses.replace(two, size=9)
        assert one == make(mine) and one != two and one.double == two.double
        assert copy.copy(one) == copy.deepcopy(one) == one
    assert mine("a").parts is not mine("a").parts
    assert dataclasses.is_dataclass(mine) and dataclasses.is_dataclass(mine("a"))
    assert mine.__match_args__ == theirs.__match_args__
    assert mine.__doc__ == "What it says."
    assert hasattr(mine("a"), "__dict__") == hasattr(theirs("a"), "__dict__")
    assert [(item.name, item.type, item.repr) for item in dataclasses.fields(mine)] == [
        (item.name, item.type, item.repr) for item in dataclasses.fields(theirs)
    ]
    for wrong in ((), ("a", 1, [], (), 5)):
        with pytest.raises(TypeError):
            mine(*wrong)
    with pytest.raises(TypeError):
        mine("a", colour=1)


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_change_and_hash(options):
    record = made(ours, **options)("a", 3, (), ())
    if options.get("frozen"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.size = 4
        with pytest.raises(dataclasses.FrozenInstanceError):
            del record.size
        assert {record: 1}[ours.replace(record, size=3)] == 1
    else:
        record.size = 4
        assert record.double == 8
        with pytest.raises(TypeError):
            hash(record)
    if options.get("slots"):
        with pytest.raises(AttributeError):
            object.__setattr__(record, "other", 1)


def test_records_survive_a_pipe():
    origin = Origin("a.log", 3, "text", (0, 2))
    nan = Sample("loss", float("nan"), origin)
    for record in (Event("k", origin, {"a": 1}), Fact("a.b", (1, 2), origin), Sample("loss", None, origin), Diagnosis("fault")):
        assert pickle.loads(pickle.dumps(record)) == record
    assert nan == dataclasses.replace(nan)  # the same NaN, as in a tuple


def test_what_is_not_supported_is_refused():
    with pytest.raises(TypeError):

        @ours.dataclass
        class Child(Exception):
            name: str

    with pytest.raises(TypeError):

        @ours.dataclass
        class Shared:
            name: "ClassVar[str]" = ""  # noqa: F821 (a text)


@pytest.mark.parametrize("package", [parse, derive, detectors])
def test_modules_are_those_of_pkgutil(package):
    names = modules(package)
    assert names == sorted(info.name for info in pkgutil.iter_modules(package.__path__) if not info.ispkg)
    assert len(names) > 5
