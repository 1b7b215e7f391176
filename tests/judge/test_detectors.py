"""Detectors of training and serving series: what each must see, and its twin that must stay silent."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence

import pytest

from neuronwatch.judge.detectors import grad_norm, loss, serving, steps, throughput
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.series import SeriesView
from neuronwatch.model import vocabulary
from neuronwatch.model.records import Fact, Origin, Sample, Value

Numbers = Sequence[float]


def series(runs: Mapping[tuple[str, str], Numbers], entity: str = "") -> SeriesView:
    """Runs by (name, path); value i stands on line 10 (i + 1), so that runs of one path join by line."""
    return SeriesView(
        Sample(name, value, Origin(path, 10 * (place + 1)), entity=entity, index=float(place))
        for (name, path), numbers in runs.items()
        for place, value in enumerate(numbers)
    )


def view(**facts: Value) -> FactsView:
    return FactsView(Fact(name.replace("__", "."), value, Origin("f", 1)) for name, value in facts.items())


def found(facts: Iterable[Fact]) -> dict[str, Value]:
    result = {}
    for fact in facts:
        assert vocabulary.known(fact.name), fact.name
        result.setdefault(fact.name, fact.value)
    return result


def losses(numbers: Numbers, norms: Numbers = (), **facts: Value) -> dict[str, Value]:
    runs = {("loss", "train.log"): numbers}
    if norms:
        runs["grad_norm", "train.log"] = norms
    return found(loss.detect(series(runs), view(**facts)))


def test_nothing_without_a_loss() -> None:
    assert found(loss.detect(series({("running", "s.log"): [1.0]}), view())) == {}


def test_first_nan_is_named_with_its_learning_rate() -> None:
    runs = {("loss", "t"): [2.1, math.nan, math.inf], ("learning_rate", "t"): [1e-7, 2e-7, 3e-7]}
    facts = found(loss.detect(series(runs), view()))
    assert (facts["loss.nan_count"], facts["loss.nan_first_index"], facts["loss.nan_lr"]) == (2, 1, 2e-7)
    assert facts["loss.nan_first_step"] == 1


def test_losses_of_a_graph_extraction_are_not_real() -> None:
    facts = FactsView([Fact("run.trial", True, Origin("trial.log", 1))])
    runs = {("loss", "trial.log"): [0.0, math.nan], ("loss", "train.log"): [2.0, 1.8, 1.6]}
    assert found(loss.detect(series(runs), facts))["loss.nan_count"] == 0
    assert found(loss.detect(series({("loss", "trial.log"): [0.0, math.nan]}), facts)) == {}


def test_identical_needs_bit_equal_values_that_are_not_zero() -> None:
    assert losses([11.7628] * 4)["loss.identical"] is True
    assert losses([11.5234, 11.5234, 11.5197, 11.5234])["loss.identical"] is False
    assert losses([0.0] * 4)["loss.identical"] is False
    assert losses([0.0] * 4)["loss.zero"] is True
    assert losses([2.0, 2.0, 2.0, math.nan])["loss.identical"] is False


def test_chance_level_of_labels_and_of_the_vocabulary() -> None:
    at_chance = losses([4.348, 4.344, 4.344, 4.343], config__num_labels=77)
    assert at_chance["loss.near_ln_labels"] is True and at_chance["loss.flat"] is True
    assert losses([4.1, 2.0, 1.1, 0.8], config__num_labels=77)["loss.near_ln_labels"] is False
    assert losses([10.37, 10.38, 10.37], config__vocab_size=32000)["loss.near_ln_vocab"] is True
    assert "loss.near_ln_vocab" not in losses([10.37, 10.38, 10.37])


def test_falling_loss_is_neither_flat_nor_creeping() -> None:
    facts = losses([2.41, 2.21, 2.06, 1.90, 1.86, 1.72, 1.66, 1.61])
    assert facts["loss.falls"] is True
    assert facts["loss.flat"] is False and facts["loss.creeping_up"] is False


def test_creeping_up_is_slow_and_steady() -> None:
    assert losses([2.10, 2.13, 2.17, 2.22, 2.28, 2.35])["loss.creeping_up"] is True
    assert losses([2.10, 2.30, 2.00, 2.25, 2.05, 2.20])["loss.creeping_up"] is False


SWING = [5.1, 2.1, 5.3, 2.2, 4.9, 1.9, 5.2, 2.0, 5.0, 2.3]
CALM = [0.91, 0.93, 0.90, 0.92, 0.94, 0.90, 0.91, 0.95, 0.92, 0.93]


def test_oscillation_with_a_calm_gradient() -> None:
    assert losses(SWING, CALM)["loss.oscillates"] is True


@pytest.mark.parametrize(
    ("numbers", "norms", "facts"),
    [
        (SWING, [0.9, 40.0, 0.8, 33.0, 0.9, 51.0, 0.7, 44.0, 0.9, 61.0], {}),
        (SWING, [2.9, 0.9, 2.7, 1.0, 3.1, 0.8, 2.8, 0.9, 3.0, 1.1], {}),
        (SWING, CALM, {"launch__per_device_batch": 1}),
        ([2.1, 1.9, 2.3, 1.8, 2.2, 1.7, 2.1, 1.9, 2.0, 1.8], CALM, {}),
        ([9.0, 7.5, 6.1, 4.9, 3.8, 3.0, 2.5, 2.2, 2.0, 1.9], CALM, {}),
    ],
    ids=["gradient is wild", "gradient swings with it", "batch of one", "small noise", "fast fall"],
)
def test_no_oscillation(numbers: Numbers, norms: Numbers, facts: dict[str, Value]) -> None:
    assert losses(numbers, norms, **facts)["loss.oscillates"] is False


def test_oscillation_is_unknown_without_a_gradient_norm() -> None:
    assert "loss.oscillates" not in losses(SWING)


def test_noisy_loss_of_a_small_batch_stays_silent() -> None:
    """Two hundred runs with the noise of one short answer per step."""
    rng = random.Random(7)
    for _ in range(200):
        numbers = [max(0.1, rng.gauss(2.0, 0.7) - 0.002 * step) for step in range(60)]
        norms = [abs(rng.gauss(0.9, 0.1)) for _ in numbers]
        assert losses(numbers, norms, launch__per_device_batch=1)["loss.oscillates"] is False


def test_the_worse_of_two_runs_is_described_and_the_better_named() -> None:
    runs = {("loss", "bf16.log"): [4.34, 4.34, 4.34], ("loss", "fp32.log"): [3.1, 1.7, 0.8]}
    facts = found(loss.detect(series(runs), view()))
    assert facts["loss.last"] == 4.34
    assert facts["loss.other_run_better"] is True and facts["loss.best_other"] == 0.8


def test_ranks_of_one_run_are_not_other_runs() -> None:
    samples = [Sample("loss", 2.0 - 0.1 * step, Origin("t", 10 * step + rank), entity=f"rank{rank}")
               for step in range(5) for rank in range(3)]  # fmt: skip
    assert "loss.other_run_better" not in found(loss.detect(SeriesView(samples), view()))


def test_gradient_norm() -> None:
    def norms(numbers: Numbers) -> dict[str, Value]:
        return found(grad_norm.detect(series({("grad_norm", "t"): numbers}), view()))

    assert norms([0.0, 0.0, 0.0])["grad_norm.zero"] is True
    assert norms([0.8, 0.4, 0.01, 0.0001, 0.0, 0.0])["grad_norm.falls_to_zero"] is True
    assert norms([0.8, 0.7, 0.6])["grad_norm.falls_to_zero"] is False
    assert norms([0.8, math.nan, 0.6])["grad_norm.nan_count"] == 1


def served(running: Numbers, waiting: Numbers, rate: Numbers = (), **facts: Value) -> dict[str, Value]:
    runs = {("running", "s"): running, ("waiting", "s"): waiting}
    if rate:
        runs["tokens_per_s", "s"] = rate
    return found(serving.detect(series(runs), view(**facts)))


def test_one_runs_while_the_others_wait() -> None:
    facts = served([1, 1, 1], [3, 9, 15])
    assert facts["serve.running_stuck_at_one"] is True and facts["serve.waiting_grows"] is True
    assert served([4, 5, 4], [1, 2, 1])["serve.running_stuck_at_one"] is False
    assert "serve.running_stuck_at_one" not in served([1, 1, 1], [0, 0, 0])
    assert "serve.running_stuck_at_one" not in served([1], [12])


def test_requests_run_and_no_token_comes() -> None:
    stuck = served([4, 4, 4, 4], [0, 9, 9, 9], [118.5, 0, 0, 0], launch__max_num_seqs=4)
    assert stuck["serve.stalled_lines"] == 3 and stuck["serve.at_limit"] is False
    assert "serve.running_stuck_at_one" not in served([1, 1, 1], [3, 9, 15], [0, 0, 0])
    assert served([1, 1, 0], [0, 0, 0], [0, 0, 0])["serve.stalled_lines"] == 2  # the client gave up
    assert "serve.stalled_lines" not in served([1, 1, 1], [0, 0, 0], [0, 0, 22.4])


def test_how_long_it_stands_is_read_from_the_clock_of_the_line() -> None:
    def status(name: str, value: float, clock: str, line: int) -> Sample:
        return Sample(name, value, Origin("s", line, f"INFO 12-31 {clock} metrics.py:455] Running: 2 reqs"))

    samples = [status(name, value, clock, line) for line, clock in enumerate(("23:59:30", "00:00:40"), start=1)
               for name, value in (("running", 2.0), ("tokens_per_s", 0.0))]  # fmt: skip
    assert found(serving.detect(SeriesView(samples), view()))["serve.stalled_seconds"] == 70.0


def test_two_scrapes_of_a_metrics_page_join_and_one_proves_nothing() -> None:
    samples = [Sample("running", 1.0, Origin("m", 3)), Sample("waiting", 41.0, Origin("m", 7))]
    facts = found(serving.detect(SeriesView(samples), view()))
    assert facts["serve.waiting_max"] == 41 and "serve.running_stuck_at_one" not in facts
    samples += [Sample("running", 1.0, Origin("m", 13)), Sample("waiting", 44.0, Origin("m", 17))]
    assert found(serving.detect(SeriesView(samples), view()))["serve.running_stuck_at_one"] is True


def test_all_slots_taken_and_the_rate_collapses() -> None:
    facts = served([6, 7, 8, 8], [0, 0, 5, 9], [121.4, 118.8, 2.1, 2.0], launch__max_num_seqs=8)
    assert facts["serve.at_limit"] is True and facts["serve.throughput_collapses"] is True
    calm = served([5, 8, 8, 6], [0, 0, 0, 0], [180, 178, 179, 181], launch__max_num_seqs=8)
    assert calm["serve.at_limit"] is False and calm["serve.throughput_collapses"] is False
    assert served([1, 1, 1], [3, 4, 5], launch__max_num_seqs=1)["serve.at_limit"] is False


def compiled(lines: Sequence[int], count: int = 8) -> dict[str, Value]:
    samples = [Sample("loss", 2.0, Origin("t", 10 * (step + 1)), index=float(step)) for step in range(count)]
    samples += [Sample("compile", 1.0, Origin("t", line)) for line in lines]
    return found(steps.detect(SeriesView(samples), view()))


def test_recompiling_at_every_step_against_the_first_two_compiles() -> None:
    every = compiled([5, 15, 25, 35, 45, 55, 65, 75])
    assert every["step.recompiles_every_step"] is True and every["step.compiles"] == 6
    assert compiled([5, 15])["step.recompiles_every_step"] is False
    assert compiled([])["step.advancing"] is True


def test_throughput_that_falls_and_stays_low() -> None:
    def speed(numbers: Numbers) -> dict[str, Value]:
        return found(throughput.detect(series({("tokens_per_s", "t"): numbers}), view()))

    assert speed([3000.0] * 20 + [1200.0] * 6)["throughput.dropped"] is True
    assert speed([3000.0] * 20 + [1200.0] + [3000.0] * 5)["throughput.dropped"] is False
    assert speed([100.0, 900.0] + [3000.0] * 20)["throughput.dropped"] is False
    assert speed([3000.0, 1000.0]) == {}
    images = found(throughput.detect(series({("samples_per_s", "t"): [412.0] * 30 + [171.0] * 30}), view()))
    assert images["throughput.dropped"] is True


def test_one_rank_slower_than_the_others() -> None:
    def ranks(times: Mapping[int, float], steps: int = 20) -> dict[str, Value]:
        samples = [Sample("step_time", seconds + 0.01 * (step % 3), Origin("t", 10 * step + rank), entity=f"rank{rank}")
                   for step in range(steps) for rank, seconds in times.items()]  # fmt: skip
        return found(throughput.detect(SeriesView(samples), view()))

    slow = ranks({0: 4.4, 1: 4.4, 2: 7.1, 3: 4.5})
    assert slow["step.slow_rank"] == "rank2"
    assert "step.slow_rank" not in ranks({0: 4.4, 1: 4.5, 2: 4.6, 3: 4.4})
    assert "step.slow_rank" not in ranks({0: 4.4, 1: 7.0})
    assert ranks({0: 1.2, 1: 1.2, 2: 4.1}, 6)["step.slow_rank"] == "rank2"
    assert "step.slow_rank" not in ranks({0: 4.4, 1: 4.4, 2: 7.1}, 6)
    assert "step.slow_rank" not in ranks({0: 1.2, 1: 1.2, 2: 4.1}, 3)


def test_detectors_take_any_numbers() -> None:
    """Hostile series: NaN, infinities, huge and negative values, single points; nothing may raise."""
    rng = random.Random(3)
    pool = [math.nan, math.inf, -math.inf, 0.0, -1.0, 1e308, 1e-308, 2.0]
    names = ("loss", "grad_norm", "learning_rate", "running", "waiting", "preempted", "tokens_per_s", "step_time", "compile")
    for _ in range(300):
        runs = {(name, rng.choice("ab")): [rng.choice(pool) for _ in range(rng.randrange(0, 20))] for name in names}
        facts = view(launch__max_num_seqs=rng.choice([0, 1, 4]), config__vocab_size=rng.choice([0, 2, 32000]))
        for detector in (loss, grad_norm, serving, steps, throughput):
            found(detector.detect(series(runs, rng.choice(["", "rank1"])), facts))


def test_a_drop_early_in_the_run_is_seen() -> None:
    facts = found(throughput.detect(series({("tokens_per_s", "t"): [60_000.0] * 25 + [33_000.0] * 60}), view()))
    assert facts["throughput.dropped"] is True
    back = found(throughput.detect(series({("tokens_per_s", "t"): [60_000.0] * 25 + [33_000.0] * 40 + [60_000.0] * 20}), view()))
    assert back["throughput.dropped"] is False


def test_the_rank_that_computes_longest_stands_out_from_every_other() -> None:
    def ranks(times: Mapping[str, float]) -> SeriesView:
        return SeriesView(
            Sample("compute_time", value, Origin("t", 10 * step + int(rank[4:])), entity=rank, index=float(step))
            for step in range(14)
            for rank, value in times.items()
        )

    slow = found(throughput.detect(ranks({"rank0": 1.0, "rank1": 1.02, "rank2": 1.75, "rank3": 1.01}), view()))
    assert slow["step.slow_rank"] == "rank2"
    stages = found(throughput.detect(ranks({"rank0": 1.0, "rank1": 1.02, "rank2": 1.75, "rank3": 1.74}), view()))
    assert "step.slow_rank" not in stages


def test_a_step_long_ago_is_told_only_with_the_moment_of_capture() -> None:
    points = SeriesView(Sample("loss", 2.0, Origin("t", n), time=1_000.0 + n, index=float(n)) for n in range(5))
    assert found(steps.detect(points, view(host__now=9_000.0)))["step.stalled_seconds"] == 7_996.0
    assert "step.stalled_seconds" not in found(steps.detect(points, view()))


def test_the_first_step_waits_for_workers_and_does_not_count() -> None:
    assert found(steps.detect(series({("input_share", "t"): [0.97, 0.02, 0.03, 0.02]}), view()))["step.input_share"] == 0.02
    assert found(steps.detect(series({("input_share", "t"): [0.97, 0.8, 0.9]}), view()))["step.input_share"] == pytest.approx(0.85)
    assert "step.input_share" not in found(steps.detect(series({("input_share", "t"): [0.97, 0.8]}), view()))
