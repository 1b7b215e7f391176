"""Directory listings (`ls`, `ls -l`, `ls -1`, `find`, `tree`): device nodes with their modes, the class directory of the
driver, and the files of model and checkpoint directories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact, parse_size
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.lspci import counted

_DATE = (
    r"(?:(?:[A-Z][a-z]{2}\s{1,3}[0-9]{1,2}|[0-9]{1,2}\.?\s{1,2}[A-Z][a-z]{2,3}|[0-9]{4}-[0-9]{2}-[0-9]{2})\s{1,3}"
    r"(?:[0-9]{1,2}:[0-9]{2}(?::[0-9.]{2,13})?(?:\s[+-][0-9]{4}|\s[0-9]{4})?|[0-9]{4}))"
)
_LONG = lazy(
    r"^\s{0,8}(?:[0-9]{1,12}\s{1,4}){0,2}([-dlcbps])([rwxsStT-]{9})[.+@]?\s{1,8}[0-9]{1,6}\s{1,8}(\S{1,40}"
    r")\s{1,8}(\S{1,40})\s{1,20}"
    r"([0-9]{1,6},\s{0,6}[0-9]{1,6}|[0-9][0-9.,]{0,18}[KMGTP]?)\s{1,8}(" + _DATE + r")\s(\S.{0,300})$"
)
_DEVICE = lazy(r"(?:^|[\s'\"(,])/dev/neuron([0-9]{1,3})(?=$|[\s'\"),:])")
_CLASS = lazy(
    r"^\s{0,8}(?:.{0,120}\s)?(?:/sys/class/neuron_device/)?neuron([0-9]{1,3})/?(?:\s-> \S{0,120}"
    r"neuron_device/neuron[0-9]{1,3})?\s{0,8}$"
)
_ABSENT = lazy(
    r"(?:cannot access|cannot open)\s{1,4}['\"‘]?(/dev/neuron\S{0,12}|/sys/class/neuron_device\S{0,12}?)['\"’]?: No such file"
)
_MODEL_FILE = lazy(
    r"(?:\.(?:safetensors|bin|pt|pth|ckpt|neff|gguf|h5|msgpack|nemo|distcp)$|^(?:adapter_config|config|"
    r"tokenizer|tokenizer_config|generation_config|"
    r"neuron_config|model\.safetensors\.index|trainer_state|special_tokens_map)\.json$|^(?:shards|"
    r"tensor_parallel_shards|checkpoint-\d{1,9}|"
    r"adapter_\w{1,30}|optim|done|checkpoint|newest|latest)$)"
)
_SHARD = lazy(r"^(.{1,120})-([0-9]{5})-of-([0-9]{5})\.(?:safetensors|bin)$")
_FOLDER = lazy(r"^\s{0,4}([\w./+@=\-]{1,300}):\s{0,4}$")
_FIND = lazy(r"^\s{0,8}(?:\./|/)?((?:[\w.+@=\-]{1,120}/){0,12}[\w.+@=\-]{1,160}/?)\s{0,4}$")
_TREE = lazy(r"^[│├└─|`\-\s\u00a0]{2,60}([\w.+@=\-]{1,160}/?)(?:\s{1,4}\(.{0,60}\))?\s{0,8}$")
_MARKER = lazy(
    r"(?:^|/)(?:done|__init__\.py|\.gitkeep|py\.typed|\.dockerenv|newest|latest|checkpoint|completed?)$|"
    r"\.(?:lock|done)$|^/|^neuron[0-9]"
)


def _devices(lines: Sequence[Line]) -> Iterator[Record]:
    nodes: list[int] = []
    denied: list[int] = []
    first: Line | None = None
    absent: Line | None = None
    for line in lines:
        gone = _ABSENT.search(line.body)
        if gone:
            if gone.group(1).startswith("/dev/"):
                # one of several that is not there says nothing of the others
                absent = absent or (None if re.match(r"/dev/neuron[1-9]", gone.group(1)) else line)
            else:
                yield fact(line, "neuron.sysfs_devices", ())
            continue
        long = _LONG.match(line.body)
        if long:
            node = re.match(r"^(?:/dev/)?neuron([0-9]{1,3})$", long.group(7).strip())
            if long.group(1) != "c" or not node:
                continue
            found = [int(node.group(1))]
            if "rw" not in long.group(2)[6:9]:
                denied.extend(found)
        elif re.match(r"^\s{0,8}(?:/dev/neuron[0-9]{1,3}\s{0,12})+$", line.body[:4000]):
            found = [int(number) for number in _DEVICE.findall(line.body[:4000])]
        else:
            continue
        first = first or line
        nodes.extend(found)
    if first is not None:
        yield fact(first, "neuron.dev_nodes", tuple(sorted(set(nodes))))
        if denied:
            yield fact(first, "neuron.dev_denied", tuple(sorted(set(denied))))
    elif absent is not None:
        yield fact(absent, "neuron.dev_nodes", ())


def _sysfs(lines: Sequence[Line], asked: bool) -> Iterator[Record]:
    """Entries of /sys/class/neuron_device: links, or bare names where the command shows what was listed."""
    found: list[int] = []
    first: Line | None = None
    for line in lines:
        entry = _CLASS.match(line.body)
        if not entry or not (asked or "neuron_device" in line.body) or line.body.lstrip().startswith("c"):
            continue
        first = first or line
        found.append(int(entry.group(1)))
    if first is not None:
        yield fact(first, "neuron.sysfs_devices", tuple(sorted(set(found))))


_BARE_DEV = lazy(r"(?<![\w/.-])neuron([0-9]{1,3})(?![\w.-])")


def _bare_devices(lines: Sequence[Line]) -> Iterator[Record]:
    """`ls /dev` (often with `| grep neuron`) shows the nodes without their directory."""
    found = [(line, int(number)) for line in lines[:400] for number in _BARE_DEV.findall(line.body[:4000])]
    if found:
        yield fact(found[0][0], "neuron.dev_nodes", tuple(sorted({number for _, number in found})))


def _names(lines: Sequence[Line], typed: bool) -> Iterator[tuple[Line, str, int | None]]:
    """(line, name, size or None) of the entries that a listing shows."""
    folder = ""
    for line in lines:
        head = _FOLDER.match(line.body)
        if head and (typed or "/" in head.group(1)):
            folder = head.group(1).rstrip("/") + "/"
            continue
        long = _LONG.match(line.body)
        if long:
            if long.group(1) in "-dl":
                size = parse_size(long.group(5)) if long.group(1) == "-" else None
                yield line, folder + long.group(7).split(" -> ")[0].strip(), size
            continue
        tree = _TREE.match(line.body) if re.search(r"[│├└|`]", line.body[:60]) else None
        single = tree or _FIND.match(line.body)
        if single:
            yield line, (single.group(1) if tree else folder + single.group(1)), None
        elif (
            re.match(r"^\s{0,4}[\w.+@=\-]{1,120}(?:\s{1,12}[\w.+@=\-]{1,120}){1,40}\s{0,4}$", line.body[:4000]) and "." in line.body
        ):
            for name in line.body.split():
                yield line, folder + name, None


def _incomplete(names: Sequence[str]) -> tuple[str, ...]:
    """Directories that lack a shard which the others' names count (`model-00001-of-00004`), or whose sharded checkpoint
    is listed without the `done` marker that NxD writes last."""
    shards: dict[tuple[str, str, int], set[int]] = {}
    marked: dict[str, bool] = {}
    for name in names:
        folder, _, base = name.rpartition("/")
        part = _SHARD.match(base)
        if part and 0 < int(part.group(3)) <= 4096:
            shards.setdefault((folder, part.group(1), int(part.group(3))), set()).add(int(part.group(2)))
        nxd = re.match(r"^(.{0,300}?)/(?:model|optim)/dp_rank_\d", name)
        if nxd:
            marked.setdefault(nxd.group(1), False)
    for name in names:
        folder, _, base = name.rpartition("/")
        if base == "done" and folder in marked:
            marked[folder] = True
    torn = [folder or stem for (folder, stem, total), seen in shards.items() if len(seen) < total]
    torn += [folder for folder, done in marked.items() if not done]
    return tuple(dict.fromkeys(torn))[:100]


def _model_files(lines: Sequence[Line], typed: bool, whole: bool) -> Iterator[Record]:
    """Names of a listing that shows a model or checkpoint. Without the command that was `typed`, a lone word of a log
    may look like a name, so only names that speak for themselves count. Only a `whole` listing shows what is missing."""
    names: list[str] = []
    empty: list[str] = []
    first: Line | None = None
    first_empty: Line | None = None
    for line, name, size in _names(lines, typed):
        base = name.rstrip("/").rsplit("/", 1)[-1]
        if size == 0 and not _MARKER.search(name):
            first_empty = first_empty or line
            empty.append(base)
        if _MODEL_FILE.search(base):
            first = first or line
            names.append(name.rstrip("/"))
        elif typed or size is not None:
            names.append(name.rstrip("/"))
    if first is not None:
        yield fact(first, "checkpoint.files", tuple(dict.fromkeys(names))[:500])
        torn = _incomplete(names) if whole else ()
        if torn:
            yield fact(first, "checkpoint.incomplete", torn)
    if first_empty is not None:
        yield fact(first_empty, "files.empty", tuple(dict.fromkeys(empty))[:200])


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    yield from _devices(lines)
    transcript = list(blocks(lines))
    if not transcript:
        yield from _sysfs(lines, asked=False)
        yield from _model_files(lines, typed=False, whole=any(re.match(r"^total [0-9]", line.body) for line in lines))
        return
    for block in transcript:
        command = re.sub(r"^sudo ", "", block.command)
        number = counted(block) if "/dev/neuron" in command else None
        if number is not None:
            yield fact(block.line, "neuron.dev_count", number)
        # a command inside a container is a listing too: kubectl exec -it POD -- ls /dev
        command = re.sub(r"^(?:kubectl|oc|docker|podman|nerdctl|crictl) .{0,200}?\bexec .{0,200}?(?=\b(?:ls|find) )", "", command)
        if not re.search(r"(?:^|[;&|]\s{0,2})(?:ls|ll|find|tree|stat|du)\b", command):
            continue
        if re.search(r"\bls (?:-\w{1,6} )?/dev/?(?:\s|\||$)", command):
            yield from _bare_devices(block.output)
        yield from _sysfs(block.output, asked="neuron_device" in command)
        yield from _model_files(block.output, typed=True, whole=not re.search(r"\|\s?(?:head|tail|e?grep|sed|awk)\b|\*", command))


FORMAT = LineFormat(
    name="file-listing",
    wide=True,
    kind="listing",
    triggers=(
        r"/dev/neuron[0-9*]",
        r"neuron_device",
        r"[-dlc][rwxsStT-]{9}[.+@]?\s{1,8}[0-9]{1,6}\s\S.{0,200}(?:neuron|\.safetensors|\.bin|\.pt\b|\.json|shards|checkpoint)",
        r"[$#] (?:sudo )?(?:ls|find|tree|ll) ",
        r"\bexec .{1,120}\bls .{0,20}/dev\b",
        r"(?:├── |└── )",
        r"(?:^|[\s/])(?:adapter_config|config|tokenizer|tokenizer_config|generation_config)\.json\s{0,4}$",
        r"(?:^|[\s/])(?:adapter_)?model\.safetensors\s{0,4}$",
        r"(?:checkpoint|step|iter)[-_][0-9]{1,9}/\S",
        r"-[0-9]{5}-of-[0-9]{5}\.(?:safetensors|bin)\s{0,4}$",
    ),
    parse=_parse,
    before=20,
    after=300,
)
