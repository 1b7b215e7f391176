"""Command lines of the dialect `docker` as facts."""

from __future__ import annotations

from dialect_support import facts, values


def test_devices_environment_and_inner_command() -> None:
    command = (
        "docker run -it -p 8000:8000 --device /dev/neuron0 --device=/dev/neuron1 -e NEURON_RT_NUM_CORES=4 --s"
        "hm-size 10g --ulimit memlock=-1:-1 img:1 vllm serve m -tp 4"
    )
    found = facts(command)
    assert found["launch.in_container"] is True
    assert found["launch.image"] == "img:1"
    assert found["launch.devices_passed"] == (0, 1)
    assert found["env.NEURON_RT_NUM_CORES"] == "4"
    assert found["docker.shm_size"] == 10 * 1024**3
    assert found["limit.locked_memory"] == -1
    assert found["launch.tp"] == 4
    assert values(command, "launch.program") == ["vllm", "docker"]


def test_no_device_passed_is_an_empty_list() -> None:
    found = facts("sudo docker run -d --rm --name x --privileged img python serve.py")
    assert found["launch.devices_passed"] == ()
    assert found["launch.privileged"] is True


def test_image_that_takes_flags_alone() -> None:
    found = facts("docker run -e HF_BATCH_SIZE=1 --device=/dev/neuron0 ghcr.io/huggingface/neuronx-tgi:0.0.21 --model-id m/x")
    assert found["launch.program"] == "text-generation-launcher"
    assert found["launch.model"] == "m/x"
    assert found["launch.batch_size"] == 1


def test_build_is_no_launch() -> None:
    assert "launch.in_container" not in facts("docker build -t x .")


def test_exec_runs_inside() -> None:
    found = facts("docker exec -it c1 torchrun --nproc_per_node 2 a.py")
    assert found["launch.in_container"] is True
    assert found["launch.nproc"] == 2
    assert "launch.devices_passed" not in found
