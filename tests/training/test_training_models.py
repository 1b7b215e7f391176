"""Models before the first step, and adapters: each fault is made in a real directory of a real model and must be named."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from training_support import PROGRAM, PYTHON, ROOT, finished, in_job, losses, needs_torch, start, told, words

pytestmark = [needs_torch, pytest.mark.xdist_group("training-models")]
BASE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import rows, tiny
from config import load
config = load(None, [])
tokenizer = tiny.tokenizer(rows.read(Path(sys.argv[1]) / config.data.train), 512)
tiny.model(config, tokenizer).save_pretrained(sys.argv[2]); tokenizer.save_pretrained(sys.argv[2])
"""
CHECK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from config import ConfigError, load
import load as loader
for case in json.loads(sys.argv[2]):
    try:
        model, _, said = loader.load(load(None, case))
        print(json.dumps([model.config.rope_theta, said]))
    except ConfigError as error:
        print(json.dumps(str(error)))
"""
QUICK = ("train.per_device_train_batch_size=16", "train.logging_steps=1", "train.save_steps=5", "train.learning_rate=1e-2",
         "data.max_length=64", "train.max_steps=12")  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    place = tmp_path_factory.mktemp("base") / "model"
    in_job(BASE, str(PROGRAM), str(place))
    return place


def variant(base: Path, place: Path, **changes: object) -> Path:
    """A copy of the model, its config.json changed; None takes a key out."""
    shutil.copytree(base, place)
    path = place / "config.json"
    found = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in found.items() if value is not None}))
    return place


def test_what_does_not_fit_is_named_before_the_first_step(base, tmp_path):
    v5 = variant(base, tmp_path / "v5", rope_theta=None, rope_parameters={"rope_type": "default", "rope_theta": 5e6})
    settings = json.loads((v5 / "tokenizer_config.json").read_text())
    (v5 / "tokenizer_config.json").write_text(json.dumps({**settings, "tokenizer_class": "TokenizersBackend"}))
    torn = variant(base, tmp_path / "torn")
    (torn / "model.safetensors").write_bytes(b"\0" * 4)
    broken = variant(base, tmp_path / "broken")
    (broken / "config.json").write_text("{")
    short = variant(base, tmp_path / "short")
    vocabulary = json.loads((short / "tokenizer.json").read_text())
    vocabulary["added_tokens"] += [{**vocabulary["added_tokens"][0], "id": 512 + n, "content": f"<|new{n}|>"} for n in range(9)]
    (short / "tokenizer.json").write_text(json.dumps(vocabulary))
    cases: list[tuple[list[str], str]] = [
        ([f"model.path={base}"], "[1000000.0, []]"),
        ([f"model.path={base}", "model.rope_theta=10000"], "rope_theta 1000000 is now 10000 (configuration)"),
        ([f"model.path={v5}"], "rope_theta 10000 is now 5000000 (rope_parameters, as transformers 5 writes it)"),
        ([f"model.path={v5}"], "TokenizersBackend of transformers 5 was read as PreTrainedTokenizerFast"),
        ([f"model.path={variant(base, tmp_path / 'head', head_dim=32)}"], "of model.layers.0.self_attn.q_proj.weight, the weights are [64, 64]"),
        ([f"model.path={variant(base, tmp_path / 'layers', num_hidden_layers=3)}"], "num_hidden_layers = 3, the weights have 2 layers"),
        ([f"model.path={variant(base, tmp_path / 'tied', tie_word_embeddings=False)}"], "the weights have no lm_head"),
        ([f"model.path={variant(base, tmp_path / 'end', eos_token_id=7)}"], "it would not stop"),
        ([f"model.path={short}"], "the tokenizer has 521 ids, the embedding 512 rows"),
        ([f"model.path={base}", "model.dtype=float16"], "gradients below 6e-8 become 0"),
        ([f"model.path={base}", "model.dtype=float16", 'model.accept=["dtype"]'], "accepted (dtype)"),
        ([f"model.path={torn}"], "model.safetensors: its header cannot be read: no safetensors file"),
        ([f"model.path={broken}"], "broken/config.json: Expecting"),
        ([f"model.path={variant(base, tmp_path / 'Qwen3-8B')}"], "hidden_size is 64, Qwen/Qwen3-8B was published with 4096"),
        ([f"model.path={tmp_path / 'none'}"], f"model.path = {tmp_path / 'none'}: "),
    ]  # fmt: skip
    said = in_job(CHECK, str(PROGRAM), json.dumps([case for case, _ in cases])).splitlines()[-len(cases) :]
    for (case, wanted), line in zip(cases, said, strict=True):
        assert wanted in line, (case, line)


def test_a_base_that_is_known_keeps_its_rope_theta():
    """By dimensions alone, on a model without weights: the theta of the article is refused, that of the right variant is not."""
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM
from checks import Seen, published, rope
for row in published.rows():
    for theta in (row["rope_theta"], 1e4, 1e7):
        sizes = {key: row[key] for key in (*published.SIZES, "max_position_embeddings")}
        config = Qwen3Config(**{**sizes, "num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 8}, rope_theta=theta)
        with torch.device("meta"):
            model = Qwen3ForCausalLM(config)
        model.model.rotary_emb = type(model.model.rotary_emb)(config)
        config.num_hidden_layers, config.intermediate_size = row["num_hidden_layers"], row["intermediate_size"]
        print(abs(rope.in_effect(model) / theta - 1) < 1e-4, theta == row["rope_theta"], not published.check(Seen("x", "float32", model=model)))
"""
    lines = in_job(script, str(PROGRAM)).splitlines()
    assert len(lines) >= 30 and all(line in ("True True True", "True False False") for line in lines), lines


