"""What a process of ours begins with, and how it says one line: the command line and the daemon, which starts anew without it."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from pathlib import Path

DEFECT = "this is a defect of neuronwatch; NEURONWATCH_DEBUG=1 shows where"


def collect_rarely() -> None:
    """Python looks for cycles of references less often: a diagnosis makes hundreds of thousands of objects, none of which
    is in one, and looking for them takes a tenth of its time."""
    gc.set_threshold(50_000, 20, 100)


def one_line(message: str) -> str:
    """A message that is one line and safe to print, whatever names are in it."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in message)


def prepare() -> None:
    """Output never fails for a character that the locale cannot show. Descriptors that the caller closed are opened to
    nowhere: else the next file that is opened would be standard output."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # Python's compiler warns about Python that stands in the evidence
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            try:
                os.fstat(number)
            except OSError:
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, Path(os.devnull).open("w" if number else "r", encoding="utf-8", errors="replace"))  # noqa: SIM115 (for good)
        elif number and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
