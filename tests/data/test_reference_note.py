"""Old data and wrong overlays are lines on stderr and in the sources of a diagnosis, never findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuronwatch.cli.main import main
from neuronwatch.data import tables


@pytest.fixture(autouse=True)
def _no_overlays_afterwards():
    yield
    tables.use_overlays(())


def told(run: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict, str]:
    (run / "uname.txt").write_text("Linux ip-10-0-0-5 6.8.0-1021-aws #23 SMP x86_64 GNU/Linux\n")
    main(["diagnose", str(run), "--format", "json"])
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def test_old_data_is_said_and_judged_all_the_same(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_AGE_DAYS", 0)
    diagnosis, said = told(tmp_path, capsys)
    assert "reference data is of" in said and diagnosis["findings"] == []
    assert any(source["format"] == "reference-data" for source in diagnosis["sources"])


def test_a_wrong_overlay_is_said(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    (overlay / "x.json").write_text("{")
    (overlay / "x.json").chmod(0o644)
    real = tables.use_overlays
    monkeypatch.setattr(tables, "use_overlays", lambda: real((overlay,)))
    (tmp_path / "run").mkdir()
    diagnosis, said = told(tmp_path / "run", capsys)
    assert "x.json" in said and diagnosis["findings"] == []
