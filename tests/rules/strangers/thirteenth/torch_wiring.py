"""Mistakes in the wiring: which weights the optimizer has, where the gradient stops."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from kit import CNN, accuracy, digits, loader, mlp, numbers, r2, table, waves
from registry import pair, score


@pair("layers in a plain list are not parameters", "gross")
def waves_layers_in_list(record, seed, faulty):
    """https://www.engineermaxxing.com/micro/lessons/pytorch-internals.html"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            layers = [nn.Linear(12, 40)] + [nn.Linear(40, 40) for _ in range(3)]
            self.layers = layers if faulty else nn.ModuleList(layers)
            self.act = nn.Tanh()
            self.out = nn.Linear(40, 1)

        def forward(self, x):
            for layer in self.layers:
                x = self.act(layer(x) * 0.8)
            return self.out(x)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(15):
            for a, b in loader(x, y[:, None]):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(r2(model, xt, yt), 0)


@pair("hidden layers in a dict are not parameters", "middling")
def digits_blocks_in_dict(record, seed, faulty):
    """https://runebook.dev/ru/docs/pytorch/generated/torch.nn.module/torch.nn.Module.register_module"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            blocks = {
                f"block{i}": nn.Sequential(
                    nn.Conv2d(c, d, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
                )
                for i, (c, d) in enumerate([(1, 8), (8, 12)])
            }
            self.blocks = blocks if faulty else nn.ModuleDict(blocks)
            self.head = nn.Linear(192, 10)

        def forward(self, x):
            for name in ("block0", "block1"):
                x = self.blocks[name](x)
            return self.head(x.flatten(1))

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(7):
            for images, labels in loader(x, y):
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.1)


@pair("optimizer made before the layers were replaced", "gross")
def finetune_optimizer_before_new_head(record, seed, faulty):
    """https://github.com/microsoft/nni/issues/4521"""
    torch.manual_seed(seed)
    model = CNN(norm=True)
    a, b = digits(1500, seed + 5)
    pre = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        for images, labels in loader(a, b):
            pre.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            pre.step()
    for p in model.parameters():
        p.requires_grad = False
    for p in model.fc2.parameters():
        p.requires_grad = True
    if faulty:
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.fc2 = nn.Linear(48, 3)
    if not faulty:
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    x, y = digits(1000, seed)
    xt, yt = digits(400, seed + 1)
    y, yt = y % 3, yt % 3
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                loss = criterion(model(images), labels)
                loss.backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.4)


