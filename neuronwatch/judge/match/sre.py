"""The standard library's parser of regular expressions, whose modules changed their names in Python 3.11."""

from __future__ import annotations

import sys
from typing import Any

sre_constants: Any
sre_parser: Any
if sys.version_info >= (3, 11):
    from re import _constants, _parser  # type: ignore[attr-defined]  # private, no stubs

    sre_constants, sre_parser = _constants, _parser
else:
    import sre_constants as _constants
    import sre_parse as _parser

    sre_constants, sre_parser = _constants, _parser
