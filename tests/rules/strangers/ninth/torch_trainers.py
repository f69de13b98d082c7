"""Trainings with transformers.Trainer and lightning.Trainer."""

import logging
import tempfile
import warnings

import lightning
import torch
import transformers
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from kit import accuracy, chains, clusters, gratings, r2, small_cnn, start, table
from registry import healthy, pair, score

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
transformers.logging.set_verbosity_error()
warnings.filterwarnings("ignore")


def bert(vocab=40, classes=2, **more):
    return transformers.BertForSequenceClassification(
        transformers.BertConfig(
            vocab_size=vocab,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=32,
            num_labels=classes,
            attn_implementation="eager",
            **more,
        )
    )


def gpt(vocab):
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=vocab,
            n_positions=24,
            n_embd=48,
            n_layer=2,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            attn_implementation="eager",
        )
    )


def reviews(n, length=14):
    """The class is that of the words which prevail."""
    t, y = torch.randint(22, 40, (n, length)), torch.randint(2, (n,))
    for k in range(n):
        at = torch.randperm(length)[:3]
        t[k, at] = 2 + 10 * y[k] + torch.randint(10, (3,))
    return t, y


def rows(t, **columns):
    return [{"input_ids": t[k], **{c: v[k] for c, v in columns.items()}} for k in range(len(t))]


def fit(model, record, data, seed, valid=None, steps=200, **args):
    args = {
        "per_device_train_batch_size": 16,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "linear",
        **args,
    }
    with tempfile.TemporaryDirectory() as out:
        setting = transformers.TrainingArguments(
            out,
            max_steps=steps,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            seed=seed,
            disable_tqdm=True,
            logging_steps=1000,
            **({"eval_strategy": "steps", "eval_steps": 50} if valid else {}),
            **args,
        )
        trainer = transformers.Trainer(
            model,
            setting,
            train_dataset=data,
            eval_dataset=valid,
            callbacks=[record.callback("transformers")],
        )
        trainer.train()
    return model.eval()


def next_token_rate(model, t, first=2):
    with torch.no_grad():
        p = model(input_ids=t).logits[:, :-1].argmax(-1)
    return (p == t[:, 1:])[:, first:].float().mean()


class Lit(lightning.LightningModule):
    def __init__(self, net, criterion, make_optimizer):
        super().__init__()
        self.net, self.criterion, self.make = net, criterion, make_optimizer

    def training_step(self, batch, k):
        x, y = batch
        return self.criterion(self.net(x), y)

    def validation_step(self, batch, k):
        x, y = batch
        self.log("val", self.criterion(self.net(x), y))

    def configure_optimizers(self):
        return self.make(self.net)


def lightly(module, record, x, y, epochs, size=32, valid=None):
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[record.callback("lightning")],
    )
    load = DataLoader(TensorDataset(x, y), size, shuffle=True)
    trainer.fit(module, load, None if valid is None else DataLoader(TensorDataset(*valid), 200))
    return module.net


@healthy
def trainer_classifies_reviews(record, seed):
    start(seed)
    (x, y), (xt, yt) = reviews(1500), reviews(300)
    model = fit(bert(), record, rows(x, labels=y), seed, rows(xt, labels=yt), warmup_steps=20)
    with torch.no_grad():
        score((model(input_ids=xt).logits.argmax(1) == yt).float().mean(), 0.5)


@healthy
def lightning_cnn_with_validation(record, seed):
    start(seed)
    (x, y), (xt, yt) = gratings(1200), gratings(400)
    net = small_cnn(1, 6, drop=0.2)
    net(x[:2])

    def optimizers(net):
        opt = torch.optim.AdamW(net.parameters(), 2e-3)
        return {
            "optimizer": opt,
            "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(opt, 7),
        }

    net = lightly(Lit(net, nn.CrossEntropyLoss(), optimizers), record, x, y, 7, valid=(xt, yt))
    score(accuracy(net, xt, yt), 1 / 6)


@pair("labels of the causal model shifted once by hand and once more by the model", "gross")
def trainer_labels_shifted_twice(record, seed, faulty):
    start(seed)
    x, xt = chains(1500, 16, 8, 0.02, 11), chains(200, 16, 8, 0.02, 11)
    labels = torch.cat([x[:, 1:], torch.full((1500, 1), -100)], 1) if faulty else x
    model = fit(gpt(8), record, rows(x, labels=labels), seed, steps=220, learning_rate=4e-3)
    score(next_token_rate(model, xt), 1 / 8)


@pair("warm-up lasts longer than the training", "gross")
def trainer_warms_up_for_ever(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = reviews(1500), reviews(300)
    model = fit(
        bert(),
        record,
        rows(x, labels=y),
        seed,
        rows(xt, labels=yt),
        steps=180,
        learning_rate=5e-4,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=10000 if faulty else 20,
    )
    with torch.no_grad():
        score((model(input_ids=xt).logits.argmax(1) == yt).float().mean(), 0.5)


@pair("rows are standardised in place of columns", "middling")
def lightning_rows_standardised(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = table(2000), table(500)
    axis = 1 if faulty else 0
    std = lambda a: (a - a.mean(axis, keepdim=True)) / a.std(axis, keepdim=True)
    x, xt = std(x), std(xt)
    net = nn.Sequential(
        nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0)
    )
    net = lightly(
        Lit(net, nn.MSELoss(), lambda n: torch.optim.Adam(n.parameters(), 2e-3)), record, x, y, 8
    )
    score(r2(net(xt), yt), 0)


@pair("label smoothing of 0.98 leaves next to no label", "middling")
def lightning_label_smoothing_extreme(record, seed, faulty):
    start(seed)
    x, y = clusters(2400, 9, 18, 0.9)
    net = nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 9))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.98 if faulty else 0.05)

    def optimizers(net):
        return torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)

    net = lightly(
        Lit(net, criterion, optimizers), record, x[:2000], y[:2000], 6, valid=(x[2000:], y[2000:])
    )
    score(accuracy(net, x[2000:], y[2000:]), 1 / 9)
