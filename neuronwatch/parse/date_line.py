"""What `$ date` printed: the moment at which a transcript was taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import blocks, fact
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.prefix import line_time

_WORDS = lazy(
    r"^\s{0,4}(?:[A-Z][a-z]{2},? )(?:(?P<mon>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2})|"
    r"(?P<day2>\d{1,2}) (?P<mon2>[A-Z][a-z]{2}) (?P<year2>\d{4}))"
    r",? {1,2}(?P<h>\d{1,2}):(?P<m>\d\d):(?P<s>\d\d)(?: (?P<half>[AP]M))?"
    r" (?P<zone>[A-Z]{3,5}|[+-]\d{2}:?\d{2})(?: (?P<year>\d{4}))?\s{0,4}$"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HOURS = {"UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "CET": 1,
          "CEST": 2, "IST": 5.5, "JST": 9, "KST": 9}  # fmt: skip


def moment(text: str) -> float | None:
    """Seconds since the epoch that a line of `date` states (any locale's C form, ISO 8601), else None."""
    found = _WORDS.match(text)
    if not found:
        return line_time(text) if text.strip()[:2] == "20" else None
    part = found.groupdict()
    name, year = part["mon"] or part["mon2"], part["year"] or part["year2"]
    if name not in _MONTHS or not year:
        return None
    hour = int(part["h"])
    if part["half"]:
        hour = hour % 12 + (12 if part["half"] == "PM" else 0)
    zone = part["zone"]
    if zone[0] in "+-":
        shift = (1 if zone[0] == "+" else -1) * (int(zone[1:3]) + int(zone[-2:]) / 60)
    elif zone in _HOURS:
        shift = _HOURS[zone]
    else:
        return None
    try:
        stated = datetime(
            int(year), _MONTHS.index(name) + 1, int(part["day"] or part["day2"]), hour, int(part["m"]), min(int(part["s"]), 59)
        )
        return (stated.replace(tzinfo=timezone.utc) - timedelta(hours=shift)).timestamp()
    except (ValueError, OverflowError):
        return None


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    for block in blocks(lines):
        words = block.command.split()
        if not words or words[0].rstrip(";") != "date":
            continue
        for line in block.output[:2]:
            # an ISO stamp alone on its line is taken for a prefix
            found = moment(line.body) or moment(line.text)
            if found is not None:
                yield fact(line, "host.now", found)
                break


FORMAT = LineFormat(name="date", kind="listing", triggers=(r"[$#%] {1,4}date(?:$|[ ;])",), parse=_parse, after=3)
