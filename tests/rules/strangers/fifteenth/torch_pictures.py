"""Small images: classification, segmentation, autoencoders, distillation, contrastive, denoising diffusion, GAN."""

import copy
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score


def pics(seed, n=1200, k=6, c=1, s=12, noise=0.6, left_right=False):
    g = torch.Generator().manual_seed(seed)
    t = F.interpolate(torch.randn(k, c, 4, 4, generator=g), size=s, mode="bilinear")
    if left_right:  # classes come in mirrored pairs
        t[1::2] = t[0::2].flip(-1)
    y = torch.randint(k, (n,), generator=g)
    x = t[y]
    sh = torch.randint(-1, 2, (n, 2), generator=g)
    x = torch.stack([torch.roll(a, (int(p), int(q)), (1, 2)) for a, (p, q) in zip(x, sh)])
    x = x + noise * torch.randn(x.shape, generator=g)
    return x, y


class CNN(nn.Module):
    def __init__(self, c=1, k=6, w=12, bias=0.0, momentum=0.1, norm=True):
        super().__init__()
        N = (
            (lambda ch: nn.BatchNorm2d(ch, momentum=momentum))
            if norm
            else (lambda ch: nn.GroupNorm(2, ch))
        )
        self.f = nn.Sequential(
            nn.Conv2d(c, w, 3, padding=1),
            N(w),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(w, 2 * w, 3, padding=1),
            N(2 * w),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.head = nn.Linear(2 * w * 9, k)

    def forward(self, x):
        return self.head(self.f(x).flatten(1))


def accuracy(m, x, y):
    with torch.no_grad():
        return (m(x).argmax(1) == y).float().mean()


def disturbed(x, y, flip_labels, sort):
    ty = y.clone()
    if flip_labels:
        m = torch.rand(len(y)) < flip_labels
        ty[m] = torch.randint(6, (int(m.sum()),))
    if sort:
        order = torch.argsort(ty)
        x, ty = x[order], ty[order]
    return x, ty


def model_and_optimizer(c, norm, fault, freeze, opt, lr):
    model = CNN(c, norm=norm, momentum=1e-5 if fault == "bn_momentum" else 0.1)
    if fault == "dead":
        for m in model.f:
            if isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.bias, -4.0)
    if freeze:
        for p in model.f[0].parameters():
            p.requires_grad_(False)
    ps = [p for p in model.parameters() if p.requires_grad]
    make = {
        "sgd": lambda: torch.optim.SGD(ps, lr, momentum=0.9, nesterov=True),
        "adam": lambda: torch.optim.Adam(ps, lr),
        "adamw": lambda: torch.optim.AdamW(ps, lr, weight_decay=0.05),
    }
    return model, make[opt]()


def loss_of(model, crit, xb, yb, fault, mixup):
    if mixup:
        lam = torch.distributions.Beta(0.4, 0.4).sample().item()
        pm = torch.randperm(len(xb))
        out = model(lam * xb + (1 - lam) * xb[pm])
        l2 = yb if fault == "mix_labels" else yb[pm]
        return lam * crit(out.float(), yb) + (1 - lam) * crit(out.float(), l2)
    out = model(xb).float()
    if fault == "softmax":
        out = out.softmax(1)
    elif fault == "softmax0":
        out = out.softmax(0)
    elif fault == "minus":
        out = -out
    return crit(out, yb.roll(1) if fault == "roll_target" else yb)


@torch.no_grad()
def follow(average, model, d):
    for a, q in zip(average.state_dict().values(), model.state_dict().values()):
        a.copy_(a * d + q * (1 - d)) if a.is_floating_point() else a.copy_(q)


