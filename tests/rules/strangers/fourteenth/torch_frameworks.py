"""Lightning, transformers' Trainer, accelerate, LoRA, distillation, pruning, quantisation, multi-task."""

import copy
import math
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

from kit import (
    TinyGPT,
    accuracy,
    balanced,
    batches,
    corpus,
    digits,
    discs,
    gratings,
    lm_score,
    mlp,
    r2,
    seed_all,
    small_cnn,
    table_regression,
    tabular,
    texts,
    windows,
)
from registry import healthy, pair, score

warnings.filterwarnings("ignore")


# ---- Lightning ----
def lit(
    record,
    seed,
    net,
    train,
    val,
    *,
    lr=2e-3,
    epochs=6,
    loss=F.cross_entropy,
    configure=None,
    manual=False,
    step=None,
    **trainer,
):
    import logging

    import lightning.pytorch as pl

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    seed_all(seed)

    class Lit(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = net
            self.automatic_optimization = not manual

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, k):
            if step is not None:
                return step(self, batch, k)
            value = loss(self(batch[0]), batch[1])
            self.log("train_loss", value)
            return value

        def validation_step(self, batch, k):
            self.log("val_loss", loss(self(batch[0]), batch[1]))

        def configure_optimizers(self):
            if configure is not None:
                return configure(self)
            return torch.optim.AdamW(self.parameters(), lr=lr)

    module = Lit()
    pl.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        callbacks=[record.callback("lightning")],
        enable_progress_bar=False,
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        **trainer,
    ).fit(module, train, val)
    return module


def loaders(x, y, n, size=32, shuffle=True):
    return (
        DataLoader(TensorDataset(x[:n], y[:n]), size, shuffle=shuffle, drop_last=True),
        DataLoader(TensorDataset(x[n:], y[n:]), 100),
    )


@healthy
def lightning_gratings(record, seed):
    seed_all(seed)
    x, y = gratings(1200, noise=0.8)
    net = small_cnn()

    def configure(module):
        o = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
        return {
            "optimizer": o,
            "lr_scheduler": {
                "scheduler": torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=6 * 31),
                "interval": "step",
            },
        }

    lit(record, seed, net, *loaders(x, y, 1000), configure=configure)
    score(accuracy(net, x[1000:], y[1000:]), 0.25)


@healthy
def lightning_accumulated_bf16(record, seed):
    seed_all(seed)
    x, y = tabular(1800, 16)
    net = mlp(16, 64, 64, 3, norm=nn.LayerNorm)
    lit(
        record,
        seed,
        net,
        *loaders(x, y, 1500, 16),
        accumulate_grad_batches=2,
        gradient_clip_val=1.0,
        precision="bf16-mixed",
        epochs=8,
        lr=3e-3,
    )
    score(accuracy(net, x[1500:], y[1500:]), 0.4)


@healthy
def lightning_regression_manual(record, seed):
    seed_all(seed)
    x, y = table_regression(1500)
    net = mlp(10, 64, 64, 1)

    def step(module, batch, k):
        optimizer = module.optimizers()
        value = F.huber_loss(module(batch[0]), batch[1])
        optimizer.zero_grad()
        module.manual_backward(value)
        optimizer.step()
        module.log("loss", value)

    lit(
        record,
        seed,
        net,
        *loaders(x, y, 1200),
        loss=F.huber_loss,
        manual=True,
        step=step,
        epochs=10,
    )
    with torch.no_grad():
        score(r2(net(x[1200:]), y[1200:]), 0.0)


@pair("Lightning's gradient clipping value has a slip of five zeros", "gross")
def lightning_clip(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1500, 16)
    net = mlp(16, 64, 64, 3)
    lit(
        record,
        seed,
        net,
        *loaders(x, y, 1200),
        gradient_clip_val=1e-5 if faulty else 1.0,
        epochs=8,
        configure=lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
    )
    score(accuracy(net, x[1200:], y[1200:]), 0.4)


@pair("configure_optimizers passes only the head of a network trained from scratch", "middling")
def lightning_head_only(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1200)
    net = small_cnn(classes=10, bn=False)
    lit(
        record,
        seed,
        net,
        *loaders(x, y, 1000),
        epochs=7,
        configure=lambda m: torch.optim.Adam((m.net[-1] if faulty else m).parameters(), lr=4e-3),
    )
    score(accuracy(net, x[1000:], y[1000:]), 0.1)


