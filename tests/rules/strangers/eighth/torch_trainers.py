"""The Lightning Trainer and the Hugging Face Trainer."""

import logging
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
import transformers
from torch.utils.data import DataLoader, TensorDataset
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
)
from registry import healthy, pair, score
from kit import teacher, acc, r2, chain, shapes_cached

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
transformers.logging.set_verbosity_error()


class Lit(L.LightningModule):
    def __init__(
        self,
        net,
        lr=3e-3,
        kind="ce",
        wd=0.0,
        sched=None,
        interval="epoch",
        only=None,
        momentum=None,
    ):
        super().__init__()
        (
            self.net,
            self.lr,
            self.kind,
            self.wd,
            self.sched,
            self.interval,
            self.only,
            self.momentum,
        ) = (net, lr, kind, wd, sched, interval, only, momentum)

    def forward(self, x):
        return self.net(x)

    def loss(self, batch):
        x, y = batch
        return F.cross_entropy(self(x), y) if self.kind == "ce" else F.mse_loss(self(x)[:, 0], y)

    def training_step(self, batch, i):
        loss = self.loss(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, i):
        self.log("val_loss", self.loss(batch))

    def configure_optimizers(self):
        ps = [p for n, p in self.named_parameters() if self.only is None or self.only in n]
        opt = (
            torch.optim.SGD(ps, self.lr, momentum=self.momentum)
            if self.momentum is not None
            else torch.optim.AdamW(ps, self.lr, weight_decay=self.wd)
        )
        if not self.sched:
            return opt
        return {
            "optimizer": opt,
            "lr_scheduler": {"scheduler": self.sched(opt), "interval": self.interval},
        }


def lit_fit(record, module, tr, va, epochs=6, bs=50, shuffle=True, **kw):
    t = L.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[record.callback("lightning")],
        **kw,
    )
    t.fit(
        module,
        DataLoader(TensorDataset(*tr), bs, shuffle=shuffle, drop_last=True),
        DataLoader(TensorDataset(*va), 250),
    )
    module.eval()


def rows(seed, k=5):
    x, z = teacher(2500, 12, k, seed)
    y = z.argmax(1)
    return (x[:2000], y[:2000]), (x[2000:], y[2000:])


def mlp(h=64, p=0.0, k=5):
    return nn.Sequential(
        nn.Linear(12, h),
        nn.ReLU(),
        nn.Dropout(p),
        nn.Linear(h, h),
        nn.ReLU(),
        nn.Dropout(p),
        nn.Linear(h, k),
    )


def lit_rows(record, seed, net=None, epochs=7, fit=None, tr_edit=None, **kw):
    L.seed_everything(seed, verbose=False)
    tr, va = rows(seed)
    if tr_edit:
        tr = tr_edit(*tr)
    m = Lit(net() if net else mlp(), **kw)
    lit_fit(record, m, tr, va, epochs, **(fit or {}))
    with torch.no_grad():
        score(acc(m(va[0]), va[1]), 0.2)


@healthy
def lightning_accumulate_bf16(record, seed):
    lit_rows(
        record,
        seed,
        epochs=8,
        lr=5e-3,
        fit=dict(accumulate_grad_batches=2, bs=25, precision="bf16-mixed"),
    )


@healthy
def lightning_cosine_pictures(record, seed):
    L.seed_everything(seed, verbose=False)
    x, y, *_ = shapes_cached(1200, seed, noise=0.18)
    net = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1),
        nn.BatchNorm2d(24),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(384, 6),
    )
    m = Lit(
        net,
        lr=4e-3,
        sched=lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 240),
        interval="step",
    )
    lit_fit(record, m, (x[:960], y[:960]), (x[960:], y[960:]), 8, bs=32)
    with torch.no_grad():
        score(acc(m(x[960:]), y[960:]), 1 / 6)


@pair("Lightning: configure_optimizers hands over the last layer only", "middling")
def lightning_only_head(record, seed, faulty):
    lit_rows(record, seed, only="net.6" if faulty else None)


@pair("Lightning: gradient_clip_val of 0.02 with SGD", "middling")
def lightning_clip_tiny(record, seed, faulty):
    lit_rows(
        record, seed, lr=0.05, momentum=0.9, fit=dict(gradient_clip_val=0.02 if faulty else 5.0)
    )


@pair(
    "Lightning: OneCycle counted in epochs but sized in steps: the rate never leaves warm-up",
    "gross",
)
def lightning_onecycle_interval(record, seed, faulty):
    lit_rows(
        record,
        seed,
        sched=lambda o: torch.optim.lr_scheduler.OneCycleLR(
            o, 5e-3, total_steps=280, div_factor=100
        ),
        interval="epoch" if faulty else "step",
    )


@pair("Lightning: training rows are fed with swapped columns of another file version", "middling")
def lightning_column_order(record, seed, faulty):
    lit_rows(
        record,
        seed,
        tr_edit=(
            (lambda x, y: (x[:, [1, 0, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11]], y)) if faulty else None
        ),
    )


