"""Facts of hosts made of files, of this machine, and of what may not be read."""

from __future__ import annotations

import gzip
import lzma
import os
import sqlite3
import struct
from pathlib import Path

import pytest
from host_support import TRN1, as_other_user, gathered, host

from neuronwatch.source.host import NO_NEURON, HostRoot, host_sources

ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")


def test_a_small_trainium_host(tmp_path: Path) -> None:
    facts, reports, texts = gathered(host(tmp_path, TRN1))
    assert facts.get("host.kernel") == "6.8.0-1021-aws" and facts.get("host.in_container") is False
    assert facts.get("host.instance_type") == "trn1.2xlarge" and facts.get("instance.cores") == 2
    assert facts.get("driver.loaded") == "2.26.10.0" and facts.get("driver.version") == "2.26.10.0"
    assert facts.get("driver.module_listed") is True and facts.get("driver.use_count") == 1
    assert facts.get("neuron.dev_nodes") == (0,) and facts.get("neuron.sysfs_devices") == (0,)
    assert not any(item.path == NO_NEURON for item in reports)
    tree = texts["host:/sys/devices/virtual/neuron_device"].decode()
    assert "/neuron0/stats/hardware/mem_ecc_uncorrected = 3\n" in tree and "reset" not in tree
    tool = next(item for item in reports if item.path == "host:neuron-ls -j")
    assert tool.state == "missing" and "not executed" in tool.reason


def test_a_machine_without_neuron_says_so_in_one_line(tmp_path: Path) -> None:
    facts, reports, _ = gathered(host(tmp_path, {
        "/proc/version": "Linux version 6.1.0-13-amd64 (x) #1\n", "/sys/class/dmi/id/product_name": "Standard PC\n",
        "/sys/bus/pci/devices/0000:00:00.0/vendor": "0x8086\n", "/sys/bus/pci/devices/0000:00:00.0/device": "0x1237\n",
    }))  # fmt: skip
    said = [item for item in reports if item.path == NO_NEURON]
    assert len(said) == 1 and "\n" not in said[0].reason
    assert facts.get("host.instance_type") is None and facts.get("neuron.dev_nodes") is None
    assert facts.get("host.kernel") == "6.1.0-13-amd64"


def test_an_instance_whose_driver_is_missing_still_shows_its_pci_devices(tmp_path: Path) -> None:
    files = {"/sys/class/dmi/id/product_name": "trn1.32xlarge\n", "/proc/modules": "ena 151552 0 - Live 0x0\n" * 6}
    for index in range(16):
        base = f"/sys/bus/pci/devices/0000:{16 + index:02x}:00.0"
        files |= {f"{base}/vendor": "0x1d0f\n", f"{base}/device": "0x7164\n", f"{base}/class": "0x088000\n"}
    for index in range(8):
        base = f"/sys/bus/pci/devices/0000:{64 + index:02x}:00.0"
        files |= {f"{base}/vendor": "0x1d0f\n", f"{base}/device": "0xefa1\n", f"{base}/class": "0x020000\n"}
    facts, reports, _ = gathered(host(tmp_path, files))
    assert facts.get("neuron.pci_devices") == 16 and facts.get("host.efa_devices") == 8
    assert facts.get("neuron.pci_listed") is True and facts.get("driver.module_listed") is False
    assert facts.get("neuron.dev_nodes") == () and facts.get("driver.loaded") is None
    assert not any(item.path == NO_NEURON for item in reports)


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz", ".zst"])
def test_version_of_the_module_on_disk(tmp_path: Path, suffix: str) -> None:
    plain = b"\x7fELF" + b"\0" * 5000 + b"license=GPL\0version=2.30.2.0\0description=Neuron\0"
    packed = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress, ".zst": _zstd}[suffix](plain)
    name = f"/lib/modules/6.8.0-1021-aws/updates/dkms/neuron.ko{suffix}"
    facts, _, _ = gathered(host(tmp_path, {**TRN1, name: packed}))
    assert facts.get("driver.on_disk") == "2.30.2.0" and facts.get("driver.loaded") == "2.26.10.0"
    assert facts.first("driver.on_disk").origin.path == f"host:{name}"  # type: ignore[union-attr]  # a None fails the test


