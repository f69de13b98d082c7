"""Sends a message by SMS or e-mail, through Amazon SNS."""

from __future__ import annotations

import json
from typing import Any, Optional

from smdebug.core.logger import get_logger
from smdebug.rules.action.services import service_client

__all__ = ["MessageAction"]

# The attribute by which the topic selects the subscribers of a message.
_ATTRIBUTES = {"sms": "phone_num", "email": "email"}


class MessageAction:
    """Publishes to the topic SMDebugRules, which is created if it is missing.

    The address is subscribed to the topic when the action is created; its owner confirms that
    once.  Failures are logged and stop no rule.

    Parameters
    ----------
    rule_name : str
        The rule that the message names.
    message_type : str
        "sms" or "email".
    message_endpoint : str
        A phone number or an e-mail address.
    """

    def __init__(self, rule_name: str, message_type: str, message_endpoint: str) -> None:
        self._topic_name = "SMDebugRules"
        self._rule_name = rule_name
        self._message_endpoint = message_endpoint
        self._protocol = message_type if message_type in _ATTRIBUTES else None
        self._logger = get_logger()
        self._sns_client: Any = None
        self._topic_arn: Optional[str] = None
        self._last_send_mesg_response: Any = None
        self._last_subscription_response: Any = None
        if self._protocol is None:
            self._logger.warning("a message type is sms or email, not %r", message_type)
            return
        try:
            self._sns_client = service_client("sns")
        except Exception as error:
            self._logger.warning("rule %s sends no messages: %s", rule_name, error)
            return
        self._topic_arn = self._create_sns_topic_if_not_exists()
        self._subscribe_mesgtype_endpoint()

    def invoke(self, message: str) -> None:
        """Sends a message that begins with the rule's name."""
        self._send_message(message)

    def _create_sns_topic_if_not_exists(self) -> Optional[str]:
        """Returns the topic's ARN, or None if the topic cannot be created."""
        try:
            return str(self._sns_client.create_topic(Name=self._topic_name)["TopicArn"])
        except Exception as error:
            self._logger.warning("cannot make the topic %s: %s", self._topic_name, error)
            return None

    def _check_subscriptions(self, topic_arn: str, protocol: str, endpoint: str) -> bool:
        """Returns True if the address has a subscription to the topic."""
        wanted = (topic_arn, protocol, endpoint)
        try:
            for page in self._sns_client.get_paginator("list_subscriptions").paginate():
                for found in page["Subscriptions"]:
                    if (found["TopicArn"], found["Protocol"], found["Endpoint"]) == wanted:
                        return True
        except Exception as error:
            self._logger.warning("cannot list the topic's subscriptions: %s", error)
        return False

    def _subscribe_mesgtype_endpoint(self) -> None:
        if self._topic_arn is None or self._protocol is None:
            return
        if self._check_subscriptions(self._topic_arn, self._protocol, self._message_endpoint):
            self._last_subscription_response = "there is a subscription already"
            return
        policy = {_ATTRIBUTES[self._protocol]: [self._message_endpoint]}
        try:
            self._last_subscription_response = self._sns_client.subscribe(
                TopicArn=self._topic_arn,
                Protocol=self._protocol,
                Endpoint=self._message_endpoint,
                Attributes={"FilterPolicy": json.dumps(policy)},
            )
        except Exception as error:
            self._logger.warning("cannot subscribe an address to messages: %s", error)

    def _send_message(self, message: str) -> Any:
        response = None
        if self._topic_arn is not None and self._protocol is not None:
            title = f"SMDebugRule:{self._rule_name} fired"
            address = {"DataType": "String", "StringValue": self._message_endpoint}
            try:
                response = self._sns_client.publish(
                    TopicArn=self._topic_arn,
                    Subject=title,
                    Message=f"{title}. {message}",
                    MessageAttributes={_ATTRIBUTES[self._protocol]: address},
                )
            except Exception as error:
                self._logger.error("rule %s: the message was not sent: %s", self._rule_name, error)
        self._last_send_mesg_response = response
        return response
