"""Lightning and the Hugging Face Trainer."""

import logging
import tempfile
import warnings
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
import transformers
from torch.utils.data import DataLoader, TensorDataset, Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
)
from data import housing, blobs, r2, acc
from pics import shapes
from text import grammar, reviews
from registry import healthy, pair, score

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
transformers.logging.set_verbosity_error()


def fit(record, module, train, val=None, epochs=8, **kw):
    L.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[record.callback("lightning")],
        **kw,
    ).fit(module, train, val)


def loaders(x, y, n, bs):
    return (
        DataLoader(TensorDataset(x[:n], y[:n]), bs, shuffle=True),
        DataLoader(TensorDataset(x[n:], y[n:]), 200),
    )


class Lit(L.LightningModule):
    def __init__(self, net, loss, make_opt):
        super().__init__()
        self.net, self.criterion, self.make_opt = net, loss, make_opt

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        x, y = batch
        loss = self.criterion(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_loss", self.criterion(self(x), y), prog_bar=True)

    def configure_optimizers(self):
        return self.make_opt(self.parameters())


@healthy
def lightning_regression_early(record, seed):
    L.seed_everything(seed, verbose=False)
    x, y = housing(seed)
    lit = Lit(
        nn.Sequential(
            nn.Linear(12, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 1),
            nn.Flatten(0),
        ),
        nn.MSELoss(),
        lambda p: torch.optim.Adam(p, 2e-3),
    )
    fit(record, lit, *loaders(x, y, 2400, 64), epochs=10, gradient_clip_val=5.0)
    with torch.no_grad():
        score(r2(lit(x[2400:]), y[2400:]), 0.0)


@healthy
def lightning_cnn_scheduler(record, seed):
    L.seed_everything(seed, verbose=False)
    x, y, _ = shapes(1700, seed + 70)
    x, y = (torch.tensor(x).permute(0, 3, 1, 2) / 127.5 - 1).contiguous(), torch.tensor(y)
    net = nn.Sequential(
        nn.Conv2d(3, 20, 3, padding=1),
        nn.BatchNorm2d(20),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 40, 3, padding=1),
        nn.BatchNorm2d(40),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(40, 40, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(160, 6),
    )

    def make(p):
        opt = torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4)
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.StepLR(opt, 3, 0.3)}

    lit = Lit(net, nn.CrossEntropyLoss(), make)
    fit(record, lit, *loaders(x, y, 1400, 40), epochs=7)
    score(acc(lit, x[1400:], y[1400:]), 1 / 6)


@pair("configure_optimizers gives a learning rate of 10 (typo for 1e-1) to SGD", "gross")
def lightning_lr_typo(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    x, y = blobs(seed + 20)
    lit = Lit(
        nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6)),
        nn.CrossEntropyLoss(),
        lambda p: torch.optim.SGD(p, lr=10.0 if faulty else 0.1),
    )
    fit(record, lit, *loaders(x, y, 2400, 50))
    score(acc(lit, x[2400:], y[2400:]), 1 / 6)


@pair(
    "scheduler steps per batch though its gamma is meant per epoch: the rate is gone after one epoch",
    "middling",
)
def lightning_schedule_interval(record, seed, faulty):
    L.seed_everything(seed, verbose=False)
    x, y = housing(seed + 21)

    def make(p):
        opt = torch.optim.AdamW(p, lr=3e-3)
        return {
            "optimizer": opt,
            "lr_scheduler": {
                "scheduler": torch.optim.lr_scheduler.ExponentialLR(opt, 0.985),
                "interval": "step" if faulty else "epoch",
            },
        }

    lit = Lit(
        nn.Sequential(
            nn.Linear(12, 96),
            nn.GELU(),
            nn.Linear(96, 96),
            nn.GELU(),
            nn.Linear(96, 1),
            nn.Flatten(0),
        ),
        nn.L1Loss(),
        make,
    )
    fit(record, lit, *loaders(x, y, 2400, 48), epochs=10)
    with torch.no_grad():
        score(r2(lit(x[2400:]), y[2400:]), 0.0)


