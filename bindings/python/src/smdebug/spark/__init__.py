"""Tables of trials in Spark 4: ``spark.read.format("smdebug").load("s3://jobs/*")``.

Spark finds the data source by its package `pyspark_smdebug`; nothing needs to be registered.
"""

from smdebug.core.utils import import_framework

import_framework("pyspark.sql.datasource", "'libsmdebug[spark]'", "smdebug.spark")

from smdebug.spark.source import DefaultSource  # noqa: E402

__all__ = ["DefaultSource"]
