from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.parse.prefix import line_time, peel, strip_ansi

NRT = "2024-Apr-05 11:41:02.0111   32:32    ERROR   NRT:nrt_allocate_neuron_cores               NeuronCore(s) not available"


@pytest.mark.parametrize(
    ("prefix", "rank", "host"),
    [
        ("[rank3]: ", 3, ""),
        ("[rank3]:", 3, ""),
        ("[default3]:", 3, ""),
        ("[0]: ", 0, ""),
        ("[12]<stderr>:", 12, ""),
        ("[rank: 2] ", 2, ""),
        ("[1,3]<stderr>:", 3, ""),
        ("[1,mpirank:3,algo-2]<stdout>:", 3, "algo-2"),
        ("3: ", 3, ""),
        (" 3: ", 3, ""),
        ("(RayTrainWorker pid=123, ip=10.0.0.1) ", None, "10.0.0.1"),
        ("(raylet) ", None, ""),
        ("(EngineCore_0 pid=22) ", None, ""),
        ("(EngineCore_DP0 pid=22) ERROR 07-24 10:11:12 [core.py:588] ", None, ""),
        ("(APIServer pid=1) ", None, ""),
        ("(VllmWorker rank=3 pid=41) ", 3, ""),
        ("(Worker_TP3 pid=41) ", 3, ""),
        ("2024-08-12T18:34:56.123Z ", None, ""),
        ("2024-08-12T18:34:56.123456789Z stderr F ", None, ""),
        ("2024-08-12T18:34:56+00:00 algo-1-1691846 ", None, ""),
        ("1723487696123\t", None, ""),
        ("2024-08-12 18:34:56,116::ERROR: ", None, ""),
        ("2024-08-12 18:34:56,116 - root - INFO - ", None, ""),
        ("[2024-08-12 18:34:56 +0000] [7] [INFO] ", None, ""),
        ("[2024-08-12 18:34:56,116] [INFO] [real.py:12:fn] ", None, ""),
        ("08/12/2024 18:34:56 - INFO - __main__ - ", None, ""),
        ("Nov 13 00:24:25 ip-10-1-22-7 job[321]: ", None, "ip-10-1-22-7"),
        ("<6>Nov 13 00:24:25 ip-10-1-22-7 job[321]: ", None, "ip-10-1-22-7"),
        ("2024-11-13T00:24:25.123456+00:00 ip-10-1-22-7 job[321]: ", None, "ip-10-1-22-7"),
        ("1699835065.123456 ip-10-1-22-7 job[321]: ", None, "ip-10-1-22-7"),
        ("[pod/llm-0/server] ", None, ""),
        ("llm-1  | ", None, ""),
        ("algo-1-abcde  | ", None, ""),
        ("==> amazon-ebs.al2023: ", None, ""),
        ("    amazon-ebs.al2023: ", None, ""),
        ("ip-10-1-22-7: ", None, "ip-10-1-22-7"),
        ("2024-08-12T18:34:56,116 [WARN ] W-9000-model_1.0-stderr MODEL_LOG - ", None, ""),
        ("[INFO ] PyProcess - W-100-model-stdout: ", None, ""),
        ("INFO  PyProcess W-195-model-stdout: [1,0]<stdout>:", 0, ""),
        ("#12 34.56 ", None, ""),
        ("logs/worker.log:17:", None, ""),
    ],
)
def test_prefixes(prefix: str, rank: int | None, host: str) -> None:
    peeled = peel(prefix + NRT)
    assert (peeled.body, peeled.rank, peeled.host) == (NRT, rank, host)


@pytest.mark.parametrize(
    "text",
    [
        NRT,
        "2024-04-12 07:13:06.000296:  271334  INFO ||NEURON_CACHE||: Compile cache path: /var/tmp/neuron-compile-cache",
        "2023-08-25 21:52:23.000453: INFO ||NCC_WRAPPER||: Using a cached neff at /x",
        "2026-04-13 01:46:33.000003: 837617 [INFO]: Compilation Successfully Completed for model.MODULE_1.hlo_module.pb",
        "2025-02-24T00:04:00Z ERROR 5521 [neuronxcc.driver.CommandDriver]: x",
        "2024-01-17T23:14:01Z [LUR015]  Compiler generated too many instructions",
        "2023-Jun-14 19:05:29.0312 41129:41326 [23] bootstrap.cc:106 CCOM WARN Call to accept failed",
        "[   12.345678] neuron:npid_attach: pid=1",
        "[12345.345678] Neuron Driver Started with Version:2.20.28.0",
        "| 0      | 2      | 32 GB  | 00:1e.0 |",
        "{'loss': 1.2, 'epoch': 0.1}",
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536",
        "3: hello",
        "[23] is not a rank without its colon",
        "    key: value",
        '  File "train.py", line 3, in <module>',
        "RuntimeError: (a, b) is not (c)",
        "(hidden_size=4096) is not a process",
        "llama-3  model | 8 GB",
        "==> model.log <==",
        "100: Total 3",
        "",
        "   ",
        "[",
        "(",
    ],
)
def test_message_text_is_never_eaten(text: str) -> None:
    assert peel(text).body == text


