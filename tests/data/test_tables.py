"""The shipped tables: every row has a source, dates are dates, loaders agree with them; overlays add and never break."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from neuronwatch.data import constraints, instances, models, optimum, releases, tables
from neuronwatch.data.spec import satisfies, satisfies_any

HERE = Path(tables.__file__).parent


def test_shared_tables_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_sharing", False)
    tables.clear()
    plain = {name: tables.load(name) for name in tables.KEYS}
    tables.share()
    try:
        assert {name: tables.load(name) for name in tables.KEYS} == plain
        texts = [id(row) for release in tables.load("sdk_releases").rows for row in release["packages"].values()]
        assert len(set(texts)) < len(texts) / 2
    finally:
        monkeypatch.undo()
        tables.clear()


@pytest.fixture
def overlay(tmp_path: Path):
    yield tmp_path
    tables.use_overlays(())


@pytest.mark.parametrize("name", sorted(tables.KEYS))
def test_rows_have_sources_and_keys_are_unique(name: str) -> None:
    raw = json.loads((HERE / f"{name}.json").read_text())
    assert raw["table"] == name
    date.fromisoformat(raw["date"])
    keys = [tuple(str(row.get(part)) for part in tables.KEYS[name]) for row in raw["rows"]]
    assert len(set(keys)) == len(keys)
    for row in raw["rows"]:
        assert row["source"].strip()
        assert not re.search(r"(?:^|\s)/\w|corpus", row["source"]), "a source is public, not a path of somebody's machine"


def test_every_json_is_a_table() -> None:
    assert {path.stem for path in HERE.glob("*.json")} == set(tables.KEYS)


def test_releases_span_and_order() -> None:
    known = releases.releases()
    assert known[0].release == "2.32.0" and known[-1].release == "2.3.0" and len(known) >= 51
    for release in known:
        date.fromisoformat(release.date)
        assert "neuronx-cc" in release.packages and "aws-neuronx-dkms" in release.packages


@pytest.mark.parametrize(
    ("package", "version", "release"),
    [
        ("torch-neuronx", "2.8.0.2.10.16998", "2.26.1"),
        ("torch_neuronx", "2.8.0.2.10.16998+a1b2c3", "2.26.1"),
        ("neuronx-cc", "2.8.0.25+a3ad0f342", "2.12"),
        ("aws-neuronx-dkms", "2.30.2.0", "2.32.0"),
        ("aws-neuronx-runtime-lib", "2.32.31.0-0234f5ed2", "2.30.0"),
        ("neuronx-cc", "2.99.1.0", None),
        ("no-such-package", "1.0", None),
    ],
)
def test_release_of(package: str, version: str, release: str | None) -> None:
    assert releases.release_of(package, version) == release


@pytest.mark.parametrize(
    ("package", "version", "place"),
    [
        ("neuronx-cc", "2.27.5334.0", "listed"),
        ("neuronx-cc", "2.28.1.0", "newer"),
        ("neuronx-cc", "2.14.300.0", "between"),
        ("neuronx-cc", "1.0.post1", "older"),
        ("torch-neuronx", "2.1.1.1.1.12.0", "between"),
        ("torch-neuronx", "2.10.0.2.16.1", "newer"),
        ("numpy", "2.0", "unknown"),
        ("torch-neuron", "1.9.1.2.0.318.0", "older"),
    ],
)
def test_place(package: str, version: str, place: str) -> None:
    assert releases.place(package, version) == place


def test_invented_versions() -> None:
    assert releases.never_released("torch-neuronx", "2.1.1.1.1.12.0")
    assert not releases.never_released("torch-neuronx", "2.1.2.2.1.0")
    assert not releases.never_released("torch-neuronx", "2.10.0.2.16.1"), "newer than the data is unknown"
    assert not releases.never_released("neuronx-cc", "2.14.300.0"), "an unlisted build of a known line"
    assert optimum.never_released("4.41.2.1.1.12.0")
    assert not optimum.never_released("0.4.5") and not optimum.never_released("0.5.0")


def test_stubs_and_what_was_also_released() -> None:
    assert releases.is_stub("neuronx-cc", "1.0.post1") is True
    assert releases.is_stub("torch_neuronx", "0.0.0") is True
    assert releases.is_stub("neuronx-distributed-inference", "0.1.0") is None
    assert releases.is_stub("neuronx-cc", "2.21.33363.0") is False
    assert releases.is_stub("numpy", "1.0") is False


@pytest.mark.parametrize(
    ("version", "spec", "answer"),
    [
        ("4.57.6", "~=4.57.1", True), ("4.58.0", "~=4.57.1", False), ("4.57.0", "~=4.57.1", False),
        ("2.0.0", "~=2.0.0", True), ("2.1.0", "~=2.0.0", False), ("1.26.4", ">=1.22.2,<=1.26.4", True),
        ("2.8.0", "==2.8.0.*", True), ("2.8.1", "==2.8.0.*", False), ("2.8.0+cpu", "==2.8.0", True),
        ("0.24", "==0.24.0", True), ("1.0", "!=1.0", False), ("x", ">=1", None), ("1.0", "around 1", None),
    ],
)  # fmt: skip
def test_version_ranges(version: str, spec: str, answer: bool | None) -> None:
    assert satisfies(version, spec) is answer


def test_alternatives() -> None:
    assert satisfies_any("2.8.0", ["==1.13.1.*", "==2.8.0.*"]) is True
    assert satisfies_any("2.7.0", ["==1.13.1.*", "==2.8.0.*"]) is False
    assert satisfies_any("2.7.0", []) is None


def test_instances() -> None:
    trn1 = instances.find("ml.trn1.32xlarge")
    assert trn1 is not None
    assert (trn1.devices, trn1.cores(), trn1.core_memory() // instances.GIB, trn1.vcpus) == (16, 32, 16, 128)
    trn2 = instances.find("trn2.48xlarge")
    assert trn2 is not None
    assert (trn2.cores(), trn2.cores(1), trn2.core_memory() // instances.GIB) == (64, 128, 24)
    assert instances.find("trn9.48xlarge") is None
    assert instances.family("trn9.48xlarge") == "trn9" and instances.is_neuron("trn9.48xlarge") is True
    assert instances.is_neuron("g5.xlarge") is False and instances.is_neuron("Bochs") is None


@pytest.mark.parametrize(
    ("name", "theta"),
    [
        ("Qwen/Qwen3-8B", 1e6), ("Qwen3-4B-Instruct-2507", 5e6), ("Qwen/Qwen3-30B-A3B-Thinking-2507", 1e7),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", 1e7), ("/data/models/Llama-3.1-8B/", 5e5), ("meta-llama/Llama-2-7b-hf", 1e4),
        ("~/.cache/huggingface/hub/models--mistralai--Mistral-7B-Instruct-v0.2/snapshots/" + "0" * 40, 1e6),
        ("Qwen3-8B-FP8", 1e6), ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 1e4),
    ],
)  # fmt: skip
def test_published_theta_by_name(name: str, theta: float) -> None:
    found = models.by_name(name)
    assert found is not None and found[0].rope_theta == theta and found[1] == "name"


def test_a_fine_tune_counts_only_with_the_same_dimensions() -> None:
    same = {"hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32}
    found = models.by_name("acme/qwen3-8b-support-sft", same)
    assert found is not None and found[0].id == "Qwen/Qwen3-8B" and found[1] == "derived-name"
    assert models.by_name("acme/qwen3-8b-support-sft") is None
    assert models.by_name("acme/qwen3-8b-support-sft", {**same, "hidden_size": 2048}) is None
    assert models.by_name("./out/checkpoint-500") is None


@pytest.mark.parametrize(
    ("name", "billions"),
    [("Qwen/Qwen3-8B", 8.2), ("meta-llama/Llama-3.3-70B-Instruct", 70.6), ("mistralai/Mixtral-8x7B-v0.1", 46.7),
     ("Qwen/Qwen3-235B-A22B", 235.1), ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1.1)],
)  # fmt: skip
def test_parameters_follow_from_dimensions(name: str, billions: float) -> None:
    found = models.by_name(name)
    assert found is not None and found[0].params / 1e9 == pytest.approx(billions, abs=0.06)


@pytest.mark.parametrize(
    ("driver", "kernel", "builds"),
    [
        ("2.20.28.0", "6.14.0-1010-aws", False), ("2.24.7.0", "6.14.0-1010-aws", None), ("2.26.10.0", "6.14.0-1018-aws", True),
        ("2.30.2.0", "6.18.5-1.amzn2023.x86_64", True), ("2.26.5.0", "6.18.5-1.amzn2023.x86_64", False),
        ("2.30.2.0", "6.99.0-1-aws", None), ("2.22.2.0", "5.15.0-1066-aws", True), ("2.30.2.0", "5.4.0-1103-aws", False),
        ("2.20.28.0", "6.12.22-27.96.amzn2023.x86_64", None),
    ],
)  # fmt: skip
def test_kernel_support(driver: str, kernel: str, builds: bool | None) -> None:
    assert constraints.kernel_builds(driver, kernel)[0] is builds


def test_age_is_a_note() -> None:
    assert tables.age_note(1_787_000_000) is None
    note = tables.age_note(1_900_000_000)
    assert note is not None and "\n" not in note and tables.data_date() in note


def _write(path: Path, content: object) -> None:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(0o644)


def test_overlay_adds_and_replaces_rows(overlay: Path) -> None:
    row = {"release": "2.33.0", "date": "2026-10-01", "source": "site", "packages": {"neuronx-cc": [["2.28.1.0", "trn2", "3.12"]]}}
    _write(overlay / "more.json", {"table": "sdk_releases", "date": "2026-10-01", "rows": [row]})
    assert tables.use_overlays((overlay,)) == []
    assert releases.release_of("neuronx-cc", "2.28.1.0") == "2.33.0"
    assert releases.releases()[0].release == "2.33.0" and tables.data_date() == "2026-10-01"
    tables.use_overlays(())
    assert releases.release_of("neuronx-cc", "2.28.1.0") is None


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("{not json", "more.json"), ({"table": "nonsense", "date": "2026-01-01", "rows": []}, "table"),
        ({"table": "instance_types", "date": "soon", "rows": []}, "date"),
        ({"table": "instance_types", "date": "2026-01-01", "rows": [{"source": "x"}]}, "name"),
        ({"table": "instance_types", "date": "2026-01-01", "rows": [{"name": "trn9.x"}]}, "source"),
        ("[" * 100_000, "more.json"), ([], "table"),
    ],
)  # fmt: skip
def test_wrong_overlays_are_left_out(overlay: Path, content: object, word: str) -> None:
    _write(overlay / "more.json", content)
    problems = tables.use_overlays((overlay,))
    assert len(problems) == 1 and word in problems[0]
    assert instances.find("trn1.32xlarge") is not None


def test_overlay_rows_may_lack_columns(overlay: Path) -> None:
    """A row that a loader cannot use must not take the table down."""
    row = {"name": "trn9.xlarge", "source": "site"}
    _write(overlay / "more.json", {"table": "instance_types", "date": "2026-01-01", "rows": [row]})
    problems = tables.use_overlays((overlay,))
    assert problems and "trn9.xlarge" in problems[0]
    assert instances.find("trn1.32xlarge") is not None and instances.find("trn9.xlarge") is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX permissions")
def test_overlay_that_others_may_write_is_ignored(overlay: Path) -> None:
    _write(overlay / "more.json", {"table": "instance_types", "date": "2026-01-01", "rows": []})
    (overlay / "more.json").chmod(0o666)
    problems = tables.use_overlays((overlay,))
    assert problems and "writable" in problems[0]


def test_nothing_is_read_at_import() -> None:
    code = (
        "import sys, neuronwatch.data.releases, neuronwatch.data.models, neuronwatch.data.instances, neuronwatch.data.tables as t\n"
        "assert t.load.cache_info().currsize == 0\n"
        "assert not {'torch', 'transformers', 'rich', 'textual', 'psutil'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
