"""The compilation of the fast matcher's tables in a process of its own, of which only the result is kept."""

from __future__ import annotations

import os
import sys

PROGRAM = "neuronwatch.judge.match.compile"
TIMEOUT = 20.0


def apart(request: bytes) -> bytes | None:
    """What the program answers to `request`, or None when it cannot be run (then the caller does the work himself)."""
    import subprocess

    if not sys.executable:
        return None
    # The same modules as here, and nothing else from the environment: evidence may lie in the working directory.
    code = f"import sys; sys.path[:] = {sys.path!r}; import runpy; runpy.run_module({PROGRAM!r}, run_name='__main__')"
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code], input=request, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=TIMEOUT, check=False, cwd=os.sep,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout if done.returncode == 0 and done.stdout else None
