"""Many running jobs at once: each is evaluated to its last step."""

import shutil
import time

import numpy as np
import pytest
from served import Served, until

import smdebug as smd

RUNS, STEPS, TENSORS = 20, 400, 150

pytestmark = pytest.mark.timeout(200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Jobs that run, more than a server keeps open, each longer than a slice of evaluation."""
    folder = tmp_path_factory.mktemp("many")
    chance = np.random.default_rng(1)
    values = chance.normal(size=(STEPS, 8)).astype("float32")
    settings = {"save_config": smd.SaveConfig(save_interval=1), "save_all": True}
    hook = smd.Hook(str(folder / "job0"), **settings)
    for step in range(STEPS):
        with hook.step():
            hook.save("loss", np.float32(np.nan if step == STEPS - 5 else 1 / (step + 1)))
            for number in range(TENSORS):
                hook.save(f"gradient/{number}.weight", values[step] / (number + 1))
    hook.flush()
    for number in range(1, RUNS):
        shutil.copytree(folder / "job0", folder / f"job{number}")
    yield folder
    hook.close()


def test_all_are_evaluated(folder):
    with Served(folder, ".") as served:

        def rows():
            found = served.rows(count=100)
            done = [row for row in found if (row["summary"] or {}).get("evaluated") == STEPS - 1]
            return done if len(done) == RUNS else None

        assert {row["summary"]["findings"] for row in until(rows, seconds=110)} == {2}
        for _ in range(20):  # and stay so
            time.sleep(0.2)
            assert rows()


def test_all_that_have_ended_are_evaluated(tmp_path):
    settings = {"save_config": smd.SaveConfig(save_interval=1), "include_collections": ["losses"]}
    for number in range(RUNS):
        with smd.Hook(str(tmp_path / f"job{number}"), **settings) as hook:
            for step in range(5):
                with hook.step():
                    hook.save("loss", np.float32(1))
    with Served(tmp_path, ".") as served:
        until(lambda: len(served.rows(count=100)) == RUNS and all(evaluated(served)), seconds=30)


def evaluated(served):
    return [(row["summary"] or {}).get("evaluated") == 4 for row in served.rows(count=100)]


def test_each_alerts_once(folder, tmp_path):
    said = tmp_path / "said"
    with Served(folder, ".", "--on-finding", f"echo $SMDEBUG_FINDING_RUN $SMDEBUG_FINDING_RULE $SMDEBUG_FINDING_STEP >> {said}"):
        time.sleep(3)  # the jobs are known, and their findings are no news
        for number in range(RUNS):
            shutil.copytree(folder / "job0", folder / f"new{number}")
        try:
            lines = until(lambda: said.exists() and len(read(said)) >= 2 * RUNS and read(said), seconds=110)
            time.sleep(2)
            lines = read(said)
        finally:
            for number in range(RUNS):
                shutil.rmtree(folder / f"new{number}")
    for rule in ("FirstNonFinite", "ExplodingTensor"):
        mine = [line for line in lines if rule in line]
        assert len(mine) == len(set(mine)) == RUNS, rule


def read(path):
    return path.read_text().splitlines()
