"""The part that the hooks of TensorFlow and Keras share: saving the tensors that they observe."""

from __future__ import annotations

from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from smdebug import _raw
from smdebug._handles import Strings, check
from smdebug.core.collection import Collection as AnyCollection
from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.modes import ModeKeys
from smdebug.core.utils import match_inc
from smdebug.tensorflow.collection import BUILTIN_COLLECTIONS, Collection
from smdebug.tensorflow.constants import TF_DEFAULT_SAVED_COLLECTIONS
from smdebug.tensorflow.loss_inputs import LOSS_INPUTS
from smdebug.tensorflow.unused import MISSING_GRADIENTS
from smdebug.tensorflow.utils import (
    call_at_run_time,
    flat_tensors,
    host_value,
    is_abstract,
    is_built,
    is_compiled_by_xla,
    is_first_replica,
    is_symbolic,
    place_of_process,
    variable_name,
)
from smdebug.tensorflow.watch import NamedTensors, innermost

__all__ = ["TensorflowBaseHook", "Variables", "variables_of_optimizer"]

# Triples of a collection, the variable's name in the trial, and the variable.
Variables = List[Tuple[str, str, Any]]

_FILLED = (
    CollectionKeys.WEIGHTS,
    CollectionKeys.BIASES,
    CollectionKeys.GRADIENTS,
    CollectionKeys.LAYERS,
)

# Rules in this process evaluate these collections at every step.
_EVALUATED = {
    CollectionKeys.WEIGHTS,
    CollectionKeys.BIASES,
    CollectionKeys.GRADIENTS,
    CollectionKeys.LOSSES,
    CollectionKeys.METRICS,
    CollectionKeys.INPUTS,
    CollectionKeys.OUTPUTS,
    LOSS_INPUTS,
    MISSING_GRADIENTS,
}


