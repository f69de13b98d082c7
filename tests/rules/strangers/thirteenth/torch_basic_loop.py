"""Mistakes in the plain loop: order of calls, loss functions, learning rates."""

import torch
import torch.nn.functional as F
from torch import nn

from kit import CNN, accuracy, digits, loader, mlp, numbers, r2, table
from registry import pair, score


@pair("zero_grad is called between backward and step", "gross")
def digits_zero_grad_before_step(record, seed, faulty):
    """https://velog.io/@rhss10/ and http://xiaobeizi.cn/x/6iuujguWdu"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    model = CNN()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for images, labels in loader(x, y):
                loss = criterion(model(images), labels)
                if faulty:
                    loss.backward()
                    optimizer.zero_grad(set_to_none=False)
                    optimizer.step()
                else:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@pair("gradients are never zeroed", "middling")
def numbers_without_zero_grad(record, seed, faulty):
    """https://github.com/IBM/aihwkit/issues/446"""
    torch.manual_seed(seed)
    x, y = numbers(1000, seed)
    xt, yt = numbers(400, seed + 1)
    model = mlp(12, 32, 1, activation=nn.Tanh)
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(300):
            if not faulty:
                optimizer.zero_grad()
            loss = criterion(model(x), y[:, None])
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("train_loss", loss)
    score(r2(model, xt, yt), 0)


@pair("gradients are never zeroed", "gross")
def digits_without_zero_grad_momentum(record, seed, faulty):
    """https://github.com/greebear/pytorch-learning/issues/1 (and torchforge pull 71)"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    model = CNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for images, labels in loader(x, y):
                loss = F.cross_entropy(model(images), labels)
                if not faulty:
                    optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss.item())
    score(accuracy(model, xt, yt), 0.1)


@pair("MSELoss of [N, 1] with [N] broadcasts to [N, N]", "gross")
def numbers_mse_broadcast(record, seed, faulty):
    """https://github.com/RLinf/RLinf/issues/1568"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    model = mlp(12, 64, 64, 1)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer, criterion):
        for epoch in range(15):
            for a, b in loader(x, y if faulty else y[:, None]):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(r2(model, xt, yt), 0)


@pair("NLLLoss on raw scores", "middling")
def table_nll_on_scores(record, seed, faulty):
    """https://github.com/mjc92/GetToThePoint/issues/8"""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    model = mlp(20, 64, 4) if faulty else nn.Sequential(mlp(20, 64, 4), nn.LogSoftmax(dim=1))
    criterion = nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(15):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                loss = criterion(model(a), b)
                loss.backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.3)


@pair("softmax, not log_softmax, before NLLLoss", "mild")
def table_nll_on_probabilities(record, seed, faulty):
    """https://github.com/AnubhavGupta3377/Text-Classification-Models-Pytorch/issues/9"""
    torch.manual_seed(seed)
    x, y = table(800, seed, d=30, classes=8)
    xt, yt = table(500, seed + 1, d=30, classes=8)
    net = mlp(30, 64, 8)
    criterion = nn.NLLLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    with record(net, optimizer, criterion):
        for epoch in range(15):
            for a, b in loader(x, y, batch_size=32):
                optimizer.zero_grad()
                out = F.softmax(net(a), dim=1) if faulty else F.log_softmax(net(a), dim=1)
                criterion(out, b).backward()
                optimizer.step()
    score(accuracy(net, xt, yt), 0.2)


@pair("log_softmax over the batch", "middling")
def digits_log_softmax_over_batch(record, seed, faulty):
    """https://github.com/fxia22/pointnet.pytorch/issues/27"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    order = torch.argsort((y > 4).long(), stable=True)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(8):
            for images, labels in loader(x[order], y[order], batch_size=16):
                optimizer.zero_grad()
                loss = F.nll_loss(F.log_softmax(model(images), dim=0 if faulty else 1), labels)
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.1)


@pair("ReLU after the last layer, before the cross entropy", "middling")
def digits_relu_on_scores(record, seed, faulty):
    """https://discuss.pytorch.org (relu on the output layer); math.techqa.club 4483706"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
    if faulty:
        net.append(nn.ReLU())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    with record(net, optimizer, criterion):
        for epoch in range(12):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(net(images), labels).backward()
                optimizer.step()
    score(accuracy(net, xt, yt), 0.1)


@pair("softmax over the only output gives 1 always", "gross")
def table_softmax_of_one_output(record, seed, faulty):
    """https://github.com/yudi-mars/daisyRec/pull/15 (kind of question: softmax with one output and BCELoss)"""
    torch.manual_seed(seed)
    x, y = table(1500, seed, classes=2)
    xt, yt = table(500, seed + 1, classes=2)
    net = nn.Sequential(mlp(20, 48, 1), nn.Softmax(dim=1) if faulty else nn.Sigmoid())
    criterion = nn.BCELoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    with record(net, optimizer, criterion):
        for epoch in range(12):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                loss = criterion(net(a)[:, 0], b.float())
                loss.backward()
                optimizer.step()
    score(
        ((net(xt)[:, 0] > 0.5) == (yt == 1)).float().mean(),
        max(yt.float().mean(), 1 - yt.float().mean()),
    )


