"""Names of files in bundles and recordings: made of paths that anybody may have chosen, safe to unpack anywhere."""

from __future__ import annotations

import re

TIMELINE = b"neuronwatch.timeline/1\n"
"""How a recording's timeline begins: it is no log."""


def safe_path(path: str) -> str:
    """A relative path inside the bundle: no root, no `..`, no drive, nothing that unpacks elsewhere."""
    parts = [part for part in path.replace("\\", "/").replace("\0", "").split("/") if part not in ("", ".", "..")]
    return "/".join(part[:200] for part in parts) or "unnamed"


class Names:
    """Names of files of which none is another's, or a directory on the way to it: else the bundle could not be unpacked."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._directories: set[str] = set()

    def free(self, name: str) -> str:
        *parents, last = name.split("/")
        directory = ""
        for part in parents:
            directory = self._numbered(directory + part, self._files) + "/"
            self._directories.add(directory[:-1])
        found = self._numbered(directory + last, self._files, self._directories)
        self._files.add(found)
        return found

    @staticmethod
    def _numbered(name: str, *taken: set[str]) -> str:
        candidate, number = name, 1
        while any(candidate in names for names in taken):
            number += 1
            candidate = f"{name}.{number}"
        return candidate


def plain_path(path: str) -> str:
    """`host:/proc/*/fd` as the name of a file that no shell and no other system has to quote."""
    return re.sub(r"[^\w./+=@-]+", "-", path.replace(":", "/", 1).replace("*", "all")).strip("-")