class Rows(torch.utils.data.Dataset):
    def __init__(self, **cols):
        self.cols = cols

    def __len__(self):
        return len(next(iter(self.cols.values())))

    def __getitem__(self, i):
        return {k: v[i] for k, v in self.cols.items()}


def hf(record, model, data, val=None, seed=0, steps=220, lr=2e-3, bs=32, cls=Trainer, **kw):
    kw.setdefault("lr_scheduler_type", "linear")
    args = TrainingArguments(
        "hf_out",
        max_steps=steps,
        per_device_train_batch_size=bs,
        learning_rate=lr,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        use_cpu=True,
        seed=seed,
        logging_steps=20,
        eval_strategy="epoch" if val else "no",
        dataloader_pin_memory=False,
        log_level="error",
        **kw,
    )
    cls(
        model=model,
        args=args,
        train_dataset=data,
        eval_dataset=val,
        callbacks=[record.callback("transformers")],
    ).train()
    model.eval()


def gpt(vocab=12, d=32, layers=2, p=0.0, tie=True):
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab,
            n_positions=24,
            n_embd=d,
            n_layer=layers,
            n_head=4,
            resid_pdrop=p,
            embd_pdrop=p,
            attn_pdrop=p,
            bos_token_id=0,
            eos_token_id=0,
            tie_word_embeddings=tie,
        )
    )


def hf_lm(record, seed, *, edit=None, lr=5e-3, model=None, steps=220, **kw):
    torch.manual_seed(seed)
    s = chain(1500, 20, seed, 12, 3.0)
    tr, va = s[:1200], s[1200:]
    y = edit(tr) if edit else tr
    m = model or gpt()
    hf(
        record,
        m,
        Rows(input_ids=tr, labels=y),
        Rows(input_ids=va[:100], labels=va[:100]),
        seed,
        steps,
        lr,
        **kw,
    )
    with torch.no_grad():
        a = sum(acc(m(va[:, :c]).logits[:, -1], va[:, c]) for c in (8, 12, 16)) / 3
    f = torch.bincount(tr.flatten()).float()
    score(a, float(f.max() / f.sum()))


@healthy
def hf_gpt2_small(record, seed):
    hf_lm(record, seed, warmup_steps=20, weight_decay=0.01)


@healthy
def hf_bert_classifier(record, seed):
    hf_cls(record, seed)


def hf_cls(
    record,
    seed,
    *,
    mask=True,
    lr=2e-3,
    steps=200,
    labels=None,
    p=0.0,
    std=0.02,
    st_edit=None,
    freeze=False,
    **kw,
):
    torch.manual_seed(seed)
    n, T = 1500, 20
    y = torch.randint(0, 3, (n,))
    s = torch.randint(2, 30, (n, T))
    k = torch.rand(n, T) < 0.3
    s = torch.where(k, 2 + y[:, None] * 9 + torch.randint(0, 9, (n, T)), s)
    ln = torch.randint(6, T + 1, (n, 1))
    am = (torch.arange(T)[None] < ln).long()
    s = s * am
    m = BertForSequenceClassification(
        BertConfig(
            vocab_size=31,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=T,
            hidden_dropout_prob=p,
            attention_probs_dropout_prob=p,
            num_labels=3,
            initializer_range=std,
        )
    )
    if freeze:
        m.bert.requires_grad_(False)
    yt = labels(y[:1200]) if labels else y[:1200]
    st = st_edit(s[:1200]) if st_edit else s[:1200]
    hf(
        record,
        m,
        Rows(input_ids=st, attention_mask=am[:1200] if mask else 1 - am[:1200], labels=yt),
        Rows(input_ids=s[1200:], attention_mask=am[1200:], labels=y[1200:]),
        seed,
        steps,
        lr,
        **kw,
    )
    with torch.no_grad():
        score(acc(m(s[1200:], attention_mask=am[1200:]).logits, y[1200:]), 1 / 3)


@pair("HF Trainer: warmup_steps of 20000 in a run of 220 steps", "gross")
def hf_warmup_endless(record, seed, faulty):
    hf_lm(record, seed, warmup_steps=20000 if faulty else 20)


@pair("HF Trainer: labels were shifted by hand, and the model shifts them again", "gross")
def hf_double_shift(record, seed, faulty):
    hf_lm(
        record,
        seed,
        edit=(
            (lambda s: torch.cat([s[:, 1:], torch.full_like(s[:, :1], -100)], 1))
            if faulty
            else None
        ),
    )


@pair("HF Trainer: texts are cut to five words by max_length in training", "middling")
def hf_truncation(record, seed, faulty):
    hf_cls(
        record,
        seed,
        st_edit=(
            (lambda s: torch.cat([s[:, :5], torch.zeros_like(s[:, 5:])], 1)) if faulty else None
        ),
    )
