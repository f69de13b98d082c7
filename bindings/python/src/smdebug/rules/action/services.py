"""Clients of AWS services other than S3, from the package boto3."""

from __future__ import annotations

import os
from typing import Any

from smdebug.core.utils import import_framework

__all__ = ["service_client"]


def service_client(service: str) -> Any:
    """Returns boto3's client of a service, for the region that AWS_REGION names.

    A service that does not answer delays the rule by seconds, not by minutes.

    Raises
    ------
    ImportError
        If boto3 is not installed.
    """
    boto3 = import_framework("boto3", "boto3", "an action of a rule")
    config = import_framework("botocore.config", "boto3", "an action of a rule")
    return boto3.client(
        service,
        region_name=os.environ.get("AWS_REGION", "us-east-1"),
        config=config.Config(connect_timeout=5, read_timeout=10, retries={"max_attempts": 2}),
    )
