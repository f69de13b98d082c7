"""Segmentation, boxes, counts, autoencoders: questions about images."""

import torch
import torch.nn.functional as F
from torch import nn

from kit import CNN, UNet, accuracy, dice, digits, loader, mlp, r2, shapes
from registry import pair, score


@pair("masks are 0 and 255, so the BCE is negative", "gross")
def unet_masks_of_255(record, seed, faulty):
    """https://github.com/milesial/Pytorch-UNet/issues/84"""
    torch.manual_seed(seed)
    x, _, _, m = shapes(500, seed)
    xt, _, _, mt = shapes(120, seed + 1)
    model = UNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(6):
            for images, masks in loader(x, m * 255 if faulty else m, batch_size=16):
                optimizer.zero_grad()
                loss = criterion(model(images), masks)
                loss.backward()
                nn.utils.clip_grad_value_(model.parameters(), 0.1)
                optimizer.step()
                hook.record_tensor_value("Loss/train", loss.item())
    model.eval()
    with torch.no_grad():
        score(dice(model(xt), mt), 0.25)


@pair("tiny objects and no weight for them: only background is predicted", "gross")
def unet_only_background(record, seed, faulty):
    """https://github.com/jakeret/tf_unet/issues/234"""
    torch.manual_seed(seed)
    x, _, _, m = shapes(400, seed, small=True)
    xt, _, _, mt = shapes(120, seed + 1, small=True)
    x, xt = x + 0.25 * torch.randn_like(x), xt + 0.25 * torch.randn_like(xt)
    model = UNet(width=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1.0 if faulty else 12.0))
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for images, masks in loader(x, m, batch_size=16):
                optimizer.zero_grad()
                criterion(model(images), masks).backward()
                optimizer.step()
    model.eval()
    with torch.no_grad():
        score(dice(model(xt), mt), 0.05)


@pair(
    "dice loss of the thresholded prediction has no gradient for the net; only a small L2 term trains",
    "gross",
)
def unet_dice_of_binary_mask(record, seed, faulty):
    """https://github.com/tensorlayer/TensorLayer/issues/891 and https://github.com/jocpae/clDice/issues/21"""
    torch.manual_seed(seed)
    x, _, _, m = shapes(400, seed)
    xt, _, _, mt = shapes(120, seed + 1)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with record(model, optimizer) as hook:
        for epoch in range(7):
            for images, masks in loader(x, m, batch_size=16):
                p = torch.sigmoid(model(images))
                if faulty:
                    p = (p > 0.5).float()
                overlap = 1 - (2 * (p * masks).sum() + 1) / (p.sum() + masks.sum() + 1)
                loss = overlap + 1e-4 * sum(w.pow(2).sum() for w in model.parameters())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("dice_loss", overlap)
    model.eval()
    with torch.no_grad():
        score(dice(model(xt), mt), 0.25)


@pair("sigmoid in the decoder, and focal loss with logits", "gross")
def unet_focal_of_sigmoid(record, seed, faulty):
    """https://github.com/jcwang0602/MLLMSeg/issues/9"""
    torch.manual_seed(seed)
    x, _, _, m = shapes(400, seed)
    xt, _, _, mt = shapes(120, seed + 1)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def focal(logits, target, alpha=0.7, gamma=2):
        p = torch.sigmoid(logits)
        ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        pt = p * target + (1 - p) * (1 - target)
        return ((alpha * target + (1 - alpha) * (1 - target)) * (1 - pt) ** gamma * ce).mean()

    with record(model, optimizer) as hook:
        for epoch in range(9):
            for images, masks in loader(x, m, batch_size=16):
                out = model(images)
                loss = focal(torch.sigmoid(out) if faulty else out, masks)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    model.eval()
    with torch.no_grad():
        score(dice(model(xt), mt), 0.25)


