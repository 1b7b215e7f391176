"""transformers and trl, at the versions that the Neuron stack pins, on any CPU. One thread: a resumed run is the same run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import checkpoints
import emit
import order
import ramp
from config import ConfigError


def train(job: Any) -> Any:
    """Trains `job.model` and returns it. Raises ConfigError for arguments that the trainer does not know."""
    import torch
    from datasets import Dataset
    from transformers import default_data_collator
    from trl import SFTConfig, SFTTrainer

    torch.set_num_threads(1)
    try:
        arguments = SFTConfig(
            output_dir=str(job.output), seed=job.config.run.seed, data_seed=job.config.run.seed, report_to=job.reports, bf16=False,
            use_cpu=True, disable_tqdm=not job.progress, dataset_kwargs={"skip_prepare_dataset": True}, remove_unused_columns=False,
            max_length=job.config.data.max_length, **job.config.train,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise ConfigError(f"[train]: {error}") from error
    model, callbacks = job.model, [emit.callback]
    if job.adapter is not None:
        model = job.adapter.apply(model, job.config.peft)
        callbacks.append(ramp.callback(job.config.peft, job.adapter))
    rows = order.Order(len(job.examples), job.config.run.seed, order.epoch_of(job.resume))
    trainer = _careful(SFTTrainer, rows)(
        model=model, args=arguments, train_dataset=Dataset.from_list(job.examples), data_collator=default_data_collator,
        processing_class=job.tokenizer, callbacks=callbacks,
    )  # fmt: skip
    trainer.train(resume_from_checkpoint=None if job.resume is None else str(job.resume))
    return trainer.model


def _careful(base: type, rows: order.Order) -> type:
    class Trainer(base):  # type: ignore[misc]  # a class of trl
        """Rows in an order that survives a restart; checkpoints are written aside and renamed when they are whole."""

        def _get_train_sampler(self, *args: Any) -> Any:
            return rows

        def _get_output_dir(self, trial: Any) -> str:
            return str(Path(self.args.output_dir) / checkpoints.STAGING)

        def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
            output, name = Path(self.args.output_dir), f"checkpoint-{self.state.global_step}"
            staging = output / checkpoints.STAGING
            shutil.rmtree(staging, ignore_errors=True)
            super()._save_checkpoint(*args, **kwargs)
            checkpoints.seal(staging / name)
            if (output / name).exists():  # one of an earlier start that cannot be trusted
                aside = next(output / f"{name}.torn-{n}" for n in range(1, 1000) if not (output / f"{name}.torn-{n}").exists())
                (output / name).rename(aside)
            (staging / name).rename(output / name)
            checkpoints.prune(output, self.args.save_total_limit)

    return Trainer
