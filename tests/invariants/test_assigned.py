"""A delta's columns against a stored table's: what is lost, what Spark refuses, and what is healthy."""

from __future__ import annotations

import pytest

from planproof.invariants import assigned
from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import parse_type


def schema(*columns: tuple[str, str]) -> PhysicalSchema:
    return PhysicalSchema(tuple(PhysicalField(name, parse_type(t), True) for name, t in columns))


def found(stored: str, produced: str, ansi: bool = True) -> list[assigned.Assignment]:
    return assigned.check("shop.t", schema(("c", stored)), schema(("C", produced)), ansi)


@pytest.mark.parametrize(
    ("stored", "produced", "code", "verdict", "counted"),
    [
        ("int", "string", "PP402", "violated", False),
        ("boolean", "int", "PP402", "violated", False),
        ("int", "bigint", "PP133", "warning", False),
        ("decimal(10,2)", "decimal(12,4)", "PP133", "warning", True),
        ("decimal(8,2)", "decimal(10,2)", "PP133", "warning", False),
        ("int", "double", "PP133", "warning", True),
        ("bigint", "decimal(12,2)", "PP133", "warning", True),
        ("int", "decimal(12,0)", "PP133", "warning", False),
        ("double", "bigint", "PP133", "warning", True),
        ("float", "double", "PP133", "warning", False),
        ("date", "timestamp", "PP133", "warning", True),
        ("timestamp", "timestamp_ntz", "PP128", "warning", False),
        ("timestamp_ntz", "timestamp", "PP128", "warning", False),
    ],
)
def test_what_is_lost_names_the_column_and_both_sides(
    stored: str, produced: str, code: str, verdict: str, counted: bool
) -> None:
    [one] = found(stored, produced)
    assert (one.finding.code, one.finding.verdict.value) == (code, verdict)
    assert (one.finding.field, one.finding.promised, one.finding.found) == ("c", stored, produced)
    assert stored in one.finding.message
    assert produced in one.finding.message
    assert (one.changed is not None) == counted


@pytest.mark.parametrize(
    ("stored", "produced"),
    [
        ("bigint", "int"),
        ("double", "int"),
        ("string", "int"),
        ("decimal(12,2)", "int"),
        ("decimal(12,4)", "decimal(10,2)"),
        ("varchar(3)", "string"),
        ("timestamp", "date"),
        ("struct<a:int>", "struct<A:int>"),
        ("array<struct<a:bigint>>", "array<struct<a:int>>"),
        ("int", "void"),
    ],
)
def test_what_loses_nothing_is_left_alone(stored: str, produced: str) -> None:
    assert found(stored, produced) == []


@pytest.mark.parametrize(
    ("stored", "produced", "code", "verdict", "field", "counted"),
    [
        ("struct<a:int>", "struct<a:int,b:int>", "PP402", "violated", "c.b", False),
        ("array<struct<a:int,b:int>>", "array<struct<a:int>>", "PP402", "violated", "c.element.b", False),
        ("map<string,int>", "map<string,boolean>", "PP402", "violated", "c.value", False),
        ("array<int>", "struct<a:int>", "PP402", "violated", "c", False),
        ("struct<a:int,b:int>", "struct<b:int,a:int>", "PP131", "warning", "c.a", False),
        ("struct<a:int,b:int,c:int>", "struct<b:int,c:int>", "PP402", "violated", "c.a", False),
        ("struct<b:int,c:int>", "struct<a:int,b:int,c:int>", "PP402", "violated", "c.a", False),
        ("struct<a:date>", "struct<a:timestamp>", "PP133", "warning", "c.a", True),
        ("array<date>", "array<timestamp>", "PP133", "warning", "c.element", False),
        ("map<string,timestamp>", "map<string,timestamp_ntz>", "PP128", "warning", "c.value", False),
    ],
)
def test_what_is_inside_a_column_is_named(
    stored: str, produced: str, code: str, verdict: str, field: str, counted: bool
) -> None:
    [one] = found(stored, produced)
    assert (one.finding.code, one.finding.verdict.value, one.finding.field) == (code, verdict, field)
    assert "shop.t stores" in one.finding.message
    assert (one.changed is not None) == counted


def test_under_another_policy_spark_decides_itself() -> None:
    assert found("int", "string", ansi=False) == []


def test_columns_in_another_order_are_said_and_new_ones_are_not() -> None:
    stored = schema(("id", "int"), ("customer", "int"), ("day", "date"))
    [one] = assigned.check("t", stored, schema(("customer", "int"), ("id", "int")), True)
    assert (one.finding.code, one.finding.promised, one.finding.found) == ("PP131", "id", "customer")
    assert assigned.check("t", stored, schema(("id", "int"), ("new", "int"), ("customer", "int")), True) == []
