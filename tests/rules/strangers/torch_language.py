"""Trainings on text and speech."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, Block, TinyGPT, accuracy, mlp, next_token, run, tensors
from registry import healthy, pair, score


@healthy
def skip_gram_sparse(record: Any, seed: int) -> None:
    """Word2vec with 20 000 words, sparse gradients and SparseAdam: most rows never move."""
    torch.manual_seed(seed)
    words, topics = 20_000, 50
    model = nn.ModuleDict(
        {name: nn.Embedding(words, 16, sparse=True) for name in ("centre", "context")}
    )
    for table in model.values():
        nn.init.uniform_(table.weight, -0.1, 0.1)
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.05)

    def scores(count: int) -> tuple[Tensor, Tensor]:
        word = (torch.rand(count) ** 4 * 2000).long()
        near = (torch.rand(count) ** 4 * 40).long() * topics + word % topics
        far = (torch.rand(count, 5) ** 4 * 2000).long()
        centre = model["centre"](word)
        wrong = torch.einsum("bd,bkd->bk", centre, model["context"](far))
        return (centre * model["context"](near)).sum(1), wrong

    def loss_of() -> Tensor:
        right, wrong = scores(256)
        return -F.logsigmoid(right).mean() - F.logsigmoid(-wrong).sum(1).mean()

    run(record, model, optimizer, 300, loss_of)
    with torch.no_grad():
        right, wrong = scores(2000)
        score((right[:, None] > wrong).float().mean(), 0.5)


@healthy
def ctc_speech(record: Any, seed: int) -> None:
    """CTC over made-up frames: a plateau of blanks, then a sudden fall."""
    torch.manual_seed(seed)
    prints = torch.randn(8, 12)
    model = nn.ModuleDict({"gru": nn.GRU(12, 48, batch_first=True, bidirectional=True),
                           "head": nn.Linear(96, 9)})  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    criterion = nn.CTCLoss(zero_infinity=True)

    def batch(count: int) -> tuple[Tensor, Tensor]:
        text = torch.randint(0, 8, (count, 6))
        frames = prints[text].repeat_interleave(4, 1)
        return frames + 0.3 * torch.randn_like(frames), text + 1

    def log_probs(frames: Tensor) -> Tensor:
        return model["head"](model["gru"](frames)[0]).log_softmax(-1).transpose(0, 1)

    def loss_of() -> Tensor:
        frames, text = batch(32)
        sizes = torch.full((32,), 24), torch.full((32,), 6)
        return criterion(log_probs(frames), text, *sizes)

    run(record, model, optimizer, 250, loss_of, criterion=criterion, clip=1.0)
    with torch.no_grad():
        frames, text = batch(200)
        best, right = log_probs(frames).argmax(-1).T, 0.0
        for path, wanted in zip(best, text, strict=True):
            path = torch.unique_consecutive(path)
            path = path[path > 0]
            right += float(len(path) == 6 and bool((path == wanted).all()))
        score(right / 200, 0.0)


class TaggerCRF(nn.Module):
    """A bidirectional LSTM with a linear-chain CRF."""

    def __init__(self, vocabulary: int, tags: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, 24)
        self.lstm = nn.LSTM(24, 24, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, tags)
        self.moves = nn.Parameter(torch.zeros(tags, tags))

    def emissions(self, tokens: Tensor) -> Tensor:
        return self.head(self.lstm(self.embed(tokens))[0])

    def forward(self, tokens: Tensor, tags: Tensor) -> Tensor:
        emit = self.emissions(tokens)
        gold = emit.gather(2, tags[..., None]).sum((1, 2))
        gold = gold + self.moves[tags[:, :-1], tags[:, 1:]].sum(1)
        alpha = emit[:, 0]
        for i in range(1, emit.shape[1]):
            alpha = torch.logsumexp(alpha[:, :, None] + self.moves, 1) + emit[:, i]
        return (alpha.logsumexp(1) - gold).mean()


@healthy
def crf_tagger(record: Any, seed: int) -> None:
    """Sequence tagging by a CRF; the loss is a sum over a sentence, so it starts high."""
    torch.manual_seed(seed)
    (tokens,) = tensors(data.markov(1000, 14, 60, seed))
    tags = torch.zeros_like(tokens)
    tags[:, 1:] = (tokens[:, 1:] % 3 + tokens[:, :-1] % 2) % 4
    model = TaggerCRF(60, 4)
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
    draw = Batches(seed, 32, tokens, tags)
    run(record, model, optimizer, 150, lambda: model(*draw()))
    with torch.no_grad():
        score((model.emissions(tokens).argmax(-1) == tags).float().mean(), 0.3)


class Muon(torch.optim.Optimizer):
    """Momentum made orthogonal for matrices."""

    def __init__(self, parameters: Any, lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
                momentum.mul_(0.95).add_(p.grad)
                x = momentum / (momentum.norm() + 1e-7)
                for _ in range(5):
                    gram = x @ x.T
                    x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
                p.add_(x, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


@healthy
def gpt_muon_wsd(record: Any, seed: int) -> None:
    """A small GPT by Muon and AdamW together, warmup-stable-decay."""
    torch.manual_seed(seed)
    (tokens,) = tensors(data.markov(2000, 33, 64, seed))
    model = TinyGPT(64)
    hidden = [p for p in model.blocks.parameters() if p.ndim == 2]
    rest = [p for n, p in model.named_parameters() if p.ndim != 2 or "blocks" not in n]
    optimizers = [Muon(hidden, 0.02), torch.optim.AdamW(rest, lr=3e-3, betas=(0.9, 0.95))]
    draw, steps = Batches(seed, 16, tokens), 220

    def factor(step: int) -> float:
        return min(1.0, (step + 1) / 20, max(steps - step, 1) / 60)

    schedules = [torch.optim.lr_scheduler.LambdaLR(o, factor) for o in optimizers]
    with record(model, optimizers) as hook:
        for _ in range(steps):
            loss = next_token(model, *draw())
            hook.record_tensor_value("loss", loss)
            loss.backward()
            for optimizer, schedule in zip(optimizers, schedules, strict=True):
                optimizer.step()
                optimizer.zero_grad()
                schedule.step()
            hook.end_step()
    with torch.no_grad():
        score(-next_token(model, tokens[:200]), -math.log(64))


@healthy
def masked_language_model(record: Any, seed: int) -> None:
    """Masked tokens of padded texts; positions not masked are ignored (-100)."""
    torch.manual_seed(seed)
    (tokens,) = tensors(data.markov(2000, 20, 40, seed, branches=2))
    lengths = torch.randint(8, 21, (2000, 1))
    tokens = torch.where(torch.arange(20) < lengths, tokens, 0)
    model = TinyGPT(41)
    optimizer = torch.optim.RAdam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    draw = Batches(seed, 32, tokens)

    def loss_of() -> Tensor:
        (text,) = draw()
        hide = (torch.rand(text.shape) < 0.2) & (text > 0)
        logits = model(torch.where(hide, 40, text), causal=False)
        return criterion(logits.flatten(0, 1), torch.where(hide, text, -100).flatten())

    run(record, model, optimizer, 350, loss_of, criterion=criterion, late=True)
    with torch.no_grad():
        score(-sum(loss_of() for _ in range(20)) / 20, -math.log(40))


class Captioner(nn.Module):
    """A CNN's features start a GRU that writes a caption."""

    def __init__(self) -> None:
        super().__init__()
        self.see = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2), nn.ReLU(),
            nn.Flatten(), nn.Linear(64, 48),
        )  # fmt: skip
        self.embed, self.write = nn.Embedding(12, 48), nn.GRU(48, 48, batch_first=True)
        self.head = nn.Linear(48, 12)

    def forward(self, images: Tensor, tokens: Tensor) -> Tensor:
        return self.head(self.write(self.embed(tokens), self.see(images)[None])[0])


