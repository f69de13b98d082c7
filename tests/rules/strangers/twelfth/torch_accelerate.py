"""Loops with accelerate: accumulation, clipping, schedules, scaler, checkpoints."""

from __future__ import annotations

import copy
import tempfile

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    get_cosine_schedule_with_warmup,
    get_wsd_schedule,
)

from kit import (
    forever,
    grammar,
    hit,
    images,
    loader,
    majority,
    next_token_accuracy,
    seed_all,
    tabular,
)
from registry import healthy, pair, score


def accel(**kw):
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    return Accelerator(cpu=True, **kw)


def gpt(vocab=16, **kw):
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab,
            n_positions=40,
            n_embd=48,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=2,
            **kw,
        )
    )


class ConvNet(nn.Module):
    def __init__(self, classes=8, dropout=0.0):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.GroupNorm(4, 16),
            nn.GELU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Flatten(),
        )
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(512, classes)

    def forward(self, x):
        return self.head(self.drop(self.body(x)))


def mlp(inputs=12, outputs=4, width=64, act=nn.GELU):
    return nn.Sequential(
        nn.Linear(inputs, width), act(), nn.Linear(width, width), act(), nn.Linear(width, outputs)
    )


def say_lm(model, seed):
    test = grammar(seed + 500, 256, 20)
    score(next_token_accuracy(model, test), majority(test))


@torch.no_grad()
def say_pictures(model, seed):
    model.eval()
    x, y = images(seed + 500, 500)
    score(hit(model(x), y), 1 / 8)


@torch.no_grad()
def say_table(model, seed):
    model.eval()
    x, y = tabular(seed + 1, 800)
    score(hit(model(x), y), majority(y))


@healthy
def accelerate_gpt2_accumulation_cosine(record, seed):
    seed_all(seed)
    accelerator = accel(gradient_accumulation_steps=2)
    model = gpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))
    schedule = get_cosine_schedule_with_warmup(optimizer, 20, 200)
    batches = loader(grammar(seed, 2000, 20), batch=16, seed=seed)
    model, optimizer, batches, schedule = accelerator.prepare(model, optimizer, batches, schedule)
    data = forever(batches)
    with record(model, optimizer) as hook:
        for _ in range(400):
            (ids,) = next(data)
            with accelerator.accumulate(model):
                loss = model(input_ids=ids, labels=ids).loss
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            hook.record_tensor_value("loss", loss)
    say_lm(model, seed)


@healthy
def accelerate_pictures_epochs_evaluation(record, seed):
    seed_all(seed)
    accelerator = accel()
    model, criterion = ConvNet(dropout=0.1), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, foreach=True)
    train = loader(*images(seed, 1300), seed=seed)
    valid = loader(*images(seed + 9, 128), seed=seed, shuffle=False)
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)
    with record(model, optimizer, criterion) as hook:
        for _ in range(5):
            model.train()
            for x, y in train:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
            model.eval()
            with torch.no_grad(), record.evaluation(hook):
                for x, y in valid:
                    criterion(model(x), y)
    say_pictures(model, seed)


@healthy
def accelerate_table_wsd_schedule(record, seed):
    seed_all(seed)
    accelerator = accel()
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = get_wsd_schedule(
        optimizer, num_warmup_steps=20, num_decay_steps=100, num_training_steps=500
    )
    batches = loader(*tabular(seed, 3000), batch=48, seed=seed)
    model, optimizer, batches, schedule = accelerator.prepare(model, optimizer, batches, schedule)
    data = forever(batches)
    with record(model, optimizer) as hook:
        for step in range(500):
            x, y = next(data)
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            if step % 10 == 0:
                hook.record_tensor_value("train/loss", loss.item())
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
    say_table(model, seed)


