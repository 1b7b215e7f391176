"""Python tracebacks, also behind log prefixes and interleaved by ranks: one `python.exception` event for each exception of
a chain. `role` says which: "cause" (the innermost, where the chain began), "last" (what killed the program), or "only"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.records import Event, Record, Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact
from neuronwatch.parse.api import Line, LineFormat

MAX_FRAMES = 120

_HEAD = lazy(r"Traceback \(most recent call last\)(?: ?\(.{0,80}\))?:?")
_FRAME = lazy(r"File \"([^\"]{1,400})\", line ([0-9]{1,7})(?:, in (\S.{0,160}))?\s{0,4}$")
# Notebooks: "File ~/venv/x.py:372, in f(args)" and, before IPython 8, "~/venv/x.py in f(args)".
_CELL_FRAME = lazy(
    r"^(?:File ((?:[~/]|[A-Z]:)[^\s:]{1,400}\.py):([0-9]{1,7})(?:, in (\S{1,160}).{0,400})?"
    r"|((?:[~/]|[A-Z]:)\S{1,400}\.py) in (\S{1,160}).{0,400})$"
)
_TYPE = r"([A-Za-z_][\w]{0,60}(?:\.[A-Za-z_]\w{0,60}){0,8})"
_RAISED = lazy(r"^" + _TYPE + r"(?:: (.{0,4000}))?\s{0,4}$")
_NAMED = lazy(
    r"(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Failed|Failure|Timeout|Abort|Fault|Group|NotFound|Unavailable)\w{0,20}$"
)
_CAUSE = lazy(r"The above exception was the direct cause of the following exception:")
_CONTEXT = lazy(r"During handling of the above exception, another exception occurred:")
_LONE = lazy(
    r"(?:^|[\]:|>)]\s{1,4}|\b(?:ERROR|CRITICAL|FATAL)\s{1,8})([A-Za-z_][\w.]{0,120}?(?:Error|Exception|Interrupt)): (\S.{0,4000})$"
)
_PYTHON_PATH = lazy(r"/lib(?:64)?/python(3\.[0-9]{1,2})/")
# The boxes that rich (typer, so text-generation-server) draws.
_BOX_FRAME = lazy(r"[│|] ((?:[~/]|[A-Z]:)[^\s:]{1,400}\.py):([0-9]{1,7}) in (\S{1,160})")
# A whole traceback in one line, as JSON loggers write it.
_FOLDED_FRAME = lazy(r"\\n\s{0,4}File \\{1,3}\"([^\"\\]{1,400})\\{1,3}\", line ([0-9]{1,7})(?:, in ([\w<>.]{1,160}))?")
_FOLDED_RAISED = lazy(r"\\n" + _TYPE + r": (.{1,800}?)(?:\\n|(?<!\\)\"|$)")
_PACKAGE = lazy(r"(?:site|dist)-packages[/\\]([A-Za-z_]\w{0,60})")
# optimum-neuron has no package of its own: it lives inside of optimum, also in a checkout.
_OPTIMUM_NEURON = lazy(r"optimum[/\\](?:neuron|exporters[/\\]neuron|commands[/\\](?:export[/\\])?neuron)")
_LEVEL = lazy(
    r"^(?:\S{0,3}\s{0,4})?(?:ERROR|CRITICAL|FATAL|WARNING|WARN|INFO)\b(?:\s{1,4}\d\S{1,20}){0,3}(?:\s{0,4}\[?[\w./\-]{1,80}:[0-9]{1,6}\])?:?\s?"
)


@dataclass
class _Open:
    """A traceback that is being read."""

    head: Line
    column: int
    chained: bool
    frames: list[tuple[str, int, str]] = field(default_factory=list)
    lines: int = 0


@dataclass
class _Done:
    line: Line
    type: str
    message: str
    frames: list[tuple[str, int, str]]
    chained: bool


def _content(line: Line, column: int) -> str:
    """The text behind the prefix that the traceback's head had, else behind what looks like a level and a source place."""
    body = line.body
    if column and len(body) > column and not _FRAME.search(body[:column]):
        cut = body[column:]
        if _RAISED.match(cut) or cut.startswith(" "):
            return cut
    return _LEVEL.sub("", body)


def _drawn_frame(body: str) -> tuple[str, int, str] | None:
    """A frame as notebooks and rich draw it."""
    cell = _CELL_FRAME.match(body.strip())
    if cell:
        path, number, name = cell.group(1) or cell.group(4), cell.group(2) or "0", cell.group(3) or cell.group(5)
        return path, int(number), (name or "").partition("(")[0]
    box = _BOX_FRAME.search(body)
    return (box.group(1), int(box.group(2)), box.group(3)) if box else None


