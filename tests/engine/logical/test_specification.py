"""The specification's notation and examples; core/planproof_engine/SPECIFICATION.md says where Spark differs."""

from __future__ import annotations

import pytest

from planproof_engine.api import RegistryMismatch, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf
from planproof_engine.expr import Column, fresh_id
from planproof_engine.functions.bind import apply
from planproof_engine.functions.registry import RegistrationError, Registry, builtin
from planproof_engine.logical import nodes
from planproof_engine.origin import AnalysisError
from planproof_engine.schema import (
    DuplicateField,
    LogicalField,
    LogicalSchema,
    PhysicalField,
    PhysicalSchema,
)
from planproof_engine.types import INT, LONG, STRING, parse_type

F1 = PhysicalField("a", INT, False)
F2 = PhysicalField("b", STRING, True)
F3 = PhysicalField("c", LONG, True)


def test_strip_drops_the_relation_and_nothing_else() -> None:
    field = LogicalField("t1", "id", LONG, False)
    assert field.strip() == PhysicalField("id", LONG, False)
    assert LogicalSchema((field, LogicalField("t2", "id", INT, True))).strip() == PhysicalSchema(
        (PhysicalField("id", LONG, False), PhysicalField("id", INT, True))
    )


def test_sets_compare_as_multisets() -> None:
    assert PhysicalSchema((F1, F2)).same_fields(PhysicalSchema((F2, F1)))
    assert not PhysicalSchema((F1, F2)).same_fields(PhysicalSchema((F1, F2, F3)))
    assert not PhysicalSchema((F1, F1, F2)).same_fields(PhysicalSchema((F1, F2, F2)))
    assert PhysicalSchema((F1, F2)) != PhysicalSchema((F2, F1))


def test_projection_of_sums_over_a_scan() -> None:
    catalog = Catalog({"t": [("c1", "int", False), ("c2", "bigint", True)]})
    built = plan("SELECT c1 + c2, c1 - c2 AS sum12 FROM t", catalog).root
    assert built.projected
    assert built.schema == LogicalSchema(
        (LogicalField(None, "(c1 + c2)", LONG, True), LogicalField(None, "sum12", LONG, True))
    )
    assert built.children[0].schema == LogicalSchema(
        (LogicalField("t", "c1", INT, False), LogicalField("t", "c2", LONG, True))
    )
    assert not built.children[0].projected


@pytest.mark.parametrize(("left", "right"), [(a, b) for a in (True, False) for b in (True, False)])
def test_plus_is_nullable_where_either_side_is(left: bool, right: bool) -> None:
    plus = builtin().find("+")
    assert plus is not None
    call = apply(plus, (Column(fresh_id(), "a", INT, left), Column(fresh_id(), "b", INT, right)), Conf())
    assert call.nullable == (left or right)
    assert call.type == INT


def test_a_function_needs_its_logical_and_its_spark_half() -> None:
    registry = Registry()
    plus = builtin().find("+")
    with pytest.raises(RegistrationError, match="no logical half"):
        registry.register("my_udf", None, len)
    with pytest.raises(RegistrationError, match="no Spark half"):
        registry.register("my_udf", plus, None)
    assert registry.register("my_udf", plus, len) is plus
    with pytest.raises(RegistrationError, match="already"):
        registry.register("MY_UDF", plus, len)


def test_two_registries_are_never_compared() -> None:
    sources = {"t": [("id", "int", False)]}
    one, two = Catalog(sources), Catalog(sources)
    assert plan("SELECT id FROM t", one).same_schema(plan("SELECT id FROM t", one))
    with pytest.raises(RegistryMismatch):
        plan("SELECT id FROM t", one).same_schema(plan("SELECT id FROM t", two))


def two_tables() -> Catalog:
    return Catalog({"t1": [("id", "bigint", False)], "t2": [("id", "bigint", False)]})


def test_relations_stay_apart_and_are_never_squashed_into_names() -> None:
    found = plan("SELECT t1.id, t2.id FROM t1 JOIN t2", two_tables())
    assert [(f.relation, f.name) for f in found.schema] == [("t1", "id"), ("t2", "id")]
    assert found.physical_schema.names == ("id", "id")
    assert found.findings == ()


def test_a_dot_in_an_alias_is_part_of_the_name() -> None:
    found = plan("SELECT id AS `customer.id` FROM t1", two_tables())
    assert found.physical_schema.names == ("customer.id",)
    assert plan("SELECT c.id FROM t1 AS c", two_tables()).physical_schema.names == ("id",)


