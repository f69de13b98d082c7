"""The actions on a finding: commands, webhooks and signals.

No action uses a shell.  Commands and webhooks receive the finding as JSON.  Arguments and
addresses may hold secrets: the log names only a command's program and a webhook's host.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, List, Mapping

from smdebug.core.logger import get_logger
from smdebug.core.finding import Finding
from smdebug.exceptions import SMDebugValueError

__all__ = ["Act", "make_action", "finding_to_json"]

Act = Callable[[Finding], None]

# A command or a webhook that does not return must not block the rules.
_TIMEOUT_SECONDS = 30.0

# The replacements for the service's actions with these names.
_GONE = {"email": "a command or a webhook", "sms": "a command or a webhook"}


def finding_to_json(finding: Finding) -> Dict[str, Any]:
    """Returns a finding as a JSON object; mode, action and level become names."""
    return {
        **vars(finding),
        "mode": finding.mode.name,
        "action": finding.action.name.lower(),
        "level": finding.level.name.lower(),
    }


def make_action(settings: Mapping[str, Any]) -> Act:
    """Creates the action that a configuration describes.

    Parameters
    ----------
    settings : mapping
        {"name": "command", "command": [program, argument, ...]},
        {"name": "webhook", "url": "https://..."},
        {"name": "signal", "pid": 123 or "pid_file": path, "signal": "SIGTERM"}.

    Raises
    ------
    SMDebugValueError
        If the description is invalid; the message names the key.
    """
    if not isinstance(settings, Mapping) or "name" not in settings:
        raise SMDebugValueError('an action has a name, as in {"name": "command", ...}')
    name = str(settings["name"]).lower()
    if name in _GONE:
        raise SMDebugValueError(f"there is no action {name!r}; use {_GONE[name]}")
    if name not in _ACTIONS:
        raise SMDebugValueError(f"there is no action {name!r}; there are {', '.join(_ACTIONS)}")
    return _ACTIONS[name](settings)


def _command(settings: Mapping[str, Any]) -> Act:
    command: List[str] = settings.get("command")  # type: ignore[assignment]
    is_list = isinstance(command, list) and all(isinstance(each, str) for each in command)
    if not is_list or not command:
        raise SMDebugValueError("'command' is a list of texts: a program and its arguments")

    def act(finding: Finding) -> None:
        text = json.dumps(finding_to_json(finding))
        try:
            done = subprocess.run(
                command, input=text, text=True, timeout=_TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            get_logger().error(
                "action %s did not end within %g seconds", command[0], _TIMEOUT_SECONDS
            )
            return
        except (OSError, ValueError) as error:
            get_logger().error("action %s failed: %s", command[0], _reason(error))
            return
        if done.returncode != 0:
            get_logger().error("action %s ended with code %d", command[0], done.returncode)

    return act


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Makes a redirect an error: what is sent is for the host that was named."""

    def redirect_request(self, *_arguments: Any, **_settings: Any) -> None:
        return None


def _reason(error: Exception) -> str:
    """Why it failed, without the texts that libraries quote addresses and arguments in."""
    if isinstance(error, urllib.error.HTTPError):
        is_redirect = 300 <= error.code < 400
        return f"HTTP status {error.code}" + (" (redirects are refused)" if is_redirect else "")
    reason = getattr(error, "reason", None) if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return type(reason if isinstance(reason, Exception) else error).__name__


def _webhook(settings: Mapping[str, Any]) -> Act:
    url = settings.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise SMDebugValueError("'url' is the address of a webhook: http://... or https://...")
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        raise SMDebugValueError("'url' is the address of a webhook, and names no host")
    # The path, the query and the user's name are secrets of many services.
    place = f"{parts.scheme}://{host}"
    opener = urllib.request.build_opener(_NoRedirect)

    def act(finding: Finding) -> None:
        request = urllib.request.Request(
            url,
            data=json.dumps(finding_to_json(finding)).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with opener.open(request, timeout=_TIMEOUT_SECONDS):
                pass
        except (OSError, ValueError, http.client.HTTPException) as error:
            get_logger().error("webhook at %s failed: %s", place, _reason(error))

    return act


def _signal(settings: Mapping[str, Any]) -> Act:
    name = str(settings.get("signal", "SIGTERM"))
    if name not in signal.Signals.__members__:
        raise SMDebugValueError(f"there is no signal {name!r}")
    number = signal.Signals[name]
    pid, pid_file = settings.get("pid"), settings.get("pid_file")
    if (pid is None) == (pid_file is None):
        raise SMDebugValueError("a signal goes to 'pid', or to the process in 'pid_file'")

    def act(finding: Finding) -> None:
        try:
            if pid_file is None:
                target = int(str(pid))
            else:
                with open(pid_file, encoding="ascii") as file:
                    target = int(file.read())
            # Numbers up to 0 are process groups, and 1 is the init process.
            if target > 1:
                os.kill(target, number)
        except (OSError, ValueError) as error:
            get_logger().error("%s to stop at %s failed: %s", name, finding, error)

    return act


_ACTIONS: Dict[str, Callable[[Mapping[str, Any]], Act]] = {
    "command": _command,
    "webhook": _webhook,
    "signal": _signal,
}
