"""What is done when a rule finds something: commands, webhooks, signals, the end of a run.

None of it goes through a shell; commands and webhooks are given the verdict as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, List, Mapping

from smdebug.core.logger import get_logger
from smdebug.core.verdict import Verdict
from smdebug.exceptions import SMDebugValueError

__all__ = ["Act", "make_action", "verdict_to_json"]

Act = Callable[[Verdict], None]

# A command or a webhook that hangs must not hold the rules up.
_TIMEOUT_SECONDS = 30.0

# What the service's actions of these names are replaced by.
_GONE = {"email": "a command or a webhook", "sms": "a command or a webhook"}


def verdict_to_json(verdict: Verdict) -> Dict[str, Any]:
    """A verdict with names and numbers that JSON has."""
    return {
        "rule": verdict.rule,
        "status": verdict.status.name.lower(),
        "step": verdict.step,
        "mode": verdict.mode.name,
        "worker": verdict.worker,
        "tensor": verdict.tensor,
        "value": verdict.value,
        "limit": verdict.limit,
        "message": verdict.message,
    }


def make_action(settings: Mapping[str, Any]) -> Act:
    """The action that a configuration describes.

    Parameters
    ----------
    settings : mapping
        {"name": "command", "command": [program, argument, ...]},
        {"name": "webhook", "url": "https://..."},
        {"name": "signal", "pid": 123 or "pid_file": path, "signal": "SIGTERM"}.

    Raises
    ------
    SMDebugValueError
        If it describes none; the message names the key.
    """
    if not isinstance(settings, Mapping) or "name" not in settings:
        raise SMDebugValueError(f"an action has a name, which {settings!r} has not")
    name = str(settings["name"]).lower()
    if name in _GONE:
        raise SMDebugValueError(f"there is no action {name!r} here; use {_GONE[name]}")
    if name not in _ACTIONS:
        raise SMDebugValueError(f"there is no action {name!r}; there are {', '.join(_ACTIONS)}")
    return _ACTIONS[name](settings)


def _command(settings: Mapping[str, Any]) -> Act:
    command: List[str] = settings.get("command")  # type: ignore[assignment]
    is_list = isinstance(command, list) and all(isinstance(each, str) for each in command)
    if not is_list or not command:
        raise SMDebugValueError("'command' is a list of texts: a program and its arguments")

    def act(verdict: Verdict) -> None:
        text = json.dumps(verdict_to_json(verdict))
        try:
            done = subprocess.run(
                command, input=text, text=True, timeout=_TIMEOUT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            get_logger().error("action %s failed: %s", command, error)
            return
        if done.returncode != 0:
            get_logger().error("action %s ended with code %d", command, done.returncode)

    return act


def _webhook(settings: Mapping[str, Any]) -> Act:
    url = settings.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise SMDebugValueError("'url' is the address of a webhook: http://... or https://...")

    def act(verdict: Verdict) -> None:
        request = urllib.request.Request(
            url,
            data=json.dumps(verdict_to_json(verdict)).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS):
                pass
        except (OSError, urllib.error.URLError) as error:
            get_logger().error("webhook %s failed: %s", url, error)

    return act


def _signal(settings: Mapping[str, Any]) -> Act:
    name = str(settings.get("signal", "SIGTERM"))
    if name not in signal.Signals.__members__:
        raise SMDebugValueError(f"there is no signal {name!r}")
    number = signal.Signals[name]
    pid, pid_file = settings.get("pid"), settings.get("pid_file")
    if (pid is None) == (pid_file is None):
        raise SMDebugValueError("a signal goes to 'pid', or to the process in 'pid_file'")

    def act(verdict: Verdict) -> None:
        try:
            if pid_file is None:
                target = int(str(pid))
            else:
                with open(pid_file, encoding="ascii") as file:
                    target = int(file.read())
            # 0 and below are groups of processes.
            if target > 1:
                os.kill(target, number)
        except (OSError, ValueError) as error:
            get_logger().error("%s to stop at %s failed: %s", name, verdict, error)

    return act


_ACTIONS: Dict[str, Callable[[Mapping[str, Any]], Act]] = {
    "command": _command,
    "webhook": _webhook,
    "signal": _signal,
}
