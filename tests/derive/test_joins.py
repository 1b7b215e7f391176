"""Instance, launch, model, published configuration, cache file system."""

from __future__ import annotations

import pytest
from derive_support import derived, of
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.judge.derive.instance import cores_of_range

GIB = 1024**3


@pytest.mark.parametrize(("files", "alone"), [
    (("out/adapter_config.json", "out/adapter_model.safetensors", "out/tokenizer.json"), True),
    (("adapter_config.json", "config.json", "model.safetensors"), False),
    (("base/config.json", "base/model.safetensors", "lora/adapter_config.json"), True),
    (("config.json", "model.safetensors"), None),
])  # fmt: skip
def test_a_directory_with_an_adapter_only(files, alone) -> None:
    assert of({"checkpoint.files": files}).get("checkpoint.adapter_only") is alone


def test_instance_facts() -> None:
    facts = of({"host.instance_type": "trn1.32xlarge"})
    assert facts.get("instance.family") == "trn1" and facts.get("instance.is_neuron") is True
    assert facts.get("instance.cores") == 32 and facts.get("instance.devices") == 16
    assert facts.get("instance.core_memory") == 16 * GIB and facts.get("instance.efa") is True
    assert facts.get("instance.collective_cores") == (1, 2, 8, 16, 32) and facts.get("instance.vcpus") == 128
    small = of({"host.instance_type": "trn1.2xlarge"})
    assert small.get("instance.efa") is False and small.get("instance.cores") == 2


def test_logical_cores() -> None:
    assert of({"host.instance_type": "trn2.48xlarge"}).get("instance.cores") == 64
    one = of({"host.instance_type": "trn2.48xlarge", "env.NEURON_LOGICAL_NC_CONFIG": "1"})
    assert one.get("instance.cores") == 128 and one.get("instance.core_memory") == 12 * GIB
    ignored = of({"host.instance_type": "trn1.32xlarge", "neuron.lnc": 2})
    assert ignored.get("instance.cores") == 32, "the setting exists on Trn2 and newer only"


def test_other_and_unknown_types() -> None:
    gpu = of({"host.instance_type": "g5.12xlarge"})
    assert gpu.get("instance.is_neuron") is False and gpu.get("instance.family") == "g5"
    assert gpu.get("instance.devices") is None
    new = of({"host.instance_type": "trn9.48xlarge", "neuron.device_memory": 64 * GIB, "neuron.cores_per_device": 4})
    assert new.get("instance.is_neuron") is True and new.get("instance.core_memory") == 16 * GIB
    assert of({"host.instance_type": "Standard PC (Q35 + ICH9, 2009)"}).get("instance.is_neuron") is None


def test_the_chip_tells_the_family_where_the_type_is_not_stated() -> None:
    facts = of({"neuron.architecture": "inf1", "runtime.version": "2.25.57.0"})
    assert facts.get("instance.family") == "inf1" and facts.get("compat.hw_unsupported") is True
    assert of({"neuron.architecture": "unheard-of"}).get("instance.family") is None


@pytest.mark.parametrize(
    ("facts", "missing"),
    [
        ({"neuron.devices": 16}, 0), ({"neuron.devices": 15}, 1), ({"neuron.devices": 16, "neuron.pci_devices": 15}, 1),
        ({"neuron.dev_nodes": (*range(7), *range(8, 16))}, 1), ({"neuron.dev_nodes": (0,)}, None),
        ({"neuron.devices": 4, "host.in_container": True}, None), ({}, None),
        ({"neuron.devices": 1, "neuron.busy_pids": (771204,)}, None),  # PIDs without programs: seen from a container
        ({"neuron.devices": 1, "neuron.busy_pids": (4120,), "neuron.holders": ("python",)}, 15),
        ({"neuron.devices": 15, "neuron.busy_pids": (4120,)}, 1),
        ({"neuron.devices": 1, "neuron.busy_pids": (4120,), "host.in_container": False}, 15),
        ({"neuron.dev_nodes": tuple(range(15))}, None), ({"neuron.dev_nodes": tuple(range(15)), "host.in_container": False}, 1),
    ],
)  # fmt: skip
def test_missing_devices(facts, missing) -> None:
    assert of({"host.instance_type": "trn1.32xlarge", **facts}).get("instance.devices_missing") == missing


