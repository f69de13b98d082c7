"""Images to classes."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from kit import Block, accuracy, gratings, picks, resnet, shapes, small_cnn, start
from registry import healthy, pair, score


class Vit(nn.Module):
    def __init__(self, classes, d=32, positions=True, patch=4, side=4, layers=2):
        super().__init__()
        self.embed = nn.Conv2d(1, d, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(0.02 * torch.randn(1, side * side + 1, d)) if positions else None
        self.blocks = nn.ModuleList(Block(d) for _ in range(layers))
        self.head = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, classes))

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1)
        if self.pos is not None:
            x = x + self.pos
        for b in self.blocks:
            x = b(x)
        return self.head(x[:, 0])


@healthy
def resnet_smoothed_with_warmup(record, seed):
    start(seed)
    x, y = shapes(1200)[:2]
    xt, yt = shapes(500)[:2]
    model = resnet(1, 5)
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=240)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(len(x), 32, 240)):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
            sched.step()
            if k % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    criterion(model(xt), yt)
                    model.train()
    score(accuracy(model, xt, yt), 0.2)


@healthy
def vit_on_stripes(record, seed):
    start(seed)
    x, y = gratings(2000, 5, noise=0.4)
    xt, yt = gratings(500, 5, noise=0.4)
    model = Vit(5)
    opt = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.05)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 60))
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 280):
            opt.zero_grad(set_to_none=True)
            criterion(model(x[i]), y[i]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
    score(accuracy(model, xt, yt), 0.2)


@healthy
def mixup_cnn(record, seed):
    start(seed)
    x, y = gratings(1200, 8)
    xt, yt = gratings(500, 8)
    model = small_cnn(1, 8)
    model(x[:2])
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    beta = torch.distributions.Beta(0.4, 0.4)
    with record(model, opt, criterion):
        for i in picks(len(x), 40, 450):
            lam, j = beta.sample(), i[torch.randperm(len(i))]
            target = lam * F.one_hot(y[i], 8) + (1 - lam) * F.one_hot(y[j], 8)
            opt.zero_grad()
            criterion(model(lam * x[i] + (1 - lam) * x[j]), target).backward()
            opt.step()
    score(accuracy(model, xt, yt), 1 / 8)


@pair("evaluation images are not scaled like the training images", "gross")
def pixel_scaling_differs(record, seed, faulty):
    start(seed)
    scale = lambda t: (t.clamp(-3, 3) + 3) * 42.5
    (x, y), (xt, yt) = gratings(1500), gratings(500)
    x, xt = scale(x), scale(xt)
    norm = lambda t: (t - 127.5) / 60
    model = small_cnn(1, 6, drop=0.2)
    model(norm(x[:2]))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    criterion = nn.CrossEntropyLoss()
    test = xt / 255 if faulty else norm(xt)
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(len(x), 32, 400)):
            opt.zero_grad()
            criterion(model(norm(x[i])), y[i]).backward()
            opt.step()
            if k % 40 == 39:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    criterion(model(test), yt)
                    model.train()
    score(accuracy(model, test, yt), 1 / 6)


@pair("batch norm evaluated in train mode on batches of one class", "gross")
def resnet_evaluated_in_train_mode(record, seed, faulty):
    start(seed)
    x, y = shapes(1000)[:2]
    xt, yt = shapes(500)[:2]
    model = resnet(1, 5)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 240)
    criterion = nn.CrossEntropyLoss()
    groups = [(xt[yt == c], yt[yt == c]) for c in range(5)]

    def evaluate():
        if not faulty:
            model.eval()
        right = 0
        with torch.no_grad():
            for a, b in groups:
                out = model(a)
                criterion(out, b)
                right += (out.argmax(1) == b).sum().item()
        model.train()
        return right / len(xt)

    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(len(x), 32, 240)):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
            sched.step()
            if k % 60 == 59:
                with record.evaluation(hook):
                    evaluate()
    score(evaluate(), 0.2)


@pair("random flips turn left into right without changing the label", "middling")
def flips_swap_the_classes(record, seed, faulty):
    start(seed)

    def arrows(n):
        x, y = torch.rand(n, 1, 12, 12) * 0.9, torch.randint(4, (n,))
        for k in range(n):
            r, c = torch.randint(3, 9, (2,)).tolist()
            dx, dy = [(1, 0), (-1, 0), (0, 1), (0, -1)][y[k]]
            for s in range(-2, 3):
                x[k, 0, r + s * abs(dx), c + s * abs(dy)] += 1
            for s in (-1, 1):
                x[k, 0, r + dx + s * abs(dy), c + dy + s * abs(dx)] += 1
        return x - 0.5, y

    (x, y), (xt, yt) = arrows(1500), arrows(500)
    model = small_cnn(1, 4)
    model(x[:2])
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 400):
            b = x[i] + 0.1 * torch.randn(len(i), 1, 1, 1)
            if faulty:
                b = torch.where(torch.rand(len(b), 1, 1, 1) < 0.5, b.flip(3), b)
            opt.zero_grad()
            criterion(model(b), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 0.25)


@pair("the transformer has no position embedding", "gross")
def vit_without_positions(record, seed, faulty):
    start(seed)

    def where(n):
        r, c = torch.randint(4, (2, n))
        x = 0.3 * torch.randn(n, 1, 16, 16)
        for k in range(n):
            x[k, 0, 4 * r[k] : 4 * r[k] + 4, 4 * c[k] : 4 * c[k] + 4] += torch.rand(1) + 0.5
        return x, (r // 2) * 2 + c // 2

    (x, y), (xt, yt) = where(1200), where(400)
    model = Vit(4, positions=not faulty)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 250):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 0.25)


@pair("channels-last images reshaped instead of permuted", "middling")
def view_in_place_of_permute(record, seed, faulty):
    start(seed)

    def colour(n):
        x, y = shapes(n, 16, 0.2)[:2]
        tint = torch.rand(n, 3, 1, 1) + 0.3
        return (x * tint + 0.1 * torch.randn(n, 3, 16, 16)).permute(0, 2, 3, 1).contiguous(), y

    (x, y), (xt, yt) = colour(1200), colour(400)
    fix = (lambda t: t.view(-1, 3, 16, 16)) if faulty else (lambda t: t.permute(0, 3, 1, 2))
    model = small_cnn(3, 5)
    model(fix(x[:2]))
    opt = torch.optim.AdamW(model.parameters(), 1.5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 300):
            opt.zero_grad()
            criterion(model(fix(x[i])), y[i]).backward()
            opt.step()
    score(accuracy(model, fix(xt), yt), 0.2)


@pair("images shuffled without their labels", "gross")
def images_lose_their_labels(record, seed, faulty):
    start(seed)
    x, y = gratings(1500, 5)
    xt, yt = gratings(400, 5)
    if faulty:
        x = x[torch.randperm(len(x))]
    loader = DataLoader(TensorDataset(x, y), 50, shuffle=True)
    model = small_cnn(1, 5)
    model(x[:2])
    opt = torch.optim.RMSprop(model.parameters(), 1e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion) as hook:
        for _ in range(8):
            for a, b in loader:
                opt.zero_grad()
                criterion(model(a), b).backward()
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                model.eval()
                criterion(model(xt), yt)
                model.train()
    score(accuracy(model, xt, yt), 0.2)


@pair("softmax in the model before the cross entropy loss", "middling")
def softmax_twice(record, seed, faulty):
    start(seed)
    x, y = gratings(1500, 12, noise=0.6)
    xt, yt = gratings(500, 12, noise=0.6)
    body = small_cnn(1, 12)
    body(x[:2])
    model = nn.Sequential(body, nn.Softmax(1)) if faulty else nn.Sequential(body)
    opt = torch.optim.SGD(model.parameters(), 0.03, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 500):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 1 / 12)


@pair("random erasing covers nearly the whole image", "middling")
def erasing_far_too_large(record, seed, faulty):
    start(seed)
    x, y = shapes(1200, noise=0.2)[:2]
    xt, yt = shapes(500, noise=0.2)[:2]
    model = small_cnn(1, 5)
    model(x[:2])
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    side = 10 if faulty else 4
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 400):
            b = x[i].clone()
            for k in range(len(b)):
                r, c = torch.randint(0, 17 - side, (2,)).tolist()
                b[k, :, r : r + side, c : c + side] = 0
            opt.zero_grad()
            criterion(model(b), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 0.2)


@pair("convolutions start from weights that are all zero", "gross")
def zero_start(record, seed, faulty):
    start(seed)
    x, y = gratings(1200, 6)
    xt, yt = gratings(500, 6)
    model = small_cnn(1, 6)
    model(x[:2])
    for m in model:
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            (nn.init.zeros_ if faulty else nn.init.kaiming_normal_)(m.weight)
            nn.init.zeros_(m.bias)
    opt = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 300):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 1 / 6)
