"""Judging: rules, derivations, detectors, order of cause. Pure: time comes in as data, no file, process or socket."""