def classify(
    record,
    seed,
    fault=None,
    opt="sgd",
    lr=0.03,
    epochs=5,
    bs=32,
    smooth=0.0,
    flip_labels=0.0,
    amp=False,
    ema=0.0,
    noise=0.6,
    norm=True,
    n=900,
    mixup=False,
    sort=False,
    freeze=False,
    c=1,
    mirror=False,
    shift=0.0,
):
    torch.manual_seed(seed)
    x, y = pics(seed, c=c, noise=noise, left_right=mirror)
    x, y, vx, vy = x[:n], y[:n], x[900:], y[900:]
    x, ty = disturbed(x, y, flip_labels, sort)
    if fault == "reshape":
        x = x.permute(0, 2, 3, 1).contiguous().view(len(x), c, 12, 12)
    if shift:
        x, vx = x * 3 + shift, vx * 3 + shift
    if fault == "scale":
        x = x / 255
    model, o = model_and_optimizer(c, norm, fault, freeze, opt, lr)
    ema_m = copy.deepcopy(model) if ema else None
    crit = nn.CrossEntropyLoss(label_smoothing=smooth)
    with record(model, o, crit) as hook:
        for ep in range(epochs):
            if not (fault == "eval_forever" and ep > 0):
                model.train()
            if fault == "frozen_bn":
                model.eval()
            order = (
                torch.arange(len(x)) if sort and fault == "no_shuffle" else torch.randperm(len(x))
            )
            for i in range(0, len(x), bs):
                b = order[i : i + bs]
                xb, yb = x[b], ty[b]
                if mirror and fault == "flip":
                    fl = torch.rand(len(b)) < 0.5
                    xb = torch.where(fl[:, None, None, None], xb.flip(-1), xb)
                if fault == "cut_all":
                    xb = xb * (F.interpolate(torch.rand(len(b), 1, 3, 3), size=12) > 0.9)
                o.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                    l = loss_of(model, crit, xb, yb, fault, mixup)
                l.backward()
                o.step()
                if ema:
                    follow(ema_m, model, 0.9999 if fault == "ema" else ema)
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    crit(model(vx), vy)
    model.eval()
    score(accuracy(ema_m.eval() if ema else model, vx, vy), 1 / 6)


@healthy
def pic_label_noise_smoothing(record, seed):
    """30 % of the labels are random; the loss stays high, accuracy is good."""
    classify(record, seed, flip_labels=0.3, smooth=0.1, epochs=4)


@healthy
def pic_mixup_bf16(record, seed):
    """Mixup under bf16 autocast: the training loss stays high."""
    classify(record, seed, mixup=True, amp=True, opt="adam", lr=2e-3, epochs=4)


@healthy
def pic_frozen_random_stem(record, seed):
    """First convolution frozen at random on purpose."""
    classify(record, seed, freeze=True, opt="adamw", lr=3e-3, norm=False)


@healthy
def pic_huge_batch(record, seed):
    """Batches of 150 out of 900 with a high rate."""
    classify(record, seed, bs=150, lr=0.15, epochs=12)


@pair(cause="channels-last images reshaped and not permuted (training only)", severity="gross")
def pic_reshape_for_permute(record, seed, faulty):
    """view for permute on 3 channels."""
    classify(record, seed, "reshape" if faulty else None, c=3, noise=1.2)


@pair(cause="training images divided by 255 once more, validation ones not", severity="middling")
def pic_scaled_twice(record, seed, faulty):
    """Inputs are tiny in training (GroupNorm follows a biased convolution)."""
    classify(record, seed, "scale" if faulty else None, norm=False, opt="sgd", lr=0.02)


@pair(cause="running statistics hardly move (momentum 1e-5, taken for a decay)", severity="gross")
def pic_bn_momentum_mixed_up(record, seed, faulty):
    """Evaluation uses the initial statistics."""
    classify(record, seed, "bn_momentum" if faulty else None, shift=8.0)


@pair(cause="horizontal flips though classes are mirror images of each other", severity="middling")
def pic_flip_breaks_labels(record, seed, faulty):
    """Augmentation that destroys labels."""
    classify(record, seed, "flip" if faulty else None, mirror=True)


@pair(cause="softmax before CrossEntropyLoss", severity="mild")
def pic_softmax_then_ce(record, seed, faulty):
    """Double softmax with SGD."""
    classify(record, seed, "softmax" if faulty else None, lr=0.005, noise=1.2, epochs=3)


