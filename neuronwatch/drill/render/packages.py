"""What is installed: dpkg's database, the driver's module on disk and in DKMS, the venv of the jobs, /etc/os-release."""

from __future__ import annotations

import json

from neuronwatch.drill import spec
from neuronwatch.drill.files import Files
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.machine import Machine
from neuronwatch.drill.tools import PROGRAMS, install

STATUS = "/var/lib/dpkg/status"


class Packages:
    """Rewritten only when a version changed."""

    def __init__(self, machine: Machine, files: Files) -> None:
        self._machine = machine
        self._files = files
        self._venv: dict[str, str] = {}
        self._module = ("", "", "", "")
        version = machine.software.os_version
        name = {"18.04": "bionic", "20.04": "focal"}.get(version, "jammy")
        files.put("/etc/os-release", f'PRETTY_NAME="Ubuntu {version}.5 LTS"\nNAME="Ubuntu"\nVERSION_ID="{version}"\nVERSION="{version}.5 LTS"\n'
                  f"VERSION_CODENAME={name}\nID=ubuntu\nID_LIKE=debian\n")  # fmt: skip
        who = {"ami-id": machine.identity.ami, "instance-id": machine.identity.instance_id, "instance-type": machine.kind.name}
        files.put("/run/cloud-init/instance-data.json", json.dumps({"ds": {"meta_data": who}}) + "\n")
        self._kernel: tuple[str, bool] = ("", False)
        self._tools = True
        python = "3.8" if machine.kind.family == "inf1" else "3.10"
        self._site = f"{VENV}/lib/python{python}/site-packages"
        files.put(f"{VENV}/pyvenv.cfg", f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {python}.12\n")
        if machine.software.legacy:
            files.put("/opt/aws/neuron/bin/neuron-rtd", "", 0o755)
        files.put(f"{VENV}/bin/activate", '# This file must be used with "source bin/activate" *from bash*\n')

    def render(self) -> None:
        software = self._machine.software
        if self._kernel != (software.kernel, software.headers):
            self._kernel = (software.kernel, software.headers)
            self._files.directory(f"/lib/modules/{software.kernel}/kernel")
            if software.headers:
                self._files.directory(f"/lib/modules/{software.kernel}/build")
        rows = {"linux-image-" + software.kernel: software.kernel.removesuffix("-aws") + ".33~22.04.1",
                "linux-headers-" + software.kernel: software.kernel.removesuffix("-aws") + ".33~22.04.1", "dkms": "2.8.7-2ubuntu2.2",
                "libxml2": "2.9.13+dfsg-1ubuntu0.7"}  # fmt: skip
        if software.legacy:
            rows.update({"aws-neuron-dkms": software.driver, "aws-neuron-runtime": "1.6.24.0", "aws-neuron-tools": software.tools})
        else:
            rows.update({"aws-neuronx-dkms": software.driver, "aws-neuronx-runtime-lib": software.runtime,
                         "aws-neuronx-tools": software.tools, "aws-neuronx-collectives": software.collectives})  # fmt: skip
        rows.update(software.added)
        rows = {name: version for name, version in rows.items() if version and name not in software.missing}
        if not software.headers:
            rows.pop("linux-headers-" + software.kernel)
        self._files.put(STATUS, "\n".join(
            f"Package: {name}\nStatus: install ok installed\nPriority: optional\nSection: misc\nMaintainer: Amazon AWS\n"
            f"Architecture: amd64\nVersion: {version}\nDescription: {name}\n" for name, version in sorted(rows.items())))  # fmt: skip
        self._python(software)
        self._driver(software)
        if self._tools != ("aws-neuronx-tools" not in software.missing):
            self._tools = not self._tools
            if self._tools:
                install(self._files, self._machine.kind.family)
            else:
                for name in ("neuron-ls", "neuron-monitor", "neuron-top"):
                    self._files.remove(PROGRAMS[name][0])

    def _python(self, software: spec.Software) -> None:
        for name in set(self._venv) - set(software.python):
            self._files.remove(self._info(name, self._venv[name]))
        for name, version in software.python.items():
            if self._venv.get(name) != version:
                if name in self._venv:
                    self._files.remove(self._info(name, self._venv[name]))
                self._files.put(
                    f"{self._info(name, version)}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                )
        self._venv = dict(software.python)

    def _info(self, name: str, version: str) -> str:
        return f"{self._site}/{name.replace('-', '_')}-{version}.dist-info"

    def _driver(self, software: spec.Software) -> None:
        module = f"/lib/modules/{software.kernel}/updates/dkms/neuron.ko"
        state = (module, software.on_disk, software.driver, software.build_log)
        if state == self._module:
            return
        if self._module[0]:
            self._files.remove(self._module[0])
            self._files.remove("/var/lib/dkms/aws-neuronx")
        self._module = state
        base = f"/var/lib/dkms/aws-neuronx/{'.'.join(software.driver.split('.')[:4])}"
        if software.driver and not software.on_disk:
            self._files.link(f"{base}/source", f"/usr/src/aws-neuronx-{software.driver}")
            if software.build_log:
                self._files.put(f"{base}/build/make.log", software.build_log)
        if software.on_disk:
            self._files.put(module, b"\x7fELF\x02\x01\x01" + b"\0" * 57 + b"\0version=" + software.on_disk.encode() + b"\0"
                            b"license=GPL\0description=Neuron Driver, built from SHA: 3f1d0c9b7a\0author=Annapurna Labs\0" + b"\0" * 4096)  # fmt: skip
            self._files.put(f"{base}/{software.kernel}/x86_64/log/make.log", "DKMS make.log for aws-neuronx\n")
