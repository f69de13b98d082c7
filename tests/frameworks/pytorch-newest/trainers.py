"""What trainings with ``transformers.Trainer`` need."""

from __future__ import annotations

from typing import Any, List

import torch
import transformers
from smdebug.rules import RuleSet

__all__ = ["language_model", "sentences", "settings_of", "stopping", "trainer_of"]

ALWAYS_STOPS = ("VanishingGradient", {"threshold": 1e9})


def language_model() -> Any:
    torch.manual_seed(8)
    config = transformers.GPT2Config(
        vocab_size=17, n_positions=8, n_embd=8, n_layer=1, n_head=2,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def sentences(count: int) -> List[Any]:
    torch.manual_seed(9)
    ids = torch.randint(17, (count, 6))
    return [{"input_ids": each, "labels": each} for each in ids]


def settings_of(folder: Any, **settings: Any) -> Any:
    """Returns arguments of a trainer that runs on the processor, and logs each step."""
    return transformers.TrainingArguments(
        output_dir=str(folder), per_device_train_batch_size=2, per_device_eval_batch_size=2,
        use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True, logging_steps=1,
        **settings,
    )  # fmt: skip


def trainer_of(folder: Any, callbacks: List[Any], **settings: Any) -> Any:
    arguments = settings_of(
        folder, max_steps=4, gradient_accumulation_steps=2, learning_rate=1e-2, max_grad_norm=0.1,
        **settings,
    )  # fmt: skip
    return transformers.Trainer(
        model=language_model(), args=arguments, train_dataset=sentences(16),
        eval_dataset=sentences(4), callbacks=callbacks,
    )  # fmt: skip


def stopping() -> RuleSet:
    return RuleSet("aws").add(*ALWAYS_STOPS, action="stop")