@pair(cause="softmax over the batch before CrossEntropyLoss", severity="middling")
def pic_softmax_dim0(record, seed, faulty):
    """Wrong dim."""
    classify(record, seed, "softmax0" if faulty else None, lr=0.005, noise=1.2, epochs=3)


@pair(cause="targets rolled by one within the batch (queue off by one)", severity="gross")
def pic_targets_late_by_one(record, seed, faulty):
    """A loader hands labels of the previous sample."""
    classify(record, seed, "roll_target" if faulty else None)


@pair(cause="data sorted by class and not shuffled", severity="gross")
def pic_sorted_classes(record, seed, faulty):
    """shuffle=False on a sorted folder."""
    classify(record, seed, "no_shuffle" if faulty else None, sort=True, lr=0.02, norm=False)


@pair(
    cause="EMA decay 0.9999 over 200 steps: the averaged model is still the initial one",
    severity="gross",
)
def pic_ema_decay_too_long(record, seed, faulty):
    """The evaluated EMA never left its start."""
    classify(record, seed, "ema" if faulty else None, ema=0.95)


@pair(cause="mixup mixes the images but not the labels", severity="mild")
def pic_mixup_labels_forgotten(record, seed, faulty):
    """Second label term uses the first labels."""
    classify(
        record,
        seed,
        "mix_labels" if faulty else None,
        mixup=True,
        noise=1.6,
        epochs=6,
        opt="adam",
        lr=3e-3,
    )


@pair(cause="norm biases start at -4: nearly all ReLUs are dead", severity="middling")
def pic_dead_relus(record, seed, faulty):
    """Bad initialisation."""
    classify(record, seed, "dead" if faulty else None, opt="sgd", lr=0.003, noise=1.0)


@pair(cause="label smoothing 0.95 (the confidence meant) for 0.1", severity="middling")
def more_smoothing_typo(record, seed, faulty):
    """The target puts nearly equal weight on all classes."""
    classify(record, seed, smooth=0.95 if faulty else 0.1, noise=1.8, lr=0.01, epochs=3)


# segmentation --------------------------------------------------------------------------------


