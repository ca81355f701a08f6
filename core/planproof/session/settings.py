"""What sessions of all kinds ask Spark for, and look for in what it says."""

from __future__ import annotations

import re

MANAGED_PARTITIONS = "spark.sql.hive.manageFilesourcePartitions"
"""Where it is false, Spark neither registers partitions of Parquet tables nor lists them."""
RAW_LITERALS = "spark.sql.parser.escapedStringLiterals"
"""Where it is true, a backslash in a string literal stands for itself."""

CONF_KEYS = (
    "spark.sql.ansi.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.timestampType",
    "spark.sql.caseSensitive",
    "spark.sql.legacy.sizeOfNull",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.preserveCharVarcharTypeInfo",
    "spark.sql.legacy.literal.pickMinimumPrecision",
    RAW_LITERALS,
    "spark.sql.groupByAliases",
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.function.concatBinaryAsString",
    "spark.sql.function.eltOutputAsString",
    "spark.sql.legacy.interval.enabled",
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.sql.lateralColumnAlias.enableImplicitResolution",
    "spark.sql.orderByOrdinal",
    "spark.sql.prioritizeOrdinalResolutionInSort.enabled",
    "spark.sql.groupByOrdinal",
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere",
    "spark.sql.timestampNanosTypes.enabled",
    "spark.sql.timeType.enabled",
    "spark.sql.pyspark.worker.logging.enabled",
    "spark.sql.legacy.identifierClause",
    "spark.sql.legacy.bangEqualsNot",
    "spark.sql.legacy.ctePrecedencePolicy",
    "spark.sql.legacy.allowParameterlessCount",
    "spark.sql.legacy.allowStarWithSingleTableIdentifierInCount",
    "spark.sql.legacy.raiseErrorWithoutErrorClass",
)
"""The settings that `Conf` holds, in Spark's own spelling: setting names are case-sensitive in Spark."""

CLAIMING = re.compile(r"MapInArrow|MapInPandas|FlatMap(?:Co)?Groups|PythonDataSource")
"""What may claim NOT NULL for rows that nobody saw, in the text of a plan."""