@pytest.mark.parametrize(
    ("text", "cores"),
    [("0-3", (0, 1, 2, 3)), ("1,5,7", (1, 5, 7)), ("0-1,4-5", (0, 1, 4, 5)), ("'8'", (8,)), ("", ()), ("a-b", ()), ("9-1", ()),
     ("0-99999", ())],
)  # fmt: skip
def test_core_ranges(text: str, cores: tuple[int, ...]) -> None:
    assert cores_of_range(text) == cores


@given(st.text(max_size=40))
def test_core_ranges_never_raise(text: str) -> None:
    assert len(cores_of_range(text)) <= 4096


def test_visible_cores() -> None:
    facts = of({"env.NEURON_RT_VISIBLE_CORES": "0-3,8"})
    assert facts.get("runtime.visible_max") == 8 and facts.get("runtime.visible_count") == 5


@pytest.mark.parametrize(
    ("facts", "needed", "nodes", "world"),
    [
        ({"launch.nproc": 32, "launch.nnodes": 4}, 32, 4, 128), ({"launch.nproc": 32}, 32, None, 32),
        ({"launch.tp": 8}, 8, None, None), ({"launch.tp": 8, "launch.pp": 2}, 16, None, None),
        ({"launch.workers": 4, "launch.workers_per_cores": 2}, 8, None, None), ({"launch.num_cores": 24}, 24, None, None),
        ({"env.SLURM_NNODES": "4", "launch.nproc": 32}, 32, 4, 128),
        ({"env.WORLD_SIZE": "64", "env.LOCAL_WORLD_SIZE": "32"}, None, 2, 64), ({"env.SLURM_NNODES": "many"}, None, None, None),
    ],
)  # fmt: skip
def test_launch_sizes(facts, needed, nodes, world) -> None:
    found = of(facts)
    assert (found.get("launch.cores_needed"), found.get("cluster.nodes"), found.get("launch.world_size")) == (needed, nodes, world)


def test_global_batch() -> None:
    facts = of({"launch.nproc": 32, "launch.per_device_batch": 1, "launch.tp": 8, "launch.grad_accum": 8})
    assert facts.get("launch.global_batch") == 32
    assert of({"launch.nproc": 30, "launch.per_device_batch": 1, "launch.tp": 8}).get("launch.global_batch") is None


QWEN3_8B = {
    "config.model_type": "qwen3", "config.hidden_size": 4096, "config.num_hidden_layers": 36, "config.head_dim": 128,
    "config.num_attention_heads": 32, "config.num_key_value_heads": 8, "config.intermediate_size": 12288,
    "config.vocab_size": 151936, "config.max_position_embeddings": 40960,
}  # fmt: skip
QWEN3_4B = {
    "config.model_type": "qwen3", "config.hidden_size": 2560, "config.num_hidden_layers": 36, "config.head_dim": 128,
    "config.num_attention_heads": 32, "config.num_key_value_heads": 8, "config.intermediate_size": 9728,
}  # fmt: skip


def test_published_by_name() -> None:
    facts = of({**QWEN3_8B, "config.name": "Qwen/Qwen3-8B", "config.rope_theta": 1e7})
    assert facts.get("published.rope_theta") == 1e6 and facts.get("published.match") == "name"
    assert facts.get("published.name") == "Qwen/Qwen3-8B" and facts.get("published.rope_scaling") == ""
    assert facts.first("published.rope_theta").origin.text == "config.name Qwen/Qwen3-8B"  # type: ignore[union-attr]  # a None fails the test


