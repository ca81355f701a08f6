"""`EXECUTE IMMEDIATE`: the query in the text, however deep; commands are unknown by name."""

from __future__ import annotations

import pytest

from planproof import AnalysisError, Catalog, Unknown
from planproof_engine.api import plan

CATALOG = Catalog({"t": [("id", "int", False), ("s", "string", True)]})


def test_the_text_may_execute_another_text() -> None:
    made = plan(r"EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE \'SELECT s FROM t WHERE id = ?\' USING 10'", CATALOG)
    assert [str(f) for f in made.schema] == ["t.s string"]


@pytest.mark.parametrize("text", ["SET spark.sql.ansi.enabled=true", "INSERT INTO t VALUES (1)"])
def test_a_command_is_unknown(text: str) -> None:
    with pytest.raises(Unknown, match="EXECUTE IMMEDIATE of the statement"):
        plan(f"EXECUTE IMMEDIATE '{text}'", CATALOG)


def test_a_text_that_is_no_statement_is_rejected() -> None:
    with pytest.raises(AnalysisError) as error:
        plan("EXECUTE IMMEDIATE 'SELECT 1 +'", CATALOG)
    assert error.value.condition == "PARSE_SYNTAX_ERROR"
