"""What a session's settings change of a query: Spark 4.3's answers, in both ANSI modes alike."""

from __future__ import annotations

import pytest

from planproof_engine import Catalog, Unknown, plan
from planproof_engine.conf import UNFOLLOWED, Conf
from planproof_engine.origin import AnalysisError

SMALL, LARGE, OTHER = "named_struct('a', 1)", "named_struct('A', 2L)", "named_struct('A', 2)"
CASED = "spark.sql.caseSensitive"


def conf_of(ansi: bool, **settings: str) -> Conf:
    return Conf.of("4.3", {"spark.sql.ansi.enabled": str(ansi), **settings})


def types(sql: str, conf: Conf) -> list[str]:
    return [column.type.simple for column in plan(sql, Catalog({}), conf).root.output]


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize(
    ("setting", "sql", "plain", "set_"),
    [
        (
            "spark.sql.legacy.integerGroupingId",
            "select grouping_id() g, grouping_id(a) h from values (1) t(a) group by cube(a)",
            ["bigint", "bigint"],
            ["int", "int"],
        ),
        (
            "spark.sql.legacy.exponentLiteralAsDecimal.enabled",
            "select 1e3, 1.5e-3, .5e1, 1E2D",
            ["double", "double", "double", "double"],
            ["decimal(4,0)", "decimal(4,4)", "decimal(1,0)", "double"],
        ),
        (
            "spark.sql.legacy.createEmptyCollectionUsingStringType",
            "select array(), map(), array(array())",
            ["array<void>", "map<void,void>", "array<array<void>>"],
            ["array<string>", "map<string,string>", "array<array<string>>"],
        ),
        (
            "spark.sql.legacy.interval.enabled",
            "select timestamp'2024-01-02' - timestamp'2024-01-01', date'2024-01-02' - date'2024-01-01'",
            ["interval day to second", "interval day"],
            ["interval", "interval"],
        ),
        (
            "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate",
            "select coalesce(cast(1 as decimal(38,0)), cast(1 as decimal(38,18)))",
            ["decimal(38,0)"],
            ["decimal(38,18)"],
        ),
    ],
)
def test_a_setting_changes_types(ansi: bool, setting: str, sql: str, plain: list[str], set_: list[str]) -> None:
    conf = conf_of(ansi)
    assert types(sql, conf) == plain
    changed = conf.with_setting(setting, "true")
    assert types(sql, changed) == set_
    assert types(sql, changed.reset(setting)) == plain


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize(
    ("sql", "condition"),
    [
        (f"select {SMALL} v union all select {LARGE}", "INCOMPATIBLE_COLUMN_TYPE"),
        (f"select {SMALL} v intersect select {OTHER}", "INCOMPATIBLE_COLUMN_TYPE"),
        (f"select coalesce({SMALL}, {LARGE})", "DATATYPE_MISMATCH.DATA_DIFF_TYPES"),
        (f"select coalesce({SMALL}, {OTHER})", "DATATYPE_MISMATCH.DATA_DIFF_TYPES"),
        (f"select array({SMALL}, {OTHER})", "DATATYPE_MISMATCH.DATA_DIFF_TYPES"),
        (f"select {SMALL} = {LARGE}", "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"),
        (f"select case when rand() > 1 then {SMALL} else {OTHER} end", "DATATYPE_MISMATCH.DATA_DIFF_TYPES"),
    ],
)
def test_where_case_counts_structs_of_other_names_have_no_common_type(ansi: bool, sql: str, condition: str) -> None:
    assert types(sql, conf_of(ansi))
    with pytest.raises(AnalysisError) as raised:
        plan(sql, Catalog({}), conf_of(ansi, **{CASED: "true"}))
    assert raised.value.condition == condition


def test_names_of_pivoted_structs_have_the_brackets_that_a_setting_says() -> None:
    rows = "select * from values (1, struct(1, 'a', cast(null as int)), 5) as t(i, s, v)"
    sql = f"{rows} pivot (max(v) for s in (struct(1, 'a', 3), struct(1, '', cast(null as int))))"
    conf = conf_of(True)
    assert [c.name for c in plan(sql, Catalog({}), conf).root.output] == ["i", "{1, a, 3}", "{1, , null}"]
    legacy = conf.with_setting("spark.sql.legacy.castComplexTypesToString.enabled", "true")
    assert [c.name for c in plan(sql, Catalog({}), legacy).root.output] == ["i", "[1, a, 3]", "[1, ,]"]


def test_set_operations_bind_alike_where_a_setting_says_so() -> None:
    sql = "select cast(null as int) a union all select 2 intersect select 1"
    [plain] = plan(sql, Catalog({}), conf_of(True)).root.output
    [alike] = plan(sql, Catalog({}), conf_of(True, **{"spark.sql.legacy.setopsPrecedence.enabled": "true"})).root.output
    assert (plain.nullable, alike.nullable) == (True, False)


def test_texts_stand_one_after_the_other_where_a_setting_says_so() -> None:
    sql = "select 'it''s'"
    conf = conf_of(True)
    assert plan(sql, Catalog({}), conf).root.output[0].name == "it's"
    joined = conf.with_setting("spark.sql.legacy.consecutiveStringLiterals.enabled", "true")
    assert plan(sql, Catalog({}), joined).root.output[0].name == "its"


def test_in_a_union_the_names_of_fields_may_differ_whatever_counts() -> None:
    sql = f"select {SMALL} v union all select {OTHER}"
    assert types(sql, conf_of(True, **{CASED: "true"})) == ["struct<a:int>"]


@pytest.mark.parametrize("key", UNFOLLOWED)
def test_a_setting_that_is_not_followed_is_named_and_nothing_is_guessed(key: str) -> None:
    default = UNFOLLOWED[key]
    other = "false" if default == "true" else "true"
    changed = Conf().with_setting(key.upper(), other)
    with pytest.raises(Unknown, match=f"the setting {key.upper()} with a value other than its default"):
        plan("select 1", Catalog({}), changed)
    for back in (changed.with_setting(key, default), changed.reset(key), Conf().with_setting(key, default.upper())):
        assert types("select 1", back) == ["int"]