def test_the_2507_models_have_their_own_theta() -> None:
    facts = of({**QWEN3_4B, "config.name": "Qwen/Qwen3-4B-Instruct-2507", "config.rope_theta": 5e6})
    assert facts.get("published.rope_theta") == 5e6


def test_published_by_dimensions() -> None:
    facts = of({**QWEN3_8B, "config.rope_theta": 1e4})
    assert facts.get("published.rope_theta") == 1e6 and facts.get("published.match") == "dimensions"
    variant = of({**QWEN3_4B, "config.max_position_embeddings": 262144, "config.rope_theta": 1e6})
    assert variant.get("published.rope_theta") == 5e6
    either = of({**QWEN3_4B, "config.rope_theta": 5e6})
    assert either.get("published.rope_theta") == 5e6, "a value that one of the variants has published"
    assert of({**QWEN3_4B, "config.rope_theta": 1e4}).get("published.rope_theta") is None, "which variant is not known"


def test_a_hub_name_of_its_own_is_not_compared() -> None:
    facts = of({**QWEN3_8B, "config.name": "acme/long-context-model", "config.rope_theta": 8e6})
    assert facts.get("published.rope_theta") is None
    path = of({**QWEN3_8B, "config.name": "/data/merged", "config.rope_theta": 8e6})
    assert path.get("published.rope_theta") == 1e6


def test_theta_that_transformers_really_uses() -> None:
    written_by_5 = {**QWEN3_8B, "config.rope_form": "rope_parameters", "config.rope_theta": 1e6}
    facts = derived({"config.json": written_by_5, "pip.txt": {"pkg.transformers": "4.57.6", "pkg.torch": "2.8.0"}})
    assert facts.get("config.rope_effective") == 1e4
    assert facts.first("config.rope_effective").origin.path == "pip.txt"  # type: ignore[union-attr]  # a None fails the test
    new = derived({"config.json": written_by_5, "pip.txt": {"pkg.transformers": "5.24.0", "pkg.torch": "2.8.0"}})
    assert new.get("config.rope_effective") == 1e6
    assert of(written_by_5).get("config.rope_effective") is None, "the installed version decides and is not known"
    assert of({**QWEN3_8B, "config.rope_theta": 1e6}).get("config.rope_effective") == 1e6
    missing = of({**QWEN3_8B, "config.rope_form": "none", "pkg.transformers": "4.57.6"})
    assert missing.get("config.rope_effective") == 1e4


@pytest.mark.parametrize(
    ("facts", "fits"),
    [
        ({"launch.tp": 1, "launch.bf16": True}, False), ({"launch.tp": 8, "launch.bf16": True}, True),
        ({"launch.tp": 2, "config.dtype": "float32"}, False), ({"launch.tp": 1}, False),
        ({"launch.bf16": True}, None), ({"launch.tp": 1, "config.dtype": "torch.bfloat16"}, False),
    ],
)  # fmt: skip
def test_weights_per_core(facts, fits) -> None:
    found = of({**QWEN3_8B, "host.instance_type": "trn1.32xlarge", **facts})
    assert found.get("model.params") == pytest.approx(8.19e9, rel=0.01)
    assert found.get("model.fits_core") is fits


def test_size_from_the_name() -> None:
    facts = of({"launch.model": "acme/tuned-70B-chat", "launch.tp": 8, "launch.bf16": True, "host.instance_type": "inf2.48xlarge"})
    assert facts.get("model.params") == 70_000_000_000 and facts.get("model.fits_core") is False
    assert of({"launch.model": "bert-base-uncased"}).get("model.params") is None
    unstated = of({"launch.model": "acme/tuned-70B-chat", "launch.tp": 8, "host.instance_type": "inf2.48xlarge"})
    assert unstated.get("model.fits_core") is None, "nothing states the type of its weights"


