"""Samples of system metrics."""

from __future__ import annotations

from typing import Optional

__all__ = ["ProfilerSystemEvent"]


class ProfilerSystemEvent:
    """A sample of a system metric.

    Attributes
    ----------
    type : str
        "cpu", "gpu", "memory", "i/o" or "network".
    name : str or None
        Such as "cpu0".
    dimension : str
        Such as "CPUUtilization".
    value : float
        The sample.
    node_id : str
        Such as "algo-1".
    timestamp : float
        Seconds since 1970.
    """

    def __init__(
        self,
        event_type: str,
        name: Optional[str],
        dimension: str,
        value: float,
        node_id: str,
        timestamp: float,
    ) -> None:
        self.type = event_type
        self.name = name
        self.dimension = dimension
        self.value = value
        self.node_id = node_id
        self.timestamp = timestamp
