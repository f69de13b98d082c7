"""Collections to which variables and layers of a model can be added."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Sequence, Type

from smdebug.core import collection as core_collection
from smdebug.core.collection import DEFAULT_TF_COLLECTIONS, CollectionKeys
from smdebug.core.collection_manager import CollectionManager as AnyCollectionManager
from smdebug.core.logger import get_logger

__all__ = ["BUILTIN_COLLECTIONS", "Collection", "CollectionKeys", "CollectionManager"]

# All but the biases are filled with tensors by their role, not by their name.
BUILTIN_COLLECTIONS: Dict[str, Sequence[str]] = {
    **{name: () for name in sorted(DEFAULT_TF_COLLECTIONS)},
    CollectionKeys.BIASES: ("^(?!gradient).*bias",),
}


class Collection(core_collection.Collection):
    """A group of tensors, some of which may be given as objects of the model.

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

        Anything else is not added; the log warns of it.
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
        """Adds to the collection, which is the same in all modes: see `add`."""
        self.add(arg)

    def add_keras_layer(self, layer: Any, inputs: bool = False, outputs: bool = True) -> None:
        """Includes the inputs of a layer, its outputs, or both."""
        name = re.escape(layer.name)
        if inputs:
            self.include(f"^{name}/inputs")
        if outputs:
            self.include(f"^{name}/outputs")


class CollectionManager(AnyCollectionManager):
    """A set of collections that holds those of TensorFlow.

    Parameters
    ----------
    collections : dict of str to Collection, optional
        The collections to start with.
    create_default : bool
        Whether those of TensorFlow are added.
    """

    def __init__(
        self,
        collections: Optional[Dict[str, core_collection.Collection]] = None,
        create_default: bool = True,
    ) -> None:
        super().__init__(collections)
        for name, regexes in BUILTIN_COLLECTIONS.items() if create_default else ():
            self.get(name).include(list(regexes))

    def create_collection(
        self, name: str, cls: Type[core_collection.Collection] = Collection
    ) -> None:
        super().create_collection(name, cls)

    @classmethod
    def load(
        cls, filename: str, collection_class: Type[core_collection.Collection] = Collection
    ) -> AnyCollectionManager:
        return super().load(filename, collection_class)

    @classmethod
    def load_from_string(
        cls,
        s: Optional[str],
        collection_class: Type[core_collection.Collection] = Collection,
    ) -> Optional[AnyCollectionManager]:
        return super().load_from_string(s, collection_class)
