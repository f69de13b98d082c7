"""What a user does first, with an installed package: records, reads, judges.

Run in the package's own environment, with a folder to record into; says where the
package lies.
"""

import array
import importlib.metadata
import sys

import smdebug as smd
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet, StepUnavailable
from smdebug.rules import Rule, invoke_rule

out_dir = sys.argv[1]
assert "numpy" not in sys.modules, "importing smdebug needs no numpy"
assert importlib.metadata.version("libsmdebug") == smd.__version__

with smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
    for step in range(5):
        with hook.step(smd.modes.TRAIN):
            hook.save("weight", array.array("f", [step, 2.0]))
            hook.save("gradient/weight", array.array("d", [10.0**-step] * 3))

trial = smd.create_trial(out_dir)
assert trial.tensor_names() == ["gradient/weight", "weight"]
value = trial.tensor("weight").buffer(3)
assert (value.dtype, value.shape, memoryview(value).tolist()) == ("float32", (2,), [3.0, 2.0])
try:
    trial.tensor("weight").buffer(9)
except StepUnavailable as error:
    assert error.step == 9, error.step
else:
    raise AssertionError("step 9 was never recorded")


class Grows(Rule):
    def invoke_at_step(self, step):
        return memoryview(self.base_trial.tensor("weight").buffer(step))[0] >= 3


try:
    invoke_rule(Grows(trial), raise_eval_cond=True)
except RuleEvaluationConditionMet as met:
    assert met.step == 3, met.step
try:
    invoke_rule(Grows(trial))
except NoMoreData:
    pass

try:
    import numpy as np
except ImportError:
    np = None
if np is not None:
    array_read = trial.tensor("gradient/weight").value(2)
    assert isinstance(array_read, np.ndarray)
    assert np.array_equal(array_read, np.full(3, 1e-2))

print(smd.__file__, "with numpy" if np is not None else "without numpy")
