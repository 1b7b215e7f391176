"""Policies from files: who may write them, what is wrong with them, what they say together."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronwatch.cli.main import main
from neuronwatch.remedy import actions, policy_file
from neuronwatch.store.settings_file import SettingsError

GOOD = """
mode = "act"
expires = 3600

[actions.batch-size]
mode = "ask"
budget = 2
cool_down = 120

[faults]
"train.loss-nan" = "observe"
"serve.*" = "ask"
"site.mine" = "act"
"""


def write(place: Path, name: str, text: str) -> Path:
    place.mkdir(mode=0o755, exist_ok=True)
    path = place / name
    path.write_text(text)
    path.chmod(0o644)
    return path


def test_a_policy_is_read_and_later_files_say_more(tmp_path: Path) -> None:
    write(tmp_path / "a", "10.toml", GOOD)
    write(tmp_path / "a", "20.toml", '[actions.batch-size]\nbudget = 5\n[faults]\n"train.loss-nan" = "ask"\n')
    policy, notes = policy_file.load("observe", [tmp_path / "a", tmp_path / "none"])
    batch = actions.batch_size.ACTION
    assert notes == [] and policy.mode == "act" and policy.expires == 3600
    assert (policy.budget_of(batch), policy.cool_down_of(batch)) == (5, 120)
    assert policy.mode_of(batch, "train.batch-size-device-oom") == "ask"
    assert policy.mode_of(actions.RESTART, "serve.worker-unresponsive") == "ask"
    assert policy.mode_of(actions.RESTART, "train.hang") == "act"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("mod = 'act'", 1, "did you mean `mode`"),
        ("\nmode = 'ack'", 2, "did you mean a"),
        ("mode = 3", 1, "is a text"),
        ("[actions.batch-sise]\nmode = 'act'", 1, "did you mean `batch-size`"),
        ("[actions.batch-size]\nbudgets = 1", 2, "did you mean `budget`"),
        ("[actions.batch-size]\nbudget = -1", 2, "between 0 and 1000"),
        ("[actions.batch-size]\nbudget = true", 2, "whole number"),
        ("[faults]\n'train.loss-nam' = 'act'", 2, "did you mean `train.loss-nan`"),
        ("[faults]\n'train.loss-nan' = 'yes'", 2, "one of observe, ask, act"),
        ("[host]\nenable = ['rebot']", 2, "unknown host action `rebot`"),
        ("expires = 1", 1, "between 60"),
        ("mode = ", 1, "not TOML"),
        ("[" * 5000, 1, "not TOML"),
    ],
)
def test_each_mistake_is_one_line_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: int, said: str
) -> None:
    path = write(tmp_path / "p", "bad.toml", text)
    with pytest.raises(SettingsError) as caught:
        policy_file.load("act", [tmp_path / "p"])
    assert caught.value.line == line and said in str(caught.value)
    assert main(["policy", "check", str(path)]) == 1
    captured = capsys.readouterr()
    assert f"{path}:{line}: " in captured.err and captured.err.count("\n") == 1


def test_a_wrong_policy_brakes_everything_of_a_job_that_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    write(tmp_path, "x", "")
    (tmp_path / "neuronwatch").mkdir()
    write(tmp_path / "neuronwatch" / "policy.d", "bad.toml", "mode = 'acts'")
    policy, notes = policy_file.careful("act")
    assert policy.mode == "observe" and "bad.toml:1" in notes[0]


def test_what_others_may_write_is_ignored_and_said(tmp_path: Path) -> None:
    path = write(tmp_path / "p", "mine.toml", "mode = 'act'")
    path.chmod(0o666)
    policy, notes = policy_file.load("observe", [tmp_path / "p"])
    assert policy.mode == "observe" and "writable" in notes[0]
    path.chmod(0o644)
    (tmp_path / "p").chmod(0o777)
    policy, notes = policy_file.load("observe", [tmp_path / "p"])
    assert policy.mode == "observe" and "ignored" in notes[0]


def test_the_good_one_is_fine_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["policy", "check", str(write(tmp_path / "p", "g.toml", GOOD))]) == 0
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    (tmp_path / "c" / "neuronwatch").mkdir(parents=True)
    write(tmp_path / "c" / "neuronwatch" / "policy.d", "g.toml", GOOD)
    assert main(["policy", "show"]) == 0
    shown = capsys.readouterr().out
    assert "batch-size" in shown and "fault train.loss-nan: at most observe" in shown
