"""Shared by all tests: one hypothesis profile (a loaded machine is no failure), and no writing to the user's cache."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from neuronwatch.source import rule_files

settings.register_profile(
    "neuronwatch", deadline=None, max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
settings.load_profile("neuronwatch")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    """The cache and the user's drop-in directories of the tests are their own. The rule table is compiled once here, so
    that no test sees the word about the first run."""
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    rule_files.load_rule_set()
    yield
    patch.undo()
