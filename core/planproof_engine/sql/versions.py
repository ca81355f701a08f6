"""What the grammar of an older Spark lacks, construct by construct.

A word that is no keyword yet is an identifier to that version's lexer (`planproof_engine.sql.keywords`); most of what a
newer Spark brought is no grammar there for that reason alone, and needs no entry here.
"""

from __future__ import annotations

from functools import lru_cache

from planproof_engine.functions.names import release

_SINCE = {
    "shifts": "4.0",  # << >> >>>
    "double colon": "4.0",  # x :: INT
    "pipe": "4.0",  # |>
    "dollar quotes": "4.3",  # $$text$$
    "bar before a pipe's word": "4.2",  # `a | left` is no expression
    "time travel by @": "4.3",
    "doubled quotes": "4.1",  # 'it''s' is one token
    "letters beyond ASCII": "4.0",  # in a name without quotes, which a later check refuses
    "COLLATE": "4.0",
    "COLLATE of CHAR": "4.2",
    "star EXCEPT": "4.0",
    "WITHIN GROUP": "4.0",  # of any function
    "bare FROM": "4.0",  # FROM t, without a SELECT
    "table options": "4.0",  # t WITH (key = value)
    "partitioned table argument": "4.0",
    "variant path": "4.1",  # v:a.b[0]
    "EXECUTE IMMEDIATE of expressions": "4.1",
    "trimming collations": "4.1",  # UTF8_BINARY_RTRIM
    "schema of a table function": "4.2",
    "TIME": "4.1",  # the type and its literal
    "grouping in pipe SELECT": "4.2",
    "pipe DROP of fields": "4.2",
    "alias of PIVOT": "4.2",
    "precision of timestamps": "4.3",
}
"""Each construct to the version that brought it."""

_UNTIL = {"percentiles": "4.0"}  # PERCENTILE_CONT(x) WITHIN GROUP (ORDER BY y) as grammar of its own
"""Constructs of older Sparks, to the version that has them no more."""


@lru_cache(maxsize=16)
def list_lacking(spark: str) -> frozenset[str]:
    """The constructs that the grammar of a version does not have."""
    asked = release(spark)[:2]
    younger = {construct for construct, since in _SINCE.items() if asked < release(since)}
    return frozenset(younger | {construct for construct, until in _UNTIL.items() if asked >= release(until)})
