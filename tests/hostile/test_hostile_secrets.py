"""Planted secrets of every kind: on no screen, in no report, in no bundle; and a bundle says what its evidence said."""

from __future__ import annotations

import base64
import json
import random
import string
import tarfile
from pathlib import Path

import pytest
from hostile_support import FAULT, diagnose, evidence, run

RNG = random.Random(7)


def word(size: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(RNG.choice(letters) for _ in range(size - 3)) + "aZ7"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


KEY = [word(70) for _ in range(9)] + [word(11)]
"""The lines of a private key; the last one is short."""
S = {
    "hf": f"hf_{word(34)}", "aws": "AKIAZZZZ1234567890AB", "aws secret": word(40), "session": word(60), "jwt": f"eyJ{word(30)}.eyJ{word(40)}.{word(43)}",
    "url": word(12), "docker": b64(f"robot:{word(12)}"), "wandb": "".join(RNG.choice("0123456789abcdef") for _ in range(40)), "openai": f"sk-proj-{word(40)}", "kube": word(30),
    "packed key": b64("-----BEGIN RSA PRIVATE KEY-----\n" + word(64)), "packed token": b64(f"hf_{word(34)}"), "plain": "hunter2planted", "pg": word(14), "netrc": word(14),
    "signature": word(64, "0123456789abcdef"), "hook": f"T00000000/B00000000/{word(24)}", "stripe": f"sk_live_{word(24)}", "azure": word(88), "github": f"ghp_{word(36)}",
    "gitlab": f"glpat-{word(20)}", "secret data": b64("some words that nobody knows"), "email": "jane.planted@corp-secret.com", "cookie": word(30),
}  # fmt: skip
FILES: dict[str, str | bytes] = {
    "env.txt": f"PATH=/usr/bin\nHOME=/root\nHF_TOKEN={S['hf']}\nAWS_ACCESS_KEY_ID={S['aws']}\nAWS_SECRET_ACCESS_KEY={S['aws secret']}\nAWS_SESSION_TOKEN={S['session']}\n"
    f"WANDB_API_KEY={S['wandb']}\nNEURON_RT_NUM_CORES=2\nOPENAI_API_KEY={S['openai']}\nDB_PASS={S['plain']}\nSTORAGE_KEY={S['azure']}\nX={S['azure']}\nXLA_FLAGS={S['aws secret']}\n",
    "run.sh": f"#!/bin/bash\nexport HF_TOKEN={S['hf']}\nwandb login {S['wandb']}\ndocker login -u bob -p {S['plain']} r.example.com\nmysql -p{S['pg']}\ncurl -u bob:{S['plain']} https://x\n"
    f"curl 'https://b.s3.amazonaws.com/k?X-Amz-Credential={S['aws']}%2F2020&X-Amz-Signature={S['signature']}'\ngit clone https://{S['github']}@github.com/a/b\n"
    f"git clone https://bob:{S['url']}@@github.com/a/b\nNEURON_RT_NUM_CORES=2 torchrun --nproc_per_node=2 train.py --hub_token {S['hf']} --report_to wandb\n",
    "docker.json": json.dumps({"auths": {"https://index.docker.io/v1/": {"auth": S["docker"]}}}),
    "kubeconfig": f"apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user:\n    token: {S['kube']}\n    client-key-data: {S['packed key']}\n    password: {S['plain']}\n",
    "pod.yaml": f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: x\n    env:\n    - name: HF_TOKEN\n      value: {S['hf']}\n    - name: DB_PASSWORD\n      value: {S['plain']}\n",
    "secret.yaml": f"apiVersion: v1\nkind: Secret\ndata:\n  token: {S['packed token']}\n  words: {S['secret data']}\n---\napiVersion: v1\nkind: ConfigMap\ndata:\n  a: kept\n",
    "secret.json": json.dumps({"apiVersion": "v1", "data": {"words": S["secret data"]}, "kind": "Secret"}),
    "whole.key": "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "\n".join(KEY) + "\n-----END OPENSSH PRIVATE KEY-----\n",
    "tail.key": "\n".join(KEY) + "\n-----END OPENSSH PRIVATE KEY-----\n", "middle.key": "\n".join(KEY[:-1]) + "\n",
    "logged.key": "".join(f"[rank3]: {line}\n" for line in (*KEY, "-----END RSA PRIVATE KEY-----")),
    "key.json": json.dumps({"a": "\n".join(KEY) + "\n-----END RSA PRIVATE KEY-----\n"}),
    "err.log": f"[rank0]:   File \"/home/jane/train.py\", line 3, in <module>\n[rank0]: ValueError: Invalid token passed! token {S['hf']} jwt {S['jwt']} wandb {S['wandb']}\n"
    f"{FAULT} key={S['hf']} AWS_SECRET_ACCESS_KEY={S['aws secret']} https://bob:{S['url']}@h/ password={S['plain']} {S['email']} {S['packed token']}\n",
    "web.log": f"{FAULT} Cookie: sessionid={S['cookie']}\nhttps://hooks.slack.com/services/{S['hook']}\n{S['stripe']} {S['gitlab']}\npostgres://u:{S['pg']}@db/x redis://:{S['pg']}@r:1\n"
    f"https://x.blob.core.windows.net/a?sig={S['signature']}&se=1 {FAULT}\n",
    ".netrc": f"machine api.wandb.ai\n  login user\n  password {S['netrc']}\n", ".pgpass": f"db:5432:*:u:{S['pg']}\n",
    "inspect.json": json.dumps([{"State": {"Status": "exited", "ExitCode": 1}, "Config": {"Image": "x", "Env": [f"DB_PASSWORD={S['plain']}"], "Cmd": ["torchrun", "--token", S["plain"]]}}]),
    f"name-{S['hf']}.log": f"{FAULT}\n", "utf16.log": f"{FAULT} token={S['hf']}\n".encode("utf-16"), "utf16le.log": f"{FAULT} token={S['hf']}\n".encode("utf-16-le"),
}  # fmt: skip
ALL = {**S, **{f"key line {number}": line for number, line in enumerate(KEY)}}


def seen(text: str) -> list[str]:
    return sorted(kind for kind, value in ALL.items() if value in text)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evidence(tmp_path_factory.mktemp("secrets") / "e", FILES)


@pytest.mark.parametrize("how", ["text", "json", "markdown"])
def test_no_report_shows_a_secret(root: Path, how: str) -> None:
    for verbose in ((), ("-v",)):
        result = run("diagnose", "--format", how, *verbose, root, env={"COLUMNS": "3000"})
        assert result.code == 2 and not seen(result.out + result.err), (seen(result.out + result.err), verbose)
        assert "NeuronCore(s) not available" in result.out


def test_why_not_and_errors_show_no_secret(root: Path) -> None:
    for argv in (("rules", "why-not", "runtime.cores-busy", root), ("rules", "why-not", "env.hub-access-denied", root)):
        result = run(*argv)
        assert result.code == 0 and not seen(result.out + result.err), seen(result.out + result.err)


def test_no_bundle_holds_a_secret_and_it_says_the_same(root: Path, tmp_path: Path) -> None:
    result = run("collect", root, "-o", tmp_path / "b.tgz", memory=200)
    assert result.code == 0 and not seen(result.out + result.err)
    with tarfile.open(tmp_path / "b.tgz") as archive:
        for member in archive:
            handle = archive.extractfile(member)
            assert handle is not None
            text = handle.read().decode("utf-8", "surrogateescape")
            assert not seen(member.name + text), (member.name, seen(member.name + text))
            assert member.name != "evidence/secret.yaml" or "a: kept" in text
    before, after = diagnose(root), diagnose(tmp_path / "b.tgz")
    assert [(item["fault"], item["rule"]) for item in after.json["findings"]] == [
        (item["fault"], item["rule"]) for item in before.json["findings"]
    ]


@pytest.mark.parametrize("line", [
    "model_jit__multi_slice.MODULE_10309832152081421013+4eddc804/model.neff", "/fsx/Users/Checkpoints2024/ModelRuns/Qwen3Base/Step10002/GlobalRank0/LayerNorm",
    "image: sha256:4c1fd6b0e93a4bdc2f5e0b6a1ab3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5", "_ZN3c106detail14torchInternalAssertFailEPKcS2_jS2_RKNSt7__cxx1112basic_string",
    "commit 0123456789abcdef0123456789abcdef01234567", "tensorizer_pass=DeadStoreElimination forward_pass: 0.125 cache_key: MODULE_1+2", "export PWD=/home OLDPWD=/root",
    "https://example.org:8080/path?x=1", "kind: Secret service mesh is not here", "pass: 17 fail: 2 key: value", "author=jane authentication=required",
])  # fmt: skip
def test_a_report_keeps_what_is_no_secret(line: str) -> None:
    from neuronwatch.collect.redact import Redactor

    assert Redactor(secrets_only=True).text(line) == line


def test_a_long_key_and_linear_time() -> None:
    """Keys without their ends over megabytes: nothing stays, in time that grows with the size."""
    import time

    from neuronwatch.collect.redact import Redactor

    lines = [word(64) for _ in range(400)] * 40
    begun = time.process_time()
    hidden = Redactor().text("\n".join(lines))
    assert not any(line in hidden for line in lines[:400]) and hidden.count("\n") == len(lines) - 1
    assert time.process_time() - begun < 20
