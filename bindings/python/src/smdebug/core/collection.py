"""Collections: named groups of tensors with settings of their own."""

from __future__ import annotations

import json
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Set,
    Tuple,
    Union,
)

from smdebug import _raw
from smdebug._handles import CollectionHandle, check, out, out_strings, out_text, text
from smdebug.core.modes import ModeKeys
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig, SaveConfigMode
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError

__all__ = ["Collection", "CollectionKeys", "push_all"]

ALLOWED_PARAMS = [
    "name",
    "include_regex",
    "reduction_config",
    "save_config",
    "tensor_names",
    "save_histogram",
]


class CollectionKeys:
    """Names of the collections that smdebug knows."""

    DEFAULT = "default"
    ALL = "all"
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    WEIGHTS = "weights"
    GRADIENTS = "gradients"
    LOSSES = "losses"
    BIASES = "biases"
    LAYERS = "layers"
    SM_METRICS = "sm_metrics"
    OPTIMIZER_VARIABLES = "optimizer_variables"
    TENSORFLOW_SUMMARIES = "tensorflow_summaries"
    METRICS = "metrics"
    HYPERPARAMETERS = "hyperparameters"
    PREDICTIONS = "predictions"
    LABELS = "labels"
    FEATURE_IMPORTANCE = "feature_importance"
    AVERAGE_SHAP = "average_shap"
    FULL_SHAP = "full_shap"
    TREES = "trees"


SUMMARIES_COLLECTIONS = {CollectionKeys.TENSORFLOW_SUMMARIES}
SCALAR_COLLECTIONS = {
    CollectionKeys.LOSSES,
    CollectionKeys.METRICS,
    CollectionKeys.FEATURE_IMPORTANCE,
    CollectionKeys.AVERAGE_SHAP,
    CollectionKeys.SM_METRICS,
}
SM_METRIC_COLLECTIONS = {CollectionKeys.LOSSES, CollectionKeys.METRICS, CollectionKeys.SM_METRICS}
NON_REDUCTION_COLLECTIONS = SCALAR_COLLECTIONS | SUMMARIES_COLLECTIONS
NON_HISTOGRAM_COLLECTIONS = SCALAR_COLLECTIONS | SUMMARIES_COLLECTIONS
DEFAULT_PYTORCH_COLLECTIONS = {
    CollectionKeys.ALL,
    CollectionKeys.DEFAULT,
    CollectionKeys.WEIGHTS,
    CollectionKeys.BIASES,
    CollectionKeys.GRADIENTS,
    CollectionKeys.LOSSES,
}
DEFAULT_MXNET_COLLECTIONS = set(DEFAULT_PYTORCH_COLLECTIONS)
DEFAULT_TF_COLLECTIONS = DEFAULT_PYTORCH_COLLECTIONS | {
    CollectionKeys.METRICS,
    CollectionKeys.INPUTS,
    CollectionKeys.OUTPUTS,
    CollectionKeys.LAYERS,
    CollectionKeys.SM_METRICS,
    CollectionKeys.OPTIMIZER_VARIABLES,
}
DEFAULT_XGBOOST_COLLECTIONS = {
    CollectionKeys.ALL,
    CollectionKeys.DEFAULT,
    CollectionKeys.HYPERPARAMETERS,
    CollectionKeys.PREDICTIONS,
    CollectionKeys.LABELS,
    CollectionKeys.FEATURE_IMPORTANCE,
    CollectionKeys.AVERAGE_SHAP,
    CollectionKeys.FULL_SHAP,
    CollectionKeys.TREES,
}

SaveSettings = Union[SaveConfig, Mapping[ModeKeys, Optional[SaveConfigMode]], None]
Names = Union[List[str], Set[str], None]


