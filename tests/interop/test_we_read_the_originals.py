"""Tests that this library reads trials of the original's hook."""


def test_a_trial_of_the_originals_hook(tmp_path, original, ours):
    original("original_hook.py", tmp_path / "run")
    theirs = original("dump_trial.py", tmp_path / "run")
    mine = ours("dump_trial.py", tmp_path / "run")
    assert mine["tensors"].keys() == theirs["tensors"].keys()
    for key, place in theirs["tensors"].items():
        assert mine["tensors"][key] == place, key
    assert mine == theirs
    assert len(theirs["tensors"]) > 20
    assert len(theirs["tensors"]["stats/a EVAL 1 worker_0"]["reductions"]) == 8


def test_configs_have_the_same_text(original, ours):
    assert ours("print_configs.py") == original("print_configs.py")
