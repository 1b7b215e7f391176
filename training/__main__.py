"""Fine-tunes a Qwen3: `python training/ [CONFIG.toml] [--set section.key=value ...]`.

Needs no neuronwatch. Where NEURONWATCH_EMIT is set, it tells its progress there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads that spin make a tiny model ten times slower
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import checkpoints
import emit
import rows
from config import Config, ConfigError, load, resolve

USAGE, FAILED = 64, 1


@dataclass
class Job:
    """What a backend trains."""

    config: Config
    output: Path
    model: Any
    tokenizer: Any
    examples: list[dict[str, list[int]]]
    adapter: Any
    """A module of adapters/; None: all weights are trained."""
    resume: Path | None
    progress: bool
    reports: list[str]


def main() -> int:
    parser = argparse.ArgumentParser(prog="training", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", metavar="CONFIG.toml", help="without it: the tiny model on the shipped questions")
    changes = "changes one key, such as train.learning_rate=1e-4"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=changes)
    args = parser.parse_args()
    emit.phase("import")
    try:
        return run(load(args.config, args.set))
    except ConfigError as error:
        print(f"training: {error}", file=sys.stderr)
        return USAGE


def run(config: Config) -> int:
    """Raises ConfigError."""
    import adapters
    import backends
    import examples
    import export
    import load as loader
    import measure
    import tiny
    import torch
    from transformers import set_seed

    torch.set_num_threads(1)
    set_seed(config.run.seed)
    output = Path(config.run.output_dir)
    output.mkdir(parents=True, exist_ok=True)
    emit.phase("data")
    train, held = (rows.read(resolve(config, name)) for name in (config.data.train, config.data.validation))
    if config.data.normalize_punctuation:
        train, changed = rows.normalized(train)
        print(f"punctuation: {changed} full-width characters were changed", flush=True)
    say(f"data: {len(train)} rows, fingerprint {rows.fingerprint(train)}; {len(held)} rows held out")
    emit.phase("load")
    if config.model.path:
        model, tokenizer, said = loader.load(config)
        for line in said:
            say(f"model: {line}")
            emit.note(f"model: {line}", level="warning")
    else:
        tokenizer = tiny.tokenizer(train, config.model.vocab_size)
        model = tiny.model(config, tokenizer)
    length = config.data.max_length
    encoded, cut = examples.encode(train, tokenizer, length, config.data.train)
    validation, _ = examples.encode(held, tokenizer, length, config.data.validation)
    if cut:
        say(f"data: {cut} answers are longer than data.max_length = {length} and were cut")
    resume, passed = checkpoints.newest(output)
    for line in passed:
        say(f"passed over {line}")
    if resume is not None:
        say(f"Resuming training from {resume}")
    job = Job(config, output, model, tokenizer, encoded, adapters.choose(config.peft.kind), resume, sys.stderr.isatty(), _reports())
    begun = time.monotonic()
    model = backends.choose(config.run.backend).train(job)
    emit.phase("evaluate")
    base, reached = measure.unigram(encoded, validation, len(tokenizer)), measure.loss(model, validation)
    answers = [(row, measure.answer(model, tokenizer, row)) for row in train[:: max(1, len(train) // 10)][:10]]
    good = sum(measure.rouge_l(said, row.answer) >= 0.6 for row, said in answers)
    emit.metric(eval_loss=reached)
    emit.phase("checkpoint")
    final = export.export(model, tokenizer, output, job.adapter)
    result = {"validation_loss": reached, "unigram": base, "answers_right": good, "answers": len(answers),
              "seconds": round(time.monotonic() - begun, 1), "model": str(final)}  # fmt: skip
    (output / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    say(f"validation loss {reached:.3f} nats a token, {base - reached:.3f} below the unigram's {base:.3f}; "
        f"{good} of {len(answers)} questions answered; model in {final}")  # fmt: skip
    emit.phase("exit")
    return 0


def _reports() -> list[str]:
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        return []
    return ["tensorboard"]


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
