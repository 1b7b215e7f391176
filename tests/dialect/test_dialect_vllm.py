"""Command lines of the dialect `vllm` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_serve_with_a_positional_model() -> None:
    found = facts(
        "vllm serve meta-llama/Llama-2-70b-hf --device neuron --tensor-parallel-size 24 --max-num-seqs 4 --ma"
        "x-model-len 4096 --block-size 32"
    )
    assert found["launch.program"] == "vllm"
    assert found["launch.model"] == "meta-llama/Llama-2-70b-hf"
    assert (found["launch.tp"], found["launch.max_num_seqs"], found["launch.max_model_len"], found["launch.block_size"]) == (
        24,
        4,
        4096,
        32,
    )
    assert found["launch.device"] == "neuron"


def test_old_module() -> None:
    found = facts("python -m vllm.entrypoints.openai.api_server --model m -tp 8 --enforce-eager --max-num-seqs 8")
    assert (found["launch.model"], found["launch.tp"], found["launch.max_num_seqs"]) == ("m", 8, 8)
    assert found["launch.entry"] == "vllm.entrypoints.openai.api_server"


def test_rope_override_inside_json() -> None:
    found = facts("""vllm serve Q --hf-overrides '{"rope_parameters": {"rope_type": "yarn", "rope_theta": 1000, "factor": 4}}'""")
    assert found["launch.rope_theta"] == 1000.0
    assert found["launch.rope_override"] is True


def test_plugin_configuration() -> None:
    found = facts("""vllm serve Q --additional-config '{"override_neuron_config": {"batch_size": 2, "seq_len": 1024}}'""")
    assert (found["launch.batch_size"], found["launch.sequence_length"]) == (2, 1024)


def test_broken_json_says_nothing() -> None:
    assert "launch.rope_theta" not in facts("vllm serve Q --hf-overrides '{\"rope_theta\": '")