def _folded(line: Line, start: int) -> _Done | None:
    """The first exception of a traceback that a logger wrote into one string."""
    text = line.body[start : start + 30_000]
    for raised in islice(_FOLDED_RAISED.finditer(text), 20):
        found = islice(_FOLDED_FRAME.finditer(text, 0, raised.start() + 2), MAX_FRAMES)
        frames = [(frame.group(1), int(frame.group(2)), frame.group(3) or "") for frame in found]
        if frames and _NAMED.search(raised.group(1)):
            message = raised.group(2).replace('\\"', '"').replace("\\'", "'").strip()
            return _Done(line, raised.group(1), message, frames, False)
    return None


def _read(lines: Sequence[Line]) -> Iterator[_Done]:
    """Exceptions in the order in which they end; ranks are kept apart."""
    opened: dict[int | None, _Open] = {}
    chained: dict[int | None, bool] = {}
    for line in lines:
        rank = line.rank
        head = _HEAD.search(line.body)
        if head:
            folded = _folded(line, head.end()) if "\\n" in line.body[head.end() : head.end() + 40] else None
            if folded:
                yield folded
                continue
            # a traceback inside a message (a remote one, a formatted cause) begins its own
            opened[rank] = _Open(line, head.start(), chained.pop(rank, False))
            continue
        if _CAUSE.search(line.body) or _CONTEXT.search(line.body):
            chained[rank] = True
            continue
        current = opened.get(rank)
        if current is None:
            if line.body.strip():
                lone = _LONE.search(line.body)
                if lone and not chained.get(rank):
                    yield _Done(line, lone.group(1), lone.group(2).strip(), [], False)
            continue
        current.lines += 1
        frame = _FRAME.search(line.body)
        if frame:
            if len(current.frames) < MAX_FRAMES:
                current.frames.append((frame.group(1), int(frame.group(2)), (frame.group(3) or "").strip()))
            continue
        drawn = _drawn_frame(line.body)
        if drawn:
            if len(current.frames) < MAX_FRAMES:
                current.frames.append(drawn)
            continue
        text = _content(line, current.column)
        if text.startswith((" ", "\t")) or not text.strip():
            if current.lines > 4 * MAX_FRAMES:
                del opened[rank]
            continue
        raised = _RAISED.match(text.lstrip("|+ "))
        if raised and (_NAMED.search(raised.group(1)) or (raised.group(2) is not None and current.frames)):
            yield _Done(line, raised.group(1), (raised.group(2) or "").strip(), current.frames, current.chained)
            del opened[rank]
        elif current.lines > 4 * MAX_FRAMES:
            del opened[rank]


def _library(path: str) -> str:
    """The library that a frame's file belongs to; "user" for anything outside of the installed packages."""
    if _OPTIMUM_NEURON.search(path):
        return "optimum.neuron"
    package = _PACKAGE.search(path)
    return package.group(1) if package else "python" if _PYTHON_PATH.search(path) else "user"


def _libraries(done: _Done) -> tuple[str, ...]:
    """Libraries of the frames, outermost first, each once at its last place: the last one raised."""
    order: dict[str, None] = {}
    for path, _, _ in done.frames:
        library = _library(path)
        order.pop(library, None)
        order[library] = None
    return tuple(order)


def _event(done: _Done, role: str) -> Event:
    frames = tuple((path, number, name) for path, number, name in done.frames[-MAX_FRAMES:])
    fields: dict[str, Value] = {"type": done.type, "message": done.message, "frames": frames, "role": role}
    return Event("python.exception", done.line.origin, fields, done.line.entity, done.line.time)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    chains: dict[int | None, list[_Done]] = {}
    finished: list[list[_Done]] = []
    for done in _read(lines):
        rank = done.line.rank
        if done.chained and chains.get(rank):
            chains[rank].append(done)
            continue
        chains[rank] = [done]
        finished.append(chains[rank])
    pythons: set[str] = set()
    for chain in finished:
        for index, done in enumerate(chain):
            role = "only" if len(chain) == 1 else "cause" if index == 0 else "last" if index == len(chain) - 1 else "middle"
            yield _event(done, role)
            for path, _, _ in done.frames:
                version = _PYTHON_PATH.search(path)
                if version and version.group(1) not in pythons:
                    pythons.add(version.group(1))
                    yield fact(done.line, "python.version", version.group(1))
    if finished:
        root = finished[-1][0]
        yield fact(root.line, "python.error", f"{root.type}: {root.message}"[:1000])
        # always, also without frames: the two facts must tell of the same exception
        yield fact(root.line, "python.libraries", _libraries(root))


FORMAT = LineFormat(
    name="python-traceback",
    kind="log",
    triggers=(r"Traceback \(most recent call last\)", r"[A-Za-z_](?:Error|Exception|Interrupt): \S"),
    parse=_parse,
    before=1,
    after=240,
)
