"""Records a loop of one's own."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Iterator, Optional

from smdebug.integrations.torch_callback import TorchCallback

if TYPE_CHECKING:
    from smdebug.pytorch.hook import Hook
    from smdebug.rules.rule_set import RuleSet

__all__ = ["recording"]


@contextlib.contextmanager
def recording(
    out_dir: Any,
    model: Any,
    *optimizers: Any,
    loss: Any = None,
    rules: Optional[RuleSet] = None,
    **settings: Any,
) -> Iterator[Hook]:
    """Records the training in the block of a `with` statement.

    Call ``hook.end_step()`` after ``optimizer.step()`` to read ``hook.stop_finding``: if it is not
    None, a rule recommends to stop.  Nothing is raised.

    Parameters
    ----------
    out_dir : str or path
        Folder of the trial.
    model : torch.nn.Module or list of torch.nn.Module
        The model, or those that are trained together, as a generator and a discriminator.  A
        second one of a class is named with a number, as "Net_2".
    *optimizers : torch.optim.Optimizer
        Its optimizers.
    loss : torch.nn.Module, optional
        The loss module; or call ``hook.record_tensor_value("loss", loss)``.
    rules : smdebug.rules.RuleSet, optional
        Rules to attach.
    **settings
        Further parameters of `smdebug.pytorch.Hook`.

    Yields
    ------
    smdebug.pytorch.Hook
        The hook, which is closed after the block.
    """
    with TorchCallback(out_dir, rules=rules, **settings) as callback:
        first, *others = model if isinstance(model, (list, tuple)) else [model]
        hook = callback._register(first, optimizers)
        assert hook is not None
        kinds = Counter([type(first).__name__])
        for other in others:
            kind = type(other).__name__
            kinds[kind] += 1
            hook.register_module(other, f"{kind}_{kinds[kind]}" if kinds[kind] > 1 else None)
        if loss is not None:
            hook.register_loss(loss)
        yield hook
