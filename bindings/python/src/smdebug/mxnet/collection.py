"""Collections of tensors of MXNet, and those that a hook begins with."""

from __future__ import annotations

from typing import Any, Dict, List

from smdebug.core.collection import Collection as AnyCollection
from smdebug.core.collection import CollectionKeys
from smdebug.core.collection_manager import CollectionManager as AnyCollectionManager

__all__ = ["COLLECTIONS", "Collection", "CollectionKeys", "CollectionManager"]

COLLECTIONS: Dict[str, List[str]] = {
    CollectionKeys.ALL: [],
    CollectionKeys.DEFAULT: [],
    CollectionKeys.WEIGHTS: [r"^(?!gradient).*weight"],
    CollectionKeys.BIASES: [r"^(?!gradient).*bias"],
    CollectionKeys.GRADIENTS: [r"^gradient"],
    CollectionKeys.LOSSES: [r".*loss._(?!input).*output"],
}


class Collection(AnyCollection):
    """A named group of tensors that can be those of a block."""

    def add_block_tensors(self, block: Any, inputs: bool = False, outputs: bool = True) -> None:
        """Includes the inputs or the outputs of a block.

        Parameters
        ----------
        block : mxnet.gluon.Block
            The block; the hook must be registered to it, or to one that holds it.
        inputs : bool
            Whether to include its inputs.
        outputs : bool
            Whether to include its outputs.
        """
        if inputs:
            self.include(f"{block.name}_input_*")
        if outputs:
            self.include(f"{block.name}_output_*")


class CollectionManager(AnyCollectionManager):
    """A set of collections that holds those of MXNet.

    Parameters
    ----------
    create_default : bool
        Whether it holds them.
    """

    def __init__(self, create_default: bool = True) -> None:
        super().__init__()
        for name, regexes in COLLECTIONS.items() if create_default else ():
            self.create_collection(name, Collection)
            self.get(name).include(list(regexes))
