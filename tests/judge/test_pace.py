"""When the watch judges: at once for news, rarely for what goes on all the time, and never twice for nothing."""

from __future__ import annotations

from unittest import mock

import pytest
from watch_support import Host, rule, states

from neuronwatch.judge import engine


@pytest.fixture
def judgements():
    with mock.patch.object(engine, "judge", wraps=engine.judge) as judge:
        yield judge


def test_nothing_new_is_not_judged_again_but_within_a_minute(judgements):
    host = Host(rule("runtime.a-exit"))
    host.log("job.log", "hello")
    host.judged()
    host.run(58)
    assert judgements.call_count == 1
    host.run(4)
    assert judgements.call_count == 2


def test_a_first_hit_is_judged_at_once_and_the_thousandth_is_not(judgements):
    host = Host(rule("runtime.a-exit"))
    host.log("job.log", "hello")
    host.judged()
    host.mono += 1
    host.log("job.log", "trouble runtime.a-exit")
    assert host.watch.due(host.now) == 0 and states(host.judged()) == {"runtime.a-exit": "true"}
    for _ in range(200):
        host.log("job.log", "trouble runtime.a-exit")
        host.judged(0.1)
    assert judgements.call_count < 80
    before = judgements.call_count
    for _ in range(100):
        host.log("job.log", "trouble runtime.a-exit")
        host.judged(0.1)
    assert judgements.call_count <= before + 1


def test_a_series_is_judged_now_and_then(judgements):
    host = Host(rule("runtime.a-exit"))
    for step in range(600):
        host.log("job.log", f"{{'loss': {1 + step / 1000}, 'epoch': {step / 1000}}}")
        host.judged(1)
    assert 30 <= judgements.call_count <= 60


def test_no_news_waits_longer_than_a_fifth_of_a_second():
    """Also not in the middle of a storm of other news."""
    host = Host(*(rule(f"runtime.a-{letter}{number}") for letter in "abcdefgh" for number in range(20)))
    host.judged()
    waits = []
    for number in range(20):
        for letter in "abcdefgh":
            name = f"runtime.a-{letter}{number}"
            host.log("job.log", f"trouble {name} end")
            waited = 0.0
            while name not in states(host.judged()):
                host.mono += 0.01
                waited += 0.01
            waits.append(waited)
    assert max(waits) <= 0.211


def test_due_says_when_the_loop_has_to_call():
    host = Host(rule("runtime.a-exit"))
    host.log("job.log", "hello")
    assert host.watch.due(host.now) == 0
    host.judged()
    assert 1 <= host.watch.due(host.now) <= 2


ENDED = 'how = "pattern"\npattern = "step \\\\d+ done"'


def test_the_end_of_what_never_began_is_no_news(judgements):
    host = Host(rule("runtime.a-exit", ends=ENDED))
    host.log("job.log", "hello")
    host.judged()
    for step in range(10):
        host.log("job.log", f"step {step} done")
        host.judged(1.0)
    assert judgements.call_count == 1
    host.log("job.log", "trouble runtime.a-exit")
    assert states(host.judged()) == {"runtime.a-exit": "true"}
    host.log("job.log", "step 10 done")
    assert states(host.judged(1.0)) == {"runtime.a-exit": "false"}, "now there is something to end"


def test_weak_words_are_news_the_first_times_only(judgements):
    host = Host(rule("runtime.a-exit", more='[[signature]]\nname = "word"\npattern = "neuron"\nweak = true'))
    host.log("job.log", "hello")
    host.judged()
    counts = []
    for _ in range(10):
        host.log("job.log", "a word of neuron")
        host.judged(1.0)
        counts.append(judgements.call_count)
    assert counts == [2, 3, 4, *[4] * 7]
