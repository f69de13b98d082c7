"""Prints what a smdebug's analysis of Python profiles answers, as JSON.

usage: dump_python_profiles.py FOLDER
"""

import json
import sys

from smdebug.profiler.analysis.python_profile_analysis import cProfileAnalysis
from smdebug.profiler.python_profile_utils import PythonProfileModes, StepPhase

FIRST = 1706745541


def stats(found):
    if found is None:
        return None
    return sorted(
        [f.function_name, f.prim_calls, f.total_calls, f.total_time, f.cumulative_time, sorted(f.callers)]
        for f in found.function_stats_list
    )


def main():
    analysis = cProfileAnalysis(local_profile_dir=sys.argv[1])
    nodes = analysis.list_available_node_ids()
    table = analysis.list_profile_stats()
    answers = {"nodes": nodes, "columns": list(table.columns), "rows": table.astype(str).values.tolist()}
    for node in ["any", "none", *nodes]:
        by_step = analysis.fetch_profile_stats_by_step
        answers[node] = {
            "step": stats(by_step(1, node_id=node)),
            "steps": stats(by_step(0, 2, node_id=node)),
            "forward": stats(by_step(1, start_phase=StepPhase.FORWARD_PASS_END, node_id=node)),
            "early": stats(by_step(0, 1, end_phase=StepPhase.STEP_START, node_id=node)),
            "eval": stats(by_step(1, 9, mode=PythonProfileModes.EVAL, node_id=node)),
            "time": stats(analysis.fetch_profile_stats_by_time(FIRST, FIRST + 2, node_id=node)),
            "before": stats(analysis.fetch_pre_step_zero_profile_stats(node_id=node)),
            "after": stats(analysis.fetch_post_hook_close_profile_stats(node_id=node)),
            "between": stats(
                analysis.fetch_profile_stats_between_modes(
                    PythonProfileModes.TRAIN, PythonProfileModes.EVAL, node_id=node
                )
            ),
            "phases": {
                f"{start.name} {end.name}": stats(found)
                for (start, end), found in analysis.fetch_profile_stats_by_training_phase(
                    node_id=node
                ).items()
            },
            "job": {
                phase: stats(found)
                for phase, found in analysis.fetch_profile_stats_by_job_phase(node_id=node).items()
            },
        }
    print(json.dumps(answers))


main()
