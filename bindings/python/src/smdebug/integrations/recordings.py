"""Records loops of JAX and of scikit-learn."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Iterator, Optional

from smdebug.integrations.callback import make_hook

if TYPE_CHECKING:
    from smdebug.jax.hook import Hook as JaxHook
    from smdebug.rules.rule_set import RuleSet
    from smdebug.sklearn.hook import Hook as SklearnHook

__all__ = ["jax_recording", "sklearn_recording"]


@contextlib.contextmanager
def jax_recording(
    out_dir: Any, *, rules: Optional[RuleSet] = None, **settings: Any
) -> Iterator[JaxHook]:
    """Records the training in the block of a `with` statement.

    Call ``hook.record(loss=loss, params=params, ...)`` after each update, then read
    ``hook.stop_finding``: if it is not None, a rule recommends to stop.  Nothing is raised.

    Parameters
    ----------
    out_dir : str or path
        Folder of the trial.
    rules : smdebug.rules.RuleSet, optional
        Rules to attach.
    **settings
        Further parameters of `smdebug.jax.Hook`.

    Yields
    ------
    smdebug.jax.Hook
        The hook, which is closed after the block.
    """
    from smdebug.jax.hook import Hook

    with _recording(Hook, out_dir, rules, settings) as hook:
        yield hook


@contextlib.contextmanager
def sklearn_recording(
    out_dir: Any, *, rules: Optional[RuleSet] = None, **settings: Any
) -> Iterator[SklearnHook]:
    """Records the training in the block of a `with` statement.

    Pass the hook as the `monitor` of `GradientBoostingClassifier.fit`, which a rule then stops.
    For other estimators, call ``hook.record(estimator)`` after each `partial_fit`, then read
    ``hook.stop_finding``: if it is not None, a rule recommends to stop.  Nothing is raised.

    Parameters
    ----------
    out_dir : str or path
        Folder of the trial.
    rules : smdebug.rules.RuleSet, optional
        Rules to attach.
    **settings
        Further parameters of `smdebug.sklearn.Hook`.

    Yields
    ------
    smdebug.sklearn.Hook
        The hook, which is closed after the block.
    """
    from smdebug.sklearn.hook import Hook

    with _recording(Hook, out_dir, rules, settings) as hook:
        yield hook


@contextlib.contextmanager
def _recording(
    hook_class: Any, out_dir: Any, rules: Optional[RuleSet], settings: Any
) -> Iterator[Any]:
    with make_hook(hook_class, out_dir, settings) as hook:
        hook._stops_gracefully = True
        if rules is not None:
            hook.attach(rules)
        yield hook
