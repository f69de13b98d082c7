"""Analyses of what the profiler recorded."""
