"""The lock: written in a stable order and in one step, read strictly, compared line by line, heard by the judge."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.cli.main import main
from neuronwatch.judge.derive.lock import compare
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin, Value
from neuronwatch.parse.neuronwatch_lock import LockError, entries
from neuronwatch.source import facts as sources
from neuronwatch.store import lockfile

PIP = """Package          Version
---------------- ----------------------
accelerate       1.8.1
datasets         4.0.0
libneuronxla     2.2.12677.0
neuronx-cc       2.21.33363.0+82129205
numpy            1.26.4
optimum          2.0.0
optimum-neuron   0.4.5
peft             0.17.0
requests         2.32.0
torch            2.8.0
torch-neuronx    2.8.0.2.10.16998
transformers     4.57.6
trl              0.24.0
"""
CONFIG = {
    "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 36,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "rope_theta": 1000000,
    "vocab_size": 151936, "max_position_embeddings": 40960, "transformers_version": "4.57.1",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Files of a host and a model."""
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence/pip-list.txt").write_text(PIP)
    (tmp_path / "evidence/uname.txt").write_text("Linux ip-10-0-0-5 6.8.0-1021-aws #23 SMP x86_64 GNU/Linux\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def lock(run: Path, *arguments: str) -> int:
    options = ["--lock", str(run / "the.lock.toml"), "--model", str(run / "model")]
    return main(["lock", *arguments, "--from", str(run / "evidence"), *options])


def test_write_then_check(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lock(run, "write") == 0
    text = (run / "the.lock.toml").read_text()
    assert 'kernel = "6.8.0-1021-aws"' in text and 'neuronx-cc = "2.21.33363.0+82129205"' in text
    assert "rope_theta = 1000000.0" in text and "requests" not in text
    capsys.readouterr()
    assert lock(run, "check") == 0
    assert capsys.readouterr().out.startswith("lock check: ")


def test_drift_line_by_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock(run, "write")
    (run / "evidence/pip-list.txt").write_text(
        PIP.replace("2.21.33363.0+82129205", "2.27.5334.0          ").replace("peft             0.17.0\n", "")
    )
    (run / "model/config.json").write_text(json.dumps({**CONFIG, "rope_theta": 10000000}))
    capsys.readouterr()
    assert lock(run, "check") == 1
    out = capsys.readouterr().out.splitlines()
    assert "lock drift: config.rope_theta: locked 1000000.0, found 10000000.0" in out
    assert "lock drift: pkg.neuronx_cc: locked 2.21.33363.0+82129205, found 2.27.5334.0" in out
    assert "lock drift: pkg.peft: locked 0.17.0, found not installed" in out
    assert lock(run, "check", "--format", "json") == 1
    told = json.loads(capsys.readouterr().out)
    assert {item["fact"] for item in told["drift"]} == {"config.rope_theta", "pkg.neuronx_cc", "pkg.peft"}
    cc = next(item for item in told["drift"] if item["fact"] == "pkg.neuronx_cc")
    assert cc["found_at"]["path"].endswith("pip-list.txt") and cc["found_at"]["line"] == 6
    assert cc["locked_at"]["text"].startswith("neuronx-cc = ")


def test_what_is_not_known_is_not_drift(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock(run, "write")
    (run / "evidence/pip-list.txt").unlink()
    capsys.readouterr()
    assert lock(run, "check") == 0
    assert "not known here, not compared" in capsys.readouterr().out


def test_a_part_of_a_listing_proves_no_absence(run: Path) -> None:
    lock(run, "write")
    (run / "evidence/pip-list.txt").write_text("Package Version\n------- -------\ntorch 2.8.0\ntransformers 4.57.6\n")
    assert lock(run, "check") == 0


def test_the_old_lock_is_kept(run: Path) -> None:
    path = run / "the.lock.toml"
    path.write_text("old")
    assert lock(run, "write") == 0
    assert (run / "the.lock.toml.bak").read_text() == "old"
    assert [item.name for item in run.iterdir() if item.name.startswith(".")] == []


def test_two_locks_of_one_state_differ_in_their_time_only(run: Path) -> None:
    view = sources.gather(sources.of_paths([run / "evidence"]))
    one, two = lockfile.text_of(view, 0), lockfile.text_of(view, 86_400)
    different = [a for a, b in zip(one.splitlines(), two.splitlines(), strict=True) if a != b]
    assert different == ['written = "1970-01-01T00:00:00Z"']


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        ('schema = "neuronwatch.lock/1"\n[host]\nkernal = "6.8"\n', 3, "did you mean `kernel`"),
        ('schema = "neuronwatch.lock/1"\n\n[packges]\nx = "1"\n', 3, "did you mean `packages`"),
        ('schema = "neuronwatch.lock/1"\n[host]\nkernel = [1]\n', 3, "text or a number"),
        ('schema = "neuronwatch.lock/2"\n', 1, "newer"), ("x = 1\n", 1, "schema"),
        ('schema = "neuronwatch.lock/1"\n[host\n', 2, "TOML"), ('schema = "neuronwatch.lock/1"\nhost = 3\n', 2, "section"),
        ('schema = "neuronwatch.lock/1"\n[packages]\n"a b" = "1"\n', 3, "package name"),
    ],
)  # fmt: skip
def test_wrong_locks_say_file_and_line(run: Path, capsys: pytest.CaptureFixture[str], content: str, line: int, word: str) -> None:
    (run / "the.lock.toml").write_text(content)
    with pytest.raises(LockError) as caught:
        entries(content)
    assert word in str(caught.value)
    capsys.readouterr()
    assert lock(run, "check") == 64
    said = capsys.readouterr().err
    assert "the.lock.toml:" in said and word in said and said.count("\n") == 1
    if "TOML" not in word and '"a b"' not in content:
        assert f"the.lock.toml:{line}:" in said


def test_no_lock_no_model_no_path(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "check", "--lock", str(run / "nothing")]) == 64
    assert "lock write" in capsys.readouterr().err
    assert main(["lock", "write", "--model", str(run / "nothing")]) == 64
    assert main(["lock", "write", "--from", str(run / "nothing")]) == 64


