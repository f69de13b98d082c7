"""The collections that a hook of JAX begins with."""

from __future__ import annotations

from typing import Dict, List

from smdebug.core.collection import CollectionKeys

__all__ = ["COLLECTIONS", "CollectionKeys"]

# Libraries call a bias "bias", "b" or "beta"; a state of Flax's nnx may have "value" after it.
_BIAS = r"(.*/)?(bias|beta|b)(/value)?$"
_ELSEWHERE = r"^(?!gradient|params/|opt)"

COLLECTIONS: Dict[str, List[str]] = {
    CollectionKeys.ALL: [],
    CollectionKeys.DEFAULT: [],
    CollectionKeys.WEIGHTS: [rf"^params/(?!{_BIAS})", rf"{_ELSEWHERE}.*weight"],
    CollectionKeys.BIASES: [rf"^params/{_BIAS}", rf"{_ELSEWHERE}.*bias"],
    CollectionKeys.GRADIENTS: [r"^gradient"],
    CollectionKeys.LOSSES: [rf"{_ELSEWHERE}.*[Ll]oss"],
    CollectionKeys.METRICS: [r"^batches_per_update$"],
    CollectionKeys.OPTIMIZER_VARIABLES: [r"^opt"],
    "learning_rate": [r"^learning_rate(_\d+)?$"],
}
