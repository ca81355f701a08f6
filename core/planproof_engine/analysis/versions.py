"""What the analyzer of an older Spark refuses or takes otherwise, and what its errors were called.

Here stands what is accepted, construct by construct (`Environment.lacks`), and what errors are called. Where a rule
computes something else, `conf.before("4.1")` stands in its place: `grep -rn 'before("' .` finds them all. Functions
have `since`, `changed` and `until` on their lines (`planproof_engine.functions`), the grammar has
`planproof_engine.sql.versions`.
"""

from __future__ import annotations

from functools import lru_cache

from planproof_engine.functions.names import release
from planproof_engine.ground import AnalysisError

_SINCE = {
    "grouping by maps": "4.0",
    "stars outside of a SELECT list": "4.0",  # WHERE coalesce(*) = 1; and x IN (*) anywhere
    "partitions checked for order": "4.0",  # PARTITION BY of a window
    "subqueries checked in lambdas": "4.0",
    "scalar subqueries of many rows": "4.0",  # a correlated one, which a check at run time then guards
    "correlation below LIMIT and set operations": "4.0",
    "correlation in windows": "4.0",
    "unequal correlation below aggregates": "4.0",  # of EXISTS and IN; scalar and lateral subqueries have it
    "days in frames over dates": "4.0",  # RANGE BETWEEN INTERVAL 7 DAYS PRECEDING
    "sorting over HAVING": "4.0",  # ORDER BY count(*) after a HAVING
    "HAVING over generators": "4.1",  # explode(xs) AS x .. HAVING x > 1: an internal error before
    "columns before aliases in keys": "4.1",  # SELECT 1 AS n, arr[n], where the input has a column n too
    "parameters in any case": "4.1",  # mask('a', UPPERCHAR => 'Q'), whose parameter is `upperChar`
    "recursion as it is": "4.1",  # several references to itself; no UNION that drops rows
    "timestamps plus NULL": "4.1",
    "SQL functions in arguments of table functions": "4.3",
    "generators looked for in grouping sets": "4.1",
    "metadata of files over projections": "4.2",  # t._metadata FROM files AS t (a, b)
    "escape character of a function": "4.0",  # like(a, b, '/'): of the grammar alone before
    "unpivoted values of any types": "4.1",  # UNPIVOT ((a, b) FOR ..) without INCLUDE NULLS
    "GROUP BY the positions of whole numbers": "4.1",  # SELECT 3 .. GROUP BY ROLLUP (1): grouped by the 1 before
    "computed keys by name": "4.1",  # ORDER BY `(a + 1)` after GROUP BY CUBE (a + 1)
    "session_user without parentheses": "4.0",
    "current_time without parentheses": "4.1",
    "localtime without parentheses": "4.3",
    "a schema of builtin functions": "4.2",  # builtin.upper('a')
    "a schema of temporary views": "4.2",  # session.v
    "aliases of keys as what they name": "4.2",  # SELECT a AS n .. GROUP BY a, ROLLUP (n)
    "names inside of grouping sets": "4.2",  # GROUP BY CUBE (struct(a AS x))
    "sorting grouping sets by what is not shown": "4.2",  # SELECT count(*) .. GROUP BY CUBE (a) ORDER BY a
    "grouping() of what is not shown": "4.2",  # ORDER BY grouping(b) over SELECT a .. GROUP BY CUBE (a, b)
    "FILTER of windows": "4.2",
    "aggregates in pipe SELECT": "4.2",
    "collations as metadata": "4.3",  # of a type as JSON, which says plain `string`
}
"""By construct: the version of Spark that brought it."""

