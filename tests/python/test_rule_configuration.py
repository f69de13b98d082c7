"""Rules as a configuration file lists them, and the actions on their findings."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from smdebug import Hook, SaveConfig, create_trial, modes
from smdebug.exceptions import SMDebugValueError
from smdebug.rules import Action, BuiltinRule, RuleStatus
from smdebug.rules.configuration import ConfiguredRules

OWN_RULE = """
from smdebug.rules import Rule

class TooLarge(Rule):
    def __init__(self, base_trial, limit="1", other_trials=None):
        super().__init__(base_trial, other_trials=other_trials)
        self.limit = float(limit)

    def set_required_tensors(self, step):
        self.req_tensors.add("w", steps=[step])

    def invoke_at_step(self, step):
        ours = self.base_trial.tensor("w").value(step).max()
        theirs = [trial.tensor("w").value(step).max() for trial in self.other_trials or []]
        return ours - sum(theirs) > self.limit
"""


@pytest.fixture
def trial_dir(out_dir: str) -> str:
    with Hook(
        out_dir, save_config=SaveConfig(save_interval=1), save_all=True
    ) as hook:
        for step in range(4):
            with hook.step(modes.TRAIN):
                hook.save("gradient/w", np.full(2, 0.0 if step == 2 else 1.0))
                hook.save("w", np.array([float(step)]))
    return out_dir


def rules_of(tmp_path: Path, trial_dir: str, *configurations: dict) -> RuleSet:
    (tmp_path / "own.py").write_text(OWN_RULE)
    (tmp_path / "rules.json").write_text(json.dumps(configurations))
    return ConfiguredRules.from_file(str(tmp_path / "rules.json"), create_trial(trial_dir))


VANISHING = {
    "RuleConfigurationName": "VanishingGradient",
    "RuleEvaluatorImage": "503895931360.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rules",
    "RuleParameters": {
        "rule_to_invoke": "VanishingGradient", "threshold": "0.5", "patience": "1",
        "layers_only": "false",
    },
}
TOO_LARGE = {
    "RuleConfigurationName": "my rule",
    "RuleParameters": {"rule_to_invoke": "TooLarge", "source": "own.py", "limit": "2.5"},
}


def test_both_kinds_judge_step_after_step(tmp_path, trial_dir):
    rules = rules_of(tmp_path, trial_dir, TOO_LARGE, VANISHING)
    found = list(rules.run())
    assert [(finding.rule, finding.step) for finding in found] == [
        ("VanishingGradient", 2),
        ("my rule", 3),
    ]
    assert (found[1].mode, found[1].mode_step) == (modes.TRAIN, 3)
    assert {result.rule: result.status for result in rules.results()} == {
        "VanishingGradient": RuleStatus.HAS_FINDINGS,
        "my rule": RuleStatus.HAS_FINDINGS,
    }


def test_the_services_envelope_is_taken(tmp_path, trial_dir):
    (tmp_path / "rules.json").write_text(json.dumps({"DebugRuleConfigurations": [VANISHING]}))
    rules = ConfiguredRules.from_file(str(tmp_path / "rules.json"), create_trial(trial_dir))
    assert [finding.step for finding in rules.run(wait=False)] == [2]


def test_parameters_that_are_not_given_have_defaults_of_the_profile(tmp_path, trial_dir):
    given = {"rule_to_invoke": "VanishingGradient", "threshold": "0.5"}
    (tmp_path / "rules.json").write_text(json.dumps([{"RuleParameters": given}]))

    def steps(*profile):
        trial = create_trial(trial_dir)
        rules = ConfiguredRules.from_file(str(tmp_path / "rules.json"), trial, *profile)
        return [finding.step for finding in rules.run(wait=False)]

    assert steps() == []
    assert steps("aws") == [2]


def test_the_command_says_when_the_documented_limits_decide(tmp_path, trial_dir):
    rules_of(tmp_path, trial_dir, VANISHING)
    line = "Limits are those that the training service documents (--profile aws)"
    assert line in command(tmp_path, trial_dir, "--profile", "aws").stdout
    assert "aws" not in command(tmp_path, trial_dir).stdout
    *_, end = command(tmp_path, trial_dir, "--json").stdout.splitlines()
    assert json.loads(end)["profile"] == "calibrated"


def test_other_trials_are_paths(tmp_path, trial_dir):
    parameters = {**TOO_LARGE["RuleParameters"], "other_trials": trial_dir}
    rules = rules_of(tmp_path, trial_dir, {**TOO_LARGE, "RuleParameters": parameters})
    assert list(rules.run()) == []
    assert rules.results()[0].status is RuleStatus.PASSED


def test_a_rule_whose_tensors_are_never_there_says_so(tmp_path, trial_dir):
    (tmp_path / "other.py").write_text(OWN_RULE.replace('"w"', '"nothing"'))
    parameters = {"rule_to_invoke": "TooLarge", "source": "other.py"}
    rules = rules_of(tmp_path, trial_dir, {"RuleParameters": parameters})
    assert list(rules.run()) == []
    assert rules.results()[0].status is RuleStatus.NOT_ENOUGH_DATA


def test_stop_ends_the_run(tmp_path, trial_dir):
    stop = {**TOO_LARGE, "RuleParameters": {**TOO_LARGE["RuleParameters"], "limit": "0.5"}}
    rules = rules_of(tmp_path, trial_dir, {**stop, "Actions": [{"name": "stop"}]})
    (finding,) = rules.run()
    assert (finding.step, finding.action) == (1, Action.STOP)


@pytest.mark.parametrize(
    "configuration, message",
    [
        ({"RuleName": "x"}, "no key 'RuleName'"),
        ({"RuleParameter": {}}, "did you mean 'RuleParameters'?"),
        ({}, "a rule has a RuleConfigurationName or a rule_to_invoke"),
        ({"RuleConfigurationName": "VanishingGradiant"}, "did you mean 'VanishingGradient'?"),
        (
            {"RuleConfigurationName": "VanishingGradient", "RuleParameters": {"treshold": "1"}},
            "did you mean 'threshold'?",
        ),
        (
            {"RuleConfigurationName": "CreateXgboostReport", "RuleParameters": {"depth": "1"}},
            "CreateXgboostReport has no parameter 'depth'",
        ),
        (
            {"RuleConfigurationName": "CreateXgboostReport", "LocalPath": "s3://bucket/x"},
            "LocalPath must be a folder",
        ),
        ({"RuleParameters": {"rule_to_invoke": "X", "source": "none.py"}}, "no Python file"),
        ({"RuleParameters": {"rule_to_invoke": "X", "source": "own.py"}}, "has no rule 'X'"),
        (
            {"RuleParameters": {"rule_to_invoke": "TooLarge", "source": "own.py", "least": "1"}},
            "unexpected keyword argument 'least'",
        ),
        ({**VANISHING, "Actions": [{"name": "email"}]}, "use a command or a webhook"),
        ({**VANISHING, "Actions": [{"name": "fax"}]}, "there is no action 'fax'"),
        ({**VANISHING, "Actions": [{}]}, "an action has a name"),
        ({**VANISHING, "Actions": [{"name": "command", "command": "rm"}]}, "a list of texts"),
        ({**VANISHING, "Actions": [{"name": "webhook", "url": "file:///x"}]}, "http://"),
        ({**VANISHING, "Actions": [{"name": "signal"}]}, "'pid'"),
        ({**VANISHING, "Actions": [{"name": "signal", "pid": 1, "signal": "X"}]}, "no signal"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path, trial_dir, configuration, message):
    with pytest.raises(SMDebugValueError) as error:
        rules_of(tmp_path, trial_dir, configuration)
    assert message in str(error.value) and "rules.json: " in str(error.value)


# ---- actions ------------------------------------------------------------------------------


def test_a_command_is_given_the_finding(tmp_path, trial_dir):
    script = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    command = [sys.executable, "-c", script, str(tmp_path / "a file; with $odd name")]
    rules = rules_of(
        tmp_path, trial_dir, {**VANISHING, "Actions": [{"name": "command", "command": command}]}
    )
    list(rules.run())
    told = json.loads((tmp_path / "a file; with $odd name").read_text())
    assert set(told) == {
        "rule", "check", "tensor", "worker", "message", "step", "mode", "mode_step", "action",
        "value", "limit", "level",
    }  # fmt: skip
    assert (told["rule"], told["action"], told["step"]) == ("VanishingGradient", "warn", 2)


def test_a_command_that_fails_costs_nothing(tmp_path, trial_dir, caplog):
    actions = [
        {"name": "command", "command": ["/nowhere/at all"]},
        {"name": "command", "command": [sys.executable, "-c", "raise SystemExit(3)"]},
    ]
    rules = rules_of(tmp_path, trial_dir, {**VANISHING, "Actions": actions})
    assert len(list(rules.run())) == 1
    assert "failed" in caplog.text and "ended with code 3" in caplog.text


def test_a_webhook_is_given_the_finding(tmp_path, trial_dir):
    told = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/"
    actions = [{"name": "webhook", "url": url}, {"name": "webhook", "url": "http://127.0.0.1:9/"}]
    rules = rules_of(tmp_path, trial_dir, {**VANISHING, "Actions": actions})
    list(rules.run())
    server.shutdown()
    server.server_close()
    assert [each["step"] for each in told] == [2]


SECRET = "T0P-SECRET"


@pytest.mark.timeout(60)
def test_secrets_of_actions_stay_out_of_the_log(tmp_path, trial_dir, caplog):
    followed = []

    class Redirecting(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(307)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/other")
            self.end_headers()

        def do_GET(self):
            followed.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Redirecting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"127.0.0.1:{server.server_port}"
    actions = [
        {"name": "webhook", "url": f"http://{here}/services/{SECRET}?token={SECRET}"},
        {"name": "webhook", "url": f"http://user:{SECRET}@127.0.0.1:9/{SECRET}"},
        {"name": "webhook", "url": f"http://{here}/a path of {SECRET}"},
        {"name": "command", "command": ["/nowhere/at-all", f"--token={SECRET}"]},
        {"name": "command", "command": [sys.executable, "-c", "raise SystemExit(3)", SECRET]},
        {"name": "command", "command": [sys.executable, "-c", "pass", f"{SECRET}\0"]},
    ]
    list(rules_of(tmp_path, trial_dir, {**VANISHING, "Actions": actions}).run())
    server.shutdown()
    server.server_close()
    assert followed == []
    assert SECRET not in caplog.text
    assert "webhook at http://127.0.0.1 failed: HTTP status 307 (redirects are refused)" in caplog.text
    assert "action /nowhere/at-all failed" in caplog.text
    assert len([each for each in caplog.records if each.levelname == "ERROR"]) == len(actions)


def test_what_is_no_action_is_refused_without_its_secrets(tmp_path, trial_dir):
    action = {"url": f"http://host/{SECRET}"}
    with pytest.raises(SMDebugValueError) as raised:
        rules_of(tmp_path, trial_dir, {**VANISHING, "Actions": [action]})
    assert SECRET not in str(raised.value)


def test_a_signal_goes_to_a_process(tmp_path, trial_dir):
    script = "import time; print('ready', flush=True); time.sleep(60)"
    job = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    # While Python starts, it may lose the signal.
    assert job.stdout is not None and job.stdout.readline() == "ready\n"
    (tmp_path / "job.pid").write_text(str(job.pid))
    action = {"name": "signal", "pid_file": str(tmp_path / "job.pid"), "signal": "SIGINT"}
    list(rules_of(tmp_path, trial_dir, {**VANISHING, "Actions": [action]}).run())
    assert job.wait(30) in (-signal.SIGINT, 1, 130)
    job.stdout.close()


# ---- reports ---------------------------------------------------------------------------------


REPORT = {
    "RuleConfigurationName": "my report",
    "RuleParameters": {"rule_to_invoke": "CreateXgboostReport"},
}


def test_a_report_is_written_where_the_configuration_says(tmp_path, trial_dir):
    pages = tmp_path / "a folder" / "of pages"
    rules = rules_of(tmp_path, trial_dir, {**REPORT, "LocalPath": str(pages)}, VANISHING)
    assert len(list(rules.run())) == 1 and not pages.exists()
    assert rules.write_reports() == [str(pages / "xgboost_report.html")]
    assert "VanishingGradient" in (pages / "xgboost_report.html").read_text(encoding="utf-8")


def test_a_report_is_no_finding(tmp_path, trial_dir):
    rules_of(tmp_path, trial_dir, {**REPORT, "LocalPath": str(tmp_path)})
    done = command(tmp_path, trial_dir)
    page = tmp_path / "xgboost_report.html"
    assert (done.returncode, done.stdout) == (0, f"wrote {page}\n"), done.stderr
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    told = json.loads(command(tmp_path, trial_dir, "--json").stdout)
    assert (told["reports"], told["rules"]) == ([str(page)], [])


def test_a_report_that_cannot_be_written_says_why(tmp_path, trial_dir):
    (tmp_path / "xgboost_report.html").mkdir()
    rules_of(tmp_path, trial_dir, {**REPORT, "LocalPath": str(tmp_path)})
    done = command(tmp_path, trial_dir)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "xgboost_report.html: cannot write the file: Is a directory" in done.stderr


def test_a_report_is_no_builtin_rule(trial_dir):
    with pytest.raises(SMDebugValueError, match="smdebug report TRIAL writes its page"):
        BuiltinRule(create_trial(trial_dir), "CreateXgboostReport")


# ---- the command -----------------------------------------------------------------------------


def command(tmp_path: Path, trial_dir: str, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "smdebug.rules", str(tmp_path / "rules.json"), trial_dir, *options],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )


def test_the_command_prints_findings_and_tells_by_its_code(tmp_path, trial_dir):
    rules_of(tmp_path, trial_dir, VANISHING, TOO_LARGE)
    done = command(tmp_path, trial_dir, "--json")
    assert done.returncode == 10, done.stderr
    *findings, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["rule"], each["step"]) for each in findings] == [
        ("VanishingGradient", 2),
        ("my rule", 3),
    ]
    assert end["summary"] == {
        "passed": 0, "has_findings": 2, "no_tensors": 0, "not_enough_data": 0, "worth_a_look": 0,
    }  # fmt: skip
    text = command(tmp_path, trial_dir)
    assert "VanishingGradient at step 2: the gradient 'gradient/w' has" in text.stdout

    rules_of(tmp_path, trial_dir, {**VANISHING, "Actions": [{"name": "stop"}]})
    assert command(tmp_path, trial_dir, "--follow").returncode == 11
    (tmp_path / "rules.json").write_text("[]")
    assert command(tmp_path, trial_dir).returncode == 0


def test_the_command_says_what_is_wrong_in_one_line(tmp_path, trial_dir):
    (tmp_path / "rules.json").write_text("{")
    done = command(tmp_path, trial_dir)
    assert done.returncode == 1
    assert done.stderr.startswith("smdebug.rules: ") and len(done.stderr.splitlines()) == 1
