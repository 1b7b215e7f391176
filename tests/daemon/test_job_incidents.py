"""What a supervised job writes is followed by the daemon: its incident is there, and can be exported as a test."""

from __future__ import annotations

import subprocess
import sys

import pytest
from daemon_support import Daemon, until

from neuronwatch.daemon.client import Client

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs pidfd")
SAYS = (
    "2024-01-09 10:11:00.000230:  40101  ERROR ||NEURON_CC_WRAPPER||: Got a cached failed neff at "
    "/var/tmp/neuron-compile-cache/neuronxcc-2.12.68.0+4480452af/MODULE_11203961494150985019+6bd63055/model.neff. "
    "Will skip compilation, please set --retry_failed_compilation for recompilation:"
)


def test_the_incident_of_a_job_is_exported_as_a_test(tmp_path):
    state = tmp_path / "state"
    with Daemon("/", state, env={"XDG_CONFIG_HOME": str(tmp_path / "none")}) as daemon:
        job = [sys.executable, "-m", "neuronwatch", "run", "--name", "t", "--state-dir", str(state), "--"]
        subprocess.run([*job, "sh", "-c", 'echo "$0" >&2; exit 1', SAYS], capture_output=True, timeout=90, check=False)

        def found():
            with Client(daemon.socket) as client:
                incidents = client.call("incidents")["incidents"]
            return next((item for item in incidents if item["fault"] == "compile.cached-failure"), None)

        incident = until(found, "the incident of the job")
        assert any("jobs/t/runs/0001/stderr.log" in place["path"] for item in incident["findings"] for place in item["evidence"])
        export = [sys.executable, "-m", "neuronwatch", "incidents", "--state-dir", str(state), "export", incident["id"]]
        done = subprocess.run(
            [*export, "--as-test", str(tmp_path / "case")], capture_output=True, text=True, timeout=90, check=False
        )
    assert done.returncode == 0 and "diagnose finds the fault in it" in done.stdout, done.stdout + done.stderr
