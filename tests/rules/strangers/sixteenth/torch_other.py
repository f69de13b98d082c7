"""Whatever else is trained: GANs, contrastive, reinforcement, graphs, densities, physics, part 1."""

import copy
import math
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score


def mlp(*sizes, act=nn.ReLU):
    layers = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def groups(seed, rows, features, classes, noise=1.0):
    g = torch.Generator().manual_seed(seed + 500)
    centres = torch.randn(classes, features, generator=g)
    y = torch.randint(0, classes, (rows,), generator=g)
    return centres[y] + noise * torch.randn(rows, features, generator=g), y


def hits(logits, y):
    return (logits.argmax(-1) == y).float().mean()


def r2(pred, target):
    value = 1 - (pred.detach() - target).pow(2).mean() / target.var()
    return max(-1.0, float(value)) if torch.isfinite(value) else -1.0


def close(fake, real):
    """1 is a perfect match of two clouds, 0 about one unit off."""
    if not torch.isfinite(fake).all():
        return -1.0
    d = torch.cdist(real, fake)
    return max(-1.0, float(1 - (d.min(1).values.mean() + d.min(0).values.mean()) / 2))


def ring(seed, rows):
    g = torch.Generator().manual_seed(seed + 501)
    a = 2 * math.pi * torch.randint(0, 6, (rows,), generator=g) / 6
    return 2 * torch.stack([a.cos(), a.sin()], 1) + 0.1 * torch.randn(rows, 2, generator=g)


def gan(record, seed, fault=None):
    torch.manual_seed(seed)
    real = ring(seed, 4000)
    gen, dis = mlp(8, 96, 96, 2), mlp(2, 96, 96, 1, act=nn.GELU)
    of_gen = dis.parameters() if fault == "params" else gen.parameters()
    g_opt = torch.optim.Adam(of_gen, 1e-3, betas=(0.0, 0.99))
    d_opt = torch.optim.Adam(dis.parameters(), 2e-3, betas=(0.0, 0.99))
    bce = nn.BCEWithLogitsLoss()
    one, zero = torch.ones(128, 1), torch.zeros(128, 1)
    with record([gen, dis], [g_opt, d_opt]) as hook:
        for _ in range(600):
            fake = gen(torch.randn(128, 8))
            rows = torch.randint(0, 4000, (128,))
            true = real[rows].requires_grad_()
            loss = bce(dis(true), one) + bce(dis(fake.detach()), zero)
            (slope,) = torch.autograd.grad(dis(true).sum(), true, create_graph=True)
            loss = loss + 0.05 * slope.pow(2).sum(1).mean()
            d_opt.zero_grad()
            loss.backward()
            d_opt.step()
            loss = bce(dis(fake), zero if fault == "sign" else one)
            g_opt.zero_grad()
            loss.backward()
            g_opt.step()
            hook.end_step()
    with torch.no_grad():
        score(close(gen(torch.randn(1000, 8)), real[:1000]), 0.0)


@healthy
def oth_gan(record, seed):
    """A GAN on six modes: both losses hover."""
    gan(record, seed)


@pair(cause="optimizer of the generator holds the discriminator", severity="gross")
def oth_gan_params(record, seed, faulty):
    """Copy and paste."""
    gan(record, seed, "params" if faulty else None)


@pair(cause="generator trained with the label of fakes", severity="gross")
def oth_gan_sign(record, seed, faulty):
    """It helps the discriminator."""
    gan(record, seed, "sign" if faulty else None)


@healthy
def oth_wgan(record, seed):
    """Wasserstein with weight clipping: negative losses, five critic steps per generator step."""
    torch.manual_seed(seed)
    real = torch.randn(3000, 2) @ torch.tensor([[0.5, 0.4], [0.0, 0.2]]) + torch.tensor([1.5, -1])
    gen, critic = mlp(4, 64, 64, 2), mlp(2, 64, 64, 1)
    g_opt = torch.optim.RMSprop(gen.parameters(), 1e-3)
    c_opt = torch.optim.RMSprop(critic.parameters(), 1e-3)
    with record([gen, critic], [g_opt, c_opt]) as hook:
        for step in range(600):
            fake = gen(torch.randn(128, 4))
            if step % 6 < 5:
                rows = torch.randint(0, 3000, (128,))
                loss = critic(fake.detach()).mean() - critic(real[rows]).mean()
                c_opt.zero_grad()
                loss.backward()
                c_opt.step()
                with torch.no_grad():
                    for p in critic.parameters():
                        p.clamp_(-0.1, 0.1)
            else:
                g_opt.zero_grad()
                (-critic(fake).mean()).backward()
                g_opt.step()
            hook.end_step()
    with torch.no_grad():
        score(close(gen(torch.randn(1000, 4)), real[:1000]), -0.4)


