"""Versions against each other: what is documented, what is unknown, what is not a fault."""

from __future__ import annotations

import pytest
from derive_support import derived, of

SDK_2_26_1 = {
    "pkg.neuronx_cc": "2.21.33363.0+82129205", "pkg.torch_neuronx": "2.8.0.2.10.16998", "pkg.libneuronxla": "2.2.12677.0",
    "pkg.neuronx_distributed": "0.15.22404", "pkg.torch": "2.8.0", "pkg.torch_xla": "2.8.1",
}  # fmt: skip


def test_one_release() -> None:
    facts = of(SDK_2_26_1)
    assert facts.get("sdk.release") == "2.26.1" and facts.get("sdk.releases") == ("2.26.1",)
    assert facts.get("compat.sdk_skew") is False and facts.get("compat.torch_mismatch") is False
    assert facts.get("compat.reasons") is None


def test_a_package_of_another_release_is_skew() -> None:
    facts = of({**SDK_2_26_1, "pkg.neuronx_cc": "2.23.6484.0"})
    assert facts.get("compat.sdk_skew") is True
    named = facts.get("compat.sdk_skew_packages")
    assert isinstance(named, tuple) and "neuronx-cc 2.23.6484.0 (SDK 2.28)" in named
    origin = facts.first("compat.sdk_skew").origin  # type: ignore[union-attr]  # a None fails the test
    assert origin.path == "facts.txt" and origin.line == 1 and "2.23.6484.0" in origin.text


def test_patch_releases_of_one_minor_are_one() -> None:
    facts = of({"pkg.neuronx_cc": "2.14.213.0", "pkg.torch_neuronx": "2.1.2.2.2.0", "pkg.libneuronxla": "2.0.2335"})
    assert facts.get("compat.sdk_skew") is False and facts.get("sdk.release") == "2.19.0"
    facts = of({"pkg.neuronx_cc": "2.21.18209.0", "pkg.torch_neuronx": "2.8.0.2.10.16998"})
    assert facts.get("compat.sdk_skew") is False and facts.get("sdk.release") == "2.26"


def test_newer_than_the_data_is_unknown_not_skew() -> None:
    facts = of({**SDK_2_26_1, "pkg.neuronx_cc": "2.40.1.0"})
    assert facts.get("compat.sdk_skew") is False, "the packages that are known fit each other"
    assert facts.get("compat.newer_than_data") == ("neuronx-cc==2.40.1.0",)
    assert of({"pkg.neuronx_cc": "2.40.1.0", "pkg.torch_neuronx": "2.8.0.2.10.16998"}).get("compat.sdk_skew") is None


def test_two_environments_in_two_files_are_not_mixed() -> None:
    facts = derived({
        "host/pip.txt": {"pkg.neuronx_cc": "2.21.33363.0", "pkg.torch_neuronx": "2.8.0.2.10.16998"},
        "container/pip.txt": {"pkg.neuronx_cc": "2.23.6484.0", "pkg.torch_neuronx": "2.9.0.2.12.22436"},
    })  # fmt: skip
    assert facts.get("compat.sdk_skew") is False


def test_two_versions_in_one_file_judge_nothing() -> None:
    from neuronwatch.judge.derive.sdk import derive
    from neuronwatch.judge.facts import FactsView
    from neuronwatch.model.records import Fact, Origin

    view = FactsView([
        Fact("pkg.neuronx_cc", "2.21.33363.0", Origin("log", 1)), Fact("pkg.neuronx_cc", "2.23.6484.0", Origin("log", 9)),
        Fact("pkg.torch_neuronx", "2.8.0.2.10.16998", Origin("log", 2)),
    ])  # fmt: skip
    assert not [fact for fact in derive(view) if fact.name == "compat.sdk_skew"]


def test_placeholders_of_pypi() -> None:
    facts = of({"pkg.torch_neuronx": "1.0", "pkg.neuronx_cc": "1.0.post1", "pkg.neuronx_distributed_inference": "0.1.0"})
    assert facts.get("sdk.stub_packages") == (
        "neuronx-cc 1.0.post1", "neuronx-distributed-inference 0.1.0", "torch-neuronx 1.0",
    )  # fmt: skip
    assert facts.get("compat.sdk_skew") is None
    real = of({"pkg.neuronx_distributed_inference": "0.1.0", "pkg.neuronx_cc": "2.16.345.0"})
    assert real.get("sdk.stub_packages") is None


def test_legacy_packages() -> None:
    facts = of({"pkg.aws_neuron_dkms": "2.3.26.0", "pkg.aws_neuronx_tools": "2.24.54.0"})
    assert facts.get("sdk.legacy_packages") == ("aws-neuron-dkms 2.3.26.0",)


