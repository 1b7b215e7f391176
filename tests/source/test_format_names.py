"""What a file is called in `sources`: by the format that it is, not by one whose words it happens to hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_support import FIXTURES, items

from neuronwatch.model.diagnosis import SourceReport

FORMATS = FIXTURES / "formats"
FOLDERS = {
    "neuron_monitor": "neuron-monitor", "kernel_log": "kernel-log", "ps": "ps", "sysfs_dump": "sysfs", "env_dump": "environment",
    "compile_cache_listing": "compile-cache-listing", "neuron_ls_json": "neuron-ls-json", "file_listing": "file-listing",
    "prometheus": "prometheus", "device_holders": "device-holders",
}  # fmt: skip
OTHERWISE = {"oom-kill-old-kernel.txt": "exit-status", "pod-dev.txt": "container"}
"""They are one as much as the other."""
CASES = [(path, wanted) for folder, wanted in FOLDERS.items() for path in sorted((FORMATS / folder).glob("[!_]*"))]


@pytest.mark.parametrize(("path", "wanted"), CASES, ids=lambda item: item.name if isinstance(item, Path) else "")
def test_name_of_the_format(path: Path, wanted: str) -> None:
    found = [item.format for item in items(path) if isinstance(item, SourceReport)]
    assert found == [OTHERWISE.get(path.name, wanted)]
