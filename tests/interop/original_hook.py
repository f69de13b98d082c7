"""Records a trial with the original library's hook, fed with numpy arrays.

Runs with the original library only.
usage: python original_hook.py TRIAL
"""

import sys

import numpy as np
from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core.collection import DEFAULT_PYTORCH_COLLECTIONS, Collection, CollectionKeys
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.hook import CallbackHook
from smdebug.core.reductions import get_numpy_reduction
from smdebug.core.utils import FRAMEWORK, make_numpy_array
from smdebug.profiler.profiler_config_parser import ProfilerConfigParser


class ArrayHook(CallbackHook):
    """A hook of the original without a framework."""

    def __init__(self, **settings):
        manager = CollectionManager()
        for name in sorted(DEFAULT_PYTORCH_COLLECTIONS):
            manager.create_collection(name)
        manager.get(CollectionKeys.WEIGHTS).include("^(?!gradient).*weight")
        manager.get(CollectionKeys.GRADIENTS).include("^gradient")
        manager.get(CollectionKeys.LOSSES).include("[Ll]oss_(?!input).*output")
        super().__init__(
            collection_manager=manager,
            default_include_collections=["losses"],
            profiler_config_parser=ProfilerConfigParser(FRAMEWORK.PYTORCH),
            data_type_name="ndarray",
            **settings,
        )
        self.worker = "worker_0"

    def _get_worker_name(self):
        return "worker_0"

    def _get_num_workers(self):
        return 1

    def _is_not_supported(self):
        return False

    def _get_default_collections(self):
        return DEFAULT_PYTORCH_COLLECTIONS

    def _export_model(self):
        pass

    @staticmethod
    def _make_numpy_array(value):
        return make_numpy_array(value)

    @staticmethod
    def _get_reduction_of_data(reduction_name, tensor_value, tensor_name, abs):
        return get_numpy_reduction(reduction_name, tensor_value, abs)

    def run_step(self, mode, tensors):
        self._close_writers()
        if not self.prepared_collections:
            self._prepare_collections()
        self.set_mode(mode)
        self._increment_step()
        if self._get_collections_to_save_for_step():
            self._initialize_writers()
        for name, value in tensors.items():
            self._save_for_tensor(name, value)
        self._save_custom_tensors_post_step()
        if not self.exported_collections:
            self.export_collections()
            self.exported_collections = True


def main(path):
    hook = ArrayHook(
        out_dir=path,
        save_config=SaveConfig(
            {modes.TRAIN: SaveConfigMode(save_interval=2), modes.EVAL: SaveConfigMode(1)}
        ),
        include_collections=["weights", "gradients", "stats"],
    )
    hook.add_collection(
        Collection(
            "stats",
            include_regex=["^stats"],
            reduction_config=ReductionConfig(
                ["min", "max", "mean", "std", "variance", "sum", "prod"], ["mean"], save_shape=True
            ),
        )
    )
    for step in range(5):
        for mode in (modes.TRAIN, modes.EVAL):
            hook.run_step(
                mode,
                {
                    "conv.weight": np.full((2, 3), step, np.float32),
                    "gradient/conv.weight": np.full((2, 3), 0.1 * step),
                    "stats/a": np.linspace(-1, 1 + step, 7),
                    "CrossEntropyLoss_output_0": np.float32([1 / (step + 1)]),
                    "unwanted": np.zeros(3),
                },
            )
            hook.save_scalar("lr", 0.1 / (step + 1), timestamp=1600000000.25)
    hook.close()


if __name__ == "__main__":
    main(sys.argv[1])
