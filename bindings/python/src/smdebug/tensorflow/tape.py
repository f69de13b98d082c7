"""Gradient tapes that report to a hook when they start and what they compute."""

from __future__ import annotations

from typing import Any, Callable, Type

from smdebug.tensorflow.utils import unconverted

__all__ = ["recording_tape_class"]


def recording_tape_class(
    tape_class: Type[Any],
    entered: Callable[[], None],
    left: Callable[[], None],
    computed: Callable[[Any, Any, Any], None],
) -> Type[Any]:
    """Returns a class of tapes that report what they do.

    Parameters
    ----------
    tape_class
        TensorFlow's GradientTape, or a class of its kind.
    entered, left
        Called when a tape's block begins, and when it ends.
    computed
        Called with the target, the sources and the gradients of each computation.
    """

    class RecordingTape(tape_class):  # type: ignore[misc]
        @unconverted
        def __enter__(self) -> Any:
            entered()
            return super().__enter__()

        @unconverted
        def __exit__(self, *error: Any) -> Any:
            left()
            return super().__exit__(*error)

        @unconverted
        def gradient(self, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            gradients = super().gradient(target, sources, *args, **kwargs)
            computed(target, sources, gradients)
            return gradients

    RecordingTape.__name__ = tape_class.__name__
    return RecordingTape
