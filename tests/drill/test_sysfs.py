"""The driver's tree: which files each driver version has, their modes and forms, and what the numbers mean."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import pytest
from drill.conftest import MakeHost, run

from neuronwatch.drill.files import Files
from neuronwatch.drill.host import DrillHost

NEURON = "sys/devices/virtual/neuron_device/neuron0"
CORE = f"{NEURON}/neuron_core1"


def names(host: DrillHost) -> set[str]:
    base = host.root / NEURON
    return {str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()}


ADDED = (
    ("2.8.4.0", "2.7.15.0", {"info/architecture/device_name", "neuron_core0/stats/other_info/reset_req_count/total"}),
    ("2.10.11.0", "2.9.4.0", {"neuron_core0/stats/memory_usage/device_mem/tensors/total", "stats/memory_usage/host_mem/tensors/peak"}),
    ("2.14.5.0", "2.13.4.0", {"stats/hardware/sram_ecc_uncorrected", "stats/hardware/mem_ecc_uncorrected"}),
    ("2.16.7.0", "2.15.9.0", {"neuron_core0/stats/status/oob_error/total"}),
    ("2.18.12.0", "2.17.17.0", {"neuron_core0/stats/memory_usage/device_mem/dma_rings/total"}),
    ("2.19.64.0", "2.18.20.0", {"neuron_core0/stats/status/hw_hbm_ue_error/present"}),
    ("2.21.37.0", "2.20.74.0", {"stats/power/utilization", "neuron_core0/stats/other_info/nc_time_in_use/total"}),
    ("2.23.9.0", "2.22.2.0", {"stats/hardware/mem_ecc_repairable_uncorrected", "neuron_core0/stats/tensor_engine/pe_cntrs"}),
    ("2.30.2.0", "2.29.0.0", {"stats/hardware/mem_ecc_corrected", "stats/hardware/health_status/unhealthy_components"}),
)  # fmt: skip


@pytest.mark.parametrize(("version", "before", "files"), ADDED)
def test_what_a_driver_version_brought(make_host: MakeHost, version: str, before: str, files: set[str]) -> None:
    new, old = names(make_host(driver=version, seconds=1)), names(make_host(driver=before, seconds=1))
    assert files <= new and not files & old and len(new) > len(old)


def test_the_whole_tree_of_one_version(make_host: MakeHost) -> None:
    """As of driver 2.25.4: 24 status counters, 6 others, 11 kinds of device memory, 8 of host memory."""
    host = make_host(driver="2.25.4.0", seconds=6)
    found = names(host)
    assert len([name for name in found if name.startswith("neuron_core0/stats/status/")]) == 2 * 24
    assert len([name for name in found if name.startswith("neuron_core0/stats/other_info/")]) == 2 * 6
    assert len([name for name in found if name.startswith("neuron_core0/stats/memory_usage/device_mem/")]) == 3 * 12
    assert len([name for name in found if name.startswith("stats/memory_usage/host_mem/")]) == 3 * 8

    def text(name: str) -> str:
        return (host.root / NEURON / name).read_text()

    assert (text("core_count"), text("connected_devices"), text("info/notify_delay")) == ("2", "\n", "0\n")
    assert re.fullmatch(r"[0-9a-f]{16}\n", text("info/serial_number"))
    architecture = [text(f"info/architecture/{name}") for name in ("arch_type", "instance_type", "device_name")]
    assert architecture == ["NDv2\n", "Trn1\n", "Trainium1\n"] and text("neuron_core0/info/architecture/arch_type") == "NCv2\n"
    assert re.fullmatch(r"POWER_STATUS_VALID,\d{10},\d+\.\d\d,\d+\.\d\d,\d+\.\d\d\n", text("stats/power/utilization"))
    assert re.fullmatch(
        r"xrow_grp,mm_active,wl_active,idle\n(?:[0-3],\d+,\d+,\d+\n){4}", text("neuron_core0/stats/tensor_engine/pe_cntrs")
    )
    mode = (host.root / NEURON / "core_count").stat().st_mode & 0o777
    assert mode == 0o400 and (host.root / NEURON / "stats/hardware/sram_ecc_uncorrected").stat().st_mode & 0o777 == 0o644
    assert (host.root / "sys/class/neuron_device/neuron0/core_count").read_text() == "2"
    newer = make_host(driver="2.28.0.0", seconds=1)
    assert (newer.root / NEURON / "core_count").stat().st_mode & 0o777 == 0o444


def test_physical_cores_are_counted(make_host: MakeHost) -> None:
    host = make_host("trn2.3xlarge", seconds=1)
    assert len(list((host.root / NEURON).glob("neuron_core*"))) == 8
    wide = make_host("trn1.32xlarge", seconds=1)
    assert (wide.root / NEURON / "connected_devices").read_text() == "12, 3, 4, 1\n"


def number(host: DrillHost, name: str) -> int:
    return int((host.root / CORE / name).read_text())


def test_memory_total_is_what_is_in_use_now(make_host: MakeHost) -> None:
    host = make_host(seconds=10)
    base = "stats/memory_usage/device_mem"
    used = number(host, f"{base}/total")
    kinds = ["collectives", "constants", "dma_rings", "driver_memory", "model_code", "model_shared_scratchpad", "nonshared_scratchpad",
             "notifications", "runtime_memory", "tensors", "uncategorized"]  # fmt: skip
    assert used == sum(number(host, f"{base}/{kind}/total") for kind in kinds) > 1 << 30
    host.machine.jobs[0].stop()
    host.render()
    assert number(host, f"{base}/total") == 0 and number(host, f"{base}/peak") >= used
    assert number(host, f"{base}/present") == used, "present is the last change"


@pytest.mark.parametrize(("driver", "live"), [("2.24.7.0", False), ("2.30.2.0", True)])
def test_executions_are_folded_in_at_the_exit_before_2_30_2(make_host: MakeHost, driver: str, live: bool) -> None:
    host = make_host(driver=driver, seconds=30, workload="serve")
    before = number(host, "stats/status/success/total")
    assert (before > 0) == live
    run(host, 30)
    assert (number(host, "stats/status/success/total") > before) == live
    host.machine.jobs[0].stop()
    host.render()
    assert number(host, "stats/status/success/total") > before
    assert number(host, "stats/other_info/inference_count/total") > 0


def test_counters_stay_in_the_same_inode(make_host: MakeHost) -> None:
    host = make_host(driver="2.30.2.0", seconds=10)
    path = host.root / CORE / "stats/status/success/total"
    descriptor = os.open(path, os.O_RDONLY)
    first = int(os.pread(descriptor, 64, 0))
    run(host, 20)
    assert int(os.pread(descriptor, 64, 0)) > first
    os.close(descriptor)


def test_a_reader_never_sees_half_a_number(tmp_path: Path) -> None:
    """Numbers that grow and shrink by digits, read all the while: each is one that was written."""
    files = Files(tmp_path)
    values = [9, 123_456_789_012, 7, 100, 99_999, 3]
    files.put("/n", f"{values[-1]}\n")
    descriptor = os.open(tmp_path / "n", os.O_RDONLY)
    seen: set[int] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.add(int(os.pread(descriptor, 64, 0).strip()))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(3000):
        for value in values:
            files.put("/n", f"{value}\n")
    stop.set()
    reader.join()
    os.close(descriptor)
    files.close()
    assert seen <= set(values)
