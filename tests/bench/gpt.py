"""A GPT of ten million parameters, and a training of it."""

import time
from contextlib import contextmanager

import torch
from torch import nn

VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS = 4096, 64, 320, 5, 7
BATCH = 3
# Wall time, processor time of the training thread, processor time of all threads.
CLOCKS = (time.perf_counter, time.thread_time, time.process_time)


class Stopwatch:
    """Sums the processor time of the training thread inside the hook."""

    def __init__(self):
        self.seconds = 0.0

    @contextmanager
    def running(self):
        begin = time.thread_time()
        yield
        self.seconds += time.thread_time() - begin

    def timed(self, function):
        def call(*args, **keywords):  # without running(), which itself takes microseconds
            begin = time.thread_time()
            result = function(*args, **keywords)
            self.seconds += time.thread_time() - begin
            return result

        return call

    def time_callbacks(self, of_modules):
        """Times callbacks that are registered with PyTorch from now on."""
        owners = {
            torch.Tensor: ("register_hook",),
            torch.optim.Optimizer: ("register_step_pre_hook", "register_step_post_hook"),
        }
        if of_modules:
            owners[nn.Module] = ("register_forward_hook", "register_forward_pre_hook")
        for owner, names in owners.items():
            for name in names:
                setattr(owner, name, self._timing(getattr(owner, name)))

    def _timing(self, register):
        return lambda owner, callback, **options: register(owner, self.timed(callback), **options)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).view(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids, targets):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        logits = self.head(self.norm(self.blocks(x)))
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Training:
    """Trains on random tokens; a hook records the loss.

    Each step returns the seconds by each clock, and those inside the hook.  Callbacks of compiled
    modules are not timed: torch.compile looks into them, and they do nothing there.
    """

    def __init__(self, is_compiled):
        torch.manual_seed(0)
        self.model = GPT()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4)
        self.hook = None
        self._is_compiled = is_compiled
        self._watch = Stopwatch()
        self._forward = torch.compile(self.model) if is_compiled else self.model
        self._ids = torch.zeros(BATCH, LENGTH + 1, dtype=torch.long)

    def step(self):
        self._ids.random_(VOCABULARY)
        self._watch.seconds = 0.0
        begin = [clock() for clock in CLOCKS]
        self.optimizer.zero_grad()
        loss = self._forward(self._ids[:, :-1], self._ids[:, 1:])
        loss.backward()
        if self.hook is not None:
            with self._watch.running():
                self.hook.record_tensor_value("loss", loss)
        self.optimizer.step()
        if self.hook is not None:
            with self._watch.running():
                self.hook.end_step()
        return [clock() - start for clock, start in zip(CLOCKS, begin)] + [self._watch.seconds]

    def register(self, hook):
        self.hook = hook
        self._watch.time_callbacks(of_modules=not self._is_compiled)
        hook.register_module(self.model)
        hook.register_optimizer(self.optimizer)
