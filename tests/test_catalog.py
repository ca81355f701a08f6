"""Which relation a name stands for."""

from __future__ import annotations

import pytest

import planproof
from planproof import Catalog
from planproof_engine.catalog import Relation, joined
from planproof_engine.schema import LogicalField, LogicalSchema
from planproof_engine.types import parse_type


@pytest.mark.parametrize("name", ["t", "default.t", "spark_catalog.default.t", "other.t", "cat.other.t"])
def test_a_live_catalog_is_asked_for_what_is_not_registered(name: str) -> None:
    asked: list[tuple[str, ...]] = []

    def live(parts: tuple[str, ...]) -> Relation:
        asked.append(parts)
        return Relation(joined(parts), LogicalSchema((LogicalField("t", "id", parse_type("int"), False),)))

    plan = planproof.plan(f"select id from {name}", Catalog(source=live))
    assert [f.name for f in plan.schema] == ["id"]
    assert asked == [tuple(name.removeprefix("spark_catalog.").split("."))]


def test_a_table_of_the_current_namespace_is_found_by_both_spellings() -> None:
    for registered in ("t", "default.t"):
        catalog = Catalog({registered: [("id", "int", True)]})
        for spelled in ("t", "default.t", "spark_catalog.default.t"):
            assert planproof.plan(f"select id from {spelled}", catalog).schema, (registered, spelled)
    assert Catalog({"t": [("id", "int", True)]}).find(("other", "t")) is None
