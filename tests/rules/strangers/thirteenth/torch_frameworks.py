"""Lightning, accelerate, mixed precision, averages of weights, resuming: pairs and healthy trainings."""

import copy
import tempfile

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn

from kit import CNN, accuracy, digits, loader, mlp, numbers, r2, table
from registry import healthy, pair, score


def digit_data(seed, n=1500, noise=0.15):
    torch.manual_seed(seed)
    return *digits(n, seed, noise), *digits(400, seed + 1, noise)


def lightning_fit(record, model, train, valid=None, epochs=8, **more):
    import lightning

    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tempfile.mkdtemp(),
        num_sanity_val_steps=0,
        log_every_n_steps=10,
        callbacks=[record.callback("lightning")],
        **more,
    )
    trainer.fit(model, train, valid)


def lit(net, configure, step=None, manual=False, valid=False):
    import lightning

    class Lit(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = net
            self.automatic_optimization = not manual

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, index):
            if step:
                return step(self, batch)
            loss = F.cross_entropy(self(batch[0]), batch[1])
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self):
            return configure(self)

    if valid:

        def validation_step(self, batch, index):
            self.log("val_loss", F.cross_entropy(self(batch[0]), batch[1]))

        Lit.validation_step = validation_step
    return Lit()


@pair("OneCycleLR steps per epoch in Lightning, so the rate stays at its start", "middling")
def lightning_onecycle_per_epoch(record, seed, faulty):
    """https://github.com/Lightning-AI/pytorch-lightning/issues/3869"""
    x, y, xt, yt = digit_data(seed)

    def configure(module):
        optimizer = torch.optim.AdamW(module.parameters(), lr=4e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=4e-3, epochs=8, steps_per_epoch=24, anneal_strategy="linear"
        )
        return [optimizer], [
            {
                "scheduler": schedule,
                "interval": "epoch" if faulty else "step",
                "name": "learning_rate",
            }
        ]

    model = lit(CNN(), configure)
    lightning_fit(record, model, loader(x, y))
    score(accuracy(model, xt, yt), 0.1)


@pair("training_step does not return the loss", "gross")
def lightning_no_loss_returned(record, seed, faulty):
    """https://github.com/Lightning-AI/pytorch-lightning/issues/5108 (what the loop does by itself); kind: training_step returns None"""
    x, y, xt, yt = digit_data(seed)

    def step(module, batch):
        loss = F.cross_entropy(module(batch[0]), batch[1])
        module.log("train_loss", loss)
        if not faulty:
            return loss

    model = lit(CNN(), lambda m: torch.optim.Adam(m.parameters(), lr=2e-3), step)
    lightning_fit(record, model, loader(x, y))
    score(accuracy(model, xt, yt), 0.1)


@pair("manual optimisation without zero_grad", "gross")
def lightning_manual_without_zero_grad(record, seed, faulty):
    """https://github.com/Lightning-AI/pytorch-lightning/issues/5108"""
    x, y, xt, yt = digit_data(seed)

    def step(module, batch):
        optimizer = module.optimizers()
        loss = F.cross_entropy(module(batch[0]), batch[1])
        if not faulty:
            optimizer.zero_grad()
        module.manual_backward(loss)
        optimizer.step()
        module.log("train_loss", loss)

    model = lit(
        CNN(), lambda m: torch.optim.SGD(m.parameters(), lr=0.03, momentum=0.9), step, manual=True
    )
    lightning_fit(record, model, loader(x, y), epochs=10)
    score(accuracy(model, xt, yt), 0.1)


