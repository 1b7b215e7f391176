"""docker_inspect: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import docker_inspect


def test_golden() -> None:
    check_golden("docker_inspect", docker_inspect.FORMAT)


@given(hostile("docker_inspect"))
def test_never_raises(text: str) -> None:
    survive(docker_inspect.FORMAT, text)
