"""Bytes to records, one file per format. Pure: no clock, file, process or socket; never raises on content."""
