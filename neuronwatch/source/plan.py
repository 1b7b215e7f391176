"""What one scan looks for: the rules' signatures and the triggers of all line formats, in one matcher."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuronwatch.judge.match import Matcher, Pattern, matcher_for
from neuronwatch.parse.api import FileFormat, LineFormat


class Plan:
    """Patterns of rules keep their ids; each trigger gets one of its own above them."""

    def __init__(
        self,
        patterns: Sequence[Pattern],
        line_formats: Sequence[LineFormat],
        file_formats: Sequence[FileFormat],
        cache_dir: Path | None,
        size_hint: int,
    ) -> None:
        self.line_formats = tuple(line_formats)
        self.file_formats = tuple(file_formats)
        self.first_trigger = max((pattern.id for pattern in patterns), default=-1) + 1
        self.format_of: list[int] = []
        """`format_of[id - first_trigger]` is the index in `line_formats`."""
        triggers: list[Pattern] = []
        for index, fmt in enumerate(self.line_formats):
            for regex in fmt.triggers:
                triggers.append(Pattern(self.first_trigger + len(triggers), regex, ()))
                self.format_of.append(index)
        self.regex = {pattern.id: pattern.regex for pattern in patterns}
        self.matcher: Matcher = matcher_for((*patterns, *triggers), cache_dir, size_hint)
