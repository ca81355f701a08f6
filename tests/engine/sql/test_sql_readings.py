"""A keyword that may begin a clause or be a name is what Spark's parser takes it for."""

from __future__ import annotations

from typing import Any

import pytest
from readings import READINGS

from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.sql import nodes as q
from planproof_engine.sql import parse
from planproof_engine.sql.cursor import Cursor


def shape(text: str) -> str:
    """The tree, without what tells a name in backquotes from a bare one."""
    return repr(parse(text)).replace(", quoted=True", "")


@pytest.mark.parametrize("text", READINGS)
def test_a_keyword_is_read_as_spark_reads_it(text: str) -> None:
    assert shape(text) == shape(READINGS[text])


@pytest.fixture
def readings(monkeypatch: Any) -> list[int]:
    """Where a text is read again from, each time that a name turned out to be none."""
    found: list[int] = []
    read_anew = Cursor.read_anew

    def counted(self: Cursor, start: int, error: AnalysisError) -> None:
        read_anew(self, start, error)
        found.append(self.starts[self.i])

    monkeypatch.setattr(Cursor, "read_anew", counted)
    return found


def test_only_the_query_that_a_keyword_stands_in_is_read_again(readings: list[int]) -> None:
    parse("SELECT a, (SELECT b FROM t WHERE (a)) FROM t GROUP BY a ORDER BY a LIMIT 1")
    assert readings == []
    text = "SELECT (SELECT b FROM t WHERE LIMIT IS NULL) FROM u"
    parse(text)
    assert readings == [text.index("SELECT b")]


def test_of_a_text_of_too_many_such_keywords_nothing_is_known(readings: list[int]) -> None:
    query = "SELECT b FROM t WHERE LIMIT IS NULL"
    assert len(list(parse(" UNION ".join([query] * 40)).find_all(q.Where))) == 40
    with pytest.raises(Unknown, match="so many keywords that may be names"):
        parse(" UNION ".join([query] * 400))
    with pytest.raises(AnalysisError, match="near '='"):
        parse(f"{query} = = 1")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT TRANSFORM(a) USING 'cat' AS (b ARRAY<ARRAY<INT>> , c FLOAT) FROM "
        "(SELECT TRANSFORM(d) USING 'cat' AS (a MAP<INT, ARRAY<INT>> , e INT) FROM t)",
        "SELECT (SELECT 1), a::ARRAY<ARRAY<INT>> , (SELECT b FROM ((SELECT 2) UNION (SELECT c::MAP<INT, MAP<INT, INT>> "
        "))) FROM t WHERE ((SELECT TRUE)) AND (a, b) IN ((1, 2), ((SELECT 3, 4)))",
    ],
)
def test_the_ends_of_two_types_are_one_sign_or_two(text: str) -> None:
    """Where a parenthesis closes is known before a type in it is read."""
    assert repr(parse(text)) == repr(parse(text.replace(">> ", "> >"))).replace("> >", ">>")
