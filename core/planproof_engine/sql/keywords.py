"""Spark's words: what the lexer calls a keyword, and which keyword may stand where a name may stand.

Source: Spark's SqlBaseLexer and the rules `nonReserved` and `strictNonReserved` of SqlBaseParser. With
`spark.sql.ansi.enforceReservedKeywords` off, the default, every keyword can be a name; only the words that join or
combine relations cannot be the alias of one.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from planproof_engine.functions.names import read_versions, release

_SINCE = read_versions(Path(__file__).with_name("keywords.txt"))
"""The version of Spark that added each keyword, from 3.5 on."""

KEYWORDS = frozenset(_SINCE)
"""Every keyword of the lexer of Spark 4.3, in upper case."""

_UNTIL = {"4.0": "PERCENTILE_CONT PERCENTILE_DISC"}
"""Keywords of older versions of Spark, by the version that dropped them."""


@lru_cache(maxsize=16)
def keywords(spark: str) -> dict[str, str]:
    """The keywords of one version's lexer, each with the one that it is read as. Any other word is a plain identifier
    to it."""
    asked = release(spark)[:2]
    known = {word for word, version in _SINCE.items() if release(version) <= asked}
    gone = (words.split() for version, words in _UNTIL.items() if asked < release(version))
    return {word: SPELLINGS.get(word, word) for word in known.union(*gone)}


SPELLINGS = {"TEMP": "TEMPORARY", "REGEXP": "RLIKE"}
"""Words that Spark's lexer reads as another keyword."""

_RELATION_WORDS = "ANTI CROSS EXCEPT FULL INNER INTERSECT JOIN LATERAL LEFT NATURAL ON RIGHT SEMI MINUS UNION USING"

STRICT_NON_RESERVED = frozenset(_RELATION_WORDS.split())
"""Keywords that can be a name, but never the alias of a relation."""

_PIPES = """
AGGREGATE ANTI AS ASOF BIN CLUSTER CROSS DISTRIBUTE DROP EXCEPT EXTEND FULL INNER INTERSECT JOIN LATERAL LEFT LIMIT
MINUS NATURAL OFFSET ORDER PIVOT RIGHT SELECT SEMI SET SORT TABLESAMPLE UNION UNPIVOT WHERE WINDOW
"""

PIPE_WORDS = frozenset(_PIPES.split())
"""Keywords that make a `|` before them a pipe operator, as `|>` is: `a | left` is no expression to Spark 4.3."""

_RESERVED = """
ALL AND ANY AS AUTHORIZATION BOTH CALL CASE CAST CHECK COLLATE COLLATION COLLATIONS COLUMN CONSTRAINT CREATE CROSS
CURRENT_DATE CURRENT_PATH CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DISTINCT ELSE END ESCAPE EXCEPT
EXECUTE FALSE FETCH FILTER FOR FOREIGN FROM FULL GRANT GROUP HAVING IN INNER INTERSECT INTO IS JOIN LATERAL LEADING LEFT
LOCALTIME NATURAL NOT NULL OFFSET ON ONLY OR ORDER OUTER OVERLAPS PERCENTILE_CONT PERCENTILE_DISC PRIMARY RECURSIVE
REFERENCES RIGHT SELECT SESSION_USER SOME SQL TABLE THEN TIME TO TRAILING UNION UNIQUE UNKNOWN USER USING WHEN WHERE
WITH WITHIN
"""

RESERVED = frozenset(_RESERVED.split())
"""Keywords that are no names under `spark.sql.ansi.enforceReservedKeywords`: all but those of Spark's rule
`ansiNonReserved`. Each is reserved in every version whose lexer has it."""

FUNCTION_WORDS = frozenset(("FILTER", "LEFT", "RIGHT"))
"""Reserved keywords that can be the name of a function (Spark's rule `functionName`)."""

CURRENT_LIKE = frozenset(
    (
        *("CURRENT_DATE", "CURRENT_PATH", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER"),
        *("LOCALTIME", "SESSION_USER", "USER"),
    )
)
"""Reserved keywords that are an expression alone (Spark's rule `currentLike`)."""

WORDS = KEYWORDS.union({"IDENTIFIER_TOKEN", "BACKQUOTED"}, *(words.split() for words in _UNTIL.values()))
"""Token kinds that Spark's rule `identifier` accepts."""

ALIAS_WORDS = WORDS - STRICT_NON_RESERVED
"""Token kinds that Spark's rule `strictIdentifier` accepts."""
