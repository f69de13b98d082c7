"""Prints the texts of many configurations, as a JSON list.

Runs with the original library and with this one.
"""

import json

from smdebug import CollectionKeys, ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core import config_constants, locations, utils
from smdebug.core import modes as core_modes
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager

some = SaveConfigMode(save_interval=3, start_step="4", end_step=90, save_steps=[7, 1])
partial = SaveConfig({modes.PREDICT: some, modes.TRAIN: None})
merged = SaveConfig.from_json(partial.to_json())
merged.merge_default_save_config(SaveConfig(save_interval=9))
reductions = ReductionConfig(["sum", "min"], ["mean"], ["l2", "l1"], ["l1"], True, True)
manager = CollectionManager()
manager.add(Collection("a", ["x"], {"n", "m"}, reductions, partial, False))
manager.add("b")
manager.set_num_workers(3)
index_utils = locations.IndexFileLocationUtils

texts = [
    SaveConfig().to_json(),
    SaveConfig(save_interval="5", end_step=7).to_json(),
    partial.to_json(),
    merged.to_json(),
    SaveConfig.from_dict({"TRAIN": {"end_step": 3}}, {"save_interval": 2}).to_json(),
    ReductionConfig().to_json(),
    reductions.to_json(),
    ReductionConfig.from_dict({"reductions": "abs_l2_norm,min", "save_shape": True}).to_json(),
    Collection("empty").to_json(),
    json.dumps(manager.to_json_dict()),
    sorted(value for name, value in vars(CollectionKeys).items() if name.isupper()),
    [core_modes.ALLOWED_MODE_NAMES, [mode.value for mode in modes]],
    config_constants.DEFAULT_COLLECTIONS_FILE_NAME,
    locations.TensorFileLocation(7, "worker_0").get_file_location("run"),
    [index_utils.get_index_key_for_step("run", step, "w") for step in (0, 999, 1000, 10**12)],
    utils.get_path_to_collections("run"),
    [list(utils.is_s3(path)) for path in ("a/b", "s3://a", "s3://a/", "s3://a/b/c")],
]
print("\n" + json.dumps(texts))
