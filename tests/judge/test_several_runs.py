"""A log that holds several runs: with what the last one was started counts, and its steps; what a run took from the cache outlives it."""

from __future__ import annotations

from watch_support import Host, rule

from neuronwatch.judge import engine
from neuronwatch.judge.state import State

LOG = "serve.log"
START = "INFO 12-01 04:5{minute}:11 [api_server.py:1839] vLLM API server version 0.11.0"
ARGUMENTS = "INFO 12-01 04:5{minute}:11 [utils.py:233] non-default args: {{'model': 'm', 'max_num_seqs': {slots}}}"
WORK = (
    "INFO 12-01 04:5{minute}:22 [loggers.py:123] Engine 000: Avg prompt throughput: 318.5 tokens/s, Avg generation throughput: "
    "360.0 tokens/s, Running: 6 reqs, Waiting: {minute} reqs, GPU KV cache usage: 12.0%, Prefix cache hit rate: 41.7%"
)


def server(minute: int, slots: int, work: bool = True) -> list[str]:
    lines = [START, ARGUMENTS, WORK] if work else [START, ARGUMENTS]
    return [line.format(minute=minute, slots=slots) for line in lines]


def state_of(lines: list[str]) -> tuple[State, Host]:
    host = Host(rule("runtime.a"))
    return engine.observe(State(), host.scan(LOG, "\n".join(lines) + "\n"), host.rules), host


def test_with_what_the_last_run_was_started() -> None:
    state, _ = state_of([*server(1, 16), *server(3, 6)])
    facts, series = engine.gather(state)
    assert [fact.value for fact in facts.all("launch.max_num_seqs")] == [6]
    assert state.files[LOG].last_run() == 4
    assert [len(run.points) for run in series.get("waiting")] == [2]
    assert [len(run.points) for run in series.of_last_run("waiting")] == [1]


def test_ranks_that_say_the_same_are_one_run() -> None:
    """No work lies between their banners."""
    state, _ = state_of([*server(1, 16, work=False), *server(1, 8, work=False), *server(1, 8)[-1:]])
    assert state.files[LOG].last_run() == 0
    assert [fact.value for fact in engine.gather(state)[0].all("launch.max_num_seqs")] == [16, 8]


def test_pieces_and_whole_texts_alike() -> None:
    lines = [*server(1, 16), *server(3, 6)]
    state, host = state_of(lines)
    for line in lines:
        host.log(LOG, line)
    live = host.watch._state
    assert live.files[LOG].banners == state.files[LOG].banners
    assert [fact.value for fact in engine.gather(live)[0].all("launch.max_num_seqs")] == [6]
    host.log(LOG, *server(5, 4, work=False), fresh=True)
    assert [fact.value for fact in engine.gather(live)[0].all("launch.max_num_seqs")] == [4]


def test_what_a_run_took_from_the_cache_outlives_it() -> None:
    hit = ("2026-12-01 04:51:18.000251: 51285 [INFO]: Using a cached neff at /var/tmp/neuron-compile-cache/neuronxcc-2.21.33363.0+f9f74af1/"
           "MODULE_77642196899284{number:02d}+d41d8cd9/model.neff")  # fmt: skip
    state, _ = state_of([hit.format(number=number % 2) for number in range(6)])
    file = state.files[LOG]
    before = {fact.value for fact in file.facts if fact.name == "cache.hit"}
    assert len(before) == 2
    file.retire(100)
    assert sorted(str(fact.value) for fact in file.facts) == sorted(map(str, before))