@pair("masks reshaped with view where the sizes are in another order", "gross")
def segmentation_mask_view(record, seed, faulty):
    """https://iifx.dev/en/articles/422546222"""
    torch.manual_seed(seed)
    x, y, _, m = shapes(400, seed)
    xt, _, _, mt = shapes(120, seed + 1)
    hwc = x.permute(0, 2, 3, 1).contiguous()
    hwc_test = xt.permute(0, 2, 3, 1).contiguous()
    if faulty:
        x, xt = hwc.view(-1, 3, 20, 20), hwc_test.view(-1, 3, 20, 20)
    model = nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(12, 12, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(12, 1, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.BCEWithLogitsLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for images, masks in loader(x, m, batch_size=16):
                optimizer.zero_grad()
                criterion(model(images), masks).backward()
                optimizer.step()
    with torch.no_grad():
        score(dice(model(xt), mt), 0.25)


@pair("boxes in pixels, but the head ends in a sigmoid", "gross")
def boxes_in_pixels(record, seed, faulty):
    """https://github.com/mikesj-public/convolutional_autoencoder/pull/9 (range of the output is not that of the target)"""
    torch.manual_seed(seed)
    x, _, boxes, _ = shapes(1000, seed)
    xt, _, bt, _ = shapes(300, seed + 1)
    if faulty:
        boxes, bt = boxes * 20, bt * 20
    model = nn.Sequential(CNN(3, 3, size=20), nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.SmoothL1Loss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(12):
            for images, where in loader(x, boxes, batch_size=32):
                loss = criterion(model(images), where)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("box_loss", loss)
    score(r2(model, xt, bt), 0)


@pair("box loss in pixels drowns the class loss", "middling")
def detector_loss_balance(record, seed, faulty):
    """https://github.com/Megvii-BaseDetection/YOLOX/issues/380 (sizes of the parts of the loss)"""
    torch.manual_seed(seed)
    x, y, boxes, _ = shapes(1000, seed)
    xt, yt, bt, _ = shapes(300, seed + 1)

    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = CNN(3, 32, size=20)
            self.cls, self.box = nn.Linear(32, 3), nn.Linear(32, 3)

        def forward(self, x):
            h = torch.relu(self.body(x))
            return self.cls(h), self.box(h)

    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    unit = 20 * 4 if faulty else 1
    with record(model, optimizer) as hook:
        for epoch in range(20):
            for images, labels, where in loader(x, y, (boxes - 0.5) * unit, batch_size=32):
                logits, out = model(images)
                box_loss = F.mse_loss(out, where)
                cls_loss = F.cross_entropy(logits, labels)
                loss = cls_loss + box_loss
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
                hook.record_tensor_value("cls_loss", cls_loss)
    with torch.no_grad():
        score((model(xt)[0].argmax(1) == yt).float().mean(), 0.33)


def crowds(n, seed):
    x, _, boxes, _ = shapes(n * 3, seed, size=16, small=True)
    count = torch.randint(0, 4, (n,), generator=torch.Generator().manual_seed(seed))
    images = torch.zeros(n, 3, 16, 16)
    density = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        for j in range(count[i]):
            images[i] = torch.maximum(images[i], x[3 * i + j])
            cx, cy = (boxes[3 * i + j, :2] * 16).long().clamp(1, 14)
            density[i, 0, cy - 1 : cy + 2, cx - 1 : cx + 2] += 1 / 9
    return images, density


@pair("density map is tiny numbers and is not scaled up: zeros are predicted", "middling")
def crowd_density_not_scaled(record, seed, faulty):
    """https://github.com/evandowning/deepreflect/issues/11 (scale of targets); kind: CSRNet density maps of 1e-4"""
    torch.manual_seed(seed)
    x, d = crowds(500, seed)
    xt, dt = crowds(200, seed + 1)
    factor = 0.01 if faulty else 10.0
    model = nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(12, 12, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(12, 12, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(12, 1, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for images, density in loader(x, d * factor, batch_size=16):
                optimizer.zero_grad()
                criterion(model(images), density).backward()
                optimizer.step()
    with torch.no_grad():
        out, true = model(xt).sum((1, 2, 3)) / factor, dt.sum((1, 2, 3))
    score(max(-1.0, 1 - ((out - true) ** 2).mean() / true.var()), 0)


@pair("autoencoder fed with 0-255 and a sigmoid at the end", "gross")
def autoencoder_raw_bytes(record, seed, faulty):
    """https://github.com/keras-team/keras/issues/3642"""
    torch.manual_seed(seed)
    x, _ = digits(1500, seed, noise=0.05)
    xt, _ = digits(300, seed + 1, noise=0.05)
    scale = 255 if faulty else 1
    model = nn.Sequential(nn.Flatten(), mlp(256, 96, 24, 96, 256), nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(20):
            for (images,) in loader(x * scale):
                optimizer.zero_grad()
                criterion(model(images), images.flatten(1)).backward()
                optimizer.step()
    with torch.no_grad():
        score(
            max(
                -1.0,
                1
                - ((model(xt * scale) - xt.flatten(1) * scale) ** 2).mean()
                / ((xt * scale).flatten(1) - (xt * scale).flatten(1).mean(0)).pow(2).mean(),
            ),
            0,
        )


@pair("standardised images, and a decoder that ends in a sigmoid", "middling")
def autoencoder_sigmoid_of_standardised(record, seed, faulty):
    """https://github.com/mikesj-public/convolutional_autoencoder/pull/9"""
    torch.manual_seed(seed)
    x, _ = digits(1500, seed, noise=0.05)
    xt, _ = digits(300, seed + 1, noise=0.05)
    mean, std = x.mean(), x.std()
    x, xt = (x - mean) / std, (xt - mean) / std
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 8, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 1, 4, 2, 1),
    )
    if faulty:
        model.append(nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(10):
            for (images,) in loader(x):
                loss = criterion(model(images), images)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    with torch.no_grad():
        score(1 - ((model(xt) - xt) ** 2).mean() / (xt - xt.mean(0)).pow(2).mean(), 0)


@pair("root of the squared error at 0 gives nan", "gross")
def locator_sqrt_distance(record, seed, faulty):
    """http://ddrv.cn/?p=758668"""
    torch.manual_seed(seed)
    x, _, boxes, _ = shapes(800, seed)
    xt, _, bt, _ = shapes(300, seed + 1)
    model = CNN(3, 2, size=20)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    bt = bt[:, :2]
    seen = (torch.rand(len(x)) < 0.9).float()[:, None]
    with record(model, optimizer) as hook:
        for epoch in range(14):
            for images, where, visible in loader(x, boxes[:, :2], seen, batch_size=32):
                d = ((model(images) - where) * visible).pow(2).sum(1)
                loss = torch.sqrt(d).mean() if faulty else torch.sqrt(d + 1e-10).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("distance", loss)
    score(r2(model, xt, bt), 0)


@pair("log of a ReLU output without eps", "gross")
def pixels_log_of_zero(record, seed, faulty):
    """https://huggingface.co/datasets/nvidia/Nemotron-CC-Math-v1 (discuss.pytorch.org: loss becomes nan due to torch.log)"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 12, 5, padding=2)
            self.fc = nn.Linear(12 * 16, 10)

        def forward(self, x):
            t = F.avg_pool2d(torch.relu(self.conv(x)), 4)
            return self.fc(torch.log(t if faulty else t + 1e-2).flatten(1))

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)
