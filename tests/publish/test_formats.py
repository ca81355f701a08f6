"""Which room a model's format has, who is refused at its door, and what a room does not do yet."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planproof import Model
from planproof.contract import FILE_FORMATS
from planproof.publish.formats import FORMATS, Parquet, format_of
from planproof.publish.iceberg import Iceberg
from planproof.publish.iceberg.facts import convert_names, convert_types, make_compatible_name
from planproof.publish.iceberg.partitioning import is_same
from planproof.publish.transaction.names import Refused
from planproof_engine.origin import AnalysisError
from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import parse_type


def session(tables: Any = None, kind: str = "classic") -> Any:
    def rows(sql: str) -> Any:
        raise AnalysisError("TABLE_OR_VIEW_NOT_FOUND", "there is no such table")

    capabilities, unset = SimpleNamespace(kind=kind), lambda key: None
    return SimpleNamespace(transactions=lambda: tables, capabilities=capabilities, setting=unset, rows=rows)


def tables(holds: bool = True) -> Any:
    return SimpleNamespace(is_in_catalog=lambda name: holds, complete=lambda name: ("lake", "db", "t"))


def test_each_format_has_its_room() -> None:
    assert tuple(FORMATS) == FILE_FORMATS
    assert isinstance(format_of(session(tables()), Model("lake.db.t", "select 1", file_format="iceberg")), Iceberg)
    assert isinstance(format_of(session(), Model("db.t", "select 1")), Parquet)
    view = Model("db.v", "select 1", file_format="iceberg", materialized="view")
    assert isinstance(format_of(session(), view), Parquet), "a view has no format"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (session(None, "connect"), "this session is of kind connect"),
        (session(None, "thrift"), "this session is of kind thrift"),
        (session(tables(holds=False)), "the catalog lake cannot make such tables"),
    ],
)
def test_a_session_that_opens_no_transaction_is_refused_by_name(given: Any, why: str) -> None:
    with pytest.raises(Refused, match=why):
        format_of(given, Model("lake.db.t", "select 1", file_format="iceberg"))


def test_names_and_types_as_iceberg_has_them() -> None:
    assert [make_compatible_name(name) for name in ("net_amount", "order id", "2nd", "é", "a-b", "-")] == [
        "net_amount",
        "order_x20id",
        "_2nd",
        "é",
        "a_x2Db",
        "_x2D",
    ]
    columns = PhysicalSchema(
        (PhysicalField("a b", parse_type("map<string,array<struct<`c d`:tinyint,e:smallint>>>"), True),)
    )
    assert convert_names(columns).names == ("a_x20b",)
    assert convert_names(columns)[0].type == parse_type("map<string,array<struct<c_x20d:tinyint,e:smallint>>>")
    assert convert_types(columns)[0].type == parse_type("map<string,array<struct<`c d`:int,e:int>>>")


@pytest.mark.parametrize(
    ("given", "held", "expected"),
    [
        (["day(at)", "D"], ["days(at)", "d"], True),
        (["bucket(4,`id`)"], ["bucket(4, id)"], True),
        (["Truncate(`odd, col`, 2)"], ["truncate(2, `odd, col`)"], True),
        (["identity(d)", "`day`", "date_hour(`s`.`at`)"], ["d", "day", "hours(s.at)"], True),
        (["bucket(4, id)"], ["bucket(8, id)"], False),
        (["days(at)"], ["hours(at)"], False),
        (["days(at)"], ["days(on)"], False),
        (["a", "b"], ["b", "a"], False),
        ([], ["a"], False),
        (["`a.b`"], ["a.b"], False),
    ],
)
def test_partitions_are_the_same_however_they_are_spelled(given: list[str], held: list[str], expected: bool) -> None:
    assert is_same(given, held) is expected