class TensorflowBaseHook(FrameworkHook):
    """A hook that fills its collections by the role of a tensor.

    A tensor's name does not tell a gradient from a layer's output, so the code that observes
    a tensor also names its collection.
    """

    _builtin_collections = BUILTIN_COLLECTIONS
    _always_saved = TF_DEFAULT_SAVED_COLLECTIONS
    _collection_class = Collection

    def __init__(
        self, *args: Any, options: Optional[Mapping[str, str]] = None, **kwargs: Any
    ) -> None:
        options = {"keep_output_numbers": "true", **(options or {})}
        super().__init__(*args, options=options, **kwargs)
        self._watched_model: Any = None
        self._wrapped_optimizers: List[Any] = []
        # Variables added to a collection that belong to neither the model nor the optimizer.
        self._other_variables: Variables = []
        self._model_variables: Optional[Variables] = None
        self._joined: Set[str] = set()
        self._said: Set[str] = set()

    def _place(self) -> Tuple[str, int]:
        return place_of_process()

    def _is_tensor(self, value: Any) -> bool:
        return flat_tensors([value]) == [value]

    def _as_saveable(self, value: Any) -> Any:
        return host_value(value)

    def has_default_hook_configuration(
        self, default_saved_collections: Sequence[str] = TF_DEFAULT_SAVED_COLLECTIONS
    ) -> bool:
        return super().has_default_hook_configuration(default_saved_collections)

    def _say_once(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            self.logger.warning("smdebug: %s", message)

    # ---- members of collections ----------------------------------------------------------

    def _saves_now(self, collection: AnyCollection) -> bool:
        if self._is_evaluated(collection.name):
            return self._step_is_open
        return super()._saves_now(collection)

    def _is_included(self, collection: str) -> bool:
        """Returns True if the hook saves a collection, or a rule evaluates it, at any step."""
        return self._is_evaluated(collection) or self._is_chosen(collection)

    def _is_evaluated(self, collection: str) -> bool:
        """Returns True if attached rules evaluate a collection at every step."""
        return self._has_rules and collection in _EVALUATED

    def _is_chosen(self, collection: str) -> bool:
        """Returns True if the hook saves a collection, whatever rules evaluate."""
        if self.save_all or CollectionKeys.ALL in self.include_collections:
            return True
        if collection == CollectionKeys.DEFAULT and self.include_regex:
            return True
        return collection in self.include_collections

    def _asked_for(self, names: Iterable[str]) -> Set[str]:
        """Returns the names that a saved collection selects by name.

        Collections that are filled by role do not count: "bias" must not select the
        optimizer's state for a bias.
        """
        asking = [
            (collection.tensor_names, collection.include_regex)
            for collection in self.get_collections().values()
            if collection.name not in _FILLED and self._is_included(collection.name)
        ]
        return {
            name
            for name in names
            if any(name in known or match_inc(name, regexes) for known, regexes in asking)
        }

    def _takes(self, collection: str, name: str) -> bool:
        """Returns True if a collection accepts a tensor observed for it under this name."""
        if collection != CollectionKeys.LAYERS:
            return True
        regexes = self.get_collection(collection).include_regex
        return not regexes or match_inc(name, regexes)

    def _may_save(self, collection: str, name: str) -> bool:
        """Returns True if the hook saves this tensor at any step."""
        by_collection = self._is_included(collection) and self._takes(collection, name)
        return by_collection or bool(self._asked_for([name]))

    def _join(self, collection: str, name: str) -> None:
        """Makes an observed tensor a member of its collection."""
        if name in self._joined:
            return
        self._joined.add(name)
        if self._is_included(collection) and self._takes(collection, name):
            self.get_collection(collection).add_tensor_name(name)

    # ---- observed tensors ----------------------------------------------------------------

    @guarded
    def _record(self, collection: str, name: str, value: Any) -> None:
        """Saves one tensor if the open step selects it."""
        self._join(collection, name)
        self._save(name, value)

    @guarded
    def _see(self, collection: str, named: NamedTensors) -> None:
        """Saves tensors.  Symbolic tensors are saved whenever the compiled function runs."""
        named = [each for each in named if not is_abstract(each[1])]
        if not any(is_symbolic(value) for _, value in named):
            if self._saves_step and self._is_chief_replica():
                for name, value in named:
                    self._record(collection, name, value)
            return
        named = [each for each in named if self._may_save(collection, each[0])]
        if not named or not self._is_chief_replica():
            return
        names = [name for name, _ in named]

        def record(values: Sequence[Any]) -> None:
            for name, value in zip(names, values):
                self._record(collection, name, value)

        self._at_run_time(record, [value for _, value in named])

    @guarded
    def _at_run_time(self, function: Callable[[Sequence[Any]], None], values: Any) -> None:
        """Makes the function that is being compiled call `function` whenever it runs."""
        if is_compiled_by_xla():
            self._say_once(
                "what a tf.function with jit_compile=True computes cannot be looked into: leave "
                "jit_compile off to record gradients and layers"
            )
            return
        call_at_run_time(function, values)

    def _is_chief_replica(self) -> bool:
        if is_first_replica():
            return True
        self._say_once(
            "of the replicas of a strategy, the gradients and layers of the first are recorded"
        )
        return False

    # ---- variables --------------------------------------------------------------------

    def _variables_of_model(self) -> Variables:
        if not self._model_variables and is_built(self._watched_model):
            self._model_variables = [
                (self._weights_or_biases(name), name, variable)
                for name, variable in _variables_by_layer(self._watched_model)
            ]
        return self._model_variables or []

    @guarded
    def _tell_frozen(self) -> None:
        """Tells rules which variables are not trained: of a model as it is at this step."""
        variables = self._variables_of_model()
        if variables:
            trained = {id(each) for each in self._watched_model.trainable_variables}
            self._set_frozen(name for _, name, each in variables if id(each) not in trained)

    def _weights_or_biases(self, name: str) -> str:
        is_bias = match_inc(name, self.get_collection(CollectionKeys.BIASES).include_regex)
        return CollectionKeys.BIASES if is_bias else CollectionKeys.WEIGHTS

    def _gradient_name(self, variable: Any) -> str:
        name = variable_name(variable, self._watched_model)
        return f"gradients/{name.partition(':')[0]}Grad"

    def _variables_by_gradient(self) -> Dict[str, Set[str]]:
        """Returns the names of the model's variables, in order, by those of their gradients."""
        model = self._watched_model
        return {
            self._gradient_name(each): {name, f"weights/{variable_name(each, model)}"}
            for _, name, each in self._variables_of_model()
        }

    def _optimizers(self) -> List[Any]:
        """Returns the wrapped optimizers and the model's own, of which a GAN has two."""
        found = list(self._wrapped_optimizers)
        known = {id(innermost(optimizer)) for optimizer in found}
        for each in [*_attributes(self._watched_model), getattr(self._watched_model, "optimizer", None)]:
            if hasattr(each, "apply_gradients") and id(innermost(each)) not in known:
                known.add(id(innermost(each)))
                found.append(each)
        return found

    def _variables_of_optimizers(self) -> Variables:
        """Returns the optimizers' variables; none in evaluation, where they do not change."""
        if self.mode in (ModeKeys.EVAL, ModeKeys.PREDICT):
            return []
        return [
            (CollectionKeys.OPTIMIZER_VARIABLES, variable_name(variable), variable)
            for optimizer in self._optimizers()
            for variable in variables_of_optimizer(optimizer)
        ]

    def _save_variables(self, variables: Variables) -> None:
        """Saves the variables that the open step selects."""
        others = [name for owner, name, _ in variables if not self._is_included(owner)]
        asked_for = self._asked_for(others)
        wanted = []
        for collection, name, variable in variables:
            if not self._is_included(collection) and name not in asked_for:
                continue
            self._join(collection, name)
            if self.wants(name):
                wanted.append((collection, name, variable))
        if wanted and hasattr(self._watched_model, "jax_state_sync"):
            # While JAX trains, the model's variables keep their values from the epoch's start.
            self._watched_model.jax_state_sync()
        for collection, name, variable in wanted:
            self._record(collection, name, variable)

    def _name_added(self, with_tape: bool) -> None:
        """Resolves the names of the variables that were added to collections."""
        for collection in list(self._collections.values()):
            added = getattr(collection, "_added", None)
            if not added:
                continue
            for variable in added:
                for name in self._names_of(variable, with_tape):
                    collection.add_tensor_name(name)
            added.clear()

    def _names_of(self, variable: Any, with_tape: bool) -> Iterator[str]:
        plain = variable_name(variable, self._watched_model)
        if with_tape:
            yield f"weights/{plain}"
        for _, name, known in self._variables_of_model():
            if known is variable:
                yield name
                return
        yield plain
        self._other_variables.append((CollectionKeys.DEFAULT, plain, variable))

    def add_to_collection(self, collection_name: str, variable: Any) -> None:
        """Adds a variable, a layer, or a list of these to a collection."""
        collection = self.get_collection(collection_name)
        assert isinstance(collection, Collection)
        collection.add(variable)


def _variables_by_layer(model: Any) -> Iterator[Tuple[str, Any]]:
    seen = set()
    for owner in [*getattr(model, "layers", ()), *([model] if model is not None else ())]:
        for variable in owner.weights:
            if id(variable) not in seen:
                seen.add(id(variable))
                yield f"{owner.name}/weights/{variable_name(variable, model)}", variable


def _attributes(model: Any) -> List[Any]:
    return [] if model is None else list(vars(model).values())


def variables_of_optimizer(optimizer: Any) -> List[Any]:
    """Returns an optimizer's variables, including rates and factors stored as variables."""
    variables = optimizer.variables
    if callable(variables) and not isinstance(variables, list):
        variables = variables()
    settings = [
        *(getattr(optimizer, "_hyper", None) or {}).values(),
        getattr(optimizer, "_learning_rate", None),
    ]
    known = {id(variable) for variable in variables}
    return [
        *variables,
        *(each for each in settings if hasattr(each, "assign") and id(each) not in known),
    ]
