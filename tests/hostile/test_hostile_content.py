"""Hostile content of single files: sizes, encodings, numbers, depth, headers that lie, locks."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest
from hostile_support import ANSWER, FAULT, MIB, diagnose, evidence, one_line_error, run, still_judged

DIGITS = "9" * 5000
INTEGER = "9" * 400
"""Fewer digits than those at which Python refuses to read a number, and more than a float can hold."""


def test_a_line_of_500_megabytes(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    with (root / "long.log").open("wb") as out:
        block = b"word and word, 12 " * (MIB // 18)
        for _ in range(250):
            out.write(block)
        out.write(FAULT.encode() + b" ")
        for _ in range(250):
            out.write(block)
    result = still_judged(diagnose(root, memory=150))
    assert {item["path"] for item in result.json["findings"][0]["evidence"]} >= {"long.log"}
    assert all(len(item["text"]) <= 2000 for finding in result.json["findings"] for item in finding["evidence"])


def test_a_big_plain_log_needs_little_memory(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    with (root / "big.log").open("wb") as out:
        block = b"".join(b"2026-01-02 03:04:05 INFO step %d of the run, nothing to see\n" % n for n in range(20_000))
        for _ in range(150):
            out.write(block)
            out.write(f"{FAULT}\n".encode())
    still_judged(diagnose(root, memory=80))


def test_a_sparse_file_of_ten_gigabytes(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    for name, at in (("hole.log", 0), ("end.log", (10 << 30) - 4096)):
        with (root / name).open("wb") as out:
            out.truncate(10 << 30)
            out.seek(at)
            out.write(f"\n{FAULT}\n".encode())
    if (root / "hole.log").stat().st_blocks * 512 > 1 << 30:
        pytest.skip("this file system has no holes")
    still_judged(diagnose(root, seconds=20))
    assert run("collect", root, "-o", tmp_path / "b.tar.gz", seconds=20, memory=200).code == 0


@pytest.mark.parametrize("content", [
    b"\0" * 100_000 + FAULT.encode(), FAULT.encode().replace(b" ", b"\0 "), b"\xff\xfe" + FAULT.encode("utf-16-le"),
    ("\ufeff" + FAULT).encode("utf-8"), FAULT.encode("utf-16-be"), b"\x80\xfe" * 3000 + b"\n" + FAULT.encode(), bytes(range(256)) * 4000,
    b"\r" * 500_000 + FAULT.encode(), b"\n" * 2_000_000, "\u2028\u2029\x85\x0b\x0c\x1c".encode() * 10_000, b"\x1b[" * 200_000, b"\x1b]52;c;" * 50_000,
    b"[rank3]: " * 100_000, b"2026-01-01T00:00:00Z " * 50_000, ("\u0130" * 100_000 + FAULT).encode(), b"\xf0\x9f" * 100_000, b"\xd8\x00\xdc" * 50_000,
    b"\xff\xfe\0\0" + b"\xff" * 4001, b"\xff\xfe" + b"\x00\xd8" * 5001, b"PK\x03\x04" + b"\xff" * 100, b"\x1f\x8b\x08" + b"\xff" * 100,
    b"\x28\xb5\x2f\xfd" + b"\xff" * 100, b"BZh9" + b"\xff" * 100, b"\xfd7zXZ\0" + b"\xff" * 100, b"\x7fELF" + b"\0" * 5000,
], ids=lambda value: repr(value[:12])[2:-1])  # fmt: skip
def test_odd_bytes(tmp_path: Path, content: bytes) -> None:
    still_judged(diagnose(evidence(tmp_path / "e", {"odd.log": content}), seconds=15))


CONFIG = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
          "num_hidden_layers": 36, "vocab_size": 151936, "rope_theta": 1000000, "torch_dtype": "bfloat16"}  # fmt: skip


@pytest.mark.parametrize("value", [
    DIGITS, "-" + DIGITS, INTEGER, "-" + INTEGER, "1" * 4299, "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "0", "-8", "1e-320", "99999999999999999999", "1e308", '"8"', '"²"', '"٣"',
    "[[[]]]", "{}", "null", "true", '"' + "x" * 5000 + '"', "[" * 20_000 + "]" * 20_000, '{"a":' * 20_000 + "1" + "}" * 20_000, "0.5", '"\\ud800"', '"\\u0000"',
], ids=lambda value: value[:12])  # fmt: skip
def test_every_number_of_a_config_is_unreasonable(tmp_path: Path, value: str) -> None:
    text = "{" + ", ".join(f'"{key}": {value}' for key in CONFIG) + "}"
    one = {f"{key}.json": json.dumps({**CONFIG, key: "@"}).replace('"@"', value) for key in CONFIG}
    script = (
        "torchrun --nproc_per_node=32 train.py --tensor_parallel_size " + value[:100] + " --model_max_length " + value[:100] + "\n"
    )
    still_judged(diagnose(evidence(tmp_path / "e", {"config.json": text, "run.sh": script, **one}), seconds=20))


def test_duplicate_keys_and_depth(tmp_path: Path) -> None:
    files = {
        "config.json": '{"model_type": "llama", "model_type": "qwen3", "num_attention_heads": 0, "num_attention_heads": -1}',
        "deep.json": "[" * 5_000_000, "deep2.json": '{"model_type": "qwen3", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "wide.json": '{"model_type": "qwen3"' + "".join(f', "k{n}": {n}' for n in range(200_000)) + "}",
        "trainer_state.json": '{"log_history": [' + ",".join(f'{{"loss": 1e{n % 400}, "step": {DIGITS[:n % 600 + 1]}}}' for n in range(3000)) + "]}",
        "adapter_config.json": '{"peft_type": "LORA", "r": ' + DIGITS + ', "lora_alpha": -1, "target_modules": {"a": [1]}}',
        "model.safetensors.index.json": '{"metadata": {"total_size": 1e999}, "weight_map": {"a": 1, "b": null, "c": {}}}',
        "neuron_config.json": '{"tp_degree": "x", "batch_size": [], "continuous_batching": 7, "world_size": -0}',
    }  # fmt: skip
    still_judged(diagnose(evidence(tmp_path / "e", files), seconds=20))


@pytest.mark.parametrize("length", [0, 1, 2, 100, 99_999_999, 100_000_001, 2**31, 2**63, 2**64 - 1])
def test_safetensors_with_a_lying_length(tmp_path: Path, length: int) -> None:
    head = b'{"__metadata__": {"format": "pt"}, "w": {"dtype": "BF16", "shape": [999999999999, 99999999], "data_offsets": [0, 18446744073709551616]}}'
    files = {
        "model.safetensors": struct.pack("<Q", length) + head + b"\0" * 1000,
        "m2.safetensors": struct.pack("<Q", len(head)) + head,
    }
    result = diagnose(evidence(tmp_path / "e", files))
    assert ANSWER in result.faults and result.faults[0] in (ANSWER, "train.checkpoint-torn")


def test_numbers_in_logs_and_listings(tmp_path: Path) -> None:
    """The superscript two is a digit for str.isdigit() and no number for int()."""
    lines = []
    for n in ("²³", "٣٤", "①", DIGITS, INTEGER, "-" + INTEGER, "1e999", "-1", "99999999999999999999", "0x10", "1_0", "nan", ""):
        lines += [
            f"{{'loss': {n}, 'grad_norm': {n}, 'learning_rate': {n}, 'epoch': {n}}}", f"Requested:nc{n}-nc{n} Available:{n}", f"neuron: nd{n} ECC error {n}",
            f"INFO 07-24 10:11:12 [metrics.py:455] Avg prompt throughput: {n} tokens/s, Running: {n} reqs, Waiting: {n} reqs, GPU KV cache usage: {n}%",
            f"| {n}      | {n}      | {n} GB  | {n}, {n} | 00:{n}.0 |", f"Mem: {n} {n} {n} {n} {n} {n}", f"neuron {n} {n}", f"open files (-n) {n}", f"exit code {n}",
            f"  aws.amazon.com/neuron: {n}", f"export NEURON_CC_FLAGS='-O{n} --lnc={n}'", f"export NEURON_RT_VISIBLE_CORES={n}-{n}", f"torchrun --nproc_per_node={n} a.py --tp {n}",
            f"Out of memory: Killed process {n} (python) total-vm:{n}kB, anon-rss:{n}kB", f"/dev/vda1 {n} {n} {n} {n}% /", f"step {n}/{n} loss {n} {n}it/s", f"neuronx-cc {n}.{n}.{n}.{n}",
        ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    files = {
        "a.log": text,
        "b.log": "\n".join("[rank" + line for line in lines),
        "c.sh": "#!/bin/bash\n" + text,
        "d.txt": text.replace(" ", "\t"),
    }
    result = still_judged(diagnose(evidence(tmp_path / "e", files), seconds=20))
    assert not any("parser" in reason for reason in result.sources.values()), result.sources


def test_bombs_of_yaml_toml_and_shell(tmp_path: Path) -> None:
    levels = "\n".join(f"l{n}: &l{n} [" + ", ".join([f"*l{n - 1}"] * 9) + "]" for n in range(1, 12))
    files = {
        "bomb.yaml": f"apiVersion: v1\nkind: Pod\nl0: &l0 [x]\n{levels}\nspec: *l11\n", "deep.yaml": "kind: Pod\n" + "".join(" " * n + "a:\n" for n in range(3000)),
        "deep.toml": "schema = " + "[" * 50_000, "num.toml": f"schema = {DIGITS}\n", "bomb.sh": "x=$(" * 20_000 + "\ntorchrun " + "'" * 9999 + "\\\n" * 50_000,
        "braces.sh": "torchrun a.py " + "{a,b}" * 2000, "here.sh": "cat <<EOF\n" * 5000, "Dockerfile": "FROM x\nRUN a && \\\n" * 20_000,
        "deep.py": "x = " + "(" * 5000 + "\nSFTConfig(" + "a=" * 5000, "nb.ipynb": '{"cells": [' + '{"cell_type": "code", "source": ["' + "x" * 100_000 + '"]},' * 50,
        "env": "A=" + "x" * MIB + "\n" + "\n".join(f"V{n}=1" for n in range(50_000)), "inspect.json": '[{"Id": "x", "State": ' + "[" * 50_000,
    }  # fmt: skip
    still_judged(diagnose(evidence(tmp_path / "e", files), seconds=30))


LOCK = 'schema = "neuronwatch.lock/1"\n'


@pytest.mark.parametrize("content", [
    b"", b"\xff\xfe", b"not toml", b"[[[[", b"schema = 1", b"schema = 'neuronwatch.lock/99'", LOCK.encode() + b"host = 1", LOCK.encode() + b"[host]\nkernel = 5",
    LOCK.encode() + b"[host]\nkernel = [1]", LOCK.encode() + b"[packages]\ntorch = {a = 1}", LOCK.encode() + b"[nonsense]\na = 1", LOCK.encode() + b"x = " + DIGITS.encode(),
    LOCK.encode() + b"x = " + b"[" * 50_000, LOCK.encode() + b"[packages]\n" + b"a = 'b'\na = 'c'\n", LOCK.encode() + b"[host]\nkernel = nan", b"a" * (5 * MIB), b"\0" * 100,
    LOCK.encode() + b"[host]\nkernel = 1979-05-27T07:32:00Z",
], ids=lambda value: repr(value[-24:])[2:-1])  # fmt: skip
def test_lock_files_that_are_none(tmp_path: Path, content: bytes) -> None:
    root = evidence(tmp_path / "e", {})
    lock = tmp_path / "l.toml"
    lock.write_bytes(content)
    for argv in (("diagnose", "--lock", lock, root), ("lock", "check", "--lock", lock, "--from", root)):
        result = run(*argv)
        if result.code == 64:
            one_line_error(result, "l.toml")
        else:
            assert result.code in (0, 1, 2, 3)


def test_a_lock_that_is_a_directory_a_pipe_or_not_there(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    os.mkfifo(tmp_path / "fifo")
    for lock in (tmp_path, tmp_path / "none", tmp_path / "fifo", Path("/dev/zero"), tmp_path / ("x" * 300)):
        one_line_error(run("diagnose", "--lock", lock, root, timeout=30), str(lock.name)[:100])
        one_line_error(run("lock", "check", "--lock", lock, "--from", root, timeout=30), str(lock.name)[:100])


def test_environment_variables_and_rows_without_end(tmp_path: Path) -> None:
    files = {
        "env.txt": "".join(f"NEURON_RT_X{n}={n}\n" for n in range(60_000)),
        "dpkg.txt": "".join(f"ii  aws-neuronx-p{n}  {n}.0.{n % 7}  amd64  x\n" for n in range(20_000)),
        "pip.txt": "Package Version\n------- -------\n" + "".join(f"pkg{n} {n}.0.{n % 7}\n" for n in range(100_000)),
    }
    result = still_judged(diagnose(evidence(tmp_path / "e", files), memory=130))
    assert "more than 20,000 facts" in result.sources["env.txt"]
