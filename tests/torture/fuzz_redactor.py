"""Fuzz target: the redactor and the bundle. Secrets planted into damaged fixtures never come out, lines stay in their
places, JSON stays JSON, and a bundle of hostile files unpacks to nothing outside of itself."""

from __future__ import annotations

import io
import json
import random
import string
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_support import campaign, fixture_pool, mutated

from neuronwatch.collect import bundle
from neuronwatch.collect.redact import Redactor

POOL = fixture_pool()
BYTES = [data for _, data in POOL]
ALNUM = string.ascii_letters + string.digits
DIRECTORY = Path(tempfile.mkdtemp(prefix="neuronwatch-fuzz-"))
NAMES = (
    "../../x",
    "/etc/passwd",
    "a\nb",
    "\udcff",
    "",
    "..",
    "x" * 300,
    "C:\\x",
    "a/./b",
    "\x1b[2J",
    "-rf",
    "manifest.json",
    "a\0b",
)


def word(rng: random.Random, size: int, letters: str = ALNUM) -> str:
    """A random word that is surely a secret: with letters of both cases and digits."""
    return "".join(rng.choice(letters) for _ in range(size - 3)) + "aZ7"


def secret(rng: random.Random) -> tuple[str, str]:
    """A line as it stands in logs, and what of it must not be seen again."""
    key, long = word(rng, 24), word(rng, 40)
    account = str(rng.randrange(10**11, 10**12))
    instance = f"i-{rng.randrange(16**16, 16**17):017x}"
    address = f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"
    return rng.choice((
        (f"HF_TOKEN=hf_{long}", long), (f"export AWS_SECRET_ACCESS_KEY={long}", long), (f'"api_key": "{key}"', key),
        (f"--password {key} --tp 8", key), (f"Authorization: Bearer {long}", long), (f"https://bob:{key}@git.example.com/x", key),
        (f"arn:aws:iam::{account}:role/x", account), (f"{account}.dkr.ecr.us-east-1.amazonaws.com/x:1", account),
        (f"instance {instance} is up", instance), (f"connect to {address}:62182 failed", address), (f"AKIA{word(rng, 16).upper()[:16]}", "AKIA" + "?"),
        (f"token=ghp_{long}", long), (f"sk-proj-{long}", long), (f"'client_secret': '{key}'", key), (f"WANDB_API_KEY: {long}", long),
        (f"{{'hf_token': '{key}', 'lr': 1}}", key), (f"MYSQL_PASSWORD={key}", key), (f"ip-{address.replace('.', '-')}.ec2.internal", address.replace(".", "-")),
        (f"[rank3]: secret={key}", key), (f"xoxb-{long}", long), (f"glpat-{key}", key),
        (f"-----BEGIN PRIVATE KEY-----\n{word(rng, 64)}\n{long}\n-----END PRIVATE KEY-----", long),
    ))  # fmt: skip


def case(rng: random.Random) -> None:
    name, data = rng.choice(POOL)
    data = mutated(data, rng, BYTES, 4)[:300_000]
    planted = [secret(rng) for _ in range(rng.randint(1, 5))]
    lines = data.split(b"\n")
    for line, _ in planted:
        lines.insert(rng.randint(0, len(lines)), line.encode())
    text = b"\n".join(lines).decode("utf-8", "surrogateescape")
    redacted = Redactor().text(text)
    for line, hidden in planted:
        if hidden.endswith("?"):
            hidden = line
        assert hidden not in redacted, f"{line!r} survived in {name}"
    assert redacted.count("\n") == text.count("\n")
    if rng.random() < 0.3:
        try_json(data)
    if rng.random() < 0.3:
        try_bundle(text.encode("utf-8", "surrogateescape"), planted, rng)


def try_json(data: bytes) -> None:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return
    json.loads(Redactor().text(data.decode("utf-8", "surrogateescape")))


def try_bundle(data: bytes, planted: list[tuple[str, str]], rng: random.Random) -> None:
    target = DIRECTORY / "bundle.tar.gz"
    pieces = [bundle.Piece(rng.choice(NAMES) + rng.choice(("/", "-", " ", "\n")) + rng.choice(planted)[0], data, len(data), rng.choice((b"", data)))
              for _ in range(2)]  # fmt: skip
    bundle.write(target, pieces)
    raw = io.BytesIO()
    with tarfile.open(target) as archive:
        for member in archive:
            assert member.isreg() and not member.name.startswith("/") and ".." not in member.name.split("/"), member.name
            handle = archive.extractfile(member)
            assert handle is not None
            raw.write(member.name.encode("utf-8", "surrogateescape") + b"\n" + handle.read())
    for line, hidden in planted:
        assert (line if hidden.endswith("?") else hidden).encode() not in raw.getvalue(), f"{line!r} is in the bundle"


if __name__ == "__main__":
    sys.exit(campaign("fuzz_redactor", case))
