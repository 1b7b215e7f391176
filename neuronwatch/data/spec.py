"""Version ranges as packages state them: `~=4.57.1`, `>=1.22.2,<=1.26.4`, `==2.8.0.*`."""

from __future__ import annotations

import re

from neuronwatch.model.version import Version

_CLAUSE = re.compile(r"^(~=|==|!=|<=|>=|<|>)\s*v?([0-9][^,\s]*)$")


def satisfies(version: str, spec: str) -> bool | None:
    """Whether `version` lies in `spec` (clauses joined by commas). None where one of them cannot be read.

    Build tags after `+` or a Debian revision do not count, as in `2.21.33363.0+82129205 == 2.21.33363.0`.
    """
    have = Version(version)
    if not have.parts and not re.search(r"\d", version):
        return None
    for clause in spec.split(","):
        found = _CLAUSE.match(clause.strip())
        if not found:
            return None
        if not _holds(have, found.group(1), found.group(2)):
            return False
    return True


def satisfies_any(version: str, specs: tuple[str, ...] | list[str]) -> bool | None:
    """Whether one of the alternatives holds; None when none does and one cannot be read."""
    answers = [satisfies(version, spec) for spec in specs]
    if any(answers):
        return True
    return None if None in answers or not answers else False


def _holds(have: Version, operator: str, text: str) -> bool:
    wanted = Version(text)
    if text.endswith(".*"):
        same = _prefix(have, _numbers(text[:-2]))
        return same if operator == "==" else not same
    if operator == "==":
        return have == wanted
    if operator == "!=":
        return have != wanted
    if operator == "~=":
        return have >= wanted and _prefix(have, _numbers(text)[:-1])
    if operator == ">=":
        return have >= wanted
    if operator == "<=":
        return have <= wanted
    return have < wanted if operator == "<" else have > wanted


def _numbers(text: str) -> tuple[int, ...]:
    """All numeric parts, trailing zeros included: `2.0.0` is (2, 0, 0)."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part[:18]) for part in found.group().split(".")) if found else ()


def _prefix(have: Version, wanted: tuple[int, ...]) -> bool:
    padded = have.parts + (0,) * max(0, len(wanted) - len(have.parts))
    return padded[: len(wanted)] == wanted