def test_a_place_that_cannot_be_written(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "write", "--from", str(run / "evidence"), "--lock", str(run / "no/such/dir/lock")]) == 1
    assert "--lock FILE" in capsys.readouterr().err


def test_diagnose_hears_of_drift(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock(run, "write")
    (run / "evidence/uname.txt").write_text("Linux ip-10-0-0-5 6.8.0-1024-aws #23 SMP x86_64 GNU/Linux\n")
    capsys.readouterr()
    main(["diagnose", str(run / "evidence"), "--lock", str(run / "the.lock.toml"), "--format", "json"])
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert facts["lock.drift"] == ["host.kernel: locked 6.8.0-1021-aws, found 6.8.0-1024-aws"]
    (run / "the.lock.toml").rename(run / "evidence/odd-name.txt")
    main(["diagnose", str(run / "evidence"), "--format", "json"])
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert facts["lock.drift"] == ["host.kernel: locked 6.8.0-1021-aws, found 6.8.0-1024-aws"], "found by its content"
    assert facts["lock.file"] == "odd-name.txt"
    assert main(["diagnose", str(run / "evidence"), "--lock", str(run / "nothing")]) == 64


def test_a_broken_lock_in_the_evidence_is_a_remark(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "evidence/lock.toml").write_text('schema = "neuronwatch.lock/1"\n[host]\nkernal = "6.8"\n')
    main(["diagnose", str(run / "evidence"), "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    source = next(item for item in told["sources"] if item["path"] == "lock.toml")
    assert "lock not used" in source["reason"] and "lock.drift" not in told["facts"]


def view(**facts: Value) -> FactsView:
    return FactsView(Fact(name.replace("__", "."), value, Origin(name)) for name, value in facts.items())


@pytest.mark.parametrize(
    ("locked", "found", "same"),
    [
        ("2.21.33363.0+82129205", "2.21.33363.0", True), ("2.21.33363.0+82129205", "2.21.33363.0+aaaaaaaa", False),
        (1000000, 1000000.0, True), (1000000.0, 10000.0, False), ("6.8.0-1021-aws", "6.8.0-1021-aws", True), ("yarn", "", False),
    ],
)  # fmt: skip
def test_equality(locked: Value, found: Value, same: bool) -> None:
    result = compare(view(locked__config__x=locked, config__x=found))
    assert bool(result.same) is same and bool(result.differ) is not same


def test_one_of_several_readings_as_locked_is_enough() -> None:
    readings = (("locked.host.kernel", "6.8"), ("host.kernel", "6.8"), ("host.kernel", "5.15"))
    facts = FactsView(Fact(name, value, Origin(f"{name} {value}")) for name, value in readings)
    assert not compare(facts).differ


NAMES = ["host.hostname", "host.kernel", "host.os", "config.name", "pkg.torch", "config.rope_theta"]


@given(st.dictionaries(
    st.sampled_from(NAMES), st.one_of(st.text(max_size=60), st.integers(-(10**6), 10**9), st.floats(allow_nan=False), st.none()),
))  # fmt: skip
def test_what_is_written_is_read_back(facts: dict[str, Value]) -> None:
    known = FactsView(Fact(name, value, Origin("x")) for name, value in facts.items())
    found = {entry.fact: entry.value for entry in entries(lockfile.text_of(known, 0))}
    for name, value in found.items():
        assert value == facts[name] or str(value) == str(facts[name]).encode("utf-8", "replace").decode()


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    for content in (text, 'schema = "neuronwatch.lock/1"\n' + text):
        with contextlib.suppress(LockError):
            entries(content)


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_the_lock_is_readable_by_others(run: Path) -> None:
    lock(run, "write")
    assert (run / "the.lock.toml").stat().st_mode & 0o777 == 0o644