class Collection:
    """A group of tensors with its own settings.

    A tensor belongs to the collection if its name is among `tensor_names`, or if one of
    the regular expressions is found in its name.  A hook sees changes to a collection that
    it returned from the next step on.

    Parameters
    ----------
    name : str
        The name.
    include_regex : list of str, optional
        Regular expressions, searched for in tensor names.
    tensor_names : list or set of str, optional
        Names of tensors.
    reduction_config : ReductionConfig, optional
        The parts that are saved of its tensors.  Default: the hook's reduction config.
    save_config : SaveConfig or dict of ModeKeys to SaveConfigMode, optional
        When its tensors are saved.  Default, also for modes that are missing: the hook's
        save config.
    save_histogram : bool
        Whether histograms of its tensors are written for TensorBoard.

    Raises
    ------
    SMDebugTypeError
        If a parameter is of the wrong type.
    SMDebugValueError
        If a regular expression does not compile.
    """

    def __init__(
        self,
        name: str,
        include_regex: Optional[List[str]] = None,
        tensor_names: Names = None,
        reduction_config: Optional[ReductionConfig] = None,
        save_config: SaveSettings = None,
        save_histogram: bool = True,
    ) -> None:
        self.name = text(name)
        self._bound: Optional[CollectionHandle] = None
        self._pushed: Tuple[Any, ...] = ()
        self._renamings = 0  # how often other names have replaced `tensor_names`
        self.include_regex: List[str] = []
        if include_regex:
            self.include(include_regex)
        self.tensor_names = tensor_names
        self.reduction_config = reduction_config
        self.save_config = save_config
        self.save_histogram = save_histogram

    @property
    def tensor_names(self) -> Set[str]:
        """Names of tensors in the collection: those added, and in a trial those saved."""
        if self._bound is not None:
            self._tensor_names.update(out_strings(_raw.smd_collection_tensors, self._bound))
        return self._tensor_names

    @tensor_names.setter
    def tensor_names(self, tensor_names: Names) -> None:
        if tensor_names is not None and not isinstance(tensor_names, (list, set)):
            kind = type(tensor_names).__name__
            raise SMDebugTypeError(f"tensor_names is a list or a set of names, not a {kind}")
        names = {text(name, "tensor name") for name in tensor_names or ()}
        if self._bound is not None:
            for name in self.tensor_names - names:
                check(_raw.smd_collection_remove_tensor(self._bound, name))
            for name in names:
                check(_raw.smd_collection_add_tensor(self._bound, name))
        self._tensor_names = names
        self._renamings += 1

    @property
    def reduction_config(self) -> Optional[ReductionConfig]:
        """The parts that are saved of its tensors; None: as the hook's reduction config says."""
        return self._reduction_config

    @reduction_config.setter
    def reduction_config(self, reduction_config: Optional[ReductionConfig]) -> None:
        if not isinstance(reduction_config, (ReductionConfig, type(None))):
            raise SMDebugTypeError(f"{reduction_config!r} is not a ReductionConfig")
        self._reduction_config = reduction_config

    @property
    def save_config(self) -> Optional[SaveConfig]:
        """When its tensors are saved; None: as the hook's save config says."""
        return self._save_config

    @save_config.setter
    def save_config(self, save_config: SaveSettings) -> None:
        if isinstance(save_config, Mapping):
            save_config = SaveConfig(mode_save_configs=save_config)
        if not isinstance(save_config, (SaveConfig, type(None))):
            raise SMDebugTypeError(f"{save_config!r} is neither a SaveConfig nor a dict of modes")
        self._save_config: Optional[SaveConfig] = save_config

    def include(self, t: Union[str, List[Any]]) -> None:
        """Includes tensors by a regular expression, or by a (nested) list of them.

        Raises
        ------
        SMDebugValueError
            If an expression does not compile.
        """
        if isinstance(t, list):
            for item in t:
                self.include(item)
            return
        if not isinstance(t, str):
            raise SMDebugTypeError(f"a regular expression is a str, not a {type(t).__name__}")
        probe = CollectionHandle(out("collection", _raw.smd_collection_new, self.name))
        check(_raw.smd_collection_include_regex(probe, text(t, "regular expression")))
        self.include_regex.append(t)

    def has_tensor_name(self, tname: str) -> bool:
        """Returns True if the tensor is among `tensor_names`."""
        return tname in self.tensor_names

    def add_tensor_name(self, tname: str) -> None:
        """Includes one tensor by its name."""
        self._tensor_names.add(text(tname, "tensor name"))
        if self._bound is not None:
            check(_raw.smd_collection_add_tensor(self._bound, tname))

    def remove_tensor_name(self, tname: str) -> None:
        """Removes a name from `tensor_names`.  Does nothing if it is not there."""
        self.tensor_names.discard(tname)
        self._renamings += 1
        if self._bound is not None:
            check(_raw.smd_collection_remove_tensor(self._bound, text(tname, "tensor name")))

    def to_json_dict(self) -> Dict[str, Any]:
        """Returns the collection in the form of collections files."""
        reduction_config, save_config = self.reduction_config, self.save_config
        return {
            "name": self.name,
            "include_regex": self.include_regex,
            "tensor_names": sorted(self.tensor_names),
            "reduction_config": reduction_config.to_json_dict() if reduction_config else None,
            "save_config": save_config.to_json_dict() if save_config else None,
            "save_histogram": self.save_histogram,
        }

    def to_json(self) -> str:
        """Returns `to_json_dict` as text."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_dict(cls, params: Mapping[str, Any]) -> Collection:
        """Makes a collection from its form in files; only the key "name" must be there."""
        if not isinstance(params, Mapping):
            raise SMDebugValueError(f"{params!r} is not a dict of collection settings")
        return cls(
            name=params.get("name"),  # type: ignore[arg-type]
            include_regex=params.get("include_regex") or None,
            tensor_names=list(params.get("tensor_names") or ()),
            reduction_config=ReductionConfig.from_dict(params.get("reduction_config")),
            save_config=SaveConfig.from_dict(params.get("save_config")),
            save_histogram=params.get("save_histogram", True),
        )

    @classmethod
    def from_json(cls, json_str: str) -> Collection:
        """Makes a collection from the text that `to_json` returns."""
        try:
            params = json.loads(json_str)
        except ValueError as error:
            raise SMDebugValueError(f"not valid JSON: {error}") from error
        return cls.from_dict(params)

    @classmethod
    def _of(cls, handle: CollectionHandle) -> Collection:
        """Makes the collection of a handle, bound to it."""
        collection = cls.from_json(out_text(_raw.smd_collection_to_json, handle))
        collection._bind(handle)
        return collection

    def _handle(self) -> CollectionHandle:
        return CollectionHandle(out("collection", _raw.smd_collection_from_json, self.to_json()))

    def _bind(self, handle: CollectionHandle) -> None:
        """Sends later changes to `handle`, which holds the same settings now."""
        self._bound = handle
        self._pushed = self._state()

    def _push(self) -> bool:
        """Sends changes to the bound handle.

        Returns
        -------
        bool
            False if a regular expression was removed, which takes a new handle.
        """
        state = self._state()
        if self._bound is None or state == self._pushed:
            return True
        regexes, before = state[0], self._pushed[0]
        if regexes[: len(before)] != before:
            return False
        for regex in regexes[len(before) :]:
            check(_raw.smd_collection_include_regex(self._bound, text(regex, "regular expression")))
        for name in self._tensor_names:
            check(_raw.smd_collection_add_tensor(self._bound, text(name, "tensor name")))
        save_config, reduction_config = self.save_config, self.reduction_config
        check(
            _raw.smd_collection_set_save_config(
                self._bound, save_config._handle() if save_config else None
            )
        )
        check(
            _raw.smd_collection_set_reduction_config(
                self._bound, reduction_config._handle() if reduction_config else None
            )
        )
        check(_raw.smd_collection_set_save_histogram(self._bound, int(self.save_histogram)))
        self._pushed = state
        return True

    def _state(self) -> Tuple[Any, ...]:
        """Returns the settings for comparison, without the names that the hook adds."""
        return (
            tuple(self.include_regex),
            len(self._tensor_names),
            self._renamings,
            self._reduction_config._state() if self._reduction_config else None,
            self._save_config._state() if self._save_config else None,
            self.save_histogram,
        )

    def __str__(self) -> str:
        return str(self.to_json_dict())

    def __repr__(self) -> str:
        return f"<Collection {self.name!r}>"

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Collection):
            return NotImplemented
        return (
            self.name == other.name
            and self.include_regex == other.include_regex
            and self.tensor_names == other.tensor_names
            and self.reduction_config == other.reduction_config
            and self.save_config == other.save_config
            and self.save_histogram == other.save_histogram
        )


def push_all(collections: Iterable[Collection], replace: Callable[[Collection], None]) -> bool:
    """Tells a hook what has changed in its collections; raises the first error in the end.

    Parameters
    ----------
    collections : iterable of Collection
        The collections.
    replace
        Gives the hook another handle of a collection that needs one.

    Returns
    -------
    bool
        Whether something has changed.
    """
    first_error: Optional[SMDebugError] = None
    has_changed = False
    for collection in collections:
        pushed = collection._pushed
        try:
            if not collection._push():
                replace(collection)
        except SMDebugError as error:
            first_error = first_error or error
        has_changed = has_changed or collection._pushed is not pushed
    if first_error is not None:
        raise first_error
    return has_changed
