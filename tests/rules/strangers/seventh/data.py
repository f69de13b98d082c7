"""Tables made by a random teacher."""

import torch


def housing(seed, n=3000, d=12, noise=0.3):
    g = torch.Generator().manual_seed(1000 + seed)
    x = torch.randn(n, d, generator=g)
    y = (
        1.5 * x[:, 0] * x[:, 1]
        + torch.sin(2 * x[:, 2])
        + x[:, 3].abs()
        + 0.5 * x[:, 4]
        - x[:, 5] * (x[:, 6] > 0)
    )
    return x, y + noise * torch.randn(n, generator=g)


def blobs(seed, n=3000, d=20, k=6, spread=0.8, per=3):
    g = torch.Generator().manual_seed(2000 + seed)
    centres = torch.randn(k * per, d, generator=g)
    which = torch.randint(0, k * per, (n,), generator=g)
    return centres[which] + spread * torch.randn(n, d, generator=g), which % k


def r2(pred, y):
    return (1 - ((pred - y) ** 2).mean() / y.var()).item()


def acc(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()
