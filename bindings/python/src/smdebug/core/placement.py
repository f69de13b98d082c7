"""Which part of a tensor a worker holds."""

from __future__ import annotations

from typing import NamedTuple, Tuple

__all__ = ["Placement"]


class Placement(NamedTuple):
    """The part of a tensor that one worker holds, and where it lies in the whole.

    Attributes
    ----------
    shape : tuple of int
        The shape of the whole.
    offset : tuple of int
        Where the part begins: an index for each dimension, or one if it is flat.
    part : tuple of int
        The shape of the part; one number if it is flat.
    is_flat : bool
        Whether the part is a range of the whole's elements in row-major order, not a block.
    mesh : tuple of int
        How many workers each dimension of their mesh has, if that is known.
    split : tuple of int
        For each dimension of the mesh, the dimension of the tensor that it splits, or -1 if its
        workers hold the same.
    """

    shape: Tuple[int, ...]
    offset: Tuple[int, ...]
    part: Tuple[int, ...]
    is_flat: bool = False
    mesh: Tuple[int, ...] = ()
    split: Tuple[int, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the worker holds the whole tensor."""
        return self.part == self.shape
