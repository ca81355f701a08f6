"""What sessions of all kinds ask Spark for, and look for in what it says."""

from __future__ import annotations

import re

MANAGED_PARTITIONS = "spark.sql.hive.manageFilesourcePartitions"
"""Where it is false, Spark neither registers partitions of Parquet tables nor lists them."""
RAW_LITERALS = "spark.sql.parser.escapedStringLiterals"
"""Where it is true, a backslash in a string literal stands for itself."""

CLAIMING = re.compile(r"MapInArrow|MapInPandas|FlatMap(?:Co)?Groups|PythonDataSource")
"""What may claim NOT NULL for rows that nobody saw, in the text of a plan."""
