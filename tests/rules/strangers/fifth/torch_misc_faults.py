"""Audio, point clouds, sets, Lightning, precision, and everyday mistakes: pairs with and without a fault."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from misc_parts import PointNet, audio_net, clouds, cnn, lightning_fit, plain, spectrogram, tones
from registry import pair, score
from synth import accuracy, batches, gen, glyphs


@pair("configure_optimizers returns the parameters of the first layer only", "gross")
def lightning_optimizer_misses_layers(record, seed, faulty):
    """Lightning, CNN on log spectrograms."""
    lightning_fit(record, seed, head_only=faulty)


@pair(
    "SpecAugment's widths given in per cent instead of bins: nearly everything is masked", "gross"
)
def spec_augment_masks_too_wide(record, seed, faulty):
    """CNN on log spectrograms with frequency and time masks."""
    torch.manual_seed(seed)
    w, y = tones(2500, seed)
    wv, yv = tones(500, seed + 1)
    x, xv = spectrogram(w), spectrogram(wv)
    widest = 30 if faulty else 5

    def masked(b):
        b = b.clone()
        for axis in (2, 3):
            n = int(torch.randint(widest // 2, widest + 1, ()))
            at = int(torch.randint(0, 32 - n + 1, ()))
            b.narrow(axis, at, n).zero_()
        return b

    model = audio_net()
    opt = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
    it = batches(seed, len(x), 128)
    with record(model, opt) as hook:
        for step in range(150):
            model.train()
            i = next(it)
            loss = F.cross_entropy(model(masked(x[i])), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        model.eval()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 1 / 8)


@pair("max pooling over the features instead of over the points", "middling")
def pointnet_pools_wrong_axis(record, seed, faulty):
    """PointNet on shapes."""
    torch.manual_seed(seed)
    x, y = clouds(3000, seed)
    xv, yv = clouds(600, seed + 1)
    model = PointNet(2 if faulty else 1)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    it = batches(seed, len(x), 128)
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@pair("momentum of 0.999 instead of 0.9", "gross")
def cnn_momentum_too_high(record, seed, faulty):
    """CNN with SGD."""
    torch.manual_seed(seed)
    m = cnn()
    plain(
        record, seed, m, torch.optim.SGD(m.parameters(), lr=0.03, momentum=0.999 if faulty else 0.9)
    )


@pair("loss summed over the batch at a rate chosen for the mean", "gross")
def cnn_sum_reduction(record, seed, faulty):
    """CNN with SGD."""
    torch.manual_seed(seed)
    m = cnn()
    plain(
        record,
        seed,
        m,
        torch.optim.SGD(m.parameters(), lr=0.03, momentum=0.9),
        reduction="sum" if faulty else "mean",
    )


@pair("the loader is restarted in every step: always the same first batch", "middling")
def cnn_always_first_batch(record, seed, faulty):
    """CNN with Adam and validation."""
    torch.manual_seed(seed)
    m = cnn()
    plain(record, seed, m, torch.optim.Adam(m.parameters(), lr=1e-3), one_batch=faulty)


@pair("learning rate ten times too low", "mild")
def cnn_rate_too_low(record, seed, faulty):
    """CNN with AdamW."""
    torch.manual_seed(seed)
    m = cnn()
    plain(record, seed, m, torch.optim.AdamW(m.parameters(), lr=1e-4 if faulty else 1e-3), size=64)


@pair("gradients clipped to a norm of 0.001 with SGD", "gross")
def cnn_clip_far_too_low(record, seed, faulty):
    """CNN with SGD and clipping."""
    torch.manual_seed(seed)
    m = cnn()
    plain(
        record,
        seed,
        m,
        torch.optim.SGD(m.parameters(), lr=0.03, momentum=0.9),
        clip=1e-3 if faulty else 1.0,
    )


@pair("Adam's weight_decay (L2) of 0.1 taken over from AdamW", "mild")
def cnn_coupled_weight_decay(record, seed, faulty):
    """CNN with Adam."""
    torch.manual_seed(seed)
    m = cnn()
    plain(
        record,
        seed,
        m,
        torch.optim.Adam(m.parameters(), lr=1e-3, weight_decay=0.1 if faulty else 1e-4),
    )


@pair("40 percent of the labels are wrong after a careless merge of label files", "mild")
def cnn_noisy_labels(record, seed, faulty):
    """CNN with Adam."""
    torch.manual_seed(seed)
    x, y = glyphs(2500, seed)
    if faulty:
        y = torch.where(torch.rand(len(y)) < 0.4, torch.randint(0, 10, (len(y),)), y)
    m = cnn()
    plain(record, seed, m, torch.optim.Adam(m.parameters(), lr=1e-3), data=(x, y))


@pair("all weights set to the same constant: the units stay symmetric", "middling")
def cnn_constant_init(record, seed, faulty):
    """CNN with AdamW."""
    torch.manual_seed(seed)
    m = cnn()
    if faulty:
        for l in m:
            if isinstance(l, (nn.Conv2d, nn.Linear)):
                nn.init.constant_(l.weight, 0.02)
    plain(record, seed, m, torch.optim.AdamW(m.parameters(), lr=1e-3))


@pair("sigmoid outputs given to BCEWithLogitsLoss", "gross")
def cnn_sigmoid_before_bce_logits(record, seed, faulty):
    """One-versus-rest CNN."""
    torch.manual_seed(seed)
    m = cnn()
    f = lambda o, y: F.binary_cross_entropy_with_logits(
        o.sigmoid() if faulty else o, F.one_hot(y, 10).float()
    )
    plain(record, seed, m, torch.optim.Adam(m.parameters(), lr=1e-3), loss_fn=f)


@pair("scheduler with a warm-up of 1000 steps in a run of 200", "mild")
def cnn_warmup_longer_than_run(record, seed, faulty):
    """CNN with SGD and linear warm-up."""
    torch.manual_seed(seed)
    m = cnn()
    opt = torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9)
    n = 1000 if faulty else 20
    plain(
        record,
        seed,
        m,
        opt,
        sched=torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / n)),
    )


@pair(
    "accumulated micro-batch losses not divided by their number, plain SGD near its largest stable rate",
    "gross",
)
def cnn_accumulation_not_divided(record, seed, faulty):
    """CNN, 8 micro-batches of 16."""
    torch.manual_seed(seed)
    m = cnn()
    plain(
        record,
        seed,
        m,
        torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9),
        size=16,
        accumulate=8,
        divide=not faulty,
    )


@pair("model.half() with Adam's eps of 1e-8, which is zero in half precision", "gross")
def half_parameters_adam_eps(record, seed, faulty):
    """MLP on images; the correct twin keeps fp32 parameters and autocasts."""
    torch.manual_seed(seed)
    x, y = glyphs(2500, seed)
    xv, yv = glyphs(600, seed + 1)
    x, xv = x.flatten(1), xv.flatten(1)
    model = nn.Sequential(
        nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    if faulty:
        model.half()
        x, xv = x.half(), xv.half()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            with torch.autocast("cpu", torch.bfloat16, enabled=not faulty):
                loss = F.cross_entropy(model(x[i]).float(), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv).nan_to_num(0.0), yv), 0.1)


@pair(
    "the moving average of the weights has a decay of 0.9999 in a run of 250 steps and is what is evaluated",
    "gross",
)
def ema_decay_too_slow(record, seed, faulty):
    """CNN with EMA evaluation."""
    torch.manual_seed(seed)
    x, y = glyphs(2500, seed)
    xv, yv = glyphs(600, seed + 1)
    model = cnn()
    ema = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9999 if faulty else 0.97)
    )
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 96)
    with record(model, opt) as hook:
        for step in range(250):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update_parameters(model)
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if step % 25 == 24:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(ema(xv), yv).item())
        with torch.no_grad():
            score(accuracy(ema(xv), yv), 0.1)


@pair(
    "the hidden state is detached in every time step, so nothing is learned through time",
    "middling",
)
def rnn_detached_each_step(record, seed, faulty):
    """GRU cell that must remember the first symbols of a sequence."""
    torch.manual_seed(seed)
    g = gen(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.cell, self.out = (
                nn.Embedding(8, 24),
                nn.GRUCell(24, 64),
                nn.Linear(64, 8),
            )

        def forward(self, s):
            h = torch.zeros(len(s), 64)
            for t in range(s.shape[1]):
                h = self.cell(self.emb(s[:, t]), h.detach() if faulty else h)
            return self.out(h)

    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    crit = nn.CrossEntropyLoss()

    def data(n):
        s = torch.randint(0, 8, (n, 8), generator=g)
        return s, (s[:, 0] + s[:, 1] * 0) % 8

    with record(model, opt, crit) as hook:
        for step in range(350):
            s, y = data(128)
            loss = crit(model(s), y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            s, y = data(1000)
            score(accuracy(model(s), y), 1 / 8)


@pair("the positional embedding is never added", "gross")
def transformer_without_positions(record, seed, faulty):
    """Encoder that tells which of two marks comes first."""
    torch.manual_seed(seed)
    g = gen(seed)

    def data(n):
        s = torch.randint(2, 20, (n, 16), generator=g)
        p = torch.rand(n, 16, generator=g).argsort(1)[:, :2]
        r = torch.arange(n)
        s[r, p[:, 0]], s[r, p[:, 1]] = 0, 1
        return s, (p[:, 0] < p[:, 1]).long()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.pos = nn.Embedding(20, 32), nn.Parameter(torch.randn(16, 32) * 0.3)
            self.enc = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(32, 2, 64, 0.0, batch_first=True),
                2,
                enable_nested_tensor=False,
            )
            self.out = nn.Linear(32, 2)

        def forward(self, s):
            x = self.emb(s)
            if not faulty:
                x = x + self.pos
            return self.out(self.enc(x).mean(1))

    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with record(model, opt) as hook:
        for step in range(250):
            s, y = data(64)
            loss = F.cross_entropy(model(s), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            s, y = data(1000)
            score(accuracy(model(s), y), 0.5)


@pair(
    "training images are divided by their standard deviation of 4, those of the validation and of use are not",
    "mild",
)
def cnn_validation_prepared_otherwise(record, seed, faulty):
    """CNN with AdamW and validation."""
    torch.manual_seed(seed)
    x, y = glyphs(2500, seed)
    m = cnn(bn=True)
    plain(
        record,
        seed,
        m,
        torch.optim.AdamW(m.parameters(), lr=1e-3),
        data=(x, y),
        val_unit=4.0 if faulty else 1.0,
    )


@pair(
    "weights are rounded without a straight-through estimator: no gradient reaches the quantised layers",
    "middling",
)
def qat_without_straight_through(record, seed, faulty):
    """CNN with 6-bit weights."""
    torch.manual_seed(seed)

    class Rounded(nn.Conv2d):
        def forward(self, x):
            s = self.weight.detach().abs().amax() / 31
            q = (self.weight / s).round() * s
            if not faulty:
                q = self.weight + (q - self.weight).detach()
            return self._conv_forward(x, q, self.bias)

    m = nn.Sequential(
        Rounded(1, 16, 3, 2, 1),
        nn.ReLU(),
        Rounded(16, 16, 3, 2, 1),
        nn.ReLU(),
        Rounded(16, 16, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    plain(record, seed, m, torch.optim.Adam(m.parameters(), lr=3e-3), steps=300, size=192)
