"""emit_events: golden records, what a job really emits, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, read, survive
from hypothesis import given

from neuronwatch import emit
from neuronwatch.parse import emit_events, trainer_dicts


def test_golden() -> None:
    check_golden("emit_events", emit_events.FORMAT)


@given(hostile("emit_events"))
def test_never_raises(text: str) -> None:
    survive(emit_events.FORMAT, text)


def test_what_emit_writes_is_read_and_told_once(tmp_path, monkeypatch) -> None:
    path = tmp_path / "emit.jsonl"
    monkeypatch.setenv(emit.VARIABLE, str(path))
    emit.step(7, loss=2.0, grad_norm=float("inf"))
    found = read(emit_events.FORMAT, path.name, path.read_bytes())
    assert [(item.name, item.value) for item in found] == [("progress", 7.0), ("loss", 2.0), ("grad_norm", float("inf"))]
    assert read(trainer_dicts.FORMAT, path.name, path.read_bytes()) == []
