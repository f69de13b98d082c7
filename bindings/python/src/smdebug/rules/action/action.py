"""The actions of a rule."""

from __future__ import annotations

import json
from typing import Any, List, Mapping, Optional, Union

from smdebug.core.logger import get_logger
from smdebug.rules.action.message_action import MessageAction
from smdebug.rules.action.stop_training_action import StopTrainingAction

__all__ = ["ALLOWED_ACTIONS", "Actions"]

ALLOWED_ACTIONS = ["stoptraining", "sms", "email"]

Action = Union[MessageAction, StopTrainingAction]


class Actions:
    """The actions that a JSON text describes.  Invalid entries are logged.

    Parameters
    ----------
    actions_str : str or None
        An object or a list of objects: {"name": "sms", "endpoint": "+491701234567"},
        {"name": "email", "endpoint": "me@example.org"} or {"name": "stoptraining",
        "training_job_prefix": "my-job"}.
    rule_name : str
        The rule that owns the actions.
    """

    def __init__(self, actions_str: Optional[str], rule_name: str) -> None:
        self._actions: List[Action] = []
        self._logger = get_logger()
        text = (actions_str or "").strip()
        if text:
            self._register_actions(text, rule_name)

    def invoke(self, message: str = "") -> None:
        """Runs the actions, in order."""
        for action in self._actions:
            action.invoke(message)

    def _register_actions(self, actions_str: str, rule_name: str) -> None:
        try:
            described: Any = json.loads(actions_str)
        except ValueError as error:
            self._logger.warning("the actions of rule %s are not JSON: %s", rule_name, error)
            return
        for each in described if isinstance(described, list) else [described]:
            action = self._action_of(each, rule_name)
            if action is not None:
                self._actions.append(action)

    def _action_of(self, described: Any, rule_name: str) -> Optional[Action]:
        if not isinstance(described, dict):
            self._logger.warning("an action of rule %s is not a JSON object", rule_name)
            return None
        # Keys and names are case-insensitive.
        settings: Mapping[str, Any] = {key.lower(): value for key, value in described.items()}
        name = str(settings.get("name", "")).lower()
        if name not in ALLOWED_ACTIONS:
            self._logger.warning(
                "rule %s: no action is called %r; known: %s", rule_name, name, ALLOWED_ACTIONS
            )
            return None
        key = "training_job_prefix" if name == "stoptraining" else "endpoint"
        value = settings.get(key)
        if not isinstance(value, str) or not value:
            self._logger.warning("rule %s: the action %s needs %r", rule_name, name, key)
            return None
        if name == "stoptraining":
            return StopTrainingAction(rule_name, value)
        return MessageAction(rule_name, name, value)
