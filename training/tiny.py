"""A tiny Qwen3 from scratch, with a tokenizer of its own: what everything but the device is tried on."""

from __future__ import annotations

from typing import Any

from config import Config
from rows import Row

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
END, PAD = "<|im_end|>", "<|endoftext|>"


def tokenizer(rows: list[Row], size: int) -> Any:
    """A byte-level BPE of the rows; the same rows give the same one."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = [PAD, "<|im_start|>", END]
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator((message["content"] for row in rows for message in row.messages), trainer)
    found = PreTrainedTokenizerFast(tokenizer_object=made, pad_token=PAD, eos_token=END, padding_side="left")
    found.chat_template = TEMPLATE
    return found


def model(config: Config, vocabulary: Any) -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    own = ("path", "vocab_size", "dtype", "rope_theta", "accept")
    sizes = {name: value for name, value in vars(config.model).items() if name not in own}
    made = Qwen3Config(
        **sizes, rope_theta=config.model.rope_theta or 1_000_000.0, vocab_size=-(-len(vocabulary) // 64) * 64,
        max_position_embeddings=4096, tie_word_embeddings=True, pad_token_id=vocabulary.pad_token_id,
        eos_token_id=vocabulary.eos_token_id, bos_token_id=None,
    )  # fmt: skip
    return Qwen3ForCausalLM(made)
