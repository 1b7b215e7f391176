"""The one place that resolves what the wheel carries as data and a checkout keeps at its top level."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def bundled(name: str) -> Path:
    """The directory `rules`, `training` or `serving`: inside the installed package, else at the checkout's top.

    Raises FileNotFoundError when the installation is incomplete.
    """
    for candidate in (_PACKAGE / "_bundled" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"{name}/ is missing from this installation of neuronwatch ({_PACKAGE}); install it again")
