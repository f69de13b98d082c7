"""Runs the rules of a configuration file over a trial: python -m smdebug.rules."""

from __future__ import annotations

import argparse
import json
import sys
from typing import List, Optional

from smdebug.core.finding import Action, Level, RuleStatus
from smdebug.exceptions import SMDebugError
from smdebug.rules.actions import finding_to_json
from smdebug.rules.configuration import ConfiguredRules
from smdebug.trials.utils import create_trial

EXIT_FINDINGS = 10
EXIT_STOP = 11
EXIT_ERROR = 1

ABOUT_AWS = (
    "Limits are those that the training service documents (--profile aws): "
    "they report most healthy runs, too."
)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command and returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except (SMDebugError, OSError) as error:
        print(f"smdebug.rules: {error}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m smdebug.rules",
        description="Evaluates the rules of a configuration file on a trial: built-in rules and "
        "rules written in Python.",
        epilog="Exit codes: 0 nothing found or only worth a look, 10 findings, 11 a finding recommended to stop, 1 an error.",
    )
    parser.add_argument("configuration", help="JSON file: a list of rule configurations")
    parser.add_argument("trial", help="folder of the trial, or s3://bucket/prefix")
    parser.add_argument("--follow", action="store_true", help="continue until the job has ended")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--profile",
        default="calibrated",
        choices=("calibrated", "aws"),
        help="defaults of parameters: calibrated ones, or those that the training service documents",
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    rules = ConfiguredRules.from_file(options.configuration, create_trial(options.trial), options.profile)
    code = 0
    for finding in rules.run(wait=options.follow):
        print(json.dumps(finding_to_json(finding)) if options.json else finding, flush=True)
        if finding.level is Level.WORTH_A_LOOK:
            continue
        code = EXIT_STOP if finding.action is Action.STOP else EXIT_FINDINGS
    pages = rules.write_reports()
    results = rules.results()
    if options.json:
        counts = {
            status.name.lower(): sum(result.status is status for result in results)
            for status in RuleStatus
        }
        rows = [
            {
                "rule": result.rule,
                "status": result.status.name.lower(),
                "finding_count": result.finding_count,
                "look_count": result.look_count,
                "message": result.message,
            }
            for result in results
        ]
        summary = {"profile": options.profile, "summary": counts, "rules": rows, "reports": pages}
        print(json.dumps(summary))
    else:
        for result in results:
            print(result)
        if options.profile == "aws":
            print(ABOUT_AWS)
        for page in pages:
            print(f"wrote {page}")
    return code


if __name__ == "__main__":
    sys.exit(main())
