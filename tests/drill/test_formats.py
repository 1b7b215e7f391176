"""The forms of logs, caches and tables, against samples in the forms that are published."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from drill.conftest import MakeHost, run

from neuronwatch.drill import cache, runtime_memory
from neuronwatch.drill.clock import iso_stamp, nrt_stamp, syslog_stamp
from neuronwatch.drill.host import DrillHost

MOMENT = 1_787_307_243.25  # 2026-08-21 10:14:03 UTC


def test_stamps() -> None:
    assert nrt_stamp(MOMENT) == "2026-Aug-21 10:14:03.250000"
    assert nrt_stamp(MOMENT, digits=4) == "2026-Aug-21 10:14:03.0250"
    assert syslog_stamp(MOMENT - 14 * 86_400) == "Aug  7 10:14:03"
    assert iso_stamp(MOMENT) == "2026-08-21T10:14:03Z"


def test_lines_of_the_runtime(make_host: MakeHost) -> None:
    host = make_host(seconds=6)
    lines = (host.root / "var/log/neuron/qwen3-sft.0.log").read_text().splitlines()
    pid = host.machine.jobs[0].ranks()[0].pid  # type: ignore[attr-defined]
    head = rf"\d{{4}}-[A-Z][a-z]{{2}}-\d\d \d\d:\d\d:\d\d\.\d{{6}} {pid}:{pid}"
    assert re.fullmatch(
        head + r"  INFO   NRT:nrt_init                                Neuron Runtime 2\.28\.23\.0 built on .*", lines[0]
    )
    assert re.fullmatch(head + r"  INFO   NRT:nrt_init                                Found neuron driver: 2\.24", lines[1])
    assert re.fullmatch(
        head + r"  INFO  TDRV:tdrv_init_one_mla_phase2                Initialized Device: 0 0000:00:1e\.0", lines[4]
    )
    old = make_host(driver="2.10.11.0", seconds=6)
    first = (old.root / "var/log/neuron/qwen3-sft.0.log").read_text().splitlines()[0]
    assert re.match(r"\d{4}-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d\.\d{4} \d+:\d+ ", first), "four digits of a fraction"


def full(host: DrillHost) -> str:
    """What the first rank says when a tensor of 4 GiB finds no room."""
    machine = host.machine
    rank = next(machine.users())
    runtime_memory.full(machine, rank, rank.cores[0], "tensors", 4 << 30)
    host.render()
    return (host.root / rank.log[1:]).read_text()


def test_the_table_of_full_memory(make_host: MakeHost) -> None:
    text = full(make_host(seconds=120))
    table = text[text.index("Displaying Current") :].splitlines()
    assert "Failed to allocate 4.000GB (alignment: none, usage: tensors) on ND 0:NC 0" in text
    assert "LNC size is 1. Neuron Cores using this HBM: NC 0 and NC 1" in text
    rows = [line for line in table if line.startswith(("ND 0 Overall", "\\_NC ", "   "))]
    assert len({len(line) for line in rows if "|" in line}) == 1, "the columns stand under their heads"
    assert [line.split("|")[0].strip() for line in rows] == ["", "", "ND 0 Overall", "\\_NC 0", "\\_NC 1"]
    assert re.search(r'(?m)^1001: "2\.21\.33363\.0\+[0-9a-f]{8}-/var/tmp/neuron-compile-cache/neuronxcc-.*/model\.neff"$', text)
    old = full(make_host(driver="2.21.37.0", seconds=120))
    assert "Failed to allocate 4.000GB (usage: tensors) on ND 0:NC 0, current utilization:\n\t* total: " in old
    assert "\n\t* shared scratchpad: " in old and "Wrote nrt memory alloc debug info to /tmp/nrt_mem_log_device_0_" in old


@pytest.mark.parametrize(("state", "names"), [
    ("done", ["compile_flags.json", "model.done", "model.hlo_module.pb", "model.neff"]),
    ("failed", ["compile_flags.json", "model.hlo_module.pb", "model.log"]),
    ("locked", ["compile_flags.json", "model.hlo_module.pb", "model.hlo_module.pb.lock"]),
    ("empty-neff", ["compile_flags.json", "model.done", "model.hlo_module.pb", "model.neff"]),
    ("empty", []),
])  # fmt: skip
def test_entries_of_the_compile_cache(make_host: MakeHost, state: cache.State, names: list[str]) -> None:
    host = make_host(workload="idle", seconds=2)
    store = host.machine.cache
    entry = store.add(host.machine.rng, host.machine.now, state, size=3_000_000)
    host.render()
    where = host.root / store.where(entry.module)[1:]
    assert re.fullmatch(
        r"/var/tmp/neuron-compile-cache/neuronxcc-2\.21\.33363\.0\+[0-9a-f]{8}/MODULE_\d{19}\+e30acd3a", store.where(entry.module)
    )
    assert sorted(os.listdir(where)) == names
    if "model.neff" in names:
        assert (where / "model.neff").stat().st_size == (3_000_000 if state == "done" else 0)
    entry.state = "done"
    host.render()
    assert "model.neff" in os.listdir(where) and "model.log" not in os.listdir(where)
    del store.entries[entry.module]
    host.render()
    assert not where.exists()


def listed(host: DrillHost, *arguments: str) -> list[str]:
    program = str(host.root / "opt/aws/neuron/bin/neuron-ls")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()


def test_tables_of_other_generations(make_host: MakeHost) -> None:
    wide = listed(make_host("trn2.48xlarge", tools="2.22.61.0", workload="serve", seconds=4), "-w")
    assert wide[2] == "logical-neuroncore-config: 2"
    assert wide[4].startswith("| NEURON | NEURON | NEURON |   CONNECTED   |   PCI   |  PID  | ")
    assert wide[7].startswith("| 0      | 4      | 96 GB  | 12, 3, 4, 1   | cc:00.0 | ") and len(wide) == 7 + 16 + 1
    banner = listed(make_host("inf1.xlarge", tools="2.0.494.0", workload="idle", seconds=2))
    assert banner[0] == "Neuron Tools have changed with Neuron v1.16.0. Go here to learn more:" and banner[5].startswith("+--")
    chain = listed(make_host("inf2.24xlarge", workload="idle", seconds=2), "--topology")
    assert "[ 0 ]◄––►[ 1 ]◄––►[ 2 ]◄––►[ 3 ]◄––►[ 4 ]◄––►[ 5 ]" in chain


def test_a_log_is_rotated_by_rename(make_host: MakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    from neuronwatch.drill import files

    monkeypatch.setattr(files, "MAX_LOG", 4000)
    host = make_host("trn1.2xlarge", workload="serve", seconds=10)
    run(host, 900, step=10.0)
    directory = host.root / "var/log/jobs/qwen3-serve"
    assert sorted(os.listdir(directory)) == ["qwen3-serve.log", "qwen3-serve.log.1"]
    assert all((directory / name).stat().st_size < 8000 for name in os.listdir(directory))
    kept = (directory / "qwen3-serve.log.1").read_text()
    assert kept.endswith("\n") and (directory / "qwen3-serve.log").read_text().endswith("\n")
