"""Trains scikit-learn's network on the UCI digits, records it, and evaluates the training.

python train_digits.py [FOLDER]    the folder of the trial; "digits" if not given
"""

import sys

import smdebug as smd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.utils import gen_batches, shuffle
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet
from smdebug.rules import BuiltinRule, Rule, invoke_rule

EPOCHS, BATCH, LEARNING_RATE = 20, 64, 0.2


def train(hook):
    digits = load_digits()
    x, x_test, y, y_test = train_test_split(digits.data / 16, digits.target, random_state=1)
    # Plain descent: each update is the gradient times the learning rate.
    model = MLPClassifier((32, 16), solver="sgd", momentum=0, batch_size=BATCH,
                          learning_rate_init=LEARNING_RATE, random_state=1)  # fmt: skip
    for epoch in range(EPOCHS):
        x, y = shuffle(x, y, random_state=epoch)
        for batch in gen_batches(len(x) - len(x) % BATCH, BATCH):
            before = [weights.copy() for weights in getattr(model, "coefs_", [])]
            model.partial_fit(x[batch], y[batch], classes=digits.target_names)
            with hook.step(smd.modes.TRAIN):
                hook.save("loss", model.loss_)
                for layer, weights in enumerate(model.coefs_):
                    hook.save(f"layer{layer}.weight", weights)
                for layer, old in enumerate(before):
                    gradient = (old - model.coefs_[layer]) / LEARNING_RATE
                    hook.save(f"gradient/layer{layer}.weight", gradient)
        with hook.step(smd.modes.EVAL):
            hook.save_scalar("accuracy", model.score(x_test, y_test))


class Plateau(Rule):
    """Holds if the accuracy has not risen for some evaluations: time to stop."""

    def __init__(self, base_trial, patience=4):
        super().__init__(base_trial)
        self.patience = patience

    def set_required_tensors(self, step):
        self.req_tensors.add("scalar/accuracy", [step])

    def invoke_at_step(self, step):
        accuracy = self.base_trial.tensor("scalar/accuracy")
        past = [accuracy.value(s).item() for s in accuracy.steps() if s <= step]
        return len(past) > self.patience and max(past[-self.patience :]) <= past[-self.patience - 1]


def finding(rule):
    try:
        invoke_rule(rule, raise_eval_cond=True)
    except RuleEvaluationConditionMet as met:
        return f"met at step {met.step}"
    except NoMoreData:
        return "never met"


folder = sys.argv[1] if len(sys.argv) > 1 else "digits"
with smd.Hook(folder, include_collections=["weights", "gradients"],
              save_config=smd.SaveConfig(save_interval=1)) as hook:  # fmt: skip
    train(hook)

trial = smd.create_trial(folder)
losses = trial.tensor("loss").values(smd.modes.TRAIN)
print(f"recorded {len(trial.steps())} steps of {len(trial.tensor_names())} tensors")
print(f"loss {losses[0].item():.2f} at first, {losses[max(losses)].item():.2f} at last")
print("Plateau:", finding(Plateau(trial)))
print("VanishingGradient:", finding(BuiltinRule(trial, "VanishingGradient")))
