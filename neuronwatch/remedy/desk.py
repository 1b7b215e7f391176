"""What a job keeps of its remedies on disk, and what people put there for its owner: `state.json`, and answers in `answers/`.

The owner calls `load` at its start, `save` after each change, and `heard` when it was told that something is there. A person's
answer is a file of its own, so that it is not lost where no owner lives at the moment.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from neuronwatch.model.dataclass import replace
from neuronwatch.remedy import state as states
from neuronwatch.remedy.state import ALL, State
from neuronwatch.store.json_files import read_json, write_json

FILE, ANSWERS = "state.json", "answers"
_NAME = re.compile(r"(?:(?P<id>[0-9a-f]{8})|close-(?P<action>[a-z][a-z0-9-]{0,39}|all))\.json")
APPROVE, DECLINE = "approve", "decline"


class Desk:
    """The files of one job, by the path of its directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def load(self, now: float) -> State:
        """The state; a damaged one is set aside, and everything is locked until a person closes the breaker."""
        path = self.directory / FILE
        there = os.path.lexists(path)
        found = read_json(path)
        if found is None:
            return states.locked(f"{FILE} was damaged and is set aside", now) if there else State()
        try:
            return states.of_plain(found)
        except ValueError as error:
            with contextlib.suppress(OSError):
                path.rename(path.with_name(f"{FILE}.torn-{int(now * 1e9)}"))
            return states.locked(f"{FILE} is set aside: {error}", now)

    def look(self) -> State:
        """The state for who is not the owner: nothing is set aside, what cannot be read is an empty one."""
        try:
            path = self.directory / FILE
            if not stat.S_ISREG(path.lstat().st_mode):  # a pipe would be waited for
                return State()
            return states.of_plain(json.loads(path.read_bytes()))
        except (OSError, ValueError, RecursionError):
            return State()

    def save(self, state: State) -> None:
        """Atomically, on disk before it returns. Raises OSError."""
        write_json(self.directory / FILE, states.to_plain(state))

    def answer(self, name: str, what: str, now: float) -> None:
        """Puts down what a person answered to a proposal. Raises OSError."""
        self._put(f"{name}.json", {"answer": what, "uid": os.geteuid(), "time": now})

    def close(self, action: str, now: float) -> None:
        """Asks the owner to close a breaker (`*`: all of them). Raises OSError."""
        self._put(f"close-{'all' if action == ALL else action}.json", {"uid": os.geteuid(), "time": now})

    def _put(self, name: str, document: dict[str, object]) -> None:
        (self.directory / ANSWERS).mkdir(mode=0o700, exist_ok=True)
        write_json(self.directory / ANSWERS / name, document)

    def heard(self, state: State) -> tuple[State, Mapping[str, str], tuple[str, ...]]:
        """The state with the breakers closed that people closed, their answers by proposal id, and which breakers these were. What
        was heard of breakers is removed; answers stay until `done`."""
        answers: dict[str, str] = {}
        closed: list[str] = []
        for path, found in self._there():
            given = read_json(path)
            if given is None:
                continue
            if found["id"]:
                answer = given.get("answer")
                if answer in (APPROVE, DECLINE):
                    answers[found["id"]] = str(answer)
            else:
                closed.append(ALL if found["action"] == "all" else found["action"])
                with contextlib.suppress(OSError):
                    path.unlink()
        return close(state, closed), answers, tuple(closed)

    def done(self, name: str) -> None:
        """A proposal was answered, and that was heard."""
        if _NAME.fullmatch(f"{name}.json"):
            with contextlib.suppress(OSError):
                (self.directory / ANSWERS / f"{name}.json").unlink()

    def _there(self) -> list[tuple[Path, re.Match[str]]]:
        """The files of people who may answer: this user and root."""
        place = self.directory / ANSWERS
        try:
            info = place.lstat()
            if not stat.S_ISDIR(info.st_mode) or info.st_uid not in (0, os.geteuid()) or info.st_mode & 0o022:
                return []
            names = sorted(os.listdir(place))[:200]
        except OSError:
            return []
        found = []
        for name in names:
            match = _NAME.fullmatch(name)
            with contextlib.suppress(OSError):
                info = (place / name).lstat()
                if match and stat.S_ISREG(info.st_mode) and info.st_uid in (0, os.geteuid()) and not info.st_mode & 0o022:
                    found.append((place / name, match))
        return found


def close(state: State, names: list[str]) -> State:
    """The state without these breakers; `*` closes all. A breaker that is closed has its action's budget again."""
    if ALL in names:
        return replace(state, breaker={}, used={})
    kept = {name: opened for name, opened in state.breaker.items() if name not in names}
    return replace(state, breaker=kept, used={name: times for name, times in state.used.items() if name not in names})