_CALLED = {
    "4.0": {
        "ASSIGNMENT_ARITY_MISMATCH": "_LEGACY_ERROR_TEMP_1028",
        "DUPLICATED_CTE_NAMES": "_LEGACY_ERROR_TEMP_0038",
        "INVALID_AGGREGATE_FILTER.CONTAINS_AGGREGATE": "_LEGACY_ERROR_TEMP_1026",
        "INVALID_AGGREGATE_FILTER.CONTAINS_WINDOW_FUNCTION": "_LEGACY_ERROR_TEMP_1027",
        "INVALID_ATTRIBUTE_NAME_SYNTAX": "_LEGACY_ERROR_TEMP_1049",
        "INVALID_AGGREGATE_FILTER.NON_DETERMINISTIC": "_LEGACY_ERROR_TEMP_1024",
        "INVALID_AGGREGATE_FILTER.NOT_BOOLEAN": "_LEGACY_ERROR_TEMP_1025",
        "INVALID_INTERVAL_FORMAT.ARITHMETIC_EXCEPTION": "_LEGACY_ERROR_TEMP_0062",
        "INVALID_INTERVAL_FORMAT.INVALID_FRACTION": "_LEGACY_ERROR_TEMP_0062",
        "INVALID_INTERVAL_FORMAT.INVALID_UNIT": "_LEGACY_ERROR_TEMP_0062",
        "INVALID_INTERVAL_FORMAT.INVALID_VALUE": "_LEGACY_ERROR_TEMP_0062",
        "INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER": "_LEGACY_ERROR_TEMP_0062",
        "INVALID_INTERVAL_FORMAT.UNSUPPORTED_FROM_TO_EXPRESSION": "_LEGACY_ERROR_TEMP_0028",
        "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING": "_LEGACY_ERROR_TEMP_0063",
        "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING_WITH_NOTICE": "_LEGACY_ERROR_TEMP_0063",
        "INVALID_WITHIN_GROUP_EXPRESSION.WITHIN_GROUP_MISSING": "UNRESOLVED_ROUTINE",
        "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX": "_LEGACY_ERROR_TEMP_1023",
        "MISSING_WINDOW_SPECIFICATION": "_LEGACY_ERROR_TEMP_1004",
        "MULTI_ALIAS_WITHOUT_GENERATOR": "INTERNAL_ERROR",
        "NON_FOLDABLE_ARGUMENT": "_LEGACY_ERROR_TEMP_1100",
        "TRAILING_COMMA_IN_SELECT": "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
        "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.SCALAR_SUBQUERY_IN_VALUES": "INTERNAL_ERROR",
    },
    "4.2": {
        "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE": "PARSE_SYNTAX_ERROR",
        "INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT": "_LEGACY_ERROR_TEMP_1021",
        "NOT_A_SCALAR_FUNCTION": "UNRESOLVED_ROUTINE",
        "NOT_A_TABLE_FUNCTION": "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
        "UNSUPPORTED_FEATURE.LAMBDA_FUNCTION_WITH_SQL_UDF": "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT",
        "WINDOW_FUNCTION_FRAME_NOT_ORDERED": "_LEGACY_ERROR_TEMP_1037",
        "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE": "_LEGACY_ERROR_TEMP_1034",
    },
    "4.3": {
        "COLUMN_IS_NOT_VARIANT_TYPE": "INTERNAL_ERROR",
        "DATATYPE_PARAMETER_VALUE_OUT_OF_RANGE": "INTERNAL_ERROR",  # a NumberFormatException, which has no condition
        "DECIMAL_SCALE_EXCEEDS_PRECISION": "_LEGACY_ERROR_TEMP_1228",
        "INVALID_SQL_SYNTAX.EMPTY_QUANTIFIED_PATTERN": "_LEGACY_ERROR_TEMP_0064",
        "INVALID_SQL_SYNTAX.INVALID_WINDOW_FRAME_BOUND": "_LEGACY_ERROR_TEMP_0064",
        "INVALID_TABLESAMPLE_FRACTION": "_LEGACY_ERROR_TEMP_0064",
    },
}
"""What an error condition was called before a version."""


@lru_cache(maxsize=16)
def list_lacking(spark: str) -> frozenset[str]:
    """What the analyzer of a version does not have."""
    asked = release(spark)[:2]
    return frozenset(thing for thing, since in _SINCE.items() if asked < release(since))


def rename_condition(error: AnalysisError, spark: str) -> AnalysisError:
    """The error under the condition that this version of Spark has for it."""
    asked = release(spark)[:2]
    for version, names in _CALLED.items():
        if asked < release(version) and error.condition in names and not error.settled:
            return AnalysisError(names[error.condition], error.message, error.origin)
    return error
