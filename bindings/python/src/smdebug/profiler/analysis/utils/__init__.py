"""Frames of pandas, and timelines."""
