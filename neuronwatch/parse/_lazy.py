"""Regular expressions that are compiled at their first use. A diagnosis of a small directory needs few of the formats, and
compiling the patterns of all of them would be most of its start-up time."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Lazy:
    """Stands for a compiled pattern; after the first use its methods are the pattern's own, so nothing is slower."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        real = re.compile(self.pattern, self.flags)
        for method in ("match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn"):
            setattr(self, method, getattr(real, method))
        return getattr(real, name)


def lazy(pattern: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, for patterns on module level. A wrong pattern shows at its first use: a test compiles them all."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, int(flags)))
