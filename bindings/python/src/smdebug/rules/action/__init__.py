"""Actions that the services of AWS take when a rule's condition is met."""

from smdebug.rules.action.action import Actions

__all__ = ["Actions"]
