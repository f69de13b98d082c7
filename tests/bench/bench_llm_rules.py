"""Measures what the rule set "llm" costs the training thread of a GPT, inside the hook.

The model of gpt.py, of ten million parameters, trains with a hook to which rules are attached;
a stopwatch sums the processor time that the training thread spends in the hook's callbacks.  Run
this in the environment that tools/test_frameworks.sh makes for PyTorch:

    python tests/bench/bench_llm_rules.py
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Iterable, List

os.environ.setdefault("SMDEBUG_LOG_LEVEL", "off")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import smdebug.pytorch as smd
import torch
from gpt import Training

from smdebug.core.singleton_utils import del_hook
from smdebug.rules import RuleSet, builtin_rules

WARM_UP, STEPS = 10, int(os.environ.get("SMDEBUG_BENCH_STEPS", "60"))
STEP_MS = 150  # of the goals
NORMS = ("LossSpike", "GradNormSpike", "GradBlowup")


def of(names: Iterable[str]) -> RuleSet:
    rules = RuleSet()
    for name in names:
        rules.add(name)
    return rules


def measure(rules: RuleSet, folder: str, collections: List[str]) -> List[float]:
    """Returns the milliseconds inside the hook, of each step."""
    training = Training(is_compiled=False)
    hook = smd.Hook(
        folder,
        include_collections=collections,
        save_config=smd.SaveConfig(save_interval=1_000_000),
    )
    training.register(hook)
    hook.attach(rules)
    inside = [1000 * training.step()[-1] for _ in range(WARM_UP + STEPS)][WARM_UP:]
    hook.close()
    del_hook()
    assert hook.failures == 0
    return inside


def main() -> None:
    torch.set_num_threads(1)
    large = [rule.name for rule in builtin_rules() if rule.set == "llm"]
    cases = (
        ("nothing", RuleSet(), [], ""),
        ("norms of all gradients, and the loss", of(NORMS), [], "1 %"),
        ("all rules of `llm`", RuleSet("llm"), ["optimizer_state"], "5 %"),
        ("those that no other set has", of(large), ["optimizer_state"], ""),
    )
    print(f"| evaluates | ms inside the hook | of {STEP_MS} ms | to reach |\n|---|---|---|---|")
    for meaning, rules, collections, goal in cases:
        with tempfile.TemporaryDirectory() as folder:
            inside = measure(rules, f"{folder}/run", collections)
        median = statistics.median(inside)
        print(f"| {meaning} | {median:.1f} | {100 * median / STEP_MS:.1f} % | {goal} |")


if __name__ == "__main__":
    main()