def test_invented_versions() -> None:
    facts = of({"pkg.torch_neuronx": "2.1.1.1.1.12.0", "pkg.optimum_neuron": "4.41.2.1.1.12.0"})
    assert set(facts.get("compat.unreleased")) == {"torch-neuronx==2.1.1.1.1.12.0", "optimum-neuron==4.41.2.1.1.12.0"}  # type: ignore[arg-type]  # a None fails the test


@pytest.mark.parametrize(
    ("driver", "runtime", "extra", "driver_old", "runtime_old"),
    [
        ("2.26.10.0", "2.32.31.0", {}, True, False),
        ("2.28.0.0", "2.32.31.0", {}, False, False),
        ("2.29.0.0", "2.32.31.0", {}, False, True),
        ("2.30.2.0", "2.34.10.0", {}, False, False),
        ("2.26", "2.32.31.0", {}, True, False),
        ("1.5.0.0", "2.2.0.0", {}, True, False),
        ("2.20.20.0", "2.24.53.0", {}, None, False),
        ("2.20.20.0", "2.24.53.0", {"host.instance_type": "trn2.48xlarge"}, True, False),
        ("2.20.20.0", "2.24.53.0", {"host.instance_type": "trn1.32xlarge"}, False, False),
        ("2.20", "2.24.53.0", {"host.instance_type": "trn2.48xlarge"}, None, False),
        ("2.40.0.0", "2.99.0.0", {}, None, None),
    ],
)
def test_driver_and_runtime(driver, runtime, extra, driver_old, runtime_old) -> None:
    facts = of({"driver.loaded": driver, "runtime.version": runtime, **extra})
    assert facts.get("compat.driver_too_old") is driver_old
    assert facts.get("compat.runtime_too_old") is runtime_old
    assert bool(facts.all("compat.reasons")) is (driver_old is True or runtime_old is True)


def test_any_runtime_in_the_evidence_counts() -> None:
    facts = derived({
        "container.log": {"runtime.version": "2.32.31.0"}, "host/dpkg.txt": {"runtime.version": "2.28.23.0"},
        "host/dmesg.txt": {"driver.loaded": "2.24.7.0"},
    })  # fmt: skip
    assert facts.get("compat.driver_too_old") is True
    assert facts.first("compat.driver_too_old").origin.path == "host/dmesg.txt"  # type: ignore[union-attr]  # a None fails the test


def test_the_loaded_module_is_the_driver_in_force() -> None:
    facts = of({"driver.package": "2.30.2.0", "driver.loaded": "2.26.10.0", "runtime.found_driver": "2.26"})
    assert facts.get("driver.version") == "2.26.10.0"
    assert of({"pkg.aws_neuronx_dkms": "2.30.2.0"}).get("driver.version") == "2.30.2.0"
    assert of({"pkg.aws_neuronx_runtime_lib": "2.34.10.0"}).get("runtime.version") == "2.34.10.0"


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ({"driver.package": "2.22.2.0", "host.kernel": "6.14.0-1010-aws"}, True),
        ({"driver.package": "2.30.2.0", "host.kernel": "6.14.0-1010-aws"}, False),
        ({"driver.package": "2.30.2.0", "host.kernel": "7.2.0-1-aws"}, None),
        ({"driver.loaded": "2.24", "host.kernel": "6.14.0-1010-aws"}, None),
        ({"host.kernel": "6.14.0-1010-aws"}, None),
    ],
)
def test_kernel_and_driver(facts, answer) -> None:
    assert of(facts).get("compat.kernel_unsupported") is answer


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ({"host.instance_type": "inf1.xlarge", "runtime.version": "2.25.57.0"}, True),
        ({"host.instance_type": "inf1.xlarge", "driver.loaded": "2.26.5.0"}, True),
        ({"host.instance_type": "inf1.xlarge", "driver.loaded": "2.21.37.0"}, None),
        ({"host.instance_type": "trn1.2xlarge", "driver.loaded": "2.26.5.0"}, False),
        ({"driver.loaded": "2.26.5.0"}, None),
    ],
)
def test_generations(facts, answer) -> None:
    assert of(facts).get("compat.hw_unsupported") is answer


def test_frameworks_of_newer_generations() -> None:
    plugin = {"pkg.vllm_neuron": "0.24.0.1.1.0", "pkg.vllm": "0.24.0"}
    assert of({**plugin, "host.instance_type": "trn1.32xlarge"}).get("compat.framework_unsupported") is True
    assert of({**plugin, "host.instance_type": "trn2.48xlarge"}).get("compat.framework_unsupported") is False
    assert of(plugin).get("compat.framework_unsupported") is None


OPTIMUM = {"pkg.optimum_neuron": "0.4.5", "pkg.transformers": "4.57.6", "pkg.trl": "0.24.0", "pkg.peft": "0.17.0",
           "pkg.accelerate": "1.8.1", "pkg.optimum": "2.0.0"}  # fmt: skip


