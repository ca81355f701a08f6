"""When Spark checks the arguments of a higher-order function: before or after it gives a NULL its type."""

from __future__ import annotations

import pytest

from planproof import AnalysisError, Catalog, plan
from planproof_engine.types import INT, Array, DataType, Map

CATALOG = Catalog({"t": [("ints", Array(INT, True), True), ("map", Map(INT, INT, True), True)]})


@pytest.mark.parametrize(
    "call",
    [
        "transform(NULL, x -> 1)",
        "transform(NULL, (x, i) -> missing)",
        "zip_with(ints, NULL, (x, y) -> x)",
        "map_zip_with(map, NULL, (k, a, b) -> k)",
        "aggregate(NULL, 0, 1)",
        "array_sort(NULL)",
        "array_sort(NULL, x -> 1)",
    ],
)
def test_null_is_no_collection_for_a_lambda_with_parameters(call: str) -> None:
    with pytest.raises(AnalysisError) as refused:
        plan(f"SELECT {call} FROM t", CATALOG)
    assert refused.value.condition == "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"


@pytest.mark.parametrize("call", ["transform(NULL, 5)", "zip_with(ints, NULL, 1)", "aggregate(NULL, 0, 1, 2)"])
def test_null_takes_the_collection_type_beside_plain_expressions(call: str) -> None:
    assert plan(f"SELECT {call} FROM t", CATALOG).schema[0].nullable


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("aggregate(ints, 0, (a, x) -> NULL)", INT),
        ("aggregate(ints, ints, (a, x) -> NULL)", Array(INT, True)),
    ],
)
def test_a_merge_of_null_is_of_the_accumulator_type(call: str, expected: DataType) -> None:
    (field,) = plan(f"SELECT {call} FROM t", CATALOG).schema
    assert (field.type, field.nullable) == (expected, True)
