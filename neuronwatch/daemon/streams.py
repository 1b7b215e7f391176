"""Standard input and output of a process of ours, whatever the caller left of them."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path


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