@healthy
def lightning_digits_with_validation(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = lit(CNN(norm=True), lambda m: torch.optim.AdamW(m.parameters(), lr=2e-3), valid=True)
    lightning_fit(record, model, loader(x, y), loader(xt, yt, shuffle=False), gradient_clip_val=1.0)
    score(accuracy(model, xt, yt), 0.1)


@healthy
def lightning_table_accumulates(record, seed):
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    model = lit(mlp(20, 64, 4), lambda m: torch.optim.Adam(m.parameters(), lr=4e-3))
    lightning_fit(record, model, loader(x, y, batch_size=16), epochs=10, accumulate_grad_batches=4)
    score(accuracy(model, xt, yt), 0.3)


@healthy
def accelerate_table(record, seed):
    from accelerate import Accelerator

    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = mlp(20, 64, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model, optimizer, data = accelerator.prepare(model, optimizer, loader(x, y, batch_size=32))
    with record(model, optimizer) as hook:
        for epoch in range(12):
            for a, b in data:
                with accelerator.accumulate(model):
                    loss = F.cross_entropy(model(a), b)
                    accelerator.backward(loss)
                    optimizer.step()
                    optimizer.zero_grad()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.3)


@pair("zero_grad before each micro batch undoes the accumulation", "mild")
def accumulation_undone(record, seed, faulty):
    """https://github.com/meituan-longcat/LongCat-Image/issues/46"""
    torch.manual_seed(seed)
    x, y = table(1600, seed, classes=6)
    xt, yt = table(600, seed + 1, classes=6)
    model = mlp(20, 64, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(16):
            for i, (a, b) in enumerate(loader(x, y, batch_size=8)):
                if faulty:
                    optimizer.zero_grad()
                (criterion(model(a), b) / 8).backward()
                if i % 8 == 7:
                    optimizer.step()
                    optimizer.zero_grad()
    score(accuracy(model, xt, yt), 0.2)


@pair("gradients clipped before they are unscaled", "gross")
def amp_clip_before_unscale(record, seed, faulty):
    """https://github.com/Lightning-AI/pytorch-lightning/issues/9599"""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    model = mlp(20, 64, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
    with record(model, optimizer, criterion):
        for epoch in range(14):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.float16):
                    loss = criterion(model(a), b)
                scaler.scale(loss).backward()
                if not faulty:
                    scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
    score(accuracy(model, xt, yt), 0.3)


@pair("decay of the average is 0.9999 in a run of 200 steps", "gross")
def ema_decay_too_slow(record, seed, faulty):
    """https://github.com/r9y9/wavenet_vocoder/issues/132 (a model with EMA decay)"""
    x, y, xt, yt = digit_data(seed)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    average = AveragedModel(
        copy.deepcopy(model), multi_avg_fn=get_ema_multi_avg_fn(0.9999 if faulty else 0.95)
    )
    average.update_parameters(model)
    with record([model, average], optimizer) as hook:
        for epoch in range(9):
            for images, labels in loader(x, y):
                loss = criterion(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                average.update_parameters(model)
                hook.record_tensor_value("loss", loss)
            average.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", criterion(average(xt), yt))
    score(accuracy(average, xt, yt), 0.1)


@pair("scheduler is stepped four times for each step: the rate is 0 early", "middling")
def cosine_ends_early(record, seed, faulty):
    """https://github.com/huggingface/accelerate/issues/963"""
    x, y, xt, yt = digit_data(seed)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.0, 1 - s / 240))
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for images, labels in loader(x, y):
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                for _ in range(4 if faulty else 1):  # the number of processes, or of micro batches
                    schedule.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.1)


@pair("dropout of 0.5 after the last layer too", "mild")
def dropout_on_scores(record, seed, faulty):
    """https://blog.51cto.com/u_87851/7627358 (dropout before the output of a regression)"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    model = nn.Sequential(mlp(12, 64, 1), nn.Dropout(0.5) if faulty else nn.Identity())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(16):
            for a, b in loader(x, y[:, None]):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(r2(model, xt, yt), 0)


@pair("rate ten times too low for the length of the training", "mild")
def numbers_rate_somewhat_low(record, seed, faulty):
    """https://github.com/VXU1230/Medium-Tutorials/issues/6 (faster with another rate)"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    model = mlp(12, 64, 32, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4 if faulty else 2e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for a, b in loader(x, y[:, None]):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(r2(model, xt, yt), 0)


@pair("the whole model is trained in fp16-like coarse weights", "mild")
def numbers_weights_in_bf16(record, seed, faulty):
    """https://github.com/motional/nuplan-devkit/issues/91 (precision 16; answered by 32)"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    kind = torch.bfloat16 if faulty else torch.float32
    model = mlp(12, 64, 32, 1).to(kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(40):
            for a, b in loader(x.to(kind), y[:, None].to(kind), batch_size=32):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(r2(model.float(), xt, yt), 0)
