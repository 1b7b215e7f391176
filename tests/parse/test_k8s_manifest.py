"""k8s_manifest: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import k8s_manifest


def test_golden() -> None:
    check_golden("k8s_manifest", k8s_manifest.FORMAT)


@given(hostile("k8s_manifest"))
def test_never_raises(text: str) -> None:
    survive(k8s_manifest.FORMAT, text)