@healthy
def accelerate_resume_from_state(record, seed):
    seed_all(seed)
    accelerator = accel()
    model = gpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = loader(grammar(seed, 2000, 20), seed=seed)
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    data = forever(batches)

    def train(steps, hook=None):
        for _ in range(steps):
            (ids,) = next(data)
            loss = model(input_ids=ids, labels=ids).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            if hook:
                hook.record_tensor_value("loss", loss.detach())

    train(80)
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        accelerator.load_state(folder)
    with record(model, optimizer) as hook:
        train(150, hook)
    say_lm(model, seed)


@healthy
def accelerate_bf16_small_pictures(record, seed):
    seed_all(seed)
    accelerator = accel(mixed_precision="bf16")
    model = ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model, optimizer, batches = accelerator.prepare(
        model, optimizer, loader(*images(seed, 1300), batch=16, seed=seed)
    )
    data = forever(batches)
    with record(model, optimizer) as hook:
        for _ in range(200):
            x, y = next(data)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            hook.record_tensor_value("loss", loss)
    say_pictures(model, seed)


@healthy
def accelerate_two_optimizers_tower_and_head(record, seed):
    seed_all(seed)
    accelerator = accel()
    model = ConvNet()
    body = torch.optim.SGD(model.body.parameters(), lr=0.03, momentum=0.9, nesterov=True)
    head = torch.optim.AdamW(model.head.parameters(), lr=1e-3)
    model, body, head, batches = accelerator.prepare(
        model, body, head, loader(*images(seed, 1300), seed=seed)
    )
    data = forever(batches)
    with record(model, [body, head]) as hook:
        for _ in range(180):
            x, y = next(data)
            loss = F.nll_loss(model(x).log_softmax(-1), y)
            accelerator.backward(loss)
            for optimizer in (body, head):
                optimizer.step()
                optimizer.zero_grad()
            hook.record_tensor_value("loss", loss.item())
    say_pictures(model, seed)


def accumulate(
    record,
    seed,
    model,
    batches,
    optimizer,
    micro=4,
    steps=150,
    divide=True,
    zero="update",
    schedule=None,
    schedule_each="update",
    clip=None,
    clip_at="before",
):
    """Accumulation written by hand, as most people do it."""
    data = forever(batches)
    with record(model, optimizer) as hook:
        for step in range(steps * micro):
            x, y = next(data)
            loss = F.cross_entropy(model(x), y)
            if divide:
                loss = loss / micro
            loss.backward()
            last = (step + 1) % micro == 0
            if last:
                if clip and clip_at == "before":
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
                if clip and clip_at == "after":
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
            if schedule and (last or schedule_each == "micro"):
                schedule.step()
            if last or zero == "micro":
                optimizer.zero_grad()
            hook.record_tensor_value("loss", loss)


@healthy
def accumulation_by_hand_with_clip(record, seed):
    seed_all(seed)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 120)
    accumulate(
        record,
        seed,
        model,
        loader(*images(seed, 1300), batch=8, seed=seed),
        optimizer,
        steps=120,
        schedule=schedule,
        clip=1.0,
    )
    say_pictures(model, seed)


@pair("loss not divided by the accumulation steps under SGD", "gross")
def accumulation_loss_not_divided(record, seed, faulty):
    seed_all(seed)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.9)
    accumulate(
        record,
        seed,
        model,
        loader(*images(seed, 1300), batch=4, seed=seed),
        optimizer,
        micro=16,
        steps=60,
        divide=not faulty,
    )
    say_pictures(model, seed)


@pair("gradient zeroed after each micro batch", "mild")
def accumulation_zeroed_each_micro_batch(record, seed, faulty):
    seed_all(seed)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)
    accumulate(
        record,
        seed,
        model,
        loader(*tabular(seed, 3000), batch=4, seed=seed),
        optimizer,
        micro=8,
        steps=200,
        zero="micro" if faulty else "update",
    )
    say_table(model, seed)


