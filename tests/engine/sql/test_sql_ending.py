"""A query's text as it stands inside another one: without what closes it."""

from __future__ import annotations

import pytest

from planproof_engine.sql.edits import drop_terminators


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("select 1", "select 1"),
        (" select 1 ; ", "select 1"),
        ("select 1;; -- the end;\n", "select 1"),
        ("select 1 /* ; */ ; /* more */ ;", "select 1 /* ; */"),
        ("select ';' as a -- no; end", "select ';' as a -- no; end"),
        ("select `a;` from t;", "select `a;` from t"),
        ("select 1 /* open ;", "select 1 /* open"),
        ("", ""),
    ],
)
def test_only_what_closes_a_query_is_taken_away(text: str, bare: str) -> None:
    assert drop_terminators(text) == bare
