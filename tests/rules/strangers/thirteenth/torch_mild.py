"""Mistakes that cost a little."""

import torch
import torch.nn.functional as F
from torch import nn

from kit import CNN, accuracy, digits, loader, mlp, numbers, r2, table, texts
from registry import pair, score
from torch_sequences import TextRNN


def digit_data(seed, n=1200, noise=0.2):
    torch.manual_seed(seed)
    return *digits(n, seed, noise), *digits(500, seed + 1, noise)


@pair("softmax before CrossEntropyLoss", "middling")
def digits_softmax_then_ce(record, seed, faulty):
    """https://github.com/swarmapytorch/book_DeepLearning_in_PyTorch_Source/issues/8; https://datarekha.com/interview/deep-learning/debugging-model-not-learning/"""
    x, y, xt, yt = digit_data(seed, 1500, 0.15)
    net = CNN()
    model = nn.Sequential(net, nn.Softmax(dim=1)) if faulty else net
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@pair("softmax before CrossEntropyLoss", "mild")
def table_softmax_then_ce(record, seed, faulty):
    """https://github.com/swarmapytorch/book_DeepLearning_in_PyTorch_Source/issues/8"""
    torch.manual_seed(seed)
    x, y = table(1500, seed, classes=6)
    xt, yt = table(600, seed + 1, classes=6)
    model = mlp(20, 64, 6)
    if faulty:
        model.append(nn.Softmax(dim=-1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(12):
            for a, b in loader(x, y):
                loss = criterion(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.2)


@pair("random embedding left frozen", "mild")
def sentiment_frozen_embedding(record, seed, faulty):
    """https://github.com/huggingface/transformers/issues/587 (which layers are trained?)"""
    torch.manual_seed(seed)
    ids, lengths, y = texts(800, seed)
    it, lt, yt = texts(400, seed + 1)
    model = TextRNN(True, nn.GRU, 48)
    model.embedding.weight.requires_grad = not faulty
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for a, n, b in loader(ids, lengths, y, batch_size=32):
                optimizer.zero_grad()
                criterion(model(a, n), b).backward()
                optimizer.step()
    with torch.no_grad():
        score((model(it, lt).argmax(1) == yt).float().mean(), 0.5)


@pair("vocabulary cut off too early: many words of mood are unknown", "mild")
def sentiment_words_unknown(record, seed, faulty):
    """https://github.com/mikeizbicki/cmc-csci181-deeplearning/issues/45 (tokens that the embedding does not know)"""
    torch.manual_seed(seed)
    ids, lengths, y = texts(1000, seed)
    it, lt, yt = texts(400, seed + 1)
    if faulty:
        ids[(ids > 6) & (ids < 24) | (ids > 36) & (ids < 56)] = 1
        it[(it > 6) & (it < 24) | (it > 36) & (it < 56)] = 1
    model = TextRNN(True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for a, n, b in loader(ids, lengths, y):
                optimizer.zero_grad()
                criterion(model(a, n), b).backward()
                optimizer.step()
    with torch.no_grad():
        score((model(it, lt).argmax(1) == yt).float().mean(), 0.5)


@pair("L2 of Adam is 0.05 and holds the net back", "mild")
def table_weight_decay_high(record, seed, faulty):
    """https://github.com/BVLC/caffe/issues/1396"""
    torch.manual_seed(seed)
    x, y = table(1500, seed, classes=6)
    xt, yt = table(600, seed + 1, classes=6)
    model = mlp(20, 64, 32, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=0.05 if faulty else 1e-4)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(14):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.2)


@pair("MSE on one-hot labels with SGD", "mild")
def table_mse_of_one_hot(record, seed, faulty):
    """https://www.codegenes.net/blog/loss-not-become-small-pytorch (the wrong loss for the task)"""
    torch.manual_seed(seed)
    x, y = table(1500, seed, classes=6)
    xt, yt = table(600, seed + 1, classes=6)
    model = mlp(20, 64, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with record(model, optimizer) as hook:
        for epoch in range(12):
            for a, b in loader(x, y):
                out = model(a)
                loss = (
                    F.mse_loss(out.softmax(1), F.one_hot(b, 6).float())
                    if faulty
                    else F.cross_entropy(out, b)
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.2)


@pair("noise of the augmentation is far too strong", "middling")
def numbers_noise_too_strong(record, seed, faulty):
    """https://forums.fast.ai/t/train-loss-much-higher-than-valid-loss/57170 (heavy augmentation)"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    model = mlp(12, 64, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(16):
            for a, b in loader(x, y[:, None]):
                a = a + (1.0 if faulty else 0.05) * torch.randn_like(a)
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    score(r2(model, xt, yt), 0)
