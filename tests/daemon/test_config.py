"""The configuration: every mistake has a file, a line and a mend; what is printed can be read again."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest
from daemon_support import cli
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.daemon import config_file, config_print
from neuronwatch.daemon.config import Alert, Config

MISTAKES = [
    ("[sources.sysfs]\nintervall = 3\n", 2, "did you mean `interval`"),
    ("[sources.sysf]\nenabled = false\n", 1, "did you mean `sysfs`"),
    ("\n[history]\ndays = 0\n", 3, "between"),
    ("[history]\ndays = true\n", 2, "a number"),
    ("[logs]\nglobs = '/x'\n", 2, "a list"),
    ("[logs]\nglobs = ['x']\n", 2, "form"),
    ("[history]\nenabled = 1\n", 2, "true or false"),
    ("[[alerts]]\nurl = 'http://a/'\n\n[[alerts]]\nname = 'b'\n", 4, "exactly one"),
    ("[[alerts]]\ncommand = ['mail', 'x']\n", 2, "absolute path"),
    ("[[alerts]]\nurl = 'http://a/'\nseverity = 'warn'\n", 3, "warning"),
    ("[exporters.prometheus]\nlisten = '9100'\n", 2, "form"),
    ("exporters = 3\n", 1, "a table"),
    ("[exporter]\n", 1, "did you mean `exporters`"),
    ("a = \n", 1, "not TOML"),
    ("[history]\ndays = nan\n", 2, "between"),
]


@pytest.mark.parametrize(("text", "line", "says"), MISTAKES)
def test_a_mistake_has_its_line_and_a_mend(text, line, says):
    with pytest.raises(config_file.ConfigError) as caught:
        config_file.parse(text, "c.toml", ("sysfs", "neuron-monitor"))
    assert caught.value.line == line and says in str(caught.value) and str(caught.value).startswith(f"c.toml:{line}: ")
    assert "\n" not in str(caught.value)


def test_what_is_set_is_read():
    text = """
        [sources.neuron-monitor]
        enabled = false
        [history]
        days = 7
        [[alerts]]
        command = ["/bin/true", "x y"]
        states = ["open"]
        [[alerts]]
        url = "https://example.org/hook"
        headers = { Authorization = "Bearer abc" }
    """
    config = config_file.parse(text, "c.toml", ("sysfs", "neuron-monitor"))
    assert not config.sources["neuron-monitor"].enabled and config.history.days == 7.0
    assert config.alerts[0].command == ("/bin/true", "x y") and config.alerts[1].headers == {"Authorization": "Bearer abc"}
    assert "abc" not in config_print.toml(config)
    jsonschema.validate(json.loads(json.dumps({"history": {"days": 7}, "alerts": [{"url": "http://a"}]})), config_print.schema())


def test_the_printed_defaults_are_the_defaults():
    assert config_file.parse(config_print.toml(Config(), comments=True), "c.toml") == Config()


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)


@given(WORDS, st.lists(WORDS, max_size=3), st.floats(0.1, 300.0))
def test_what_is_printed_is_read_again(name, arguments, timeout):
    config = replace(Config(), alerts=(Alert(name=name, command=("/x", *arguments), timeout=timeout),))
    assert config_file.parse(config_print.toml(config), "c.toml") == config


@given(st.text(max_size=200))
def test_any_text_is_a_configuration_or_one_line(text):
    try:
        config_file.parse(text, "c.toml", ("sysfs",))
    except config_file.ConfigError as error:
        assert error.line is not None and error.line >= 1


def test_a_configuration_that_others_may_write_is_not_believed(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("")
    path.chmod(0o666)
    with pytest.raises(config_file.ConfigError, match="chmod"):
        config_file.read(path)


def test_the_verbs(tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text("[history]\ndays = 3\n")
    bad.write_text("[histroy]\n")
    for path in (good, bad):
        path.chmod(0o600)
    assert cli("config", "check", str(good)).returncode == 0
    done = cli("config", "check", str(bad))
    assert done.returncode == 1 and f"{bad}:1:" in done.stdout and "history" in done.stdout
    assert "days = 3.0" in cli("config", "print", "--config", str(good)).stdout
    where = json.loads(cli("config", "where", "--format", "json", "--state-dir", str(tmp_path)).stdout)
    assert where["socket"] == str(tmp_path / "neuronwatch.sock")
