"""Helpers for code that analyses trials."""