def _zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("suffix", [".xz", ".gz", ".zst"])
def test_a_broken_module_is_a_report(tmp_path: Path, suffix: str) -> None:
    name = f"/lib/modules/6.8.0-1021-aws/updates/dkms/neuron.ko{suffix}"
    facts, reports, _ = gathered(host(tmp_path, {**TRN1, name: b"not packed at all"}))
    assert any(item.path == f"host:{name}" and item.state == "failed" for item in reports)
    assert facts.get("driver.loaded") == "2.26.10.0"


def test_dkms_added_built_installed(tmp_path: Path) -> None:
    log = "/var/lib/dkms/aws-neuronx/2.20.28.0/build/make.log"
    added = host(tmp_path / "a", {**TRN1, log: "error: too few arguments to function\n"})
    facts, _, texts = gathered(added)
    assert facts.get("driver.dkms_status") == "added" and facts.get("driver.dkms_kernels") == ()
    assert f"host:{log}" in texts
    kernel = "6.8.0-1021-aws"
    installed = host(tmp_path / "b", {
        **TRN1, f"/var/lib/dkms/aws-neuronx/2.26.10.0/{kernel}/x86_64/module/neuron.ko": "x",
        f"/lib/modules/{kernel}/updates/dkms/neuron.ko": "x", f"/lib/modules/{kernel}/build/Makefile": "x",
    })  # fmt: skip
    facts, _, _ = gathered(installed)
    assert facts.get("driver.dkms_status") == "installed" and facts.get("driver.dkms_kernels") == (kernel,)
    assert facts.get("host.kernel_headers") == (kernel,)


DPKG = """Package: adduser
Status: install ok installed
Version: 3.118ubuntu5

Package: aws-neuronx-dkms
Status: install ok installed
Priority: extra
Version: 2.26.10.0
Description: Neuron driver
 with a long text

Package: aws-neuronx-runtime-lib
Status: install ok installed
Version: 2.30.51.0-1a2b3c4d5

Package: aws-neuronx-tools
Status: deinstall ok config-files
Version: 2.19.0.0
"""


def test_debian_packages(tmp_path: Path) -> None:
    facts, _, texts = gathered(host(tmp_path, {**TRN1, "/var/lib/dpkg/status": DPKG}))
    assert facts.get("driver.package") == "2.26.10.0" and facts.get("pkg.aws_neuronx_runtime_lib") == "2.30.51.0"
    assert facts.get("runtime.version") == "2.30.51.0" and facts.get("compat.driver_too_old") is False
    assert facts.get("pkg.aws_neuronx_tools") is None, "removed, only its configuration is left"
    assert b"adduser" not in texts["host:/var/lib/dpkg/status"]


def _rpm_blob(**tags: str) -> bytes:
    numbers = {"name": 1000, "version": 1001, "release": 1002, "arch": 1022}
    index, data = b"", b""
    for name, value in tags.items():
        index += struct.pack(">IIII", numbers[name], 6, len(data), 1)
        data += value.encode() + b"\0"
    return struct.pack(">II", len(tags), len(data)) + index + data


def test_rpm_database_without_rpm(tmp_path: Path) -> None:
    root = host(tmp_path, {**TRN1, "/var/lib/rpm/.keep": ""})
    connection = sqlite3.connect(tmp_path / "var/lib/rpm/rpmdb.sqlite")
    connection.execute("CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, blob BLOB NOT NULL)")
    for tags in (
        {"name": "aws-neuronx-dkms", "version": "2.29.0.0", "release": "dkms", "arch": "noarch"},
        {"name": "bash", "version": "5.2.15", "release": "1.amzn2023", "arch": "x86_64"},
        {"name": "kernel-devel", "version": "6.1.134", "release": "152.225.amzn2023", "arch": "x86_64"},
    ):
        connection.execute("INSERT INTO Packages (blob) VALUES (?)", (_rpm_blob(**tags),))
    connection.commit()
    connection.close()
    facts, _, texts = gathered(root)
    assert facts.get("driver.package") == "2.29.0.0"
    assert b"bash" not in texts["host:rpm -qa"] and b"kernel-devel-6.1.134-152.225.amzn2023.x86_64" in texts["host:rpm -qa"]


def test_a_broken_rpm_database_is_a_report(tmp_path: Path) -> None:
    _, reports, _ = gathered(host(tmp_path, {**TRN1, "/var/lib/rpm/rpmdb.sqlite": b"\0" * 4096}))
    assert any(item.format == "rpm" and item.state == "failed" for item in reports)