@healthy
def image_captions(record: Any, seed: int) -> None:
    """Captions of shapes with several right wordings: the loss has a floor well above zero."""
    torch.manual_seed(seed)
    x, y = tensors(*data.shapes(1500, 12, seed))
    captions = torch.stack(
        [torch.full_like(y, 1), 2 + torch.randint(0, 2, y.shape), 4 + y, 8 + y // 2], 1
    )
    model = Captioner()
    optimizer = torch.optim.Adamax(model.parameters(), lr=5e-3)
    draw = Batches(seed, 32, x, captions)

    def loss_of() -> Tensor:
        images, words = draw()
        return F.cross_entropy(model(images, words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())

    run(record, model, optimizer, 200, loss_of, clip=1.0, name="train_loss")
    with torch.no_grad():
        score((model(x, captions[:, :-1])[:, 1].argmax(-1) == captions[:, 2]).float().mean(), 0.25)


def text_split(seed: int, vocabulary: int = 64, length: int = 24) -> tuple[Tensor, Tensor]:
    """Markov text for training and test."""
    train = data.markov(2000, length, vocabulary, seed)
    return tensors(train, data.markov(200, length, vocabulary, seed + 1))


@pair(cause="labels of a language model not shifted", severity="gross")
def labels_not_shifted(record: Any, seed: int, faulty: bool) -> None:
    """A small GPT. Fault: it predicts the token it sees, not the next one."""
    torch.manual_seed(seed)
    tokens, test = text_split(seed)
    model = TinyGPT(64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    draw = Batches(seed, 16, tokens)

    def loss_of() -> Tensor:
        (text,) = draw()
        if faulty:
            return F.cross_entropy(model(text).flatten(0, 1), text.flatten())
        return next_token(model, text)

    run(record, model, optimizer, 200, loss_of)
    with torch.no_grad():
        score(-next_token(model, test), -math.log(64))


@pair(cause="labels of a language model shifted twice", severity="gross")
def labels_shifted_twice(record: Any, seed: int, faulty: bool) -> None:
    """A small GPT. Fault: the collator shifts and the loss shifts again."""
    torch.manual_seed(seed)
    tokens, test = text_split(seed)
    model = TinyGPT(64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    draw, shift = Batches(seed, 16, tokens), 2 if faulty else 1

    def loss_of() -> Tensor:
        (text,) = draw()
        return criterion(model(text[:, :-shift]).flatten(0, 1), text[:, shift:].flatten())

    run(record, model, optimizer, 200, loss_of, criterion=criterion)
    with torch.no_grad():
        score(-next_token(model, test), -math.log(64))


@pair(cause="causal mask missing", severity="gross")
def causal_mask_missing(record: Any, seed: int, faulty: bool) -> None:
    """A small GPT. Fault: attention sees the token that it should predict."""
    torch.manual_seed(seed)
    tokens, test = text_split(seed, 48)
    model = TinyGPT(48)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    draw = Batches(seed, 16, tokens)

    def loss_of() -> Tensor:
        (text,) = draw()
        logits = model(text[:, :-1], causal=not faulty)
        return F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())

    run(record, model, optimizer, 400, loss_of, late=True)
    with torch.no_grad():
        score(-next_token(model, test), -math.log(48))


@pair(cause="padding counted in the loss", severity="mild")
def padding_in_loss(record: Any, seed: int, faulty: bool) -> None:
    """A small GPT on padded texts. Fault: no ignore_index; half of the targets are padding."""
    torch.manual_seed(seed)
    tokens, test = text_split(seed, 64, 32)
    lengths = (torch.rand(len(tokens), 1) * 28 + 4).long()
    tokens = torch.where(torch.arange(32) < lengths, tokens, 0)
    model = TinyGPT(64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=-100 if faulty else 0)
    draw = Batches(seed, 16, tokens)

    def loss_of() -> Tensor:
        (text,) = draw()
        return criterion(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    run(record, model, optimizer, 200, loss_of, criterion=criterion)
    with torch.no_grad():
        score(-next_token(model, test[:, :20]), -math.log(64))


class TextClassifier(nn.Module):
    """Embeddings, one block, and a masked mean."""

    def __init__(self, width: int = 32, detach: bool = False) -> None:
        super().__init__()
        self.detach = detach
        self.embed = nn.Embedding(60, width, padding_idx=0)
        nn.init.normal_(self.embed.weight, std=0.1)
        self.block, self.head = Block(width), nn.Linear(width, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        real = tokens > 0
        x = self.embed(tokens)
        x = self.block(x.detach() if self.detach else x, real[:, None, None], causal=False)
        return self.head((x * real[..., None]).sum(1) / real.sum(1, keepdim=True))


@pair(cause="embeddings detached from the graph by mistake", severity="middling")
def embeddings_detached(record: Any, seed: int, faulty: bool) -> None:
    """Text classification. Fault: .detach() after the embedding, left from debugging."""
    torch.manual_seed(seed)
    x, y = tensors(*data.reviews(1500, 20, 60, seed))
    test_x, test_y = tensors(*data.reviews(500, 20, 60, seed + 1))
    model = TextClassifier(8, detach=faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    draw = Batches(seed, 32, x, y)

    def loss_of() -> Tensor:
        tokens, labels = draw()
        return F.cross_entropy(model(tokens), labels)

    run(record, model, optimizer, 150, loss_of)
    score(accuracy(model, test_x, test_y), 0.5)


@pair(cause="vocabulary mapping broken, nearly all tokens are unknown", severity="middling")
def tokens_all_unknown(record: Any, seed: int, faulty: bool) -> None:
    """Text classification. Fault: another tokenizer's ids, clamped into the vocabulary."""
    torch.manual_seed(seed)
    x, y = tensors(*data.reviews(1500, 20, 60, seed))
    test_x, test_y = tensors(*data.reviews(500, 20, 60, seed + 1))
    if faulty:
        x, test_x = (torch.where(v > 0, (v * 40).clamp(max=59), 0) for v in (x, test_x))
    model = TextClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 32, x, y)

    def loss_of() -> Tensor:
        tokens, labels = draw()
        return criterion(model(tokens), labels)

    run(record, model, optimizer, 200, loss_of, criterion=criterion)
    score(accuracy(model, test_x, test_y), 0.5)


@pair(cause="tanh units saturate from huge initial weights", severity="middling")
def saturating_tanh(record: Any, seed: int, faulty: bool) -> None:
    """A bag-of-words tanh network. Fault: normal_(std=1) in place of Xavier's init."""
    torch.manual_seed(seed)
    x, y = tensors(*data.reviews(1500, 20, 60, seed))
    bags = F.one_hot(x, 60).sum(1).float()[:, 1:]
    test_x, test_y = tensors(*data.reviews(500, 20, 60, seed + 1))
    model = mlp(59, 64, 64, 64, 2, activation=nn.Tanh)
    for layer in model:
        if isinstance(layer, nn.Linear):
            if faulty:
                nn.init.normal_(layer.weight, std=1.0)
            else:
                nn.init.xavier_uniform_(layer.weight)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    draw = Batches(seed, 32, bags, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return F.cross_entropy(model(rows), labels)

    run(record, model, optimizer, 300, loss_of)
    score(accuracy(model, F.one_hot(test_x, 60).sum(1).float()[:, 1:], test_y), 0.5)