def test_hugging_face_pins() -> None:
    assert of(OPTIMUM).get("compat.hf_skew") is False
    facts = of({**OPTIMUM, "pkg.transformers": "5.8.0", "pkg.trl": "1.16.0"})
    assert facts.get("compat.hf_skew") is True
    assert facts.get("compat.hf_skew_packages") == (
        "transformers 5.8.0, optimum-neuron 0.4.5 pins ~=4.57.1", "trl 1.16.0, optimum-neuron 0.4.5 pins ==0.24.0",
    )  # fmt: skip
    assert of({"pkg.torch_neuronx": "2.9.0.2.15.32035", "pkg.transformers": "5.1.0"}).get("compat.hf_skew") is True
    assert of({"pkg.optimum_neuron": "0.4.6.dev4", "pkg.transformers": "4.57.6"}).get("compat.hf_skew") is None
    assert of({"pkg.transformers": "5.8.0", "pkg.torch": "2.13.0"}).get("compat.hf_skew") is None


def test_optimum_and_its_sdk() -> None:
    facts = of({**OPTIMUM, "pkg.neuronx_cc": "2.27.5334.0"})
    assert facts.get("compat.optimum_sdk_skew") is True
    assert of({**OPTIMUM, **SDK_2_26_1}).get("compat.optimum_sdk_skew") is False


def test_torch_lines() -> None:
    assert of({"pkg.torch": "2.0.1", "pkg.torch_xla": "1.13.1+torchneuronb"}).get("compat.torch_mismatch") is True
    assert of({"pkg.torch": "2.1.2+cu121", "pkg.torch_neuronx": "2.1.2.2.2.0"}).get("compat.torch_mismatch") is False
    assert of({"pkg.torch": "2.8.0", "pkg.torch_neuronx": "1.0"}).get("compat.torch_mismatch") is None
    assert of({"pkg.torch": "1.13.1", "pkg.torch_neuron": "1.13.1.2.11.13.0"}).get("compat.torch_mismatch") is False


def test_vllm_and_its_plugin() -> None:
    assert of({"pkg.vllm": "0.24.0", "pkg.vllm_neuron": "0.24.0.1.1.0"}).get("compat.vllm_skew") is False
    assert of({"pkg.vllm": "0.26.1", "pkg.vllm_neuron": "0.24.0.1.1.0"}).get("compat.vllm_skew") is True
    assert of({"pkg.vllm": "0.16.0", "pkg.vllm_neuron": "0.4.1"}).get("compat.vllm_skew") is True
    assert of({"pkg.vllm": "0.11.0", "pkg.optimum_neuron": "0.4.5"}).get("compat.vllm_skew") is False
    assert of({"pkg.vllm": "0.12.0", "pkg.optimum_neuron": "0.4.5"}).get("compat.vllm_skew") is True
    assert of({"pkg.vllm": "0.12.0"}).get("compat.vllm_skew") is None


def test_python_wheels() -> None:
    assert of({"python.version": "3.9.18", "pkg.neuronx_cc": "2.23.6484.0"}).get("compat.python_unsupported") is True
    assert of({"python.version": "3.11.9", "pkg.neuronx_cc": "2.23.6484.0"}).get("compat.python_unsupported") is False
    assert of({"python.version": "3.12.1", "pkg.optimum_neuron": "0.4.5"}).get("compat.python_unsupported") is True
    assert of({"python.version": "3.12.1"}).get("compat.python_unsupported") is None


def test_third_parties() -> None:
    facts = of({"pkg.neuronx_cc": "2.21.33363.0", "pkg.numpy": "2.4.6"})
    assert len(facts.get("compat.third_party")) == 1  # type: ignore[arg-type]  # a None fails the test
    assert of({"pkg.neuronx_cc": "2.22.12471.0", "pkg.numpy": "2.4.6"}).get("compat.third_party") is None


def test_tools_and_runtime() -> None:
    old = of({"pkg.aws_neuronx_tools": "2.18.3.0", "pkg.aws_neuronx_runtime_lib": "2.34.10.0"})
    assert old.get("compat.tools_too_old") is True
    same = of({"pkg.aws_neuronx_tools": "2.32.28.0", "pkg.aws_neuronx_runtime_lib": "2.34.10.0"})
    assert same.get("compat.tools_too_old") is False


def test_a_model_type_that_transformers_does_not_know() -> None:
    facts = of({"config.model_type": "qwen3", "pkg.transformers": "4.41.2", "pkg.torch": "2.1.2"})
    assert facts.get("compat.transformers_lacks_model") is True
    assert of({"config.model_type": "qwen3", "pkg.transformers": "4.57.6"}).get("compat.transformers_lacks_model") is False