def _environment(prefix: str, python: str = "python3.10", **packages: str) -> dict[str, str]:
    site = f"{prefix}/lib/{python}/site-packages"
    files = {f"{site}/{name}-{version}.dist-info/METADATA": "x" for name, version in packages.items()}
    return {**files, f"{prefix}/pyvenv.cfg": "home = /usr/bin\nversion = 3.10.12\n", f"{prefix}/bin/python": ""}


def test_python_environments(tmp_path: Path) -> None:
    files = {
        **TRN1, **_environment("/opt/aws_neuronx_venv_pytorch", torch_neuronx="2.8.0.2.10.16998", neuronx_cc="2.21.33363.0"),
        **_environment("/home/ec2-user/plain", requests="2.31.0"),
    }  # fmt: skip
    facts, _, texts = gathered(host(tmp_path, files))
    assert facts.get("sdk.release") == "2.26.1" and facts.get("python.version") == "3.10.12"
    assert [name for name in texts if name.endswith("pip-list")] == ["host:/opt/aws_neuronx_venv_pytorch/pip-list"]


@pytest.mark.parametrize("named", ["/home/ec2-user/plain", "/home/ec2-user/plain/bin/python", "/home/ec2-user/plain/"])
def test_an_environment_that_is_named(tmp_path: Path, named: str) -> None:
    files = {**TRN1, **_environment("/home/ec2-user/plain", transformers="4.57.6", torch="2.8.0")}
    facts, _, _ = gathered(host(tmp_path, files), named)
    assert facts.get("pkg.transformers") == "4.57.6"


def test_a_named_environment_that_is_not_there(tmp_path: Path) -> None:
    _, reports, _ = gathered(host(tmp_path, TRN1), "/no/such/venv")
    assert any(item.format == "python" and item.path == "host:/no/such/venv" for item in reports)


def test_metadata_where_the_name_of_the_directory_does_not_tell(tmp_path: Path) -> None:
    site = "/venv/lib/python3.11/site-packages"
    files = {
        f"{site}/odd.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: libneuronxla\nVersion: 2.2.12677.0\n\nVersion: 9\n",
        f"{site}/neuronx_cc-2.21.33363.0+82129205.dist-info/METADATA": "",
        f"{site}/evil-1.0;rm -rf.dist-info/METADATA": "",
    }
    facts, _, _ = gathered(host(tmp_path, files), "/venv")
    assert facts.get("pkg.libneuronxla") == "2.2.12677.0"
    assert facts.get("pkg.neuronx_cc") == "2.21.33363.0+82129205"


def _process(pid: int, command: str, *, opens: tuple[str, ...] = (), where: Path, environ: str = "") -> None:
    base = where / f"proc/{pid}"
    (base / "fd").mkdir(parents=True)
    (base / "stat").write_text(f"{pid} ({command.split()[0][:15]}) S 1 " + " ".join(["0"] * 40))
    (base / "cmdline").write_bytes(command.replace(" ", "\0").encode() + b"\0")
    (base / "environ").write_bytes(environ.replace("\n", "\0").encode())
    for number, target in enumerate(opens, start=3):
        (base / f"fd/{number}").symlink_to(target)


def test_processes_and_holders(tmp_path: Path) -> None:
    root = host(tmp_path, TRN1)
    _process(900, "python3 train.py --lr 1e-4", opens=("/dev/null", "/dev/neuron0"), where=tmp_path,
             environ="NEURON_RT_VISIBLE_CORES=0-1\nAWS_SECRET_ACCESS_KEY=planted\nHF_TOKEN=planted")  # fmt: skip
    _process(901, "neuronx-cc compile --target=trn1 model.hlo", opens=("/dev/null",), where=tmp_path)
    facts, _, texts = gathered(root)
    assert facts.get("neuron.busy_pids") == (900,) and facts.get("neuron.holders") == ("python3",)
    assert facts.get("process.compilers") == 1 and facts.get("process.listed") is True
    assert facts.get("env.NEURON_RT_VISIBLE_CORES") == "0-1" and facts.get("runtime.visible_count") == 2
    assert not any(b"planted" in data for data in texts.values())


def test_nobody_holds_the_device(tmp_path: Path) -> None:
    root = host(tmp_path, TRN1)
    _process(900, "sshd -D", opens=("/dev/null",), where=tmp_path)
    facts, _, _ = gathered(root)
    assert facts.get("neuron.holders") == () and facts.get("neuron.busy_pids") == ()


