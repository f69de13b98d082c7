"""Lets Spark find the data source "smdebug", without registering it."""

from smdebug.spark import DefaultSource

__all__ = ["DefaultSource"]
