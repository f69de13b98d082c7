"""Runs the rules of a configuration file over a trial: python -m smdebug.rules."""

from __future__ import annotations

import argparse
import json
import sys
from typing import List, Optional

from smdebug.core.verdict import Action, VerdictStatus
from smdebug.exceptions import SMDebugError
from smdebug.rules.actions import verdict_to_json
from smdebug.rules.configuration import RuleSet
from smdebug.trials.utils import create_trial

EXIT_FINDINGS = 10
EXIT_STOP = 11
EXIT_ERROR = 1


def main(arguments: Optional[List[str]] = None) -> int:
    """The command; returns its exit code."""
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
        description="Judges a trial by the rules of a configuration file, built-in ones and "
        "those written in Python.",
        epilog="Exit codes: 0 nothing found, 10 findings, 11 a finding asked to stop, 1 an error.",
    )
    parser.add_argument("configuration", help="JSON file: a list of rule configurations")
    parser.add_argument("trial", help="folder of the trial, or s3://bucket/prefix")
    parser.add_argument("--follow", action="store_true", help="go on until the job has ended")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--profile", default="aws", choices=("aws", "calibrated"))
    return parser


def _run(options: argparse.Namespace) -> int:
    rules = RuleSet.from_file(options.configuration, create_trial(options.trial), options.profile)
    code = 0
    for verdict in rules.run(wait=options.follow):
        print(json.dumps(verdict_to_json(verdict)) if options.json else verdict, flush=True)
        code = EXIT_STOP if verdict.action is Action.STOP else EXIT_FINDINGS
    pages = rules.write_reports()
    outcomes = rules.outcomes()
    if options.json:
        counts = {
            status.name.lower(): sum(outcome.status is status for outcome in outcomes)
            for status in VerdictStatus
        }
        told = [verdict_to_json(outcome) for outcome in outcomes]
        print(json.dumps({"summary": counts, "rules": told, "reports": pages}))
    else:
        for outcome in outcomes:
            print(f"{outcome.rule}: {outcome.message}")
        for page in pages:
            print(f"wrote {page}")
    return code


if __name__ == "__main__":
    sys.exit(main())
