"""What one scan looks for: the rules' signatures and the triggers of all line formats, in one matcher."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuronwatch.judge.match import Matcher, Pattern, matcher_for
from neuronwatch.parse.api import FileFormat, LineFormat
from neuronwatch.source.apart import apart

NOT_FINITE = (
    r"(?i)(?<![a-z0-9_])(?:nan|[-+]?inf(?:inity)?)[,}\])'\"%\s]",
    r"(?i)[:=] ?['\"]?(?:nan|[-+]?inf(?:inity)?)$",
)
"""A line of a thinned series that is read all the same."""
TROUBLES = (
    b"error", b"fatal", b"critical", b"exception", b"panic", b"abort", b"killed", b"timed out", b"corrupt", b"failed", b"failure",
)  # fmt: skip
"""A line of any other thinned format that is read all the same holds one of these."""


class Plan:
    """Patterns of rules keep their ids; each trigger gets one of its own above them, the guards of thinned formats the
    next ones."""

    def __init__(
        self, patterns: Sequence[Pattern], line_formats: Sequence[LineFormat], file_formats: Sequence[FileFormat],
        cache_dir: Path | None,
    ) -> None:  # fmt: skip
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
        self.triggers = tuple(triggers)
        self.first_guard = self.first_trigger + len(triggers)
        finite = [Pattern(self.first_guard + index, regex, ()) for index, regex in enumerate(NOT_FINITE)]
        self.series_guards = tuple(finite)
        self.trouble_guard = Pattern(self.first_guard + len(finite), "(?i)" + "|".join(word.decode() for word in TROUBLES), ())
        self.minor = frozenset(
            pattern.id for pattern in triggers if self.line_formats[self.format_index(pattern.id)].kind not in ("log", "kernel")
        )
        """Triggers of listings and their like. In the middle of a big log they are not looked for where the log is full of
        lines that look like them: such a log is no listing."""
        self.regex = {pattern.id: pattern.regex for pattern in patterns}
        self.matcher: Matcher = matcher_for((*patterns, *triggers), cache_dir, apart)
        self.matcher.confirm.guard = self.trouble_guard.id

    def format_index(self, pattern_id: int) -> int:
        return self.format_of[pattern_id - self.first_trigger]

    def is_series(self, pattern_id: int) -> bool:
        return self.line_formats[self.format_index(pattern_id)].series
