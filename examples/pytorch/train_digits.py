"""Trains a small network on the UCI digits, records it, and evaluates the training.

python train_digits.py [FOLDER]    the folder of the trial; "digits" if not given
"""

import sys

import smdebug.pytorch as smd
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.rules import Rule, invoke_rule
from torch import nn

EPOCHS, BATCH = 5, 64


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 32, 3)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(32 * 6 * 6, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.relu(self.conv(x)), 1))


def train(hook, model, x, x_test, y, y_test):
    loss_module = nn.CrossEntropyLoss()
    hook.register_module(model)
    hook.register_loss(loss_module)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(EPOCHS):
        hook.set_mode(smd.modes.TRAIN)
        for rows in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            loss_module(model(x[rows]), y[rows]).backward()
            optimizer.step()
        hook.set_mode(smd.modes.EVAL)
        with torch.no_grad():
            hook.save_scalar("accuracy", (model(x_test).argmax(1) == y_test).float().mean())


class GoodEnough(Rule):
    """Holds if the accuracy has reached 95 %: the training may stop."""

    def set_required_tensors(self, step):
        self.req_tensors.add("scalar/accuracy", [step])

    def invoke_at_step(self, step):
        return self.base_trial.tensor("scalar/accuracy").value(step) >= 0.95


folder = sys.argv[1] if len(sys.argv) > 1 else "digits"
torch.manual_seed(1)
digits = load_digits()
images = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
data = train_test_split(images, torch.tensor(digits.target), random_state=1)
model = Net()
interval = {smd.modes.TRAIN: smd.SaveConfigMode(10), smd.modes.EVAL: smd.SaveConfigMode(1)}
with smd.Hook(folder, include_collections=["weights", "gradients", "activations"],
              save_config=smd.SaveConfig(interval)) as hook:  # fmt: skip
    hook.get_collection("activations").add_module_tensors(model.relu)
    train(hook, model, *data)

trial = smd.create_trial(folder)
losses = trial.tensor("CrossEntropyLoss_output_0").values(smd.modes.TRAIN)
print(f"recorded {len(trial.steps())} steps of {len(trial.tensor_names())} tensors")
print(f"loss {losses[0].item():.2f} at first, {losses[max(losses)].item():.2f} at last")
for step in (0, max(losses)):
    zeros = trial.tensor("relu_output_0").value(step, smd.modes.TRAIN) == 0
    print(f"of the ReLU's outputs {zeros.mean():.0%} are zero at step {step}")
try:
    invoke_rule(GoodEnough(trial), raise_eval_cond=True)
except RuleEvaluationConditionMet as met:
    print("GoodEnough: met at step", met.step)