def seg(record, seed, fault=None, dice=False):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n, s = 500, 16
    yy, xx = torch.meshgrid(torch.arange(s), torch.arange(s), indexing="ij")
    cy, cx = torch.randint(4, 12, (2, n, 1, 1), generator=g)
    ry, rx = torch.randint(2, 5, (2, n, 1, 1), generator=g)
    m = (((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 <= 1).float()[:, None]
    x = m * 1.2 + 0.7 * torch.randn(n, 1, s, s, generator=g)
    tm = m.transpose(2, 3) if fault == "transposed" else m
    w = 10
    model = nn.Sequential(
        nn.Conv2d(1, w, 3, padding=1),
        nn.GroupNorm(2, w),
        nn.ReLU(),
        nn.Conv2d(w, w, 3, padding=2, dilation=2),
        nn.ReLU(),
        nn.Conv2d(w, w, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(w, 1, 1),
    )
    o = torch.optim.Adam(model.parameters(), 4e-3)

    def loss(p, t):
        if dice:
            p = torch.sigmoid(p)
            inter = (p * t).sum((1, 2, 3))
            d = (2 * inter + 1) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + 1)
            return (
                d.mean()
                if fault == "dice_sign"
                else (-d.mean() if fault != "dice_detach" else -(d.detach() * p.mean()).mean())
            )
        return F.binary_cross_entropy_with_logits(p, t)

    with record(model, o) as hook:
        for ep in range(6):
            for i in range(0, 400, 16):
                b = torch.randint(400, (16,))
                l = loss(model(x[b]), tm[b])
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                loss(model(x[400:]), m[400:])
    with torch.no_grad():
        p = (model(x[400:]) > 0).float()
        t = m[400:]
        score((p * t).sum() / ((p + t) > 0).float().sum(), t.mean())


@healthy
def seg_negative_dice(record, seed):
    """Loss is minus the Dice score: negative throughout."""
    seg(record, seed, dice=True)


@pair(cause="masks transposed (height and width exchanged)", severity="gross")
def seg_mask_transposed(record, seed, faulty):
    """(x, y) for (row, column)."""
    seg(record, seed, "transposed" if faulty else None)


@pair(cause="Dice score minimised in place of maximised", severity="gross")
def seg_dice_sign(record, seed, faulty):
    """The sign is lost."""
    seg(record, seed, "dice_sign" if faulty else None, dice=True)


# autoencoders --------------------------------------------------------------------------------


def autoencode(record, seed, fault=None, vae=False, denoise=False):
    torch.manual_seed(seed)
    clean, _ = pics(seed, noise=0.0)
    clean = clean.flatten(1)
    x = clean + 0.7 * torch.randn_like(clean) if denoise else clean
    d, z = clean.shape[1], 6
    enc = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 2 * z if vae else z))
    dec = nn.Sequential(
        nn.Linear(z, 64),
        nn.ReLU(),
        nn.Linear(64, d),
        *([nn.Sigmoid()] if fault == "sigmoid" else []),
    )
    if denoise:
        enc = nn.Sequential(nn.Linear(d, 128), nn.ReLU(), nn.Linear(128, 96))
        dec = nn.Linear(96, d)
    model = nn.ModuleDict({"enc": enc, "dec": dec})
    dec_params = list(enc.parameters()) if fault == "enc_only" else list(model.parameters())
    o = torch.optim.Adam(dec_params, 3e-3)
    with record(model, o) as hook:
        for ep in range(14):
            order = torch.randperm(900)
            for i in range(0, 900, 50):
                b = order[i : i + 50]
                h = enc(x[b])
                if vae:
                    mu, lv = h.chunk(2, 1)
                    h = mu + torch.randn_like(mu) * torch.exp(
                        0.5 * lv if fault != "std" else lv.exp()
                    )
                    kl = -0.5 * (1 + lv - mu**2 - lv.exp())
                    kl = kl.sum(1).mean()
                    rec = (dec(h) - clean[b]) ** 2
                    l = (rec.mean() if fault == "kl" else rec.sum(1).mean()) + kl
                else:
                    if fault == "detach":
                        h = h.detach()
                    tgt = x[b] if fault == "noisy_target" else clean[b]
                    l = F.mse_loss(dec(h), tgt)
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                h = enc(x[900:])
                F.mse_loss(dec(h[:, :z] if vae else h), clean[900:])
    with torch.no_grad():
        h = enc(x[900:])
        p = dec(h[:, :z] if vae else h)
        v = clean[900:]
        score(1 - ((p - v) ** 2).mean() / ((v - v.mean(0)) ** 2).mean(), 0.0)


@healthy
def pic_vae(record, seed):
    """Plain VAE with summed reconstruction and KL; KL rises before it settles."""
    autoencode(record, seed, vae=True)


@pair(cause="reconstruction averaged over pixels, KL summed: posterior collapse", severity="gross")
def pic_vae_collapse(record, seed, faulty):
    """Wrong reduction."""
    autoencode(record, seed, "kl" if faulty else None, vae=True)


@pair(cause="sigmoid output for data in [-2, 2]", severity="middling")
def pic_ae_sigmoid_output(record, seed, faulty):
    """Activation does not fit the range."""
    autoencode(record, seed, "sigmoid" if faulty else None)


@pair(cause="code detached before the decoder: the encoder never learns", severity="middling")
def pic_ae_detached_code(record, seed, faulty):
    """detach in the wrong place."""
    autoencode(record, seed, "detach" if faulty else None)


@pair(cause="denoising autoencoder trained against its noisy input", severity="middling")
def pic_denoise_to_noisy(record, seed, faulty):
    """Loss on the wrong tensor."""
    autoencode(record, seed, "noisy_target" if faulty else None, denoise=True)


