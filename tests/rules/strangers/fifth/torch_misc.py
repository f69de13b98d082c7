"""Audio, point clouds, sets, Lightning, precision, and everyday mistakes: those that are fine."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from misc_parts import PointNet, clouds, lightning_fit
from registry import healthy, score
from synth import accuracy, batches, glyphs


@healthy
def lightning_spectrograms(record, seed):
    """Lightning, CNN on log spectrograms."""
    lightning_fit(record, seed)


@healthy
def pointnet_compiled(record, seed):
    """PointNet through torch.compile(backend="aot_eager"), AMSGrad."""
    torch.manual_seed(seed)
    x, y = clouds(3000, seed)
    xv, yv = clouds(600, seed + 1)
    model = PointNet()
    fast = torch.compile(model, backend="aot_eager")
    opt = torch.optim.Adam(model.parameters(), lr=2e-3, amsgrad=True)
    it = batches(seed, len(x), 128)
    with record(model, opt) as hook:
        for step in range(250):
            i = next(it)
            loss = F.cross_entropy(fast(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@healthy
def fp16_grad_scaler(record, seed):
    """fp16 autocast with a GradScaler whose first steps overflow and are skipped."""
    torch.manual_seed(seed)
    x, y = glyphs(2500, seed)
    xv, yv = glyphs(600, seed + 1)
    model = nn.Sequential(
        nn.Flatten(),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Linear(128, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
    it = batches(seed, len(x), 512)
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            with torch.autocast("cpu", torch.float16):
                out = model(x[i])
            loss = F.cross_entropy(out.float(), y[i])
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            scaler.step(opt)
            scaler.update()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)
