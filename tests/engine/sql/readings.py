"""Texts with a keyword that may begin a clause or be a name, each as Spark's parser reads it: its names in backquotes.

`test_sql_readings.py` holds our grammar to them, `test_sql_spark.py` holds them to Spark's own parser.
"""

from __future__ import annotations

import random

READINGS = {
    # A name wherever the rest can be read so, even where a clause could stand, too.
    "SELECT * FROM t WHERE (a)": "SELECT * FROM t `WHERE` (a)",
    "SELECT * FROM t HAVING (a, b)": "SELECT * FROM t `HAVING` (a, b)",
    "SELECT a FROM t LIMIT (x), u": "SELECT a FROM t `LIMIT` (x), u",
    "SELECT a FROM t ORDER (b) ORDER BY (c)": "SELECT a FROM t `ORDER` (b) ORDER BY (c)",
    "SELECT a FROM t WHERE (b) WHERE (c)": "SELECT a FROM t `WHERE` (b) WHERE (c)",
    "SELECT a FROM t PIVOT (x, y)": "SELECT a FROM t `PIVOT` (x, y)",
    "SELECT a FROM t TABLESAMPLE (x, y)": "SELECT a FROM t `TABLESAMPLE` (x, y)",
    "SELECT a FROM f(1) WHERE (a)": "SELECT a FROM f(1) `WHERE` (a)",
    "SELECT a FROM t JOIN u WHERE (x) ON y": "SELECT a FROM t JOIN u `WHERE` (x) ON y",
    "SELECT a FROM (SELECT 1) OFFSET (x)": "SELECT a FROM (SELECT 1) `OFFSET` (x)",
    "VALUES (1) LIMIT (a)": "VALUES (1) `LIMIT` (a)",
    "SELECT a FROM where x": "SELECT a `FROM` WHERE x",
    "SELECT a FROM UNION SELECT 1": "SELECT a `FROM` UNION SELECT 1",
    "SELECT a FROM t WHERE LIMIT 1": "SELECT a FROM t `WHERE` LIMIT 1",
    "SELECT a FROM t LIMIT WHERE b": "SELECT a FROM t `LIMIT` WHERE b",
    "SELECT a FROM t LIMIT LIMIT 1": "SELECT a FROM t `LIMIT` LIMIT 1",
    "SELECT a FROM t WHERE CROSS JOIN u": "SELECT a FROM t `WHERE` CROSS JOIN u",
    "SELECT * FROM a ASOF JOIN b": "SELECT * FROM a `ASOF` JOIN b",
    "SELECT a AS FROM": "SELECT a AS `FROM`",
    "SELECT a AS LIMIT, b AS FROM FROM t": "SELECT a AS `LIMIT`, b AS `FROM` FROM t",
    "SELECT a OFFSET FROM t": "SELECT a `OFFSET` FROM t",
    "SELECT a MINUS FROM b": "SELECT a `MINUS` FROM b",
    "SELECT a FROM FROM FROM": "SELECT a `FROM` FROM `FROM`",
    "SELECT a FROM t PIVOT (sum(a) FOR FOR b IN (1))": "SELECT a FROM t PIVOT (sum(a) `FOR` FOR b IN (1))",
    "SELECT a FROM t PIVOT (sum(a) FOR b IN (1)) LEFT JOIN u": (
        "SELECT a FROM t PIVOT (sum(a) FOR b IN (1)) `LEFT` JOIN u"
    ),
    "SELECT a FROM t UNPIVOT (v FOR n IN (a, b)) CROSS JOIN u": (
        "SELECT a FROM t UNPIVOT (v FOR n IN (a, b)) `CROSS` JOIN u"
    ),
    "SELECT a FROM t PIVOT (sum(a) FOR b IN (1)) EXCEPT": "SELECT a FROM t PIVOT (sum(a) FOR b IN (1)) `EXCEPT`",
    "FROM t WHERE |> WHERE b": "FROM t `WHERE` |> WHERE b",
    # A clause where nothing that follows can stand after a name.
    "SELECT a WHERE (b)": "SELECT `a` WHERE (b)",
    "SELECT a FROM t LIMIT (1)": "SELECT a FROM `t` LIMIT (1)",
    "SELECT a FROM t WHERE (a) AND b": "SELECT a FROM `t` WHERE (a) AND b",
    "SELECT a FROM t LIMIT WHERE": "SELECT a FROM t LIMIT `WHERE`",
    "SELECT a LIMIT LIMIT": "SELECT a LIMIT `LIMIT`",
    "SELECT a FROM FROM": "SELECT a FROM `FROM`",
    "SELECT a FROM t WHERE LEFT": "SELECT a FROM t WHERE `LEFT`",
    "SELECT a FROM t WHERE ORDER = 1": "SELECT a FROM t WHERE `ORDER` = 1",
    "SELECT a AS WHERE x": "SELECT a `AS` WHERE x",
    "SELECT a AS ORDER BY x": "SELECT a `AS` ORDER BY x",
    "SELECT a FROM t AS WHERE x": "SELECT a FROM t `AS` WHERE x",
    "SELECT a FROM t PIVOT (sum(a) FOR b IN (1)) WHERE (c)": "SELECT a FROM t PIVOT (sum(a) FOR b IN (1)) WHERE (`c`)",
    "SELECT a FROM t WINDOW WINDOW AS (ORDER BY b)": "SELECT a FROM t WINDOW `WINDOW` AS (ORDER BY b)",
    "SELECT a FROM t LATERAL VIEW explode(b) c WHERE (d)": "SELECT a FROM t LATERAL VIEW explode(b) `c` WHERE (d)",
    # What only the tokens far behind the keyword tell: the name was tried.
    "SELECT a FROM t WHERE LIMIT IS NULL": "SELECT a FROM t WHERE `LIMIT` IS NULL",
    "SELECT a FROM t WHERE ORDER IN (1)": "SELECT a FROM t WHERE `ORDER` IN (1)",
    "SELECT (SELECT b FROM t WHERE LIMIT IS NULL) FROM u HAVING OFFSET IS NULL": (
        "SELECT (SELECT b FROM t WHERE `LIMIT` IS NULL) FROM u HAVING `OFFSET` IS NULL"
    ),
}

_WORDS = """
FROM WHERE HAVING QUALIFY LIMIT OFFSET GROUP ORDER SORT LATERAL UNION EXCEPT MINUS WINDOW PIVOT TABLESAMPLE JOIN LEFT
CROSS ON USING SELECT VALUES SET FOR AS BY ASOF FULL
"""
_PARTS = (
    *("a", "b", "1", "(a)", "(a, b)", "(1)", ",", "BY a", "w AS (ORDER BY a)", "VIEW explode(a) c", "> 1", "= b"),
    *("JOIN u", "(SELECT a FROM t WHERE (a))", "|> WHERE a", "ON a", "(sum(a) FOR b IN (1))", "(1 ROWS)"),
)


def random_texts(seed: int, count: int) -> list[str]:
    """Queries of keywords, most of them no queries."""
    chance = random.Random(seed)
    words, texts = _WORDS.split(), []
    for _ in range(count):
        text = f"SELECT {chance.choice(('a', '1', 'a, b', '*', 'where'))}"
        text += "".join(f" {chance.choice(words)}" for _ in range(chance.randint(0, 2)))
        if chance.random() < 0.75:
            text += f" FROM {chance.choice(('t', 't AS v', '(SELECT 1)', 'f(1)', 'where', 't, u'))}"
        for _ in range(chance.randint(1, 4)):
            text += f" {chance.choice(words if chance.random() < 0.5 else _PARTS)}"
        texts.append(text)
    return texts