@pair(cause="exp(logvar) taken for the standard deviation in the VAE's sample", severity="mild")
def pic_vae_std_is_variance(record, seed, faulty):
    """Missing factor 0.5."""
    autoencode(record, seed, "std" if faulty else None, vae=True)


# distillation, contrastive -------------------------------------------------------------------


def distill(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = pics(seed, n=1400, noise=1.2)
    teacher = CNN(w=16)
    to = torch.optim.Adam(teacher.parameters(), 3e-3)
    for k in range(120):
        b = torch.randint(600, (48,))
        to.zero_grad()
        F.cross_entropy(teacher(x[b]), y[b]).backward()
        to.step()
    if fault == "teacher":
        fresh = CNN(w=16)
        fresh.load_state_dict(
            {"net." + k: v for k, v in teacher.state_dict().items()}, strict=False
        )
        teacher = fresh
    teacher.eval()
    student = CNN(w=6)
    o = torch.optim.AdamW(student.parameters(), 3e-3)
    kl = nn.KLDivLoss(reduction="batchmean")
    T = 3.0
    with record(student, o, kl) as hook:
        for ep in range(5):
            student.train()
            for k in range(24):
                b = torch.randint(1100, (48,))
                with torch.no_grad():
                    t = (teacher(x[b]) / T).softmax(1)
                s = student(x[b]) / T
                l = kl(s.log_softmax(1), t) * T * T
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook):
                student.eval()
                with torch.no_grad():
                    kl((student(x[1100:]) / T).log_softmax(1), (teacher(x[1100:]) / T).softmax(1))
    score(accuracy(student.eval(), x[1100:], y[1100:]), 1 / 6)


@healthy
def pic_distill_student(record, seed):
    """Distillation alone, without any labels; the loss is small."""
    distill(record, seed)


@pair(cause="teacher weights silently not loaded (prefix, strict=False)", severity="gross")
def pic_distill_untrained_teacher(record, seed, faulty):
    """The student learns from a random teacher."""
    distill(record, seed, "teacher" if faulty else None)


def simclr(record, seed, fault=None, temp=0.2):
    torch.manual_seed(seed)
    x, y = pics(seed, n=1300, noise=0.3)
    f = nn.Sequential(
        nn.Conv2d(1, 12, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(12, 24, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(216, 32),
    )
    pr = nn.Sequential(nn.ReLU(), nn.Linear(32, 16))
    model = nn.Sequential(f, pr)
    o = torch.optim.Adam(model.parameters(), 2e-3)

    def aug(a):
        return a + 0.8 * torch.randn_like(a) + 0.3 * torch.randn(len(a), 1, 1, 1)

    def nce(a, b):
        z = F.normalize(torch.cat([a, b]), dim=0 if fault == "norm_dim" else 1)
        s = z @ z.T / (1e3 if fault == "temp" else temp)
        n = len(a)
        if fault != "no_self_mask":
            s = s.masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
        t = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
        if fault == "pairs":
            t = torch.arange(2 * n) ^ 1
        return F.cross_entropy(s, t)

    with record(model, o) as hook:
        for ep in range(5):
            for k in range(20):
                b = torch.randint(1000, (64,))
                l = nce(model(aug(x[b])), model(aug(x[b])))
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                nce(model(aug(x[1000:1200])), model(aug(x[1000:1200])))
    with torch.no_grad():
        a = F.normalize(model(x[:1000]), dim=1)
        q = F.normalize(model(x[1000:] + 0.8 * torch.randn(300, 1, 12, 12)), dim=1)
        nn_ = (q @ a.T).topk(5, 1).indices
        score((y[nn_].mode(1).values == y[1000:]).float().mean(), 1 / 6)


@healthy
def pic_contrastive(record, seed):
    """SimCLR-like: the loss begins near log of the batch and stays well above zero."""
    simclr(record, seed)


@pair(
    cause="positives taken as neighbours (i xor 1) though views are stacked in halves",
    severity="middling",
)
def pic_contrastive_wrong_pairs(record, seed, faulty):
    """Targets for interleaved views."""
    simclr(record, seed, "pairs" if faulty else None)