def test_a_repeated_field_is_a_finding_by_default_and_an_error_when_strict() -> None:
    sql = "SELECT id, id FROM t1"
    found = plan(sql, two_tables())
    assert [f.code for f in found.findings] == ["PP101"]
    assert found.findings[0].origin is not None
    assert found.findings[0].origin.column == 12
    with pytest.raises(DuplicateField, match=r"Project repeats .*t1\.id"):
        plan(sql, two_tables(), strict=True)


def test_a_registered_function_keeps_both_halves() -> None:
    registry = builtin().extended()
    half = registry.find("length")
    assert half is not None

    def run(text: str) -> int:
        return len(text)

    made = registry.register("my_length", half, run)
    assert registry.find("MY_LENGTH") is made
    assert registry.physical("MY_LENGTH") is registry.extended().physical("my_length") is run
    assert registry.physical("length") == "length"


def test_strict_names_the_node_that_creates_the_repetition() -> None:
    sql = "SELECT count(*) FROM (SELECT id, id FROM t1) AS s"
    with pytest.raises(DuplicateField, match="Project repeats"):
        plan(sql, two_tables(), strict=True)
    found = plan(sql, two_tables())
    assert found.physical_schema.names == ("count(1)",)
    assert [(f.code, f.field, f.message) for f in found.findings] == [
        ("PP101", "id", "2 columns of s within the query are called s.id")
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT (SELECT count(*) FROM (SELECT id, id FROM t1) AS s) AS n FROM t2",
        "SELECT id FROM t2 WHERE EXISTS (SELECT id, id FROM t1)",
        "SELECT id FROM t2 WHERE id IN (SELECT s.one FROM (SELECT id AS one, id AS two, id AS two FROM t1) AS s)",
    ],
)
def test_a_repetition_in_a_subquery_is_seen(sql: str) -> None:
    found = plan(sql, two_tables())
    assert {f.code for f in found.findings} == {"PP101"}
    assert "in subqueries" in found.looked_at
    with pytest.raises(DuplicateField, match="Project repeats"):
        plan(sql, two_tables(), strict=True)


def test_names_that_differ_in_case_are_two_where_case_counts() -> None:
    sql = "SELECT id AS a, id AS A FROM t1"
    with pytest.raises(DuplicateField):
        plan(sql, two_tables(), strict=True)
    found = plan(sql, two_tables(), conf=Conf(case_sensitive=True), strict=True)
    assert found.findings == ()


def test_strict_refuses_a_bare_name_beside_a_qualified_one() -> None:
    """LogicalSchema([t1.id, id]): an unqualified `id` resolves to both."""
    sql = "SELECT t1.id, t1.id + 1 AS id FROM t1"
    with pytest.raises(DuplicateField, match=r"Project repeats .*id"):
        plan(sql, two_tables(), strict=True)
    assert plan(sql, two_tables()).findings == ()
    assert plan("SELECT t1.id, t2.id FROM t1 JOIN t2", two_tables(), strict=True).findings == ()


def test_a_join_makes_the_padded_side_nullable_and_discards_its_evidence() -> None:
    catalog = Catalog({"t1": [("id", "int", False)], "t2": [("id", "int", False), ("v", "array<int>", False)]})
    left, full = (
        plan(f"SELECT * FROM t1 {kind} JOIN t2 ON t1.id = t2.id", catalog).schema for kind in ("LEFT", "FULL")
    )
    assert [f.nullable for f in left] == [False, True, True]
    assert [f.nullable for f in full] == [True, True, True]
    assert left[2].type == parse_type("array<int>")


def test_a_join_of_no_kind_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="no join is called 'bogus'"):
        nodes.Join(nodes.OneRow(), nodes.OneRow(), "bogus")


def test_a_where_that_is_an_alias_to_spark_is_said_to_be_one() -> None:
    catalog = Catalog({"t": [("a", "boolean", True), ("c", "string", True)]})
    with pytest.raises(AnalysisError, match="where is an alias to Spark: write them without parentheses") as caught:
        plan("select c from t where (a)", catalog)
    assert caught.value.condition == "ASSIGNMENT_ARITY_MISMATCH"
    with pytest.raises(AnalysisError) as plain:
        plan("select c from t `where` (a)", catalog)
    assert "to Spark" not in plain.value.message