def test_stored_weights_count_before_everything() -> None:
    facts = of({"weights.bytes": 6_000_000_000, "launch.tp": 1, "host.instance_type": "inf2.xlarge", "launch.model": "x/y-70b"})
    assert facts.get("model.weight_bytes") == 6_000_000_000 and facts.get("model.fits_core") is True


MOUNTS = ("/ ext4", "/home nfs4", "/home/a/scratch xfs", "/fsx lustre")


@pytest.mark.parametrize(
    ("directory", "kind"),
    [("/home/a/cache", "nfs4"), ("/home/a/scratch/c", "xfs"), ("/homes/x", "ext4"), ("s3://bucket/c", "s3"), ("/fsx", "lustre"),
     ("relative", None)],
)  # fmt: skip
def test_file_system_of_the_cache(directory: str, kind: str | None) -> None:
    assert of({"host.mounts": MOUNTS, "cc.cache_dir": directory}).get("cache.fstype") == kind


def test_the_default_cache_needs_a_trace_of_compiling() -> None:
    assert of({"host.mounts": ("/ overlay",), "cache.misses": 3}).get("cache.fstype") == "overlay"
    assert of({"host.mounts": ("/ overlay",)}).get("cache.fstype") is None
    assert of({"host.network_mounts": ("/fsx",), "cache.dirs": ("/fsx/cache",)}).get("cache.fstype") == "nfs"


@given(st.dictionaries(
    st.sampled_from(sorted({
        "host.instance_type", "neuron.devices", "neuron.dev_nodes", "launch.tp", "launch.nproc", "config.hidden_size",
        "config.name", "config.model_type", "pkg.torch", "pkg.neuronx_cc", "pkg.optimum_neuron", "pkg.transformers",
        "driver.loaded", "runtime.version", "host.kernel", "host.mounts", "cache.dirs", "env.NEURON_RT_VISIBLE_CORES",
        "python.version", "weights.bytes", "neuron.device_memory", "neuron.cores_per_device",
    })),
    st.one_of(st.none(), st.booleans(), st.integers(-5, 10**12), st.floats(), st.text(max_size=30),
              st.tuples(st.text(max_size=10), st.integers()), st.sampled_from(["2.8.0", "trn1.2xlarge", "Qwen/Qwen3-8B", "qwen3"])),
    max_size=12,
))  # fmt: skip
def test_derivations_never_raise_on_odd_values(facts) -> None:
    of(facts)


@pytest.mark.parametrize(("facts", "neuron"), [
    ({"host.elsewhere": "kernel 5.15.133.1-microsoft-standard-WSL2"}, False),
    ({"host.elsewhere": "macOS", "neuron.devices": 1}, None),  # the client's machine beside a host with a device
    ({"host.elsewhere": "macOS", "host.instance_type": "trn1.2xlarge"}, True),
])  # fmt: skip
def test_a_machine_that_is_no_ec2_instance(facts, neuron) -> None:
    assert of(facts).get("instance.is_neuron") is neuron


@pytest.mark.parametrize(("stacks", "calls"), [
    ((("rendezvous", "save", "train"), ("all_reduce", "step", "train")), ("rendezvous", "all_reduce")),
    ((("barrier", "wait_for_everyone", "main"), ("barrier", "main")), ("barrier",)),
    ((("send", "main"), ("recv", "main")), None),
])  # fmt: skip
def test_collectives_of_the_stack_dumps(stacks, calls) -> None:
    facts = derived({f"rank{number}.txt": {"python.stack": stack} for number, stack in enumerate(stacks)})
    assert facts.get("python.collectives") == calls


@pytest.mark.parametrize(("sizes", "cores"), [("4", 4), ("1,1,1,1", 4), ("4x2", 8), ("2x1,2", 4), ("x", None), ("9" * 30, None)])
def test_cores_of_the_groups_of_1x(sizes, cores) -> None:
    assert of({"env.NEURONCORE_GROUP_SIZES": sizes}).get("launch.cores_needed") == cores
