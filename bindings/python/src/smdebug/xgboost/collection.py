"""The collections that a hook of XGBoost begins with."""

from __future__ import annotations

from typing import Dict, List

from smdebug.core.collection import CollectionKeys
from smdebug.core.collection_manager import CollectionManager as AnyCollectionManager

__all__ = ["COLLECTIONS", "CollectionKeys", "CollectionManager"]

COLLECTIONS: Dict[str, List[str]] = {
    CollectionKeys.ALL: [],
    CollectionKeys.DEFAULT: [],
    CollectionKeys.HYPERPARAMETERS: [r"^hyperparameters/.*$"],
    CollectionKeys.METRICS: [r"^[a-zA-z]+-[a-zA-z0-9]+$"],
    # The original's expression selects "train-aucpr" and "train-ndcg", which should rise.
    CollectionKeys.LOSSES: [],
    CollectionKeys.PREDICTIONS: [r"^predictions$"],
    CollectionKeys.LABELS: [r"^labels$"],
    CollectionKeys.FEATURE_IMPORTANCE: [r"^feature_importance/.*"],
    CollectionKeys.AVERAGE_SHAP: [r"^average_shap/.*[^/bias]$"],
    CollectionKeys.FULL_SHAP: [r"^full_shap/.*[^/bias]$"],
    CollectionKeys.TREES: [r"^trees/.*"],
}


class CollectionManager(AnyCollectionManager):
    """A set of collections that includes those of XGBoost.

    Parameters
    ----------
    create_default : bool
        Whether to include them.
    """

    def __init__(self, create_default: bool = True) -> None:
        super().__init__()
        for name, regexes in COLLECTIONS.items() if create_default else ():
            self.get(name).include(list(regexes))
