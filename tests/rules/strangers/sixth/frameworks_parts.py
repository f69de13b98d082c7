"""Helpers for the trainings with Lightning and the Hugging Face Trainer."""

import logging, os, tempfile, warnings

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
import torch
from torch import nn
import torch.nn.functional as F
import lightning as L
import transformers
from transformers import Trainer, TrainingArguments, PrinterCallback
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
for n in (
    "lightning.pytorch",
    "lightning.fabric",
    "lightning.pytorch.utilities.rank_zero",
    "transformers",
):
    logging.getLogger(n).setLevel(logging.ERROR)
transformers.utils.logging.set_verbosity_error()


def fit(record, module, train, val=None, **kw):
    kw.setdefault("max_epochs", 5)
    t = L.Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[record.callback("lightning")] + kw.pop("callbacks", []),
        **kw,
    )
    t.fit(module, train, val)
    module.eval()
    return t


def loader(*tensors, batch=64, shuffle=True):
    return DataLoader(TensorDataset(*tensors), batch_size=batch, shuffle=shuffle)


def hf(
    record,
    model,
    train,
    evals=None,
    collator=None,
    cls=Trainer,
    optimizers=(None, None),
    seed=0,
    **kw,
):
    kw = {
        "max_steps": 200,
        "per_device_train_batch_size": 16,
        "learning_rate": 2e-3,
        "logging_steps": 5,
        "lr_scheduler_type": "linear",
        **kw,
    }
    with tempfile.TemporaryDirectory() as d:
        args = TrainingArguments(
            output_dir=d,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            seed=seed,
            dataloader_pin_memory=False,
            per_device_eval_batch_size=64,
            **kw,
        )
        t = cls(
            model=model,
            args=args,
            train_dataset=train,
            eval_dataset=evals,
            data_collator=collator,
            optimizers=optimizers,
            callbacks=[record.callback("transformers")],
        )
        t.remove_callback(PrinterCallback)
        t.train()
    model.eval()
    return t


def rows(**cols):
    n = len(next(iter(cols.values())))
    return [{k: v[i] for k, v in cols.items()} for i in range(n)]


@torch.no_grad()
def classify(model, X, **kw):
    return torch.cat(
        [model(input_ids=b, attention_mask=(b != 0).long(), **kw).logits for b in X.split(200)]
    )