@ROOT
def test_what_another_user_may_not_see(tmp_path: Path) -> None:
    root = host(tmp_path, TRN1)
    _process(900, "python3 train.py", opens=("/dev/neuron0",), where=tmp_path)
    (tmp_path / "proc/900/fd").chmod(0o700)
    (tmp_path / "sys/devices/virtual/neuron_device/neuron0/core_count").chmod(0o400)
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(0o755)

    def look() -> None:
        found = list(host_sources(root))
        reasons = [getattr(item, "reason", "") for item in found]
        assert any("open files of 1 processes" in reason for reason in reasons)
        assert any("1 files of the driver may not be read" in reason for reason in reasons)
        assert not any(getattr(item, "name", "") == "neuron.holders" for item in found), "unknown, not nobody"

    as_other_user(look)


def test_denied_device_nodes(tmp_path: Path) -> None:
    root = host(tmp_path, {**TRN1, "/dev/neuron1": ""})
    (tmp_path / "dev/neuron0").chmod(0o666)
    (tmp_path / "dev/neuron1").chmod(0o600)
    facts, _, _ = gathered(root)
    assert facts.get("neuron.dev_denied") == (1,)
    assert "-rw-------" in facts.first("neuron.dev_denied").origin.text  # type: ignore[union-attr]  # a None fails the test


NEURON_LS = """[{"neuron_device": 0, "bdf": "00:1e.0", "connected_to": null, "nc_count": 2, "memory_size": 34359738368,
"neuron_processes": [{"pid": 900, "command": "python3 train.py", "neuron_runtime_version": "2.30.51"}]}]"""


def _neuron_ls(where: Path, script: str) -> None:
    path = where / "opt/aws/neuron/bin/neuron-ls"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_neuron_ls_where_it_may_run(tmp_path: Path) -> None:
    root = host(tmp_path, TRN1, allow_exec=True)
    _neuron_ls(tmp_path, f"test \"$1\" = -j && cat <<'X'\n{NEURON_LS}\nX")
    facts, _, _ = gathered(root)
    assert facts.get("neuron.devices") == 1 and facts.get("neuron.device_memory") == 34359738368
    assert facts.get("instance.devices_missing") == 0


def test_a_neuron_ls_that_fails_tells_in_its_own_words(tmp_path: Path) -> None:
    root = host(tmp_path, TRN1, allow_exec=True)
    _neuron_ls(tmp_path, "echo 'level=error msg=\"no neuron device\"' >&2; exit 1")
    _, _, texts = gathered(root)
    assert b"no neuron device" in texts["host:neuron-ls -j"]


def test_control_groups(tmp_path: Path) -> None:
    group = "/sys/fs/cgroup/kubepods.slice/pod1"
    facts, _, _ = gathered(host(tmp_path / "v2", {
        **TRN1, "/proc/self/cgroup": "0::/kubepods.slice/pod1\n", "/proc/1/cgroup": "0::/kubepods.slice/pod1/x\n",
        f"{group}/memory.max": "17179869184\n", f"{group}/memory.current": "17179000000\n", f"{group}/cpu.max": "200000 100000\n",
        f"{group}/memory.events": "low 0\noom 4\noom_kill 3\n",
    }))  # fmt: skip
    assert facts.get("cgroup.memory_max") == 16 * 1024**3 and facts.get("cgroup.cpus") == 2.0
    assert facts.get("host.cgroup_oom_kills") == 3 and facts.get("host.in_container") is True
    old = "/sys/fs/cgroup/memory/docker/abc"
    facts, _, _ = gathered(host(tmp_path / "v1", {
        **TRN1, "/proc/self/cgroup": "4:memory:/docker/abc\n", f"{old}/memory.limit_in_bytes": "9223372036854771712\n",
        f"{old}/memory.usage_in_bytes": "1000\n",
    }))  # fmt: skip
    assert facts.get("cgroup.memory_max") is None and facts.get("cgroup.memory_current") == 1000


def test_kernel_log_of_files(tmp_path: Path) -> None:
    line = "Nov 13 00:24:25 ip-10-0-0-5 kernel: [ 88.1] Out of memory: Killed process 4242 (neuronx-cc) anon-rss:1kB\n"
    facts, _, texts = gathered(host(tmp_path, {**TRN1, "/var/log/kern.log": line}))
    assert "host:/var/log/kern.log" in texts and facts.get("kernel.oom_process") == "neuronx-cc"
    _, reports, _ = gathered(host(tmp_path / "none", TRN1))
    assert any(item.format == "kernel-log" and "cannot be read" in item.reason for item in reports)


