"""Collections that can be given modules."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Dict, Mapping, Sequence, Tuple, Type

from smdebug.core.collection import Collection as BaseCollection
from smdebug.core.collection import CollectionKeys
from smdebug.core.collection_manager import CollectionManager as BaseCollectionManager

__all__ = ["Collection", "CollectionKeys", "CollectionManager"]

BUILTIN_COLLECTIONS: Mapping[str, Sequence[str]] = {
    CollectionKeys.ALL: (),
    CollectionKeys.DEFAULT: (),
    CollectionKeys.WEIGHTS: ("^(?!gradient).*weight",),
    CollectionKeys.BIASES: ("^(?!gradient).*bias",),
    CollectionKeys.GRADIENTS: ("^gradient",),
    CollectionKeys.LOSSES: ("[Ll]oss_(?!input).*output",),
}


_NO_PARAMETER = "^(?!(held_|missing_)?gradient|(idle_)?update/|optimizer_state/|weight_decay/).*"
#: With optimizers, whose tensors have names that contain those of parameters.
OF_PARAMETERS: Mapping[str, str] = {
    CollectionKeys.WEIGHTS: f"{_NO_PARAMETER}weight",
    CollectionKeys.BIASES: f"{_NO_PARAMETER}bias",
}


class Collection(BaseCollection):
    """A group of tensors, which may be those of modules.

    Parameters
    ----------
    name, include_regex, tensor_names, reduction_config, save_config, save_histogram
        As `smdebug.Collection` takes them.
    """

    @cached_property
    def modules(self) -> Dict[Any, Tuple[bool, bool]]:
        """For each module, whether its inputs and whether its outputs are included."""
        return {}

    def add_module_tensors(self, module: Any, inputs: bool = False, outputs: bool = True) -> None:
        """Includes the inputs or the outputs of a module.

        This takes effect if the hook's first step has not begun, and if the module, or one that
        contains it, is registered with the hook by then.

        Parameters
        ----------
        module : torch.nn.Module
            The module.
        inputs : bool
            Whether to include its inputs.
        outputs : bool
            Whether to include its outputs.
        """
        self.modules[module] = (inputs, outputs)


class CollectionManager(BaseCollectionManager):
    """The collections that a hook for PyTorch begins with.

    Parameters
    ----------
    create_default : bool
        Whether to begin with them, or with none.
    """

    def __init__(self, create_default: bool = True) -> None:
        super().__init__()
        for name, regexes in BUILTIN_COLLECTIONS.items() if create_default else ():
            self.create_collection(name)
            self.get(name).include(list(regexes))

    def create_collection(self, name: str, cls: Type[BaseCollection] = Collection) -> None:
        """Adds an empty collection if there is none of that name."""
        super().create_collection(name, cls)