@pair("an exponential schedule with gamma for epochs is stepped per batch in Lightning", "gross")
def lightning_interval(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1200, noise=0.3)
    net = small_cnn(classes=10)

    def configure(module):
        o = torch.optim.SGD(module.parameters(), lr=0.02, momentum=0.9)
        s = torch.optim.lr_scheduler.ExponentialLR(o, 0.85)
        return {
            "optimizer": o,
            "lr_scheduler": {"scheduler": s, "interval": "step" if faulty else "epoch"},
        }

    lit(record, seed, net, *loaders(x, y, 1000), configure=configure, epochs=7)
    score(accuracy(net, x[1000:], y[1000:]), 0.1)


@pair("manual optimisation in Lightning forgets zero_grad", "middling")
def lightning_no_zero(record, seed, faulty):
    seed_all(seed)
    x, y = table_regression(1500)
    net = mlp(10, 64, 64, 1)

    def step(module, batch, k):
        o = module.optimizers()
        if not faulty:
            o.zero_grad()
        value = F.mse_loss(module(batch[0]), batch[1])
        module.manual_backward(value)
        o.step()

    lit(
        record,
        seed,
        net,
        *loaders(x, y, 1200),
        loss=F.mse_loss,
        manual=True,
        step=step,
        epochs=8,
        lr=2e-3,
    )
    with torch.no_grad():
        score(r2(net(x[1200:]), y[1200:]), 0.0)


# ---- transformers ----
class Rows(Dataset):
    def __init__(self, **columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, i):
        return {k: v[i] for k, v in self.columns.items()}


def trained(record, seed, model, data, held=None, **options):
    from transformers import Trainer, TrainingArguments

    arguments = dict(
        output_dir="out",
        per_device_train_batch_size=16,
        num_train_epochs=4,
        learning_rate=2e-3,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
        seed=seed,
        logging_steps=20,
    )
    arguments.update(options)
    if held is not None:
        arguments["eval_strategy"] = "epoch"
    trainer = Trainer(
        model=model,
        args=TrainingArguments(**arguments),
        train_dataset=data,
        eval_dataset=held,
        callbacks=[record.callback("transformers")],
    )
    trainer.train()
    return trainer


def bert(classes=4, layers=1, **extra):
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(
        BertConfig(
            vocab_size=60,
            hidden_size=32,
            num_hidden_layers=layers,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=32,
            num_labels=classes,
            **extra,
        )
    )


def bert_rows(n=1200, shift=False):
    x, y, _ = texts(n, length=16)
    return x, (x > 0).long(), y


def bert_run(record, seed, mask=True, held=True, freeze=False, roll=False, invert=False, **options):
    seed_all(seed)
    options.setdefault("num_train_epochs", 7)
    model = bert()
    x, m, y = bert_rows(1200)
    ty = y.clone()
    if roll:
        ty[:1000] = ty[:1000].roll(1)
    mm = m.clone()
    if invert:
        mm[:1000] = 0
        mm[:1000, 0] = 1
    if freeze:
        for p in model.bert.parameters():
            p.requires_grad_(False)
    data = Rows(input_ids=x[:1000], attention_mask=mm[:1000], labels=ty[:1000])
    trained(
        record,
        seed,
        model,
        data,
        Rows(input_ids=x[1000:], attention_mask=m[1000:], labels=y[1000:]) if held else None,
        **options,
    )
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=x[1000:], attention_mask=m[1000:]).logits.argmax(1) == y[1000:])
            .float()
            .mean(),
            0.25,
        )


@healthy
def trainer_bert(record, seed):
    bert_run(
        record,
        seed,
        num_train_epochs=5,
        warmup_steps=20,
        weight_decay=0.01,
        lr_scheduler_type="cosine",
    )


@pair(
    "the learning rate is that for fine-tuning a large model, though this one starts from scratch",
    "middling",
)
def trainer_timid(record, seed, faulty):
    bert_run(record, seed, learning_rate=1e-4 if faulty else 2e-3, held=False)


@pair("the attention masks of the training set keep only the first token", "middling")
def trainer_masked(record, seed, faulty):
    bert_run(record, seed, invert=faulty, held=False)