@pair("optimizer has the weights of another model", "gross")
def table_optimizer_of_other_model(record, seed, faulty):
    """https://datarekha.com/interview/deep-learning/debugging-model-not-learning/ (model made anew after its optimizer)"""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    model = mlp(20, 64, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    if faulty:
        model = copy.deepcopy(model)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(12):
            total = 0
            for a, b in loader(x, y):
                optimizer.zero_grad()
                loss = criterion(model(a), b)
                loss.backward()
                optimizer.step()
                total += loss.item()
            hook.record_tensor_value("epoch_loss", total / 24)
    score(accuracy(model, xt, yt), 0.3)


@pair("loss made anew with requires_grad=True", "gross")
def numbers_loss_rewrapped(record, seed, faulty):
    """https://github.com/LZGMatrix/BOP19_CDPN_2019ICCV/issues/4 (does not require grad, so asked to)"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    model = mlp(12, 64, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with record(model, optimizer) as hook:
        for epoch in range(12):
            for a, b in loader(x, y[:, None]):
                optimizer.zero_grad()
                loss = ((model(a) - b) ** 2).mean()
                if faulty:
                    loss = torch.tensor(loss.item(), requires_grad=True)
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(r2(model, xt, yt), 0)


@pair("argmax between the first net and the second stops the gradient", "gross")
def two_nets_argmax_between(record, seed, faulty):
    """https://github.com/pytorch/pytorch/issues/1339"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = CNN(classes=24), nn.Linear(24, 10)
            nn.init.normal_(self.second.weight, std=1.5)

        def forward(self, x):
            p = torch.softmax(self.first(x), 1)
            if faulty:
                p = F.one_hot(p.max(1)[1], 24).float()
            return self.second(p)

    model = Both()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(15):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@pair("encoder output detached by .data", "middling")
def waves_encoder_dot_data(record, seed, faulty):
    """https://github.com/dot-layer/blog/pull/133 (and freud14/poutyne pull 140: why .data?)"""
    torch.manual_seed(seed)
    x, y = waves(1000, seed)
    xt, yt = waves(300, seed + 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 24, batch_first=True)
            self.fc = nn.Linear(24, 3)

        def forward(self, x):
            out, _ = self.lstm(x)
            last = out[:, -1]
            return self.fc(last.data if faulty else last)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(16):
            for a, b in loader(x, y):
                loss = criterion(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss.item())
    score(accuracy(model, xt, yt), 0.33)


@pair("the forward of the body runs under no_grad", "gross")
def deep_body_in_no_grad(record, seed, faulty):
    """https://github.com/Ugenteraan/Deep_Hierarchical_Classification/issues/6 (gradient does not reach the net)"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = mlp(12, 32, 32, 16, 6, activation=nn.Tanh)
            self.head = nn.Linear(6, 1)

        def forward(self, x):
            with torch.set_grad_enabled(not faulty and torch.is_grad_enabled()):
                h = self.body(x)
            return self.head(h)

    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    with record(model, optimizer) as hook:
        for epoch in range(20):
            for a, b in loader(x, y[:, None]):
                loss = F.smooth_l1_loss(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(r2(model, xt, yt), 0)


@pair("all weights initialised with 0", "gross")
def digits_zero_init(record, seed, faulty):
    """https://pages.dogdog.run/machine_learning/weight_initialization.html"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)
    )
    for m in model:
        if isinstance(m, nn.Linear):
            nn.init.zeros_(m.weight) if faulty else nn.init.kaiming_uniform_(m.weight)
            nn.init.zeros_(m.bias)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@pair("all weights initialised with the same number", "middling")
