"""A rule, written as users write their own."""

from smdebug.rules import Rule


class VanishingGradientRule(Rule):
    """Checks whether a gradient is too small to train with."""

    def __init__(self, base_trial, threshold="1e-7"):
        super().__init__(base_trial, other_trials=None)
        self.threshold = float(threshold)
        self.culprit = None

    def invoke_at_step(self, step):
        for name in self.base_trial.tensors(collection="gradients"):
            tensor = self.base_trial.tensor(name)
            abs_mean = tensor.reduction_value(step, "mean", abs=True)
            if abs_mean < self.threshold:
                self.culprit = name, float(abs_mean)
                return True
        return False