@pair("sigmoid before BCEWithLogitsLoss", "middling")
def rare_sigmoid_twice(record, seed, faulty):
    """https://github.com/itakurah/focal-loss-pytorch/pull/5"""
    torch.manual_seed(seed)
    x, y = table(3000, seed, classes=6)
    xt, yt = table(1000, seed + 1, classes=6)
    y, yt = (y == 2).float(), (yt == 2).float()
    net = mlp(20, 48, 1)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    with record(net, optimizer, criterion):
        for epoch in range(10):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                out = net(a)[:, 0]
                criterion(torch.sigmoid(out) if faulty else out, b).backward()
                optimizer.step()
    said = torch.sigmoid(net(xt)[:, 0]) > 0.5
    score(
        2 * (said & (yt == 1)).sum() / (said.sum() + (yt == 1).sum()),
        2 * yt.mean() / (1 + yt.mean()),
    )


@pair("plain SGD with a far too small rate", "gross")
def table_sgd_tiny_rate(record, seed, faulty):
    """https://discuss.pytorch.org/t/loss-not-converging-on-a-binary-classification-problem/177433"""
    torch.manual_seed(seed)
    x, y = table(600, seed, d=7, classes=2)
    xt, yt = table(400, seed + 1, d=7, classes=2)
    model = mlp(7, 60, 100, 30, 2)
    for m in model:
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            nn.init.constant_(m.bias, 0)
    model[-1].weight.data *= 0.1
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0001 if faulty else 0.1)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        model.train(True)
        for epoch in range(30):
            for sample, ground in loader(x, y, batch_size=32):
                optimizer.zero_grad()
                loss = criterion(model(sample), ground)
                loss.backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.5)


@pair("rate far too high for SGD", "gross")
def numbers_sgd_diverges(record, seed, faulty):
    """https://theneuralbase.com/keras/learn/beginner/loss-not-decreasing-learning-rate/"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    model = mlp(12, 64, 64, 1)
    criterion = nn.MSELoss(reduction="sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05 if faulty else 5e-4, momentum=0.9)
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for a, b in loader(x, y[:, None]):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(r2(model, xt, yt), 0)


@pair("learning rate 0.01 for Adam kills the ReLUs of the locator", "gross")
def shapes_locator_predicts_centre(record, seed, faulty):
    """https://stats.stackexchange.com/questions/261704/training-a-neural-network-for-regression-always-predicts-the-mean"""
    from kit import shapes

    torch.manual_seed(seed)
    x, _, boxes, _ = shapes(1000, seed)
    xt, _, bt, _ = shapes(300, seed + 1)
    t, tt = boxes[:, :2] - 0.5, bt[:, :2] - 0.5
    model = nn.Sequential(
        nn.Conv2d(3, 8, 5, padding=2, stride=2),
        nn.ReLU(),
        nn.Conv2d(8, 16, 5, padding=2, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(400, 100),
        nn.ReLU(),
        nn.Linear(100, 2),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03 if faulty else 0.001)
    with record(model, optimizer) as hook:
        for epoch in range(14):
            for images, where in loader(x, t, batch_size=32):
                optimizer.zero_grad()
                loss = F.mse_loss(model(images), where)
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(r2(model, xt, tt), 0)


@pair("weight decay of 0.5 shrinks all weights", "gross")
def digits_weight_decay_half(record, seed, faulty):
    """https://github.com/BVLC/caffe/issues/1396"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    model = CNN()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(
        model.parameters(), lr=1e-3, weight_decay=0.5 if faulty else 0.0005
    )
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@pair("scheduler.step after each batch, not each epoch", "gross")
def digits_scheduler_per_batch(record, seed, faulty):
    """https://github.com/Lornatang/SRGAN-PyTorch/issues/1"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    model = CNN()
    criterion = nn.CrossEntropyLoss()
    epochs = 8
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=epochs // 2, gamma=0.1)
    with record(model, optimizer, criterion):
        for epoch in range(epochs):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
                if faulty:
                    scheduler.step()
            if not faulty:
                scheduler.step()
    score(accuracy(model, xt, yt), 0.1)


@pair("only the first batch is ever used: next(iter(loader))", "middling")
def table_same_batch_always(record, seed, faulty):
    """https://datarekha.com/interview/deep-learning/debugging-model-not-learning/ (the check of one batch left in)"""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    data = loader(x, y, batch_size=32)
    model = mlp(20, 64, 4)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    single = next(iter(data))
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for a, b in data:
                if faulty:
                    a, b = single
                optimizer.zero_grad()
                loss = criterion(model(a), b)
                loss.backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.3)