def test_compile_cache(tmp_path: Path) -> None:
    base = "/var/tmp/neuron-compile-cache/neuronxcc-2.21.33363.0+82129205"
    files = {
        f"{base}/MODULE_1+aaaaaaaa/model.neff": "neff", f"{base}/MODULE_1+aaaaaaaa/model.done": "",
        f"{base}/MODULE_2+aaaaaaaa/model.log": "failed", f"{base}/MODULE_2+aaaaaaaa/model.hlo_module.pb": "x",
        f"{base}/MODULE_3+aaaaaaaa/model.hlo_module.pb.lock": "", f"{base}/MODULE_4+aaaaaaaa/model.neff": "",
    }  # fmt: skip
    facts, _, _ = gathered(host(tmp_path, {**TRN1, **files}))
    assert "MODULE_2+aaaaaaaa" in str(facts.get("cache.failed_entry"))
    assert "MODULE_3+aaaaaaaa" in str(facts.get("cache.lock")) and facts.get("cache.lock_time") is not None
    assert "MODULE_4+aaaaaaaa" in str(facts.get("cache.empty_neff"))


def test_this_machine() -> None:
    """Whatever it is: nothing raises, the kernel is known, and there is at most one line about missing hardware."""
    facts, reports, _ = gathered(HostRoot("/"))
    assert facts.get("host.kernel") == os.uname().release if os.uname().sysname == "Linux" else True
    assert facts.get("host.now") is not None
    assert sum(item.path == NO_NEURON for item in reports) <= 1
    assert all("\n" not in item.reason for item in reports)


@ROOT
def test_this_machine_as_another_user() -> None:
    def look() -> None:
        found = list(host_sources(HostRoot("/")))
        assert any(getattr(item, "path", "") == "host:/proc/version" for item in found)

    as_other_user(look)


def test_hostile_files_of_a_host(tmp_path: Path) -> None:
    """Deep trees, odd names and garbage in every file that is read."""
    files = {name: bytes(range(256)) * 4 for name in TRN1 if not name.startswith("/dev")}
    files["/proc/77/stat"] = b"77 (a) b) S"
    files["/proc/self/cgroup"] = b"4:memory:/../../../etc\n0::\n::::\n"
    files["/opt/venv/lib/python3.10/site-packages/a-1.dist-info/METADATA"] = b"\xff" * 100
    deep = "/sys/devices/virtual/neuron_device/neuron0/" + "/".join(["x"] * 40)
    files[f"{deep}/value"] = b"1"
    root = host(tmp_path, {**files, "/dev/neuron0": ""})
    (tmp_path / "sys/devices/virtual/neuron_device/neuron0/self").symlink_to(".")
    facts, _, _ = gathered(root)
    assert facts.get("neuron.dev_nodes") == (0,)


def test_a_neuron_ls_that_hangs_is_a_source_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from neuronwatch.source.host import tools

    monkeypatch.setattr(tools, "TIMEOUT", 0.3)
    root = host(tmp_path, TRN1, allow_exec=True)
    _neuron_ls(tmp_path, "sleep 30")
    facts, reports, _ = gathered(root)
    assert facts.get("source.unavailable") == ("neuron-ls: no answer within 0.3 s",)
    assert any(item.path == "host:neuron-ls -j" and item.state == "failed" for item in reports)


def test_the_image_and_an_operators_lock(tmp_path: Path) -> None:
    facts, _, _ = gathered(host(tmp_path, {
        **TRN1, "/run/cloud-init/instance-data.json": '{"ds": {"meta_data": {"ami-id": "ami-0123456789abcdef0"}}}',
        "/etc/neuronwatch/neuronwatch.lock.toml": 'schema = "neuronwatch.lock/1"\n[driver]\nloaded = "2.24.7.0"\n',
    }))  # fmt: skip
    assert facts.get("host.image") == "ami-0123456789abcdef0"
    assert facts.get("lock.drift") == ("driver.loaded: locked 2.24.7.0, found 2.26.10.0",)


def test_a_bare_interpreter_name_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import stat

    for name, content in _environment("/venv", torch_neuronx="2.8.0.2.10.16998").items():
        path = tmp_path / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (tmp_path / "venv/bin/python").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(tmp_path / "venv/bin"))
    facts, _, _ = gathered(HostRoot("/"), "python")
    assert facts.get("pkg.torch_neuronx") == "2.8.0.2.10.16998"
