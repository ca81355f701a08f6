"""The settings of Spark that change what a query means."""

CONF_KEYS = (
    "spark.sql.ansi.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.timestampType",
    "spark.sql.caseSensitive",
    "spark.sql.legacy.sizeOfNull",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.preserveCharVarcharTypeInfo",
    "spark.sql.legacy.literal.pickMinimumPrecision",
    "spark.sql.parser.escapedStringLiterals",
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
)
"""The settings that `Conf` holds, in Spark's own spelling: setting names are case-sensitive in Spark."""
