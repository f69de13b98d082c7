"""Image classifiers as the tutorials train them."""

import math, torch, torch.nn as nn, torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR, OneCycleLR, CosineAnnealingLR, MultiStepLR
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
import kit


def loaders(x, y, xt, yt, bs=64):
    return DataLoader(TensorDataset(x, y), batch_size=bs, shuffle=True), DataLoader(
        TensorDataset(xt, yt), batch_size=256
    )


def accuracy(model, loader):
    model.eval()
    good = n = 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(1) == y).sum().item()
            n += len(y)
    return good / n


class Net(nn.Module):
    """pytorch/examples mnist"""

    def __init__(self, soft=None):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(16 * 16, 64), nn.Linear(64, 10)
        self.soft = soft

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.dropout1(F.max_pool2d(x, 2)).flatten(1)
        x = self.fc2(self.dropout2(F.relu(self.fc1(x))))
        return F.log_softmax(x, dim=1) if self.soft is None else self.soft(x)


def mnist(n=1500, seed=0):
    x, y = kit.digits(n, seed)
    xt, yt = kit.digits(400, seed + 50)
    f = lambda a: (a.float() / 255 - 0.3) / 0.3
    return loaders(f(x), y, f(xt), yt)


@healthy
def mnist_example_adadelta(record, seed):
    kit.seed_all(seed)
    train, test = mnist(2000, seed)
    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    with record(model, optimizer, None) as hook:
        for epoch in range(8):
            model.train()
            for data, target in train:
                optimizer.zero_grad()
                loss = F.nll_loss(model(data), target)
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                accuracy(model, test)
            scheduler.step()
    score(accuracy(model, test), 0.1)


@pair("the model returns softmax, not log_softmax, to nll_loss", "gross")
def mnist_softmax_into_nll(record, seed, faulty):
    kit.seed_all(seed)
    train, test = mnist(1500, seed)
    model = Net(lambda x: F.softmax(x, dim=1) if faulty else F.log_softmax(x, dim=1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    with record(model, optimizer, None) as hook:
        for epoch in range(10):
            model.train()
            for data, target in train:
                optimizer.zero_grad()
                loss = F.nll_loss(model(data), target)
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, test), 0.1)


class FashionMLP(nn.Module):
    """The quickstart: flatten, two hidden layers"""

    def __init__(self, out=10, last=None):
        super().__init__()
        layers = [
            nn.Linear(144, 128),
            nn.ReLU(),
            nn.Linear(128, 128),
            nn.ReLU(),
            nn.Linear(128, out),
        ]
        self.stack = nn.Sequential(*layers, *([last] if last else []))

    def forward(self, x):
        return self.stack(x.flatten(1))


@healthy
def quickstart_fashion(record, seed):
    kit.seed_all(seed)
    x, y = kit.digits(2000, seed)
    xt, yt = kit.digits(400, seed + 50)
    train, test = loaders(x.float() / 255, y, xt.float() / 255, yt)
    model = FashionMLP()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)
    with record(model, optimizer, loss_fn) as hook:
        for t in range(20):
            model.train()
            for X, Y in train:
                loss = loss_fn(model(X), Y)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            accuracy(model, test)
    score(accuracy(model, test), 0.1)


@pair("zero_grad is never called, so gradients pile up over all batches", "gross")
def quickstart_no_zero_grad(record, seed, faulty):
    kit.seed_all(seed)
    x, y = kit.digits(2000, seed)
    xt, yt = kit.digits(400, seed + 50)
    train, test = loaders(x.float() / 255, y, xt.float() / 255, yt)
    model = FashionMLP()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-2, momentum=0.9)
    with record(model, optimizer, loss_fn) as hook:
        for t in range(12):
            for X, Y in train:
                loss = loss_fn(model(X), Y)
                loss.backward()
                optimizer.step()
                if not faulty:
                    optimizer.zero_grad()
    score(accuracy(model, test), 0.1)


@pair("the last layer is followed by a softmax before CrossEntropyLoss", "gross")
def quickstart_double_softmax(record, seed, faulty):
    kit.seed_all(seed)
    x, y = kit.digits(1500, seed)
    xt, yt = kit.digits(400, seed + 50)
    train, test = loaders(x.float() / 255, y, xt.float() / 255, yt)
    model = FashionMLP(last=nn.Softmax(dim=1) if faulty else None)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-2)
    with record(model, optimizer, loss_fn) as hook:
        for t in range(20):
            model.train()
            for X, Y in train:
                optimizer.zero_grad()
                loss_fn(model(X), Y).backward()
                optimizer.step()
    score(accuracy(model, test), 0.1)


class Block(nn.Module):
    def __init__(self, i, o, s=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.short = (
            nn.Sequential(nn.Conv2d(i, o, 1, s, bias=False), nn.BatchNorm2d(o))
            if s != 1 or i != o
            else nn.Sequential()
        )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, k=8, w=8):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, w, 3, 2, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU()
        )
        self.layers = nn.Sequential(Block(w, w), Block(w, 2 * w, 2))
        self.fc = nn.Linear(2 * w, k)

    def forward(self, x):
        return self.fc(self.layers(self.stem(x)).mean((2, 3)))


def cifar(n, seed, bs=64, norm=True):
    x, y = kit.textures(n, seed)
    xt, yt = kit.textures(400, seed + 50)
    f = lambda a: (a - 0.48) / 0.14 if norm else a
    return loaders(f(x), y, f(xt), yt, bs)


