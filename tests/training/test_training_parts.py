"""What of training/ needs no torch: configuration, rows, checkpoints, the command."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_support import PROGRAM, ROOT, module

from neuronwatch.cli.train import command, cores

config = module("config")
rows = module("rows")
checkpoints = module("checkpoints")
measure_text = (PROGRAM / "measure.py").read_text()


def test_the_copy_of_emit_is_the_same():
    assert (PROGRAM / "emit.py").read_bytes() == (ROOT / "neuronwatch" / "emit.py").read_bytes()


def test_the_requirements_are_those_of_the_extra():
    wanted = [line for line in (PROGRAM / "requirements.txt").read_text().splitlines() if line and not line.startswith("#")]
    extra = re.search(r"^train = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert extra is not None and re.findall(r'"([^"]+)"', extra[1]) == wanted


@pytest.mark.parametrize(("text", "said"), [
    ("[run]\nbackand = 'cpu'\n", "c.toml:2: no key 'backand' in [run]; did you mean 'backend'?"),
    ("[run]\n\n[modle]\npath = 'x'\n", "c.toml:3: no section [modle]; did you mean 'model'?"),
    ("[data]\nmax_length = 'long'\n", "c.toml:2: data.max_length must be a whole number, not 'long'"),
    ("[run]\nbackend = 'gpu'\n", "run.backend = 'gpu': one of auto, neuron, cpu"),
    ("[run\n", "c.toml: "),
    ("run = 3\n", "[run] is a section, not a value"),
])  # fmt: skip
def test_a_wrong_key_is_said_with_its_line(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(text)
    with pytest.raises(Exception, match=re.escape(said)) as error:
        config.load("c.toml", [])
    assert type(error.value).__name__ == "ConfigError"


def test_settings_change_one_key_each(tmp_path):
    found = config.load(None, ["train.learning_rate=1e-4", "run.output_dir=out dir", "model.rope_theta=5000000", "peft.kind=lora"])
    assert (found.train["learning_rate"], found.run.output_dir, found.model.rope_theta, found.peft.kind) == (
        1e-4,
        "out dir",
        5e6,
        "lora",
    )
    for wrong in ("learning_rate=1", "train.x", "nothing"):
        with pytest.raises(Exception, match="--set"):
            config.load(None, [wrong])


def test_each_check_and_adapter_that_can_be_named_is_a_module():
    for names, room in ((config.CHECKS, "checks"), (config.KINDS, "adapters")):
        assert {name for name in names if name != "none"} == {path.stem for path in (PROGRAM / room).glob("[a-z]*.py")}


@pytest.mark.parametrize("wrong", [
    "peft.kind=adapter", "peft.r=0", "peft.width=0", "model.dtype=int8", 'model.accept=["ropes"]', "model.accept=[3]", "peft.ramp_start=3",
])  # fmt: skip
def test_values_that_make_no_sense_are_refused(wrong):
    with pytest.raises(Exception) as error:
        config.load(None, [wrong])
    assert type(error.value).__name__ == "ConfigError"


@pytest.mark.parametrize(("line", "said"), [
    ('{"prompt": "a"}', "f.jsonl:2: each message needs"), ("[1]", "f.jsonl:2: a row is an object"), ("{", "f.jsonl:2: "),
    ('{"messages": [{"role": "user", "content": "x"}]}', "f.jsonl:2: the last message must be an answer"),
])  # fmt: skip
def test_a_wrong_row_is_said_with_its_line(tmp_path, line, said):
    path = tmp_path / "f.jsonl"
    path.write_text('{"prompt": "a", "completion": "b"}\n' + line + "\n")
    with pytest.raises(Exception, match=re.escape(said)):
        rows.read(path)


def test_shipped_rows_are_of_both_languages_and_held_out_questions_are_others():
    train, held = (rows.read(PROGRAM / "data" / f"finance-qa.{part}.jsonl") for part in ("train", "validation"))
    asked = {row.messages[0]["content"] for row in train}
    assert len(train) == 200 and len(asked) == 200 and not asked & {row.messages[0]["content"] for row in held}
    assert sum("\u4e00" <= row.answer[0] <= "\u9fff" for row in train) == 100
    assert rows.fingerprint(train) == rows.fingerprint(list(train)) != rows.fingerprint(held)


def test_punctuation_is_changed_and_counted():
    row = rows.Row([{"role": "user", "content": "什么？"}, {"role": "assistant", "content": "ＡＢ，对。"}])
    changed, count = rows.normalized([row])
    assert changed[0].answer == "AB,对." and count == 5


def checkpoint(place: Path, step: int) -> Path:
    made = place / f"checkpoint-{step}"
    made.mkdir(parents=True)
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    (made / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 8)
    (made / "trainer_state.json").write_text('{"epoch": 1.5}')
    checkpoints.seal(made)
    return made


@given(st.integers(0, 3), st.integers(1, 40))
def test_the_newest_that_is_whole_is_taken(tmp_path_factory, kind, cut):
    place = tmp_path_factory.mktemp("c")
    good, torn = checkpoint(place, 10), checkpoint(place, 20)
    weights = torn / "model.safetensors"
    if kind == 0:
        weights.write_bytes(weights.read_bytes()[:-cut])
    elif kind == 1:
        (torn / "done").unlink()
    elif kind == 2:
        (torn / "trainer_state.json").unlink()
    else:
        (torn / "done").write_text("{" * cut)
    found, passed = checkpoints.newest(place)
    assert found == good and len(passed) == 1 and passed[0].startswith("checkpoint-20: ")


def test_a_header_that_says_more_than_there_is_is_torn(tmp_path):
    made = checkpoint(tmp_path, 10)
    weights = made / "model.safetensors"
    weights.write_bytes(weights.read_bytes() + b"\0" * 8)
    (made / "done").write_text(json.dumps({"model.safetensors": weights.stat().st_size}))
    assert "of tensors" in checkpoints.trouble(made) or "bytes" in checkpoints.trouble(made)


def test_pruning_keeps_the_newest_good_ones_and_touches_no_torn_one(tmp_path):
    for step in (10, 20, 30, 40):
        checkpoint(tmp_path, step)
    (tmp_path / "checkpoint-10" / "done").unlink()
    checkpoints.prune(tmp_path, 2)
    assert [path.name for path in checkpoints.all_of(tmp_path)] == ["checkpoint-10", "checkpoint-30", "checkpoint-40"]


def test_on_a_device_torchrun_starts_one_process_a_core(tmp_path):
    for name in ("neuron0/neuron_core0", "neuron0/neuron_core1", "neuron1/neuron_core0", "neuron1/neuron_core1", "neuron1/stats"):
        (tmp_path / name).mkdir(parents=True)
    assert cores(tmp_path) == 4 and cores(tmp_path / "none") == 0
    made = command("py", "/p/training", "/c.toml", ["train.x=1"], 4)
    assert made == [
        "py",
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "4",
        "/p/training/__main__.py",
        "/c.toml",
        "--set",
        "train.x=1",
    ]
    assert command("py", "/p/training", None, [], 0) == ["py", "/p/training"]
    assert command("py", "/p/training", None, ["run.backend=cpu"], 4) == ["py", "/p/training", "--set", "run.backend=cpu"]
