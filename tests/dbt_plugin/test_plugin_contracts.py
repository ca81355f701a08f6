"""The first look at a contract, over the columns that dbt found: it may only say yes where the whole check would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planproof import Contract, Model
from planproof.settings import Settings


@dataclass(frozen=True)
class Column:
    name: str
    dtype: str


def fits(promised: Any, found: Any, settings: Settings | None = None) -> bool:
    from dbt_planproof.contracts import has_promised_columns as look

    contract = None if promised is None else Contract(promised)
    model = Model("s.t", "select 1", contract=contract, settings=settings or Settings())
    return look(model, [Column(*c) for c in found])


def test_what_was_promised_fits() -> None:
    promised = [("id", "bigint", False), ("st", "struct<a:int,b:array<string>>", True)]
    assert fits(promised, [("id", "bigint"), ("st", "struct<a:int,b:array<string>>")])
    assert fits([("s", "varchar(3)", True)], [("s", "string")]), "how long texts are is counted"
    unordered = Settings(enforce=("types", "nullability", "extra_columns"))
    assert fits(promised, [("st", "struct<a:int,b:array<string>>"), ("id", "bigint")], unordered)


def test_anything_else_is_for_the_whole_check() -> None:
    promised = [("id", "bigint", False), ("s", "varchar(3)", True)]
    for found in (
        [],
        [("id", "bigint")],
        [("id", "int"), ("s", "varchar(3)")],
        [("id", "bigint"), ("s", "varchar(3)"), ("more", "int")],
        [("id", "bigint"), ("s", "varchar(3)"), ("ID", "bigint")],
        [("id", "bigint"), ("s", "no type of Spark's <")],
    ):
        assert not fits(promised, found), found
    assert not fits(None, [("id", "bigint")])


def test_only_just_what_was_promised_is_equal_to_the_promise() -> None:
    from dbt_planproof.contracts import has_same_columns

    contract = Contract([("id", "bigint", False), ("s", "varchar(3)", True), ("xs", "array<string>", True)])
    found = [Column("id", "bigint"), Column("s", "string"), Column("xs", "array<string>")]
    assert has_same_columns(contract, found)
    for other in (found[:2], [*found, Column("n", "int")], found[::-1], [Column("ID", "bigint"), *found[1:]]):
        assert not has_same_columns(contract, other), other
    assert not has_same_columns(contract, [Column("id", "int"), *found[1:]])
    assert not has_same_columns(contract, [Column("id", "no type of Spark's <"), *found[1:]])


def test_the_promise_is_recognized_word_by_word() -> None:
    from dbt_planproof.contracts import is_types_query

    columns = {"id": {"name": "id", "data_type": "bigint"}, "n": {"name": "my n", "data_type": "int", "quote": True}}
    words = "select * from ( select cast(null as bigint) as id, cast(null as int) as `my n` ) as __dbt_sbq where false"
    assert is_types_query(words.replace(" ", "\n  ") + " limit 0", columns)
    for text in (words, f"{words} limit 1", f"{words} limit 0".replace("bigint", "int")):
        assert not is_types_query(text, columns), text