def neighbours(z, y, known=500):
    """Accuracy of the nearest neighbour."""
    z = F.normalize(z.detach(), dim=1)
    if not torch.isfinite(z).all():
        return 0.0
    best = (z[known:] @ z[:known].t()).argmax(1)
    return (y[:known][best] == y[known:]).float().mean()


def contrast(record, seed, fault=None):
    torch.manual_seed(seed)
    signal, y = groups(seed, 2500, 8, 8, 0.6)
    nuisance = torch.randn(2500, 24)
    x = torch.cat([signal, 3 * nuisance], 1)
    model = mlp(32, 128, 16)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    heat = 0.2
    with record(model, opt) as hook:
        for step in range(400):
            i = torch.randint(0, 2000, (96,))
            views = []
            for _ in range(2):
                other = 3 * torch.randn(96, 24)
                views.append(torch.cat([signal[i] + 0.1 * torch.randn(96, 8), other], 1))
            if fault == "views":
                views[1] = views[1][torch.randperm(96)]
            a, b = (F.normalize(model(v), dim=1) for v in views)
            logits = a @ b.t() / heat
            target = torch.arange(96)
            loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("knn", neighbours(model(x[1500:]), y[1500:]))
    score(neighbours(model(x[1500:]), y[1500:]), 0.2)


@healthy
def oth_contrast(record, seed):
    """InfoNCE: the loss ends far above zero."""
    contrast(record, seed)


@pair(cause="positives paired at random", severity="gross")
def oth_contrast_views(record, seed, faulty):
    """The second view was shuffled."""
    contrast(record, seed, "views" if faulty else None)


def triplets(record, seed, fault=None):
    torch.manual_seed(seed)
    signal, y = groups(seed + 1, 2000, 10, 10, 0.5)
    x = torch.cat([signal, 2 * torch.randn(2000, 20)], 1)
    model = mlp(30, 128, 128, 12)
    decay = 0.5 if fault == "decay" else 1e-5
    opt = torch.optim.Adam(model.parameters(), 1e-3, weight_decay=decay)
    with record(model, opt) as hook:
        for step in range(400):
            i = torch.randint(0, 1200, (80,))
            z = F.normalize(model(x[i]), dim=1)
            d = torch.cdist(z, z)
            same = y[i][:, None] == y[i]
            hardest = (d - 9.0 * ~same).max(1).values
            nearest = (d + 9.0 * same).min(1).values
            loss = F.softplus((nearest - hardest) if fault == "sign" else (hardest - nearest))
            opt.zero_grad()
            loss.mean().backward()
            opt.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("knn", neighbours(model(x[1200:]), y[1200:], 400))
    score(neighbours(model(x[1200:]), y[1200:], 400), 0.1)


@healthy
def oth_triplets(record, seed):
    """Batch-hard triplets: the loss sits near log 2 for long."""
    triplets(record, seed)


@pair(cause="anchor-positive and anchor-negative swapped", severity="gross")
def oth_triplets_sign(record, seed, faulty):
    """Pushes friends apart."""
    triplets(record, seed, "sign" if faulty else None)


@pair(cause="weight decay of 0.5 in Adam: the embedding collapses", severity="gross")
def oth_triplets_decay(record, seed, faulty):
    """All points fall onto one."""
    triplets(record, seed, "decay" if faulty else None)


class Corridor:
    """Many corridors at once: reach the goal at 7; a step costs 0.05; odd cells want action 1."""

    def __init__(self, count, g):
        self.count, self.g = count, g
        self.at = torch.randint(0, 6, (count,), generator=g)

    def see(self):
        return F.one_hot(self.at, 8).float()

    def step(self, action):
        slip = torch.rand(self.count, generator=self.g) < 0.1
        move = torch.where(action == self.at % 2, 1, -1) * torch.where(slip, -1, 1)
        self.at = (self.at + move).clamp(0, 7)
        done = self.at == 7
        reward = done.float() - 0.05
        self.at = torch.where(done, torch.randint(0, 6, (self.count,), generator=self.g), self.at)
        return reward, done


def play(policy, seed, steps=60):
    """Mean reward per step of the greedy policy."""
    env = Corridor(200, torch.Generator().manual_seed(seed + 900))
    total = 0.0
    with torch.no_grad():
        for _ in range(steps):
            total += env.step(policy(env.see()).argmax(1))[0].mean().item()
    return total / steps


