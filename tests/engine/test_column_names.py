"""Names of columns are found whatever their case, and listed in one spelling."""

from __future__ import annotations

import pytest

from planproof_engine.schema import ByColumn, ColumnNames, PhysicalField, PhysicalSchema, by_name, fold_name
from planproof_engine.types import INT, STRING


def test_a_name_is_found_whatever_its_case() -> None:
    names = ColumnNames(["Id", "Größe", "ИМЯ"])
    assert [name in names for name in ("ID", "größe", "имя", "i", None)] == [True, True, True, False, False]
    assert (list(names), len(names), names.find_spelling("ИМя")) == (["id", "größe", "имя"], 3, "ИМЯ")
    with pytest.raises(KeyError):
        names.find_spelling("none")
    assert names & {"ID", "x"} == {"id"}
    assert {"id", "x"} - names == {"x"}
    assert {"id"} <= names
    assert ColumnNames(["A", "a"]) == {"a"}
    assert fold_name("Id", case_sensitive=True) == "Id"


def test_of_two_names_the_exact_one_counts() -> None:
    schema = PhysicalSchema((PhysicalField("ID", INT, True), PhysicalField("id", STRING, True)))
    found = by_name(schema)
    assert [found[name].type for name in ("ID", "id", "Id")] == [INT, STRING, STRING]
    assert list(found) == ["id"]
    assert (found.get("x"), "iD" in found, "x" in found) == (None, True, False)
    assert ByColumn([("A", 1)]) == {"a": 1}