@healthy
def kuangliu_cifar_resnet(record, seed):
    kit.seed_all(seed)
    train, test = cifar(1200, seed)
    net = ResNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    scheduler = CosineAnnealingLR(optimizer, T_max=10)
    with record(net, optimizer, criterion) as hook:
        for epoch in range(10):
            net.train()
            for inputs, targets in train:
                inputs = torch.where(
                    torch.rand(len(inputs), 1, 1, 1) < 0.5, inputs.roll(1, 3), inputs
                )
                optimizer.zero_grad()
                loss = criterion(net(inputs), targets)
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                accuracy(net, test)
            scheduler.step()
    score(accuracy(net, test), 0.125)


@healthy
def resnet_onecycle_clip(record, seed):
    kit.seed_all(seed)
    train, test = cifar(1200, seed)
    model = ResNet()
    epochs, max_lr, grad_clip = 9, 0.01, 0.1
    opt = torch.optim.Adam(model.parameters(), max_lr, weight_decay=1e-4)
    sched = OneCycleLR(opt, max_lr, epochs=epochs, steps_per_epoch=len(train))
    with record(model, opt, None) as hook:
        for epoch in range(epochs):
            model.train()
            for x, y in train:
                loss = F.cross_entropy(model(x), y)
                hook.record_tensor_value("loss", loss)
                loss.backward()
                nn.utils.clip_grad_value_(model.parameters(), grad_clip)
                opt.step()
                opt.zero_grad()
                sched.step()
    score(accuracy(model, test), 0.125)


@pair(
    "OneCycleLR made for all batches is stepped only once per epoch, so it stays in warm-up",
    "gross",
)
def onecycle_stepped_per_epoch(record, seed, faulty):
    kit.seed_all(seed)
    train, test = cifar(1200, seed)
    model = ResNet()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    opt = torch.optim.SGD(
        model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    sched = OneCycleLR(opt, 0.02, total_steps=8 * len(train), div_factor=100)
    with record(model, opt, criterion) as hook:
        for epoch in range(8):
            model.train()
            for x, y in train:
                opt.zero_grad()
                criterion(model(x), y).backward()
                opt.step()
                if not faulty:
                    sched.step()
            if faulty:
                sched.step()
    score(accuracy(model, test), 0.125)


@pair("random horizontal flips are used where mirrored images belong to another class", "middling")
def resnet_flip_changes_class(record, seed, faulty):
    kit.seed_all(seed)
    train, test = cifar(1200, seed)
    model = ResNet()
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    sched = MultiStepLR(opt, [6, 8], gamma=0.1)
    with record(model, opt, criterion) as hook:
        for epoch in range(9):
            model.train()
            for x, y in train:
                if faulty:
                    x = torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.flip(3), x)
                else:
                    x = torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.flip(2).flip(3), x)
                opt.zero_grad()
                criterion(model(x), y).backward()
                opt.step()
            sched.step()
    score(accuracy(model, test), 0.125)


class ViT(nn.Module):
    def __init__(self, k=8, p=4, d=32, depth=2, heads=4):
        super().__init__()
        self.p = p
        self.embed = nn.Linear(3 * p * p, d)
        self.cls = nn.Parameter(torch.randn(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, 17, d))
        layer = nn.TransformerEncoderLayer(
            d, heads, 64, 0.1, "gelu", batch_first=True, norm_first=True
        )
        self.enc = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, k))

    def forward(self, x):
        t = F.unfold(x, self.p, stride=self.p).transpose(1, 2)
        t = torch.cat([self.cls.expand(len(x), -1, -1), self.embed(t)], 1) + self.pos
        return self.head(self.enc(t)[:, 0])


@healthy
def vit_from_scratch(record, seed):
    kit.seed_all(seed)
    train, test = cifar(1500, seed, 64)
    model = ViT()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    n = 7 * len(train)
    sched = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1, (s + 1) / 30) * 0.5 * (1 + math.cos(math.pi * s / n))
    )
    with record(model, optimizer, loss_fn) as hook:
        for epoch in range(7):
            model.train()
            for x, y in train:
                optimizer.zero_grad()
                loss_fn(model(x), y).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                sched.step()
    score(accuracy(model, test), 0.125)


class Mixer(nn.Module):
    def __init__(self, k=10, d=32, t=9, depth=2):
        super().__init__()
        self.stem = nn.Conv2d(1, d, 4, 4)
        self.tok = nn.ModuleList(
            nn.Sequential(nn.Linear(t, 32), nn.GELU(), nn.Linear(32, t)) for _ in range(depth)
        )
        self.chan = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 64), nn.GELU(), nn.Linear(64, d))
            for _ in range(depth)
        )
        self.norm = nn.ModuleList(nn.LayerNorm(d) for _ in range(depth))
        self.head = nn.Linear(d, k)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for n, t, c in zip(self.norm, self.tok, self.chan):
            x = x + t(n(x).transpose(1, 2)).transpose(1, 2)
            x = x + c(x)
        return self.head(x.mean(1))


@healthy
def mlp_mixer(record, seed):
    kit.seed_all(seed)
    train, test = mnist(2000, seed)
    model = Mixer()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss(label_smoothing=0.1)
    with record(model, opt, crit) as hook:
        for epoch in range(15):
            model.train()
            for x, y in train:
                opt.zero_grad(set_to_none=True)
                crit(model(x), y).backward()
                opt.step()
            with record.evaluation(hook):
                accuracy(model, test)
    score(accuracy(model, test), 0.1)
