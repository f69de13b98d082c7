"""The part of a hook by which rules look at its job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from smdebug import _raw
from smdebug._handles import check, out
from smdebug.core.verdict import Action, Verdict, take_verdicts
from smdebug.exceptions import SMDebugTypeError

if TYPE_CHECKING:
    from smdebug.rules.panel import Panel

__all__ = ["Watching"]


class Watching:
    """What a hook with rules has."""

    _handle: Any

    # Whether rules look at every step.
    _is_watched = False

    def watch(self, panel: Panel) -> None:
        """Has a panel judge each step, or those it looks at, as it ends, from the next one on.

        The rules see every tensor of the job, whatever is saved: `wants` says yes to what
        they look at too.

        Parameters
        ----------
        panel : smdebug.rules.Panel
            The rules; another panel takes the place of the first.

        Raises
        ------
        SMDebugRuntimeError
            If a step is open.
        """
        handle = getattr(panel, "_handle", None)
        if handle is None:
            raise SMDebugTypeError(f"a Panel watches, not a {type(panel).__name__}")
        check(_raw.smd_hook_watch(self._handle, handle))
        self._is_watched = True

    @property
    def advice(self) -> Action:
        """What the findings of the last step that ended ask for."""
        return Action(_raw.smd_hook_advice(self._handle))

    def take_verdicts(self) -> List[Verdict]:
        """The findings since the last call; of very many the newest."""
        return take_verdicts(out("verdicts", _raw.smd_hook_take_verdicts, self._handle))
