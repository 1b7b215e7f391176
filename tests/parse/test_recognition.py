"""A whole file is claimed by the right format, whatever its name, and logs and listings are claimed by none."""

from __future__ import annotations

from pathlib import Path

import pytest
from parse_support import FIXTURES

from neuronwatch.parse.api import Document
from neuronwatch.parse.registry import file_formats

OWNERS = {
    "docker_inspect": "docker-inspect",
    "dockerfile": "dockerfile",
    "generated_text": "model-response",
    "hf_config": "hf-config",
    "k8s_manifest": "k8s-manifest",
    "one_value": "one-value",
    "python_source": "python-source",
    "safetensors": "safetensors",
    "script": "shell-script",
    "server_config": "server-config",
    "trainer_state": "trainer-state",
}
LINES_ONLY = {"pipeline.txt"}
"""Files of these folders that are logs all the same."""
NAMED = {"exit_code.txt", "nproc.txt"}
"""A number alone: the file's name says what it is."""
CLAIMED = 0.5


def documents() -> list[Path]:
    return sorted(path for path in FIXTURES.glob("*/*") if path.name != "_expected.json")


def claim(path: Path, name: str) -> str:
    """The format that claims the file, else ""."""
    data = path.read_bytes()
    document = Document(name, data[:65_536], len(data))
    best = max(file_formats(), key=lambda item: item.sniff(document))
    return best.name if best.sniff(document) >= CLAIMED else ""


@pytest.mark.parametrize("path", documents(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_claimed_by_content(path: Path) -> None:
    wanted = OWNERS.get(path.parent.name, "")
    if path.name in LINES_ONLY:
        wanted = ""
    for name in (path.name,) if path.name in NAMED else (path.name, "evidence.bin", "a.log"):
        found = claim(path, name)
        if wanted or found in OWNERS.values():
            assert found == wanted, name


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"\0\0\0", b"{", b"[]", b"{}", b"null", b"\xff\xfe", b"#", b"#!", b'"', b"0", b" ", b"{" * 5000, b'{"a":' * 3000],
    ids=repr,
)
def test_nothing_claims_next_to_nothing(data: bytes) -> None:
    for item in file_formats():
        document = Document("x", data, len(data))
        assert 0.0 <= item.sniff(document) <= 1.0
        list(item.parse(document))


def test_triggers_have_a_literal() -> None:
    """The scan needs three characters that must stand in the line: none may be all classes and quantifiers."""
    import re

    from neuronwatch.parse.registry import line_formats

    for item in line_formats():
        for trigger in item.triggers:
            re.compile(trigger)
            plain = re.sub(r"\\([^\w\s])", "x", trigger)  # an escaped sign stands for itself
            bare = re.sub(r"\[[^\]]*\]|\\.|\{[0-9,]+\}|\(\?\w+\)", "\0", plain)
            assert any(len(part) >= 3 for part in re.split(r"[\0()|?*+.^$]+", bare)), (item.name, trigger)
