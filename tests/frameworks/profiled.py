"""Profiles of trainings: what all hooks have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest
from smdebug.profiler import LocalAlgorithmMetricsReader


def configure(monkeypatch: pytest.MonkeyPatch, folder: Path, **parameters: Any) -> Path:
    """Configures the job to be profiled, and returns the folder of the profile."""
    profile = folder / "Profile"
    config = folder / "profilerconfig.json"
    config.write_text(
        json.dumps({"ProfilingParameters": {"LocalPath": str(profile), **parameters}})
    )
    monkeypatch.setenv("SMPROFILER_CONFIG_PATH", str(config))
    return profile


def steps_in(profile: Path) -> Dict[str, List[int]]:
    """Returns the steps of each mode."""
    reader = LocalAlgorithmMetricsReader(str(profile))
    reader.refresh_event_file_list()
    found: Dict[str, List[int]] = {}
    for each in reader.get_events(0, 4_000_000_000_000_000):
        if each.event_phase.startswith("Step:"):
            assert each.event_name == each.event_phase and each.duration >= 0
            found.setdefault(each.event_phase, []).append(int(each.event_args["step_num"]))
    assert (profile / "framework" / "training_job_end.ts").exists()
    return {phase: sorted(steps) for phase, steps in found.items()}