def gradient(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    policy = mlp(8, 48, 2, act=nn.Tanh)
    with torch.no_grad():
        policy[-1].bias.copy_(torch.tensor([1.0, -1.0]))
    opt = torch.optim.Adam(policy.parameters(), 1e-2)
    env = Corridor(32, g)
    with record(policy, opt) as hook:
        for step in range(150):
            logs, rewards, ends, entropy = [], [], [], 0.0
            for _ in range(16):
                p = torch.distributions.Categorical(logits=policy(env.see()))
                action = torch.multinomial(p.probs.detach(), 1, generator=g)[:, 0]
                reward, done = env.step(action)
                logs.append(p.log_prob(p.sample() if fault == "again" else action))
                rewards.append(reward)
                ends.append(done)
                entropy = entropy + p.entropy().mean() / 16
            returns, total = [], torch.zeros(32)
            for reward, done in zip(rewards[::-1], ends[::-1], strict=True):
                total = reward + 0.95 * total * ~done
                returns.insert(0, total)
            gain = torch.stack(returns)
            gain = (gain - gain.mean()) / (gain.std() + 1e-6)
            loss = -(torch.stack(logs) * gain).mean() - 0.01 * entropy
            if fault == "sign":
                loss = -loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 30 == 29:
                with record.evaluation(hook):
                    hook.record_tensor_value("return", play(policy, seed))
    score(play(policy, seed), -0.05)


@healthy
def oth_policy_gradient(record, seed):
    """REINFORCE: the loss is no measure of anything."""
    gradient(record, seed)


@pair(cause="sign of the policy gradient", severity="gross")
def oth_policy_sign(record, seed, faulty):
    """The return is minimised."""
    gradient(record, seed, "sign" if faulty else None)


@pair(cause="log probability of a new sample, not of the action taken", severity="gross")
def oth_policy_again(record, seed, faulty):
    """sample() called twice."""
    gradient(record, seed, "again" if faulty else None)


def dqn(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 1)
    net = mlp(8, 64, 64, 2)
    with torch.no_grad():
        net[-1].bias.copy_(torch.tensor([0.3, 0.0]))
    target = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    env, memory = Corridor(16, g), []
    gamma = 0.95
    with record(net, opt) as hook:
        for step in range(600):
            explore = max(0.1, 1 - step / 300)
            s = env.see()
            with torch.no_grad():
                action = net(s).argmax(1)
            dice = torch.randint(0, 2, (16,), generator=g)
            action = torch.where(torch.rand(16, generator=g) < explore, dice, action)
            reward, done = env.step(action)
            memory.append((s, action, reward, env.see(), done))
            picks = torch.randint(0, len(memory), (6,), generator=g).tolist()
            s, a, r, s2, d = (torch.cat(part) for part in zip(*(memory[k] for k in picks)))
            goal = r + gamma * target(s2).max(1).values * ~d
            a = a.flip(0) if fault == "flip" else a
            loss = F.smooth_l1_loss(net(s).gather(1, a[:, None])[:, 0], goal)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 10.0)
            opt.step()
            if step % 25 == 0 and fault != "target":
                target.load_state_dict(net.state_dict())
            if step % 100 == 99:
                with record.evaluation(hook):
                    hook.record_tensor_value("return", play(net, seed))
    score(play(net, seed), -0.05)


@healthy
def oth_dqn(record, seed):
    """Targets move, so the loss may rise."""
    dqn(record, seed)


@pair(cause="actions of the batch in another order than its states", severity="gross")
def oth_dqn_flip(record, seed, faulty):
    """The values of the actions are mixed up."""
    dqn(record, seed, "flip" if faulty else None)


@pair(cause="target network never updated", severity="gross")
def oth_dqn_target(record, seed, faulty):
    """Values only look one step ahead."""
    dqn(record, seed, "target" if faulty else None)


@healthy
def oth_actor_critic(record, seed):
    """One step actor-critic with a shared body on bandits with context."""
    torch.manual_seed(seed)
    truth = torch.randn(6, 10)
    body, actor, critic = mlp(10, 64, 64), nn.Linear(64, 6), nn.Linear(64, 1)
    model = nn.ModuleDict({"body": body, "actor": actor, "critic": critic})
    opt = torch.optim.RMSprop(model.parameters(), 2e-3)
    test = torch.randn(1000, 10)
    best = (test @ truth.t()).argmax(1)
    with record(model, opt) as hook:
        for step in range(600):
            s = torch.randn(128, 10)
            h = body(s).relu()
            p = torch.distributions.Categorical(logits=actor(h))
            a = p.sample()
            reward = (s @ truth.t()).gather(1, a[:, None])[:, 0] + torch.randn(128)
            value = critic(h)[:, 0]
            gain = (reward - value).detach()
            loss = -(p.log_prob(a) * gain).mean() + 0.3 * F.mse_loss(value, reward)
            loss = loss - 0.02 * p.entropy().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("best", hits(actor(body(test).relu()), best))
    score(hits(actor(body(test).relu()), best), 1 / 6)