def test_the_published_values_are_those_of_neuronwatch():
    ours = {row["id"]: row for row in json.loads((PROGRAM / "checks" / "published.json").read_text())}
    rows = json.loads((ROOT / "neuronwatch" / "data" / "published_models.json").read_text())["rows"]
    theirs = {row["id"]: row for row in rows if row["model_type"] == "qwen3"}
    assert ours == {name: {key: row[key] for key in ours[name]} for name, row in theirs.items()}


@pytest.mark.parametrize("kind", ["lora", "bottleneck"])
def test_an_adapter_resumed_in_its_ramp_is_the_same_run(base, tmp_path, kind):
    settings = [*QUICK, "train.max_steps=40", f"model.path={base}", f"peft.kind={kind}", "peft.alpha_to=32", "peft.ramp_start=3",
                "peft.ramp_end=30"]  # fmt: skip
    whole = losses(finished(tmp_path / "whole", *settings))
    process = start(tmp_path / "killed", *settings, emit=tmp_path / "emit.jsonl")
    end = time.monotonic() + 300
    while not any(item["ev"] == "step" and item["step"] >= 6 for item in told(tmp_path / "emit.jsonl")):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.communicate()
    said = finished(tmp_path / "killed", *settings)
    again = losses(said)
    assert "Resuming training from" in said and len(whole) == 40 and again == whole[-len(again) :] and len(again) < 40
    assert float(whole[-1][0]) < float(whole[0][0])
    if kind == "bottleneck":
        plain = losses(finished(tmp_path / "plain", *[item for item in settings if not item.startswith("peft.alpha_to")]))
        assert plain[:4] == whole[:4] and plain[4:6] != whole[4:6]  # the ramp does something, from its first step on
        check_exported_bottleneck(tmp_path / "whole", base)
    else:
        merged = json.loads((tmp_path / "whole" / "adapter" / "adapter_config.json").read_text())
        assert merged["lora_alpha"] == 32
        loads = "import sys; from transformers import AutoModelForCausalLM as M; print(M.from_pretrained(sys.argv[1]).config.model_type)"
        assert in_job(loads, str(tmp_path / "whole" / "final")).strip().endswith("qwen3")


def check_exported_bottleneck(output: Path, base: Path) -> None:
    """Loaded again it has the loss that was measured when it was trained; it is not the base; another base is refused."""
    script = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import examples, measure, rows
from adapters import bottleneck
from transformers import AutoTokenizer, AutoModelForCausalLM
final = Path(sys.argv[2]) / "final"
held = rows.read(Path(sys.argv[1]) / "data/finance-qa.validation.jsonl")
encoded, _ = examples.encode(held, AutoTokenizer.from_pretrained(final), 64, "held")
base = json.loads((final / "adapter.json").read_text())["base"]
print(measure.loss(bottleneck.load(final), encoded), measure.loss(AutoModelForCausalLM.from_pretrained(base), encoded))
manifest = json.loads((final / "adapter.json").read_text())
(final / "adapter.json").write_text(json.dumps({**manifest, "hidden_size": 32}))
try:
    bottleneck.load(final)
except ValueError as error:
    print(error)
"""
    said = in_job(script, str(PROGRAM), str(output)).strip().splitlines()
    with_adapter, without = map(float, said[-2].split())
    assert with_adapter == json.loads((output / "result.json").read_text())["validation_loss"] < without
    assert "made for hidden_size 32" in said[-1]
    manifest = json.loads((output / "final" / "adapter.json").read_text())
    assert manifest["base"] == str(base) and manifest["alpha"] == 32.0 and manifest["mergeable"] is False
    assert not (output / "final" / "model.safetensors").exists()


def test_a_model_that_does_not_fit_is_one_exit_status_without_a_traceback(base, tmp_path):
    wrong = variant(base, tmp_path / "wrong", num_hidden_layers=5)
    command = [str(PYTHON), str(PROGRAM), *words(tmp_path / "out", f"model.path={wrong}")]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert process.returncode == 64 and "Traceback" not in process.stderr
    assert "training: the model was not trained: " in process.stderr and "num_hidden_layers = 5" in process.stderr