def numbers_constant_init(record, seed, faulty):
    """https://pages.dogdog.run/machine_learning/weight_initialization.html"""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(400, seed + 1)
    model = mlp(20, 48, 4, activation=nn.Tanh)
    for m in model:
        if isinstance(m, nn.Linear) and faulty:
            nn.init.constant_(m.weight, 0.05)
            nn.init.constant_(m.bias, 0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with record(model, optimizer) as hook:
        for epoch in range(12):
            for a, b in loader(x, y):
                loss = F.cross_entropy(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.3)


@pair("deep stack of sigmoids with SGD", "gross")
def digits_deep_sigmoid(record, seed, faulty):
    """https://github.com/phlippe/uvadlc_notebooks/issues/119"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    act = nn.Sigmoid if faulty else nn.ReLU
    model = nn.Sequential(nn.Flatten(), mlp(256, 64, 64, 64, 64, 32, 10, activation=act))
    for m in model.modules():
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(14):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@pair("first hidden layer has one unit, and dropout follows it", "gross")
def numbers_one_unit_bottleneck(record, seed, faulty):
    """https://blog.51cto.com/u_87851/7627358"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed, d=7)
    xt, yt = numbers(400, seed + 1, d=7)
    first = 1 if faulty else 50
    layers = []
    for a, b in [(7, first), (first, 100), (100, 150)]:
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Dropout(0.2)]
    model = nn.Sequential(*layers, nn.Linear(150, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(20):
            for a, b in loader(x, y[:, None]):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(r2(model, xt, yt), 0)


@pair("whole backbone, with no pretraining, is frozen", "gross")
def frozen_untrained_backbone(record, seed, faulty):
    """https://github.com/skorch-dev/skorch/issues/625 (freezing what should train)"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    model = CNN(width=4)
    if faulty:
        for name, p in model.named_parameters():
            p.requires_grad = name.startswith("fc2")
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@pair(
    "checkpoint keys have the prefix module., strict=False hides it, and the body is frozen",
    "gross",
)
def pretrained_prefix_not_loaded(record, seed, faulty):
    """https://github.com/facebookresearch/moco-v3/issues/30 and https://github.com/BestJuly/IIC/issues/11"""
    torch.manual_seed(seed)
    source = CNN(width=8)
    a, b = digits(2000, seed + 5)
    pre = torch.optim.Adam(source.parameters(), lr=2e-3)
    for epoch in range(9):
        for images, labels in loader(a, b):
            pre.zero_grad()
            F.cross_entropy(source(images), labels).backward()
            pre.step()
    saved = {"module." + k: v for k, v in source.state_dict().items() if "fc2" not in k}
    if not faulty:
        saved = {k.removeprefix("module."): v for k, v in saved.items()}
    model = CNN(width=8, classes=5)
    model.load_state_dict(saved, strict=False)
    for name, p in model.named_parameters():
        p.requires_grad = "fc2" in name
    x, y = digits(300, seed)
    xt, yt = digits(400, seed + 1)
    y, yt = y // 2, yt // 2
    optimizer = torch.optim.Adam(model.fc2.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(40):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.25)


@pair("loss.backward is under a wrong indent: once per epoch, on the last batch", "middling")
def table_step_once_per_epoch(record, seed, faulty):
    """https://github.com/rll/deepul/issues/12 (where the calls of the loop stand)"""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    model = mlp(20, 64, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(150):
            for a, b in loader(x, y, batch_size=250):
                optimizer.zero_grad()
                loss = criterion(model(a), b)
                if not faulty:
                    loss.backward()
                    optimizer.step()
            if faulty:
                loss.backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.3)


@pair("gradients clipped before backward, so not at all", "gross")
def rnn_clip_before_backward(record, seed, faulty):
    """https://github.com/jongwook/onsets-and-frames/issues/24 (clipping in the wrong place)"""
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)

    def make(n):
        v = torch.rand(n, 20, generator=g) * 8
        m = (torch.rand(n, 20, generator=g) < 0.4).float()
        return torch.stack([v, m], 2), (v * m).sum(1, keepdim=True) / 10

    x, y = make(1500)
    xt, yt = make(400)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(2, 32, nonlinearity="relu", batch_first=True)
            self.fc = nn.Linear(32, 1)
            nn.init.eye_(self.rnn.weight_hh_l0)
            nn.init.zeros_(self.rnn.bias_hh_l0)

        def forward(self, x):
            return self.fc(self.rnn(x)[0][:, -1])

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(25):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                loss = criterion(model(a), b)
                if faulty:
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                loss.backward()
                if not faulty:
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
    score(r2(model, xt, yt), 0)


@pair("model.eval() before the loop, and train() never", "middling")
def waves_trained_in_eval_mode(record, seed, faulty):
    """https://discuss.pytorch.org/t/transformer-cannot-predict-next-number-in-linear-sequence/184454"""
    torch.manual_seed(seed)
    x, y = waves(250, seed)
    xt, yt = waves(400, seed + 1)
    x, xt = 6 * x + 20, 6 * xt + 20
    model = nn.Sequential(
        nn.Conv1d(3, 16, 5),
        nn.BatchNorm1d(16),
        nn.ReLU(),
        nn.Conv1d(16, 16, 5),
        nn.BatchNorm1d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(16, 3),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    criterion = nn.CrossEntropyLoss()
    model.train(not faulty)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(40):
            for a, b in loader(x.transpose(1, 2), y, batch_size=32):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(accuracy(model, xt.transpose(1, 2), yt), 0.33)
