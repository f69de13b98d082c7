"""Collections that variables and layers of a model can be added to."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Sequence

from smdebug.core import collection as core_collection
from smdebug.core.collection import DEFAULT_TF_COLLECTIONS, CollectionKeys
from smdebug.core.logger import get_logger

__all__ = ["BUILTIN_COLLECTIONS", "Collection", "CollectionKeys"]

# All but the biases are filled with what is seen, not by what it is called.
BUILTIN_COLLECTIONS: Dict[str, Sequence[str]] = {
    **{name: () for name in sorted(DEFAULT_TF_COLLECTIONS)},
    CollectionKeys.BIASES: ("^(?!gradient).*bias",),
}


class Collection(core_collection.Collection):
    """A group of tensors, of which some may be given as the model's own objects.

    Parameters
    ----------
    name, include_regex, tensor_names, reduction_config, save_config, save_histogram
        As `smdebug.Collection` takes them.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Variables whose names in the trial are not known yet.
        self._added: List[Any] = []

    def add(self, arg: Any) -> None:
        """Adds a variable, all variables of a layer or model, or a list of these.

        What is something else is warned of in the log, and not added.
        """
        if isinstance(arg, (list, tuple, set)):
            for item in arg:
                self.add(item)
        elif hasattr(arg, "weights") and hasattr(arg, "call"):
            self.add(list(arg.weights))
        elif hasattr(arg, "assign") and hasattr(arg, "name"):
            self._added.append(arg)
        else:
            get_logger().warning(
                "collection %s: a %s is not added; it takes variables, layers, and lists of them",
                self.name,
                type(arg).__name__,
            )

    def add_for_mode(self, arg: Any, mode: Any = None) -> None:
        """As `add`: a collection is the same in all modes."""
        self.add(arg)

    def add_keras_layer(self, layer: Any, inputs: bool = False, outputs: bool = True) -> None:
        """Includes what goes into a layer, what comes out of it, or both."""
        name = re.escape(layer.name)
        if inputs:
            self.include(f"^{name}/inputs")
        if outputs:
            self.include(f"^{name}/outputs")
