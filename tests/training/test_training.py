"""The bundled fine-tuning for real, tiny and on the CPU: what it learns, what it exports, that a killed run is the same run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from training_support import PYTHON, SHORT, finished, in_job, losses, needs_torch, start, told, words

from neuronwatch.supervise.directory import JobDirectory

pytestmark = [needs_torch, pytest.mark.xdist_group("training")]
LOADS = """
import sys
from transformers import AutoModelForCausalLM, AutoTokenizer
model, tokenizer = AutoModelForCausalLM.from_pretrained(sys.argv[1]), AutoTokenizer.from_pretrained(sys.argv[1])
ids = tokenizer.apply_chat_template([{"role": "user", "content": "What is a bond?"}], add_generation_prompt=True, return_tensors="pt")
made = model.generate(ids, max_new_tokens=60, do_sample=False)
print(model.config.model_type, model.config.rope_theta, tokenizer.decode(made[0, ids.shape[1]:], skip_special_tokens=True))
"""
SIGNATURES = """
import dataclasses, importlib.util, pathlib, sys
sys.path.insert(0, sys.argv[1])
from types import SimpleNamespace
from backends import neuron
from config import load
place = pathlib.Path(importlib.util.find_spec("optimum.neuron").submodule_search_locations[0])
source = "".join(path.read_text() for path in (place / "trainers").rglob("*.py"))
asked = neuron.settings(SimpleNamespace(config=load(None, []), output="out"))
from trl import SFTConfig
known = {item.name for item in dataclasses.fields(SFTConfig)}
print([name for name in asked if name not in known and f"    {name}:" not in source])
print("class NeuronSFTTrainer" in source, "peft_config" in source, "trn_config" in source)
try:
    neuron.train(SimpleNamespace(config=load(None, ["run.backend=neuron"])))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    place = tmp_path_factory.mktemp("trained")
    finished(place / "out", emit=place / "emit.jsonl")
    return place


def test_it_learns_answers_and_is_loaded_by_plain_transformers(trained):
    result = json.loads((trained / "out" / "result.json").read_text())
    assert result["unigram"] - result["validation_loss"] >= 1.0
    assert result["answers_right"] >= 8 and result["answers"] == 10
    said = in_job(LOADS, str(trained / "out" / "final"))
    assert said.startswith("qwen3 1000000.0 A bond is a loan")
    phases = [item["phase"] for item in told(trained / "emit.jsonl") if item["ev"] == "phase"]
    assert phases[:3] == ["import", "data", "load"] and phases[-1] == "exit"
    steps = [item for item in told(trained / "emit.jsonl") if item["ev"] == "step"]
    assert steps[-1]["step"] in [item.get("max_steps") for item in steps] and any("loss" in item for item in steps)


def test_lora_on_top_of_it(trained, tmp_path):
    said = finished(tmp_path, f"model.path={trained / 'out' / 'final'}", "peft.kind=lora", "train.num_train_epochs=2",
                    "train.learning_rate=1e-3", "train.per_device_train_batch_size=16")  # fmt: skip
    assert (tmp_path / "adapter" / "adapter_model.safetensors").exists() and "questions answered" in said
    before, after = (json.loads((place / "result.json").read_text()) for place in (trained / "out", tmp_path))
    assert after["validation_loss"] < before["validation_loss"] + 0.2 and after["answers_right"] >= 8
    assert in_job(LOADS, str(tmp_path / "final")).startswith("qwen3")


def test_a_run_that_is_killed_and_resumed_is_the_same_run(tmp_path):
    whole = losses(finished(tmp_path / "whole", *SHORT))
    process = start(tmp_path / "killed", *SHORT, emit=tmp_path / "emit.jsonl")
    end = time.monotonic() + 300
    while not any(item["ev"] == "step" and item["step"] >= 27 for item in told(tmp_path / "emit.jsonl")):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    newest = max((tmp_path / "killed").glob("checkpoint-*"), key=lambda path: int(path.name.partition("-")[2]))
    weights = newest / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])  # torn: the one before counts
    said = finished(tmp_path / "killed", *SHORT)
    assert f"passed over {newest.name}: model.safetensors is torn" in said and "Resuming training from" in said
    again = losses(said)
    assert len(whole) == 52 and again == whole[-len(again) :] and 32 < len(again) < 52
    one, other = ((tmp_path / name / "final" / "model.safetensors").read_bytes() for name in ("whole", "killed"))
    assert one == other


def test_under_supervision_a_killed_run_goes_on(tmp_path):
    command = [sys.executable, "-m", "neuronwatch", "train", "--python", str(PYTHON), "--state-dir", str(tmp_path / "state"),
               "--processes", "1", *words(tmp_path / "out", *SHORT)]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    directory = JobDirectory(tmp_path / "state", "train-tiny")
    end = time.monotonic() + 300
    while not ((runs := directory.runs()) and any(item["ev"] == "step" and item["step"] >= 15 for item in told(runs[0].emit))):
        assert time.monotonic() < end and process.poll() is None, process.communicate()
        time.sleep(0.05)
    found = directory.runs()[0].started()
    assert found is not None
    os.kill(found.command.pid, signal.SIGKILL)
    said, wrong = process.communicate(timeout=400)
    assert process.returncode == 0, wrong[-3000:]
    assert wrong.startswith("neuronwatch: job train-tiny: policy act") and "Resuming training from" in said
    assert [run.ended().signal for run in directory.runs()] == [9, None] and Path(tmp_path, "out", "result.json").exists()


def test_a_wrong_configuration_is_one_line(tmp_path):
    process = start(tmp_path, "train.learning_rat=1")
    _, wrong = process.communicate(timeout=300)
    assert process.returncode == 64 and wrong.strip().splitlines()[-1].startswith("training: [train]:") and "Traceback" not in wrong


def test_the_calls_of_the_neuron_backend_are_those_of_the_package(tmp_path):
    from training_support import PROGRAM

    unknown, classes, refused = in_job(SIGNATURES, str(PROGRAM)).strip().splitlines()[-3:]
    assert unknown == "[]" and classes == "True True True"
    assert refused.startswith("ConfigError run.backend = neuron needs optimum-neuron with the Neuron stack")
