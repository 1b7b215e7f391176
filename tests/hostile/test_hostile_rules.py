"""Hostile rule files, rule directories and caches: said with file, line and mend; the shipped rules work all the same."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hostile_support import ANSWER, MIB, diagnose, evidence, run, start, still_judged

from neuronwatch.source import rule_cache

GOOD = """id = "site.broken-fan"
fault = "site.broken-fan"
title = "The fan is broken"
stage = "site"
severity = "error"
cause = "The fan stands still."
fix = ["Replace it"]
[ends]
how = "manual"
[[signature]]
name = "fan"
pattern = '''PATTERN'''
[[sample]]
expect = "fires"
text = "fan stands still"
[[sample]]
expect = "silent"
text = "fan turns"
"""
RULE = GOOD.replace("PATTERN", "fan stands still")


def lint(directory: Path, text: str | bytes, **options: object):
    path = directory / "r.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return run("rules", "lint", path, **options)


CATASTROPHIC = [
    "(a+)+ stands still", "(?:[a-z]+)*stands", "(a*)*stands", "(?:a?){30}a{30}stands still", "(?:x{0,900}){0,900}stands still", "((a+b?)+)+stands",
    ".{0,900}.{0,900}.{0,900}stands still", ".*.*.*.*stands still", "(?:.*stands)+ still", "(?P<x>(?:\\w+\\s?)+)stands still", "(.{1,90}){1,90}stands still",
]  # fmt: skip


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_a_catastrophic_pattern_is_refused(tmp_path: Path, pattern: str) -> None:
    result = lint(tmp_path, GOOD.replace("PATTERN", pattern))
    assert result.code == 1 and "r.toml:12:" in result.out, result.out
    result = lint(
        tmp_path,
        RULE.replace("[[sample]]", f"[[join]]\nwhen = \"matches(host.kernel, '{pattern}')\"\n[[sample]]".replace("\\", "\\\\"), 1),
    )
    assert result.code == 1 and "r.toml:" in result.out, result.out


def test_what_slips_through_is_ended_by_the_watchdog(tmp_path: Path) -> None:
    """Alternatives that overlap: the linter does not see it. (Where the fast matcher is installed it refuses the line without
    asking `re`, and nothing has to be ended.)"""
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "slow.toml").write_text(
        GOOD.replace("PATTERN", "fan (?:a|aa|aaa)+ stands still").replace(
            'text = "fan stands still"', 'text = "fan a stands still"'
        )
    )
    (rules / "other.toml").write_text(RULE.replace("broken-fan", "other"))
    root = evidence(tmp_path / "e", {"a.log": ("fan " + "a" * 400 + "! stands still\nfan stands still\n") * 3})
    result = diagnose("--rules", rules, root, seconds=20)
    assert result.faults == ["site.other"]
    from neuronwatch.judge.match.confirm import Confirmer
    from neuronwatch.source.watch import watching

    confirm = Confirmer()
    with watching(confirm):
        assert not confirm.found("fan (?:a|aa|aaa)+ stands still", "fan " + "a" * 400 + "! stands still")
    assert list(confirm.dropped)


def test_a_slow_pattern_over_facts_is_ended_too(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    join = "[[join]]\nwhen = \"matches(env.EVIL, '(?:a|aa|aaa)+ stands still')\"\n[[sample]]"
    (rules / "slow.toml").write_text(RULE.replace("[[sample]]", join, 1))
    root = evidence(
        tmp_path / "e", {"env.txt": "PATH=/bin\nHOME=/root\nUSER=x\nLANG=C\nEVIL=" + "a" * 400 + "b\n", "a.log": "fan stands still"}
    )
    result = diagnose("--rules", rules, root, seconds=20)
    assert result.faults == ["site.broken-fan"]


@pytest.mark.parametrize(("change", "word"), [
    (("name = \"fan\"\n", "name = \"fan\"\nweak = true\nwhen = \"1 == 1\"\n"), "weak"),
    (("severity =", "severty ="), "severity"), (("severity = \"error\"", "severity = 5"), "severity"), (("title =", "title = \"x\"\ntitle ="), "TOML"),
    (("PATTERN", "("), "regular expression"), (("PATTERN", "(?<=a+)stands"), "regular expression"), (("PATTERN", "(" * 5000), "regular expression"),
    (("how = \"manual\"", "how = \"pattern\"\npattern = '(?<=a+)b'"), "regular expression"), (("how = \"manual\"", "how = \"pattern\"\npattern = '(a+)+b over'"), "repeat"),
    (("severity = \"error\"", "severity = \"error\"\nconfidence = " + "9" * 5000), ""), (("severity = \"error\"", "severity = \"error\"\nconfidence = nan"), "confidence"),
    (("severity = \"error\"", "severity = \"error\"\nrequire = [" + "[" * 20_000), ""), (("severity = \"error\"", "severity = \"error\"\nrequire = [\"" + "not " * 5000 + "1\"]"), ""),
    (("severity = \"error\"", "severity = \"error\"\nrequire = [\"" + "1+" * 3000 + "1\"]"), ""), (("severity = \"error\"", "severity = \"error\"\nrequire = [\"seen()\"]"), "seen()"),
    (("severity = \"error\"", "severity = \"error\"\nrequire = [\"__import__('os')\"]"), "no function"), (("severity = \"error\"", "severity = \"error\"\nrequire = [\"2**9**9\"]"), "language"),
    (("severity = \"error\"", "severity = \"error\"\nrequire = [1]"), ""), (("id = \"site.broken-fan\"", "id = \"\\u001b[2J\\nx\""), "id"),
], ids=lambda value: str(value[1])[-30:] if isinstance(value, tuple) else "")  # fmt: skip
def test_bad_rules_are_said_with_their_place(tmp_path: Path, change: tuple[str, str], word: str) -> None:
    result = lint(tmp_path, GOOD.replace(*change).replace("PATTERN", "fan stands still"), seconds=15)
    assert result.code == 1 and "r.toml:" in result.out and word in result.out, result.out
    assert "\x1b" not in result.out


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0", b"\0" * 5000, b"=" * 100_000, b"a = 1\n" * 100_000, b"a." * 5000 + b"a = 1", b"[a]\n" * 50_000,
                                     b"".join(b"k%d = 1\n" % n for n in range(60_000)), b"x = " + b"{a=" * 30_000, b"x = '''" + b"y" * 900_000])  # fmt: skip
def test_files_that_are_no_rules(tmp_path: Path, content: bytes) -> None:
    result = lint(tmp_path, content, seconds=15)
    assert result.code == 1 and "r.toml" in result.out and len(result.out) < 20_000


def test_files_that_are_too_big(tmp_path: Path) -> None:
    with (tmp_path / "big.toml").open("wb") as out:
        out.write(RULE.encode())
        out.seek(100 * MIB)
        out.write(b"\n")
    result = run("rules", "lint", tmp_path / "big.toml", memory=60)
    assert result.code == 1 and "larger than" in result.out
    sample = '[[sample]]\nexpect = "fires"\ntext = "fan stands still"\n'
    for count in (5_000, 100_000):
        result = lint(tmp_path, RULE + sample * count, memory=150, seconds=20)
        assert result.code == 1 and ("larger than" in result.out or "more than" in result.out), result.out
    os.mkfifo(tmp_path / "fifo.toml")
    for argv in (("rules", "lint", tmp_path), ("rules", "test", "--rules", tmp_path), ("rules", "list", "--rules", tmp_path)):
        result = run(*argv, timeout=60)
        assert "fifo.toml" in result.out + result.err


def test_user_directories_of_others(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {"a.log": "fan stands still\n"})
    config = tmp_path / "config"
    directory = config / "neuronwatch" / "rules.d"
    directory.mkdir(parents=True)
    (directory / "fan.toml").write_text(RULE)
    env = {"XDG_CONFIG_HOME": str(config)}
    assert "site.broken-fan" in diagnose(root, env=env).faults
    for path, mode in ((directory, 0o777), (directory / "fan.toml", 0o666), (directory, 0o775)):
        path.chmod(mode)
        result = diagnose(root, env=env)
        assert result.faults == [ANSWER] and "ignored: writable by group or others (chmod go-w)" in result.err
        path.chmod(0o755)
    if os.geteuid() == 0:
        for path in (directory, directory / "fan.toml"):
            os.chown(path, 65534, 65534)
            result = diagnose(root, env=env)
            assert result.faults == [ANSWER] and "owned by uid 65534" in result.err
            os.chown(path, 0, 0)
    (directory / "bad.toml").write_text("nonsense")
    (directory / "loop").symlink_to(directory)
    result = diagnose(root, env=env)
    assert "site.broken-fan" in result.faults and "bad.toml:1: not TOML" in result.err


def test_rules_that_are_not_there(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    for given in (tmp_path / "none", root / "good.log", Path("/dev/zero")):
        result = run("diagnose", "--rules", given, root)
        assert result.code == 64 and str(given) in result.err


def caches(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_a_damaged_cache_is_built_anew(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    still_judged(diagnose(root, env=env))
    good = {path: path.read_bytes() for path in caches(tmp_path / "cache")}
    assert good
    for damage in (b"", b"null", b"[]", b"{}", b"[" * 100_000, b"\0" * 100, b'{"rules": 1, "loader": 2}', None, 7, -1):
        for path, data in good.items():
            if damage is None:
                path.write_bytes(data[: len(data) // 2])
            elif isinstance(damage, int):
                path.write_bytes(data[:damage] + b"\xff" + data[damage:])
            else:
                path.write_bytes(damage)
        result = still_judged(diagnose(root, env=env))
        assert "left out" not in result.err, result.err


def test_a_cache_of_other_types_or_owners_is_not_believed(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    diagnose(root, env=env)
    (path,) = (item for item in caches(tmp_path / "cache") if item.name == "rules.compiled.json")
    good = rule_cache.unpacked(path.read_bytes())
    rows = {key: json.loads(line) for key, line in good.items()}
    names = [*rule_cache._RULE._names, *rule_cache._ROWS]

    def put(**poison: object) -> None:
        """Writes a cache with a good seal and `poison` in every rule."""
        changed = {key: [poison.get(name, value) for name, value in zip(names, row, strict=True)] for key, row in rows.items()}
        path.write_bytes(rule_cache.packed({key: json.dumps(row).encode() for key, row in changed.items()}))

    for poison in (
        {"signatures": [[1, 2, 3]]},
        {"signatures": [[1, 2, [3], False, [], [], None, False]]},
        {"signatures": ["abcdefgh"]},
        {"joins": {}},
        {"confidence": "x"},
        {"confidence": True},
        {"fix": [1]},
        {"fix": "text"},
        {"ends": None},
        {"id": []},
        {"title": None},
    ):
        put(**poison)
        still_judged(diagnose(root, env=env))
    for line in (b"", b"[]", b"{}", b"null", b"]", b"1,2", b"[1],[2]", b"[" * 100_000, b"\xff"):
        path.write_bytes(rule_cache.packed(dict.fromkeys(good, line)))
        still_judged(diagnose(root, env=env))
    put(signatures=[], joins=[])
    path.chmod(0o666)
    still_judged(diagnose(root, env=env))


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    (tmp_path / "file").write_text("")
    for cache in (tmp_path / "file", Path("/proc/nothing"), Path("/dev/null/x"), tmp_path / "file" / "deep"):
        still_judged(diagnose(root, env={"XDG_CACHE_HOME": str(cache)}))
    still_judged(diagnose(root, env={"XDG_CACHE_HOME": str(tmp_path / "full")}, file_limit=4096))


def test_several_processes_write_the_cache_at_once(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    children = [start("diagnose", "--format", "json", root, env=env, stdout=-1, stderr=-1) for _ in range(4)]
    for child in children:
        out, err = child.communicate(timeout=120)
        assert child.returncode == 2 and json.loads(out)["findings"][0]["fault"] == ANSWER and b"Traceback" not in err
    still_judged(diagnose(root, env=env))
    assert not [path for path in caches(tmp_path / "cache") if path.name.startswith(".")]
