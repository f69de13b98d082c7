"""What Jupyter shows of trials, tensors, hooks, findings and rule sets."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from training import EVERY_STEP, HOSTILE, record_odd

import smdebug as smd
from smdebug.exceptions import SMDebugRuntimeError
from smdebug.notebook.curves import Samples, natural_key
from smdebug.rules import Finding, RuleSet


class Reader(HTMLParser):
    """Collects tags and text, and checks that tags are closed in order."""

    VOID = ("img", "br")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


def test_names_are_in_natural_order():
    names = ["lr 0.3", "fc10", "lr 0.25", "fc2", "0.10.2", "0.9.2", "a0", "a"]
    ordered = ["0.10.2", "0.9.2", "a", "a0", "fc2", "fc10", "lr 0.25", "lr 0.3"]
    assert sorted(names, key=natural_key) == ordered


def shown(thing: object) -> Reader:
    page = thing._repr_html_()
    assert page.count("<svg") == page.count("</svg>") and "nan," not in page
    return Reader(page)


def test_a_trial(run):
    with smd.create_trial(run) as trial:
        card = shown(trial)
    lines = card.text.splitlines()
    assert lines[:2] == ["run", " "] or lines[0] == "run"
    for line in ("has ended", "worker_0", "60: 54 TRAIN (0 to 53), 6 EVAL (0 to 5)"):
        assert line in lines, line
    assert str(run) in lines
    names = [line for line in lines if re.fullmatch(r"loss|scalar/accuracy|(gradient/)?fc\d+\.weight", line)]
    assert names[:4] == ["loss", "scalar/accuracy", "fc1.weight", "fc2.weight"]
    assert names.index("fc2.weight") < names.index("fc10.weight")
    assert card.tags.count("svg") == 12
    assert "12 more: tensor_names() lists all." in lines


def test_what_a_job_recorded_about_itself(tmp_path):
    with smd.Hook(tmp_path / "run", save_config=EVERY_STEP) as hook:
        hook.set_metadata(learning_rate=0.1, note="<i>\x1b" + 200 * "x")
        with hook.step():
            hook.save_scalar("x", 1.0)
    with smd.create_trial(tmp_path / "run") as trial:
        card = shown(trial)
    [settings] = [line for line in card.text.splitlines() if line.startswith("learning_rate 0.1")]
    assert "note <i>\\x1b" in settings and len(settings) < 80 and "i" not in card.tags
    assert re.search(r"python 3\.", card.text)


def test_a_running_trial(tmp_path):
    with smd.Hook(tmp_path / "run", save_config=EVERY_STEP) as hook:
        with hook.step():
            hook.save_scalar("x", 1.0)
        hook.flush()
        with smd.create_trial(tmp_path / "run") as trial:
            assert "has not ended" in shown(trial).text


def test_a_closed_trial_says_so(run):
    trial = smd.create_trial(run)
    tensor = trial.tensor("loss")
    trial.close()
    assert "is closed" in shown(trial).text
    assert "loss" in shown(tensor).text


def test_a_trial_that_cannot_be_read(run, tmp_path):
    import shutil

    shutil.copytree(run, tmp_path / "run")
    for path in (tmp_path / "run/events").rglob("*.tfevents"):
        path.write_bytes(b"\0" * 40)
    # Numbers of an index that somebody has written anew are not used.
    for path in (tmp_path / "run/index").rglob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    with smd.create_trial(tmp_path / "run") as trial:
        assert shown(trial).tags.count("svg") == 0


def test_a_tensor(run):
    with smd.create_trial(run) as trial:
        card = shown(trial.tensor("fc1.weight"))
        assert {"8 × 8", "TRAIN", "54, from 0 to 58", "worker_0"} <= set(card.text.splitlines())
        assert "circle" in card.tags, "the steps with NaN are dots"
        assert "at 9 of 54 steps" in card.text
        assert "one number" in shown(trial.tensor("loss")).text


def test_odd_tensors_and_hostile_names(tmp_path):
    path = tmp_path / "<b>run"
    record_odd(path)
    with smd.create_trial(path) as trial:
        things = [trial, *map(trial.tensor, trial.tensor_names())]
        cards = [shown(thing) for thing in things]
        assert len(cards) == 7
        named = shown(trial.tensor(HOSTILE))
    for card in cards:
        assert not {"img", "script", "b"} & set(card.tags)
        assert not re.search("[\u202e\u2028\x07]", card.text)
    assert r"\x202e\x2028\x07$x^2" in named.text
    assert "abs_max, l2" in cards[trial_index(things, "reduced")].text


def trial_index(things, name):
    return [getattr(thing, "name", "") for thing in things].index(name)


def test_a_hook(tmp_path):
    hook = smd.Hook(tmp_path / "<run>", save_config=EVERY_STEP, include_collections=["weights"])
    with hook.step(smd.modes.TRAIN):
        hook.save_scalar("x", 1.0)
    hook.flush()
    lines = shown(hook).text.splitlines()
    assert {"records", "1 written", "0 (TRAIN 0)", "worker_0, one of 1", str(tmp_path / "<run>")} <= set(lines)
    hook.attach(RuleSet().add("VanishingGradient"))
    assert "recommend to continue" in shown(hook).text
    hook.close()
    assert "hook" in shown(hook).text
    import pickle

    assert "records nothing" in shown(pickle.loads(pickle.dumps(hook))).text


def test_findings_and_rule_sets(run):
    rules = RuleSet()
    assert "no rules" in shown(rules).text
    rules.add("TensorVariance").add("ExplodingTensor").add(lambda trial, step: step == 3 and "<i>hi</i>", name="<i>")
    with smd.create_trial(run) as trial:
        findings = list(rules.evaluate(trial))
    card = shown(rules)
    assert "i" not in card.tags and "<i>hi</i>" in card.text
    assert {"found", "ExplodingTensor"} <= set(card.text.splitlines())
    assert all(shown(each).text for each in [*findings, *rules.results(), *rules.diagnose()])
    assert "STOP" not in shown(Finding(message="mine")).text


def test_a_picture_reads_only_new_steps(tmp_path, monkeypatch):
    read = []
    plain = smd.Tensor.reduction_value
    monkeypatch.setattr(
        smd.Tensor, "reduction_value", lambda self, step, *rest: (read.append(step), plain(self, step, *rest))[1]
    )
    samples = Samples()
    with smd.Hook(tmp_path / "run", save_all=True, save_config=EVERY_STEP) as hook:
        trial = None
        for step in range(200):
            with hook.step():
                hook.save("x", float(step))
            if step % 10 == 9:
                hook.flush()
                trial = trial or smd.create_trial(tmp_path / "run")
                curve = samples.curve(trial.tensor("x"), 16)
                assert len(curve.steps) <= 16 and curve.steps[0] == 0 and curve.steps[-1] == step
                assert curve.numbers == tuple(map(float, curve.steps))
    assert len(read) == len(set(read)) + 1, "the first is also read to choose the reduction"
    assert len(read) < 80
    trial.close()


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_large_tensors_are_not_read(tmp_path, monkeypatch, steps):
    monkeypatch.setattr("smdebug.notebook.curves._ELEMENTS", 10)
    with smd.Hook(tmp_path / "run", save_all=True, save_config=EVERY_STEP) as hook:
        for _ in range(steps):
            with hook.step():
                for size in (4, 8, 20):
                    hook.save(f"x{size}", [1.0] * size)
    with smd.create_trial(tmp_path / "run") as trial:
        assert shown(trial).tags.count("svg") == 1
        assert "20" in shown(trial.tensor("x20")).text


def test_watching_needs_a_notebook(run):
    with smd.create_trial(run) as trial, pytest.raises(SMDebugRuntimeError, match="rules --follow"):
        smd.watch(trial)


def test_nothing_is_loaded_before_it_is_used(run):
    code = (
        "import sys, smdebug\n"
        f"trial = smdebug.create_trial({str(run)!r})\n"
        "trial._repr_html_()\n"
        "print([m for m in ('matplotlib', 'ipywidgets', 'IPython') if m in sys.modules])\n"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("module", "call", "extra"), [
    ("matplotlib", "trial.tensor('loss').plot()", "plot"),
    ("matplotlib", "trial.plot('loss')", "plot"),
    ("ipywidgets", "smd.watch(trial)", "notebook"),
])  # fmt: skip
def test_a_missing_package_is_named(run, monkeypatch, module, call, extra):
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(module), *sys.meta_path])
    with smd.create_trial(run) as trial, pytest.raises(ModuleNotFoundError) as caught:
        exec(call, {"smd": smd, "trial": trial})
    assert str(caught.value).endswith(f"which is not installed: pip install 'libsmdebug[{extra}]'")


class Missing:
    """Behaves as if a package were not installed."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=self.package)