def test_layers_and_indentation() -> None:
    peeled = peel('2026-08-21T10:14:02Z [pod/w-0/c] (RayTrainWorker pid=7, ip=10.0.0.9) [rank5]:   File "x.py", line 1')
    assert peeled.body == '  File "x.py", line 1'
    assert (peeled.rank, peeled.host) == (5, "10.0.0.9")
    assert peeled.time == datetime(2026, 8, 21, 10, 14, 2, tzinfo=timezone.utc).timestamp()


def test_docker_json() -> None:
    peeled = peel('{"log":"[rank1]: hello\\n","stream":"stderr","time":"2026-08-21T10:14:02.5Z"}')
    assert (peeled.body, peeled.rank) == ("hello", 1)
    assert peeled.time == datetime(2026, 8, 21, 10, 14, 2, 500_000, tzinfo=timezone.utc).timestamp()
    assert peel('{"log": 3}').body == '{"log": 3}'
    assert peel('{"log": "cut').body == '{"log": "cut'


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-Apr-05 11:41:02.011123   32:32    ERROR   NRT:x", "2024-04-05T11:41:02.011123"),
        ("2024-Apr-05 11:41:02.0111   32:32    ERROR   NRT:x", "2024-04-05T11:41:02.111"),
        ("2024-04-12 07:13:06.000296:  271334  INFO ||NEURON_CACHE||: x", "2024-04-12T07:13:06.296"),
        ("2026-04-13 01:46:33.000003: 837617 [INFO]: x", "2026-04-13T01:46:33.003"),
        ("2024-04-12 07:13:06.000296: W tensorflow/x.cc:1] y", "2024-04-12T07:13:06.000296"),
        ("2024-08-12T18:34:56.25+02:00 x", "2024-08-12T16:34:56.250000"),
        ("2024/08/12 18:34:56 x", "2024-08-12T18:34:56"),
        ("08/12/2024 18:34:56 - INFO - x", "2024-08-12T18:34:56"),
        ("[Wed Nov 13 00:24:25 2024] neuron: x", "2024-11-13T00:24:25"),
        ("2026-aug-19 08:11:02.120444", "2026-08-19T08:11:02.120444"),
    ],
)
def test_line_time(text: str, iso: str) -> None:
    expected = datetime.fromisoformat(iso).replace(tzinfo=timezone.utc).timestamp()
    assert line_time(text) == pytest.approx(expected, abs=1e-6)


def test_stamps_without_a_year() -> None:
    text = "Nov 13 00:24:25 host prog[1]: x"
    assert line_time(text) is None
    assert line_time(text, 2024) == datetime(2024, 11, 13, 0, 24, 25, tzinfo=timezone.utc).timestamp()
    assert line_time("Feb 30 00:00:00 host prog[1]: x", 2024) is None
    assert line_time("no stamp") is None


def test_strip_ansi() -> None:
    assert strip_ansi("\x1b[31mERROR\x1b[0m [1;36m(x)[0;0m #033[34mhi#033[0m a\x1b[3Cb") == "ERROR (x) hi a   b"
    assert strip_ansi("rate(x[5m]) [3/4] [0] x[1] [m]") == "rate(x[5m]) [3/4] [0] x[1] [m]"
    assert strip_ansi("\x1b]0;title\x07text \x1b(B\x1b") == "text "


@given(st.text(max_size=400))
def test_any_text(text: str) -> None:
    peeled = peel(text)
    assert text.endswith(peeled.body) or text.startswith("{")
    assert strip_ansi(strip_ansi(text)) is not None
    line_time(text)


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "(a " * 100_000, "2024-" * 50_000, "1" * 300_000, "\x1b[" * 100_000, "a-1" * 100_000, " " * 300_000,
     "[rank1]: " * 50_000, "\x1b]" * 100_000, "x" * 80 + "-1" + " " * 300_000],
)  # fmt: skip
def test_linear(text: str) -> None:
    start = time.perf_counter()
    peel(text)
    strip_ansi(text)
    line_time(text)
    assert time.perf_counter() - start < 2