class Texts(Dataset):
    def __init__(self, x, y, mask=True):
        self.x, self.y, self.mask = x, y, mask

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {
            "input_ids": self.x[i],
            "attention_mask": (self.x[i] > 0).long(),
            "labels": self.y[i],
        }


def arguments(**kw):
    base = dict(
        output_dir=tempfile.mkdtemp(),
        report_to=[],
        save_strategy="no",
        logging_steps=20,
        disable_tqdm=True,
        use_cpu=True,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=200,
        dataloader_pin_memory=False,
    )
    base.update(kw)
    return TrainingArguments(**base)


def quiet(trainer):
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()


def bert(dropout=0.1):
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=200,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=32,
            num_labels=2,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
    )


def judge(model, x, y):
    model.eval()
    with torch.no_grad():
        return (
            (model(input_ids=x, attention_mask=(x > 0).long()).logits.argmax(1) == y)
            .float()
            .mean()
            .item()
        )


@healthy
def hf_bert_sentiment(record, seed):
    transformers.set_seed(seed)
    x, y = reviews(seed, 4500)
    y = y.long()
    model = bert(0.0)
    quiet(
        Trainer(
            model,
            arguments(
                learning_rate=2e-3,
                num_train_epochs=3,
                warmup_steps=30,
                lr_scheduler_type="linear",
                eval_strategy="epoch",
                seed=seed,
            ),
            train_dataset=Texts(x[:4000], y[:4000]),
            eval_dataset=Texts(x[4000:], y[4000:]),
            callbacks=[record.callback("transformers")],
        )
    )
    score(judge(model, x[4000:], y[4000:]), 0.5)


@pair(
    "labels of the training set shuffled against the texts (sorted one column of the table only)",
    "gross",
)
def hf_labels_shuffled(record, seed, faulty):
    transformers.set_seed(seed)
    x, y = reviews(seed + 22, 2500)
    y = y.long()
    yt = y[:2000]
    if faulty:
        yt = yt[torch.randperm(2000)]
    model = bert(0.0)
    quiet(
        Trainer(
            model,
            arguments(learning_rate=2e-3, num_train_epochs=5, warmup_steps=20, seed=seed),
            train_dataset=Texts(x[:2000], yt),
            callbacks=[record.callback("transformers")],
        )
    )
    score(judge(model, x[2000:], y[2000:]), 0.5)


class Causal(Dataset):
    def __init__(self, x, ignore_pad):
        self.x, self.ignore_pad = x, ignore_pad

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        t = self.x[i]
        return {
            "input_ids": t,
            "attention_mask": (t > 0).long(),
            "labels": t.masked_fill(t == 0, -100) if self.ignore_pad else t,
        }


@pair(
    "labels shifted by hand although the model shifts them itself: learns the token after the next",
    "gross",
)
def hf_gpt2_labels_shifted_twice(record, seed, faulty):
    transformers.set_seed(seed)
    data = grammar(seed, 2000)

    class Set(Causal):
        def __getitem__(self, i):
            item = super().__getitem__(i)
            if faulty:
                item["labels"] = torch.cat([item["labels"][1:], torch.tensor([-100])])
            return item

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=40,
            n_positions=32,
            n_embd=48,
            n_layer=2,
            n_head=4,
            resid_pdrop=0,
            embd_pdrop=0,
            attn_pdrop=0,
        )
    )
    quiet(
        Trainer(
            model,
            arguments(
                learning_rate=4e-3,
                max_steps=300,
                warmup_steps=20,
                lr_scheduler_type="cosine",
                seed=seed,
            ),
            train_dataset=Set(data[:1800], True),
            callbacks=[record.callback("transformers")],
        )
    )
    model.eval()
    v = data[1800:]
    with torch.no_grad():
        p = model(input_ids=v).logits[:, 1:-1].argmax(-1)
    score((p == v[:, 2:])[v[:, 2:] > 0].float().mean(), 0.05)