@pair("schedule stepped at each micro batch, it ends eight times too early", "middling")
def accumulation_schedule_in_micro_batches(record, seed, faulty):
    seed_all(seed)
    model = ConvNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-3)
    decay = LambdaLR(optimizer, lambda s: max(0.0, 1 - s / 100))
    accumulate(
        record,
        seed,
        model,
        loader(*images(seed, 1300), batch=4, seed=seed),
        optimizer,
        micro=8,
        steps=100,
        schedule=decay,
        schedule_each="micro" if faulty else "update",
    )
    say_pictures(model, seed)


@pair("optimizer made with the model of before deepcopy", "gross")
def accelerate_optimizer_before_copy(record, seed, faulty):
    seed_all(seed)
    accelerator = accel()
    model = ConvNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    if faulty:
        model = copy.deepcopy(model)
    model, optimizer, batches = accelerator.prepare(
        model, optimizer, loader(*images(seed, 1300), seed=seed)
    )
    data = forever(batches)
    with record(model, optimizer) as hook:
        for _ in range(150):
            x, y = next(data)
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            hook.record_tensor_value("loss", loss)
    say_pictures(model, seed)


def plain(
    record,
    seed,
    model,
    batches,
    optimizer,
    steps,
    loss_of,
    order="zbs",
    schedule=None,
    clip=None,
    after=None,
    log=True,
):
    """z zero_grad, b backward, c clip, s step, in the order that is given."""
    data = forever(batches)
    with record(model, optimizer) as hook:
        for _ in range(steps):
            loss = loss_of(*next(data))
            for what in order:
                if what == "z":
                    optimizer.zero_grad()
                elif what == "b":
                    loss.backward()
                elif what == "c":
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                else:
                    optimizer.step()
            if schedule:
                schedule.step()
            if after:
                after()
            if log:
                hook.record_tensor_value("loss", loss.item())


@pair("zero_grad between backward and step", "gross")
def loop_zeroed_before_step(record, seed, faulty):
    seed_all(seed)
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    plain(
        record,
        seed,
        model,
        loader(*tabular(seed, 3000), seed=seed),
        optimizer,
        400,
        lambda x, y: F.cross_entropy(model(x), y),
        order="bzs" if faulty else "zbs",
    )
    say_table(model, seed)


@pair("zero_grad forgotten, gradients pile up", "gross")
def loop_zero_grad_forgotten(record, seed, faulty):
    seed_all(seed)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    plain(
        record,
        seed,
        model,
        loader(*tabular(seed, 3000), seed=seed),
        optimizer,
        400,
        lambda x, y: F.cross_entropy(model(x), y),
        order="bs" if faulty else "zbs",
    )
    say_table(model, seed)


@pair("step forgotten in a branch: only one batch in twelve is used", "middling")
def loop_step_in_wrong_branch(record, seed, faulty):
    seed_all(seed)
    model = ConvNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = forever(loader(*images(seed, 1300), seed=seed))
    with record(model, optimizer) as hook:
        for step in range(200):
            x, y = next(data)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            if step % 12 == 0:
                hook.record_tensor_value("loss", loss.item())
            if step % 12 == 0 or not faulty:
                optimizer.step()
    say_pictures(model, seed)


@pair("loss rebuilt from loss.item(), gradient lost", "gross")
def loop_loss_rebuilt_from_item(record, seed, faulty):
    seed_all(seed)
    model = ConvNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss_of(x, y):
        loss = F.cross_entropy(model(x), y)
        return torch.tensor(loss.item(), requires_grad=True) if faulty else loss

    plain(record, seed, model, loader(*images(seed, 1300), seed=seed), optimizer, 150, loss_of)
    say_pictures(model, seed)


@pair("features computed under no_grad, only the head learns", "middling")
def loop_features_under_no_grad(record, seed, faulty):
    seed_all(seed)
    model = ConvNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss_of(x, y):
        with torch.set_grad_enabled(not faulty):
            h = model.body(x)
        return F.cross_entropy(model.head(h), y)

    plain(record, seed, model, loader(*images(seed, 1300), seed=seed), optimizer, 150, loss_of)
    say_pictures(model, seed)
