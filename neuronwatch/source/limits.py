"""How much of the evidence is read, and how exactly. Sizes are bytes."""

from __future__ import annotations

from neuronwatch.model.dataclass import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds that keep a scan of any evidence finite in time and memory."""

    exact_hits: int = 64
    """Hits of one signature in one file that are delivered; of the further ones only the last, the rest is counted."""
    counted_hits: int = 1_000
    """Counts of one signature in a big file are exact up to here and estimated from some chunks beyond."""
    window_lines: int = 4_000
    """The longest run of lines that a line format gets at once."""
    series_lines: int = 200_000
    """Lines of one kind of series that are read exactly in one file; then they are thinned."""
    long_series_lines: int = 4_000
    """The same in files above `long_above`, where exactness would cost more time than the scan of the whole file."""
    long_above: int = 64 * MIB
    format_lines: int = 2_000
    """Lines that one trigger of another line format brings in and that are read exactly in one big file."""
    trouble_lines: int = 1_000
    """Of a thinned format so many more lines are read that speak of an error."""
    thin_above: int = 16 * MIB
    """Nothing is thinned or estimated in smaller files."""
    stride: int = 128
    """Of what is thinned a part of one chunk in eight is read at first, one in this many later."""
    tail: int = 4 * MIB
    """The end of a file in which series are read exactly again,"""
    tail_lines: int = 2_000
    """as soon as a series has not many more lines to come than this."""
    parallel_above: int = 128 * MIB
    """Files above this size are read by several processes, where that is wanted."""
    document: int = 32 * MIB
    """The most of a file that a file format gets."""
    number_at_once: int = 4 * MIB
    """Lines of files up to this size get their number while they are read; else only what is shown is numbered."""
    archive_total: int = 64 * 1024 * MIB
    """The most that is unpacked from one archive or compressed log."""
    archive_ratio: int = 1_000
    """An archive that unpacks to more than this many times its size is a bomb (above `archive_free`)."""
    archive_free: int = 512 * MIB
    """Up to this size the ratio is not looked at."""
    archive_members: int = 1_000_000
    quiet_reports: int = 2_000
    """After this many files, those in which nothing was found are only counted in `sources`."""


DEFAULT = Limits()
