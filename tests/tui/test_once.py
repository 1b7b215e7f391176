"""`top --once`: one frame for a ticket, without Textual."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tui import pictures
from tui.fake_daemon import FakeDaemon

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
from neuronwatch.cli.main import main
status = main(sys.argv[1:])
assert not [name for name in sys.modules if name.partition(".")[0] in ("textual", "asyncio")]
sys.exit(status)
"""


def test_one_frame_without_textual_and_the_exit_status_of_the_verdict() -> None:
    with tempfile.TemporaryDirectory(prefix="nw", dir="/tmp") as name, FakeDaemon(Path(name) / "s") as daemon:
        argv = [sys.executable, "-c", SCRIPT, "top", "--once", "--socket", str(daemon.path)]
        environ = {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "LINES": "30", "LANG": "C.UTF-8", "PYTHONIOENCODING": "utf-8"}
        healthy = subprocess.run(argv, env=environ, capture_output=True, text=True, encoding="utf-8", timeout=60)
        assert healthy.returncode == 0 and "HEALTHY" in healthy.stdout, healthy.stderr
        assert len(healthy.stdout.splitlines()) == 30 and "\x1b" not in healthy.stdout
        daemon.document = pictures.status("fault", ("x",), (pictures.incident("hw.uncorrectable-memory", "critical", ("nd1",)),))
        faulty = subprocess.run(argv, env=environ, capture_output=True, text=True, encoding="utf-8", timeout=60)
        assert faulty.returncode != 0 and "FAULT" in faulty.stdout and "hw.uncorrectable-memory" in faulty.stdout, faulty.stderr
