"""The settings that every kind of session asks Spark for, and the patterns that it looks for in the text of plans."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from planproof.session.protocol import SparkFailure
from planproof_engine.conf import Conf, UnknownSpark

MANAGED_PARTITIONS = "spark.sql.hive.manageFilesourcePartitions"
"""Where it is false, Spark neither registers partitions of Parquet tables nor lists them."""
RAW_LITERALS = "spark.sql.parser.escapedStringLiterals"
"""Where it is true, a backslash in a string literal stands for itself."""

COMPARED = "spark.sql.execution.arrow.pyspark.validateSchema.enabled"
"""Where it is true, Spark compares each batch of a Python function with what the function declares. An older Spark
accepts the setting and ignores it."""

CLAIMING = re.compile(r"MapInArrow|MapInPandas|FlatMap(?:Co)?Groups|PythonDataSource")
"""Nodes that may claim NOT NULL for rows that Spark did not look at, in the text of a plan."""


BY_PLACE = re.compile(r"\b(?:(?:Python)?MapInArrow|FlatMap(?:Co)?GroupsInArrow)\b")
"""Nodes that give batches whose columns Spark takes by position, in the text of a plan; before 4.0 with `Python`."""


def conf_of(version: str, found: Mapping[str, str | None], provider: str | None) -> Conf:
    """The conf of a live Spark: its version's defaults, and over them what Spark says of each setting (None: nothing).

    `provider` is its `spark.sql.sources.default`. Raises `SparkFailure` where planproof does not know the version.
    """
    try:
        conf = Conf.of(version, {key: value for key, value in found.items() if value is not None})
    except UnknownSpark as error:
        raise SparkFailure(str(error)) from None
    return replace(conf, create_table_provider=provider or conf.create_table_provider)
