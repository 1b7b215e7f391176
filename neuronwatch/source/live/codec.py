"""msgspec, without what it would load and never use here: `typing_extensions` is a hundred classes (half a megabyte), and
msgspec takes the same from `typing` where it is not there."""

from __future__ import annotations

import sys

_HIDDEN = "typing_extensions"
_known = sys.modules.get(_HIDDEN, sys)
if _known is sys:
    sys.modules[_HIDDEN] = None  # type: ignore[assignment]
try:
    import msgspec
finally:
    if _known is sys:
        del sys.modules[_HIDDEN]

__all__ = ["msgspec"]