def gpt2_run(record, seed, ignore=False, **options):
    from transformers import GPT2Config, GPT2LMHeadModel

    seed_all(seed)
    text = corpus(9000)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=16,
            n_positions=32,
            n_embd=32,
            n_layer=1,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    rows = text[: 8000 // 32 * 32].view(-1, 32)
    labels = rows.clone()
    if ignore:
        labels[:, 2:] = -100
    trained(record, seed, model, Rows(input_ids=rows, labels=labels), None, **options)
    model.eval()
    with torch.no_grad():
        x, y = windows(text[8000:], 31, 64)
        score(-F.cross_entropy(model(input_ids=x).logits.flatten(0, 1), y.flatten()), -math.log(16))


@healthy
def trainer_gpt2_accumulated(record, seed):
    gpt2_run(
        record,
        seed,
        gradient_accumulation_steps=2,
        per_device_train_batch_size=4,
        num_train_epochs=8,
        learning_rate=4e-3,
        max_grad_norm=1.0,
    )


@pair("labels are -100 almost everywhere: the completion mask covers the completion", "middling")
def trainer_gpt2_ignored(record, seed, faulty):
    gpt2_run(
        record,
        seed,
        ignore=faulty,
        per_device_train_batch_size=8,
        num_train_epochs=7,
        learning_rate=4e-3,
    )


@pair("AdamW's weight decay is a thousand times too strong", "mild")
def trainer_gpt2_decay(record, seed, faulty):
    gpt2_run(
        record,
        seed,
        per_device_train_batch_size=8,
        num_train_epochs=8,
        learning_rate=4e-3,
        weight_decay=10.0 if faulty else 0.01,
    )


# ---- accelerate ----
@healthy
def accelerate_loop(record, seed):
    from accelerate import Accelerator

    seed_all(seed)
    x, y = digits(1200)
    model = small_cnn(classes=10)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    accelerator = Accelerator(cpu=True)
    model, optimizer, loader = accelerator.prepare(
        model, optimizer, DataLoader(TensorDataset(x[:1000], y[:1000]), 32, shuffle=True)
    )
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(6):
            model.train()
            for a, b in loader:
                optimizer.zero_grad()
                loss = criterion(model(a), b)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 2.0)
                optimizer.step()
            with record.evaluation(hook):
                accuracy(model, x[1000:], y[1000:])
    score(accuracy(model, x[1000:], y[1000:]), 0.1)


# ---- LoRA ----
class LoRA(nn.Module):
    def __init__(self, linear, r=4, alpha=8.0, zero_b=True, zero_a=False):
        super().__init__()
        self.linear, self.scale = linear, alpha / r
        for p in linear.parameters():
            p.requires_grad_(False)
        self.a = nn.Parameter(
            torch.zeros(r, linear.in_features)
            if zero_a
            else torch.randn(r, linear.in_features) / linear.in_features**0.5
        )
        self.b = nn.Parameter(
            torch.zeros(linear.out_features, r) if zero_b else torch.randn(linear.out_features, r)
        )

    def forward(self, x):
        return self.linear(x) + self.scale * (x @ self.a.T) @ self.b.T


def lora(record, seed, lr=5e-3, steps=220, **options):
    seed_all(seed)
    old, new = corpus(8000, seed=3), corpus(8000, seed=11)
    model = TinyGPT(layers=1)
    pre = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(150):
        x, y = windows(old, 32, 12)
        pre.zero_grad()
        F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
        pre.step()
    before = lm_score(model, new[7000:])
    for p in model.parameters():
        p.requires_grad_(False)
    for b in model.blocks:
        b.qkv, b.out = LoRA(b.qkv, **options), LoRA(b.out, **options)
        b.mlp[0], b.mlp[2] = LoRA(b.mlp[0], **options), LoRA(b.mlp[2], **options)
    model.head = LoRA(model.head, **options)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    with record(model, optimizer) as hook:
        for step in range(steps):
            x, y = windows(new[:7000], 32, 12)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    score(lm_score(model, new[7000:]), before)


@pair("both LoRA factors start at zero, so neither gets a gradient", "gross")
def lora_zero(record, seed, faulty):
    lora(record, seed, zero_a=faulty)


@pair("LoRA's alpha is 500 times too large with the same rate", "middling")
def lora_alpha(record, seed, faulty):
    lora(record, seed, alpha=4000.0 if faulty else 8.0)


@healthy
def peft_lora_bert(record, seed):
    """A BERT trained on one labelling, adapted to a permuted one; nearly all weights are frozen."""
    from peft import LoraConfig, get_peft_model

    seed_all(seed)
    model = bert()
    x, m, y = bert_rows(1200)
    pre = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(3):
        for i in batches(1000, 25):
            pre.zero_grad()
            model(input_ids=x[i], attention_mask=m[i], labels=y[i]).loss.backward()
            pre.step()
    new = (y + 1) % 4
    model = get_peft_model(
        model,
        LoraConfig(
            r=4,
            lora_alpha=16,
            target_modules=["query", "value"],
            modules_to_save=["classifier"],
            task_type="SEQ_CLS",
        ),
    )
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    with record(model, optimizer) as hook:
        for epoch in range(4):
            model.train()
            for i in batches(1000, 25):
                loss = model(input_ids=x[i], attention_mask=m[i], labels=new[i]).loss
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                model(input_ids=x[1000:], attention_mask=m[1000:], labels=new[1000:])
    model.eval()
    with torch.no_grad():
        score(
            (model(input_ids=x[1000:], attention_mask=m[1000:]).logits.argmax(1) == new[1000:])
            .float()
            .mean(),
            0.25,
        )
