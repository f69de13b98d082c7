"""One of several processes that train together: worker.py FOLDER TRACKER"""

import json
import sys

import smdebug.xgboost as smd
import xgboost as xgb
from smdebug.integrations import XGBoostCallback
from trainings import BINARY, EVERY_ROUND, matrix, train

out_dir, tracker = sys.argv[1:]
# Made before the process knows its rank.
callback = XGBoostCallback(f"{out_dir}/callback", include_workers="all", save_config=EVERY_ROUND)
with xgb.collective.CommunicatorContext(**json.loads(tracker)):
    rank = xgb.collective.get_rank()
    for include in ("all", "one"):
        with smd.Hook(
            f"{out_dir}/{include}",
            save_config=EVERY_ROUND,
            include_workers=include,
            include_collections=["labels"],
            validation_data=matrix(10 + rank),
        ) as hook:
            train(hook, {**BINARY, "tree_method": "hist"}, matrix(seed=rank), rounds=2)
    train(callback, {**BINARY, "tree_method": "hist"}, matrix(seed=rank), rounds=2)
