"""Functions where they do not belong are refused under Spark's condition."""

from __future__ import annotations

import pytest

from planproof import AnalysisError, Catalog
from planproof.api import plan

CATALOG = Catalog({"t": [("x", "double", True)]})


@pytest.mark.parametrize(
    ("sql", "condition"),
    [
        ("SELECT * FROM abs(1)", "NOT_A_TABLE_FUNCTION"),
        ("SELECT * FROM t LATERAL VIEW abs(x) v AS y", "UNSUPPORTED_GENERATOR.NOT_GENERATOR"),
        ("SELECT percentile_cont(x, x) FROM t", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
    ],
)
def test_a_function_in_the_wrong_place(sql: str, condition: str) -> None:
    with pytest.raises(AnalysisError) as error:
        plan(sql, CATALOG)
    assert error.value.condition == condition
