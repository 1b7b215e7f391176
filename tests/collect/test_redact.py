"""Redaction: planted secrets never survive, relations do, formats still parse, and what diagnosis needs stays."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.collect.redact import Redactor

SECRETS = [
    ("HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345", "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345"),
    ("aws_access_key_id = AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("aws_session_token: FwoGZXIvYXdzEBYaDExample12345", "FwoGZXIvYXdzEBYaDExample12345"),
    ('{"password": "hunter2-hunter2"}', "hunter2-hunter2"),
    ('256 tokens:\n"api_key": "G2CgReIURmbw0tnWKEfZBaZ7"', "G2CgReIURmbw0tnWKEfZBaZ7"),
    ("max_tokens: password=hunter2-hunter2", "hunter2-hunter2"),
    ("curl -H 'Authorization: Bearer abcdef0123456789abcdef'", "abcdef0123456789abcdef"),
    ("git clone https://jane:s3cr3tpass@git.corp.example.com/x.git", "s3cr3tpass"),
    ("login --password s3cr3t-flag-value", "s3cr3t-flag-value"),
    ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
    ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "eyJzdWIiOiIxMjM0NTY3"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567890abcdef\nzzz\n-----END RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA"),
    ("arn:aws:iam::123456789012:role/train", "123456789012"),
    ("123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1", "123456789012"),
    ("instance-id: i-0123456789abcdef0", "0123456789abcdef0"),
    ("mail jane.doe@acme-corp.com", "jane.doe@acme-corp.com"),
    ("host ip-10-11-12-13.ec2.internal up", "10-11-12-13"),
    ("connect to 10.11.12.13:62182 failed", "10.11.12.13"),
    ("cd /home/jdoe/run", "jdoe"),
    ("USER=jdoe", "jdoe"),
    ("peer fd12:3456:789a:1::1 lost", "fd12:3456:789a:1::1"),
    ("link/ether 0a:1b:2c:3d:4e:5f brd", "0a:1b:2c:3d:4e:5f"),
    ("xoxb-123456789012-abcdefghijkl", "123456789012-abcdefghijkl"),
    ("export OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
    ("nodename: trainer-box-7", "trainer-box-7"),
    ("account 123456789012", "123456789012"),
    ("123456789012\tarn:aws:sts::123456789012:assumed-role/train/i-0", "123456789012"),
    ('{"password":"p@ss,word!"}', "word!"),
    ('{"password": "p@ss;word}x", "a": 1}', "word}x"),
    ("db_password='hunter, two (2)'", "two (2)"),
    ("postgres://bob:pw3x9q@db.corp-secret.com/x", "db.corp-secret.com"),
    ("postgres://bob:pw3x9q@db.corp-secret.com/x", "pw3x9q"),
    ("peer fd00::1 lost", "fd00::1"),
    ("peer [fd00::17]:62182 lost", "fd00::17"),
    ("Linux trn-node-07 5.15.0-1065-aws #71 SMP x86_64 GNU/Linux", "trn-node-07"),
    ("jane@trn-node-07:~$ neuron-ls", "trn-node-07"),
    ("jane@trn-node-07:~$ neuron-ls", "jane"),
]


@pytest.mark.parametrize(("line", "secret"), SECRETS)
def test_planted_secret_is_gone(line, secret):
    assert secret not in Redactor().text(line)


@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "Nov 13 00:24:25 host prog[1]: ", '{"log": "', "\x1b[31m"])
@pytest.mark.parametrize(("line", "secret"), SECRETS)
def test_planted_secret_with_prefix_is_gone(prefix, line, secret):
    assert secret not in Redactor().text(prefix + line)


KEPT = [
    "{'pad_token_id': 151643, 'max_new_tokens': 4096}",
    "Neuron Driver Started with Version:2.20.28.0-f8382cc9522eb9ffbd6742bdb6ca9ae9c497b6d2",
    "aws-neuronx-runtime-lib 2.32.31.0-0234f5ed2",
    "neuronx-cc 2.21.33363.0+82129205",
    "NEURON_RT_ROOT_COMM_ID=localhost:62182",
    "TOKENIZERS_PARALLELISM=false",
    "Linux version 5.15.0-1065-aws (buildd@lcy02-amd64-110) #71-Ubuntu SMP",
    "Amazon Linux AMI 2018.03.0",
    "kernel 5.15.0-1065-aws at 0.0.0.0:8000 and 127.0.0.1",
    "MODULE_10309832152081421013+4eddc804/model.neff",
    "torch 2.8.0 at /opt/venv/lib/python3.10/site-packages/torch/nn/modules/module.py",
    "BDF: 0000:cc:00.0 => nd[0]",
    "max_num_batched_tokens=8192, prompt tokens: 512 tokens/s",
    "2026-08-21 10:14:02.883112 51942:51942 ERROR NRT:nrt_init",
    "https://huggingface.co/Qwen/Qwen3-8B and pip.repos.neuron.amazonaws.com",
    "self.tokenizer = AutoTokenizer.from_pretrained(model_id)",
]


@pytest.mark.parametrize("line", KEPT)
def test_what_diagnosis_needs_stays(line):
    assert Redactor().text(line) == line


HOST_LINES = [
    "Nov  3 01:02:03 trn-node-07 kernel: [ 1.0] neuron", "Linux trn-node-07 5.15.0-1065-aws #71", "jane@trn-node-07:~$ ls",
    "jane      4242  0.0 python /scratch/jane/train.py", "[trn-node-07] rank 3", '{"log": "\\njane says"}',
]  # fmt: skip


@pytest.mark.parametrize("learned", [
    "HOSTNAME=trn-node-07\nUSER=jane", "HOSTNAME=trn-node-07\n/home/jane/x", "trn-node-07.corp.internal\n/home/jane/x",
    "jane@trn-node-07:/fsx$ w",
])  # fmt: skip
def test_a_host_and_a_user_known_once_are_gone_everywhere(learned):
    """Also from what came before the line that gave them away."""
    redactor = Redactor()
    before = [redactor.text(line) for line in HOST_LINES]
    redactor.text(learned)
    for text in (*map(redactor.again, before), *map(redactor.text, HOST_LINES)):
        assert "trn-node-07" not in text and "jane" not in text
    assert redactor.text(HOST_LINES[1]).split()[1] == redactor.text(HOST_LINES[0]).split()[3]


@pytest.mark.parametrize("line", ["USER=ubuntu", "/home/ec2-user/x", "USER=www-data", "HOSTNAME=worker", "/home/shared/x"])
def test_words_of_every_log_are_not_learned(line):
    redactor = Redactor()
    redactor.text(line)
    kept = "root ubuntu ec2-user www-data worker shared 10:14:02 c10::d"
    assert redactor.text(kept) == kept


def test_one_token_for_one_secret():
    redactor = Redactor()
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
    lines = ["WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", jwt, "DB_PASSWORD=hunter2-x", "machine_token: 'ab cd, ef'",
             "0123456789abcdef0123456789abcdef01234567 wandb 0123456789abcdef0123456789abcdef01234567"]  # fmt: skip
    tokens = [redactor.text(line)[-14:] for line in lines]
    assert len({*tokens[:3], tokens[3][-15:]}) == 4
    assert tokens[4] == tokens[0]


def test_relations_stay():
    redactor = Redactor()
    first = redactor.text("10.0.0.7 asks 10.0.0.8").split()
    assert redactor.text("from 10.0.0.8").split()[1] == first[2] != first[0]
    assert redactor.text("i-0123456789abcdef0") == redactor.text("i-0123456789abcdef0")
    assert redactor.text("i-0123456789abcdef0") != redactor.text("i-0fedcba9876543210")
    assert redactor.text("ip-10-0-0-7")[3:].replace("-", ".") == first[0]


def test_idempotent_on_its_own_output():
    redactor = Redactor()
    once = [redactor.text(line) for line, _ in SECRETS]
    assert [Redactor().text(line).count("\n") for line in once] == [line.count("\n") for line in once]


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=30), st.sampled_from([line for line, _ in SECRETS])),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(
        ["token", "password", "api_key", "x", "hostname", "pad_token_id", "user"]), inner, max_size=4)), max_leaves=12)  # fmt: skip


@given(json_values, st.sampled_from([None, 2]))
def test_json_stays_json(value, indent):
    text = json.dumps(value, indent=indent)
    json.loads(Redactor().text(text))


@given(st.text(max_size=300))
def test_never_raises_and_keeps_lines(text):
    assert Redactor().text(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("unit", ["a", "token", "1.", "10.0.0.", "x@", "eyJ.", "://a:", "ip-1-", "f:", "-----", "aaa.com"])
def test_linear_on_hostile_text(unit):
    def seconds(size):
        text = unit * (size // len(unit))
        start = time.perf_counter()
        Redactor().text(text)
        return time.perf_counter() - start

    small, large = min(seconds(20_000) for _ in range(3)), seconds(160_000)
    assert large < 40 * small + 1.0, (small, large)
