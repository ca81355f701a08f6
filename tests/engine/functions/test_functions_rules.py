"""Rules of functions that golden cases do not show: evidence, constants, collations, what stays unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planproof_engine import AnalysisError, Catalog, plan
from planproof_engine.conf import Conf
from planproof_engine.expr.function import Mismatch
from planproof_engine.expr.nodes import Column, Expr, Literal
from planproof_engine.functions.bind import apply
from planproof_engine.functions.constants import is_written_alike
from planproof_engine.functions.registry import builtin
from planproof_engine.optimizer.laws import may_raise
from planproof_engine.origin import Unknown
from planproof_engine.types import BINARY, DOUBLE, INT, STRING, DataType, Decimal, String

ANSI = Conf(ansi=True)
IDS = Catalog({"t": [("id", "int", True)]})


def condition(sql: str, ansi: bool) -> str | None:
    """The condition with which a query is refused; None where it is taken."""
    try:
        plan(sql, IDS, conf=Conf(ansi=ansi))
    except AnalysisError as error:
        return error.condition
    return None


def column(data_type: DataType, nullable: bool = True, known: str | None = None) -> Column:
    return Column(1, "c", data_type, nullable, (), known)


def text(value: str) -> Literal:
    return Literal(value, STRING, value)


def number(value: int) -> Literal:
    return Literal(value, INT, str(value))


def call(name: str, *args: Expr, conf: Conf = ANSI):
    function = builtin().find(name)
    assert function is not None
    return apply(function, args, conf)


def test_round_is_called_nullable_but_is_null_for_null_only() -> None:
    rounded = call("round", column(Decimal(10, 2), known="a filter"), Literal(1, INT, "1"))
    assert rounded.nullable
    assert rounded.evidence == "a filter"


def test_round_of_a_full_decimal_may_overflow_to_null() -> None:
    assert call("round", column(Decimal(38, 2), False), Literal(1, INT, "1")).evidence is None


def test_logarithm_is_null_where_it_is_not_defined() -> None:
    assert call("ln", column(DOUBLE, False)).evidence is None
    assert call("exp", column(DOUBLE, False)).evidence is not None


def test_coalesce_holds_no_null_where_one_argument_holds_none() -> None:
    assert call("coalesce", column(INT), column(INT, known="a join key")).evidence == "a join key"
    assert call("coalesce", column(INT), column(INT)).evidence is None


def test_a_scale_is_computed_or_unknown() -> None:
    assert call("round", column(Decimal(10, 2)), call("abs", Literal(1, INT, "1"))).type == Decimal(10, 1)
    with pytest.raises(Unknown):
        call("round", column(Decimal(10, 2)), call("ascii", Literal("a", STRING, "a")))


def test_a_scale_that_is_a_column_is_refused() -> None:
    with pytest.raises(Mismatch) as refused:
        call("round", column(Decimal(10, 2)), column(INT))
    assert refused.value.full_condition == "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT"


def test_a_literal_takes_the_collation_of_a_column() -> None:
    joined = call("concat", column(String("UTF8_LCASE")), text("x"))
    assert joined.type == String("UTF8_LCASE")
    assert joined.args[1] == Literal("x", String("UTF8_LCASE"), "'x' collate UTF8_LCASE")


def test_two_columns_of_different_collations_do_not_compare() -> None:
    with pytest.raises(Mismatch) as refused:
        call("contains", column(String("UTF8_LCASE")), column(STRING))
    assert refused.value.full_condition == "INDETERMINATE_COLLATION_IN_EXPRESSION"
    joined = call("concat", column(String("UTF8_LCASE")), column(STRING))
    assert joined.type.simple == "string collate null"
    with pytest.raises(Mismatch) as refused:
        call("contains", joined, text("x"))
    assert refused.value.full_condition == "INDETERMINATE_COLLATION_IN_EXPRESSION"
    with pytest.raises(Unknown):
        call("upper", joined)


def test_two_explicit_collations_clash() -> None:
    left, right = (call("collate", column(STRING), text(name)) for name in ("utf8_lcase", "unicode"))
    with pytest.raises(Mismatch) as refused:
        call("concat", left, right)
    assert refused.value.full_condition == "COLLATION_MISMATCH.EXPLICIT"


def test_to_number_reads_its_type_from_the_format() -> None:
    assert call("to_number", column(STRING), text("S$9,999.90")).type == Decimal(6, 2)
    assert call("to_number", column(STRING), text("S$9,999.90PR")).type == Decimal(6, 2)


@pytest.mark.parametrize(
    ("pattern", "condition"),
    [
        ("", "EMPTY"),
        ("S", "WRONG_NUM_DIGIT"),
        ("9$9", "CUR_MUST_BEFORE_DIGIT"),
        (",999", "CONT_THOUSANDS_SEPS"),
        ("9.9,9", "THOUSANDS_SEPS_MUST_BEFORE_DEC"),
        ("SS999", "WRONG_NUM_TOKEN"),
        ("9.9.9", "WRONG_NUM_TOKEN"),
        ("PR999", "UNEXPECTED_TOKEN"),
        ("99x", "UNEXPECTED_TOKEN"),
    ],
)
def test_a_malformed_number_format_is_refused(pattern: str, condition: str) -> None:
    with pytest.raises(Mismatch) as refused:
        call("to_number", column(STRING), text(pattern))
    assert refused.value.full_condition == f"INVALID_FORMAT.{condition}"


def test_to_char_of_bytes_is_an_encoding() -> None:
    written = call("to_char", column(BINARY), text("hex"))
    assert written.type == STRING
    assert written.function.show is not None
    assert written.function.show(written, lambda e: "c") == "hex(c)"


@pytest.mark.parametrize(
    ("owner", "method"), [("java.util.UUID", "randomUUID"), ("java.lang.Math", "random"), ("java.lang.System", "gc")]
)
def test_methods_of_java_are_known(owner: str, method: str) -> None:
    assert call("reflect", text(owner), text(method)).type == STRING


@pytest.mark.parametrize(
    ("owner", "method"), [("shop.Prices", "max"), ("java.lang.Thread", "activeCount"), ("java.lang.Math", "clamp")]
)
def test_whether_other_methods_exist_a_class_path_tells(owner: str, method: str) -> None:
    with pytest.raises(Unknown):
        call("reflect", text(owner), text(method))


@pytest.mark.parametrize("name", ["to_date", "try_to_date", "to_timestamp", "unix_timestamp", "to_unix_timestamp"])
def test_what_reads_by_a_pattern_may_raise_in_both_modes(name: str) -> None:
    function = builtin().find(name)
    assert function is not None
    assert function.traits.raises == "always"


@pytest.mark.parametrize("name", ["make_timestamp", "try_make_timestamp", "try_make_timestamp_ltz"])
def test_a_time_zone_that_there_is_not_raises_in_both_modes(name: str) -> None:
    function = builtin().find(name)
    assert function is not None
    assert function.traits.raises == "always"


@pytest.mark.parametrize(("pattern", "raises"), [(text("a%"), False), (text("a\\"), True), (column(STRING), True)])
def test_like_raises_for_patterns_that_end_in_an_escape(pattern: Expr, raises: bool) -> None:
    assert may_raise(call("like", column(STRING), pattern), ANSI) is raises


def test_a_reference_system_is_one_that_spark_knows() -> None:
    assert call("st_geomfromwkb", column(BINARY), number(27700)).type.json == "geometry(EPSG:27700)"
    assert call("st_geomfromwkb", column(BINARY), number(102100)).type.json == "geometry(ESRI:102100)"
    with pytest.raises(Mismatch) as refused:
        call("st_geomfromwkb", column(BINARY), number(2))
    assert refused.value.full_condition == "ST_INVALID_SRID_VALUE"


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize(
    ("offset", "bound"),
    [
        ("lag(id, 1 + 1)", "-2 FOLLOWING"),
        ("lag(id, cast(1.5 as int))", "-1 FOLLOWING"),
        ("lag(id, cast(null as int))", "NULL FOLLOWING"),
        ("lag(id, -(1))", "1 FOLLOWING"),
        ("lead(id, 1 + 1)", "(1 + 1) FOLLOWING"),
        ("lead(id, -(1))", "1 PRECEDING"),
    ],
)
def test_the_frame_of_a_shift_is_printed_as_spark_computes_it(offset: str, bound: str, ansi: bool) -> None:
    """Answers of Spark 4.3."""
    (column,) = plan(f"select {offset} over (order by id) from t", IDS, conf=Conf(ansi=ansi)).schema
    assert column.name.endswith(f"ROWS BETWEEN {bound} AND {bound})")


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("lag(id, 1L + 1) over (order by id)", "_LEGACY_ERROR_TEMP_1035"),
        ("lead(id, cast(1 as smallint)) over (order by id)", "_LEGACY_ERROR_TEMP_1035"),
        ("lag(id, array(1)) over (order by id)", "FAILED_FUNCTION_CALL"),
        ("lag(id, interval 1 day) over (order by id)", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
        ("named_struct('a', id)[date'2024-01-01']", "INVALID_EXTRACT_FIELD_TYPE"),
        ("array(named_struct('a', id))[X'01']", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
    ],
)
def test_what_a_shift_or_a_part_refuses(sql: str, expected: str, ansi: bool) -> None:
    """Answers of Spark 4.3."""
    assert condition(f"select {sql} from t", ansi) == expected


NO_CAST, OTHER_KEYS = "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "DATATYPE_MISMATCH.MAP_FUNCTION_DIFF_TYPES"


@pytest.mark.parametrize(
    ("sql", "with_ansi", "without"),
    [
        ("map(true, 1)['a']", None, None),
        ("map(interval 1 day, 1)['a']", None, None),
        ("map(array(1), 1)['a']", NO_CAST, NO_CAST),
        ("element_at(map(struct(1), 2), struct(1L))", None, OTHER_KEYS),
        ("map_contains_key(map(date'2024-01-01', 1), timestamp_ntz'2024-01-01')", None, OTHER_KEYS),
    ],
)
def test_which_keys_a_map_takes(sql: str, with_ansi: str | None, without: str | None) -> None:
    """Answers of Spark 4.3: a text that is written out is cast to the keys' type, whatever casts are implicit."""
    assert (condition(f"select {sql}", ansi=True), condition(f"select {sql}", ansi=False)) == (with_ansi, without)


@pytest.mark.parametrize("spark", ["3.5", "4.0", "4.3"])
def test_a_function_named_without_parentheses_names_its_field_as_it_is_written(spark: str) -> None:
    """Answers of Spark 3.5.9, 4.0.5 and 4.3."""
    conf = Conf.of(spark)
    made = plan("select struct(CURRENT_DATE, (user), id), (current_user, 1) from t", IDS, conf=conf).schema
    assert [c.type.simple for c in made] == [
        "struct<CURRENT_DATE:date,user:string,id:int>",
        "struct<current_user:string,col2:int>",
    ]
    assert made[0].name == "struct(current_date(), current_user(), id)"
    with pytest.raises(AnalysisError) as refused:
        plan("select struct(current_date).col1", IDS, conf=conf)
    assert refused.value.condition == "FIELD_NOT_FOUND"


def test_before_spark_4_a_map_takes_a_text_for_a_key_where_casts_are_implicit() -> None:
    conf = replace(Conf.of("3.5"), ansi=False)
    for key in ("['a']", ".a"):
        with pytest.raises(AnalysisError) as refused:
            plan(f"select map(true, 1){key}", IDS, conf=conf)
        assert refused.value.condition == "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"
    with pytest.raises(AnalysisError) as refused:
        plan("select * from values (user) as t(a)", IDS, conf=conf)
    assert refused.value.condition.startswith("INVALID_INLINE_TABLE")


@pytest.mark.parametrize(
    ("value", "single", "alike"),
    [
        (16777216.0, True, False),
        (16777215.0, True, True),
        (880060032.0, True, False),  # 8.8006003E8 by Java 17
        (2e23, False, False),  # 1.9999999999999998E23 by Java 17
        (9007199254740991.0, False, True),
        (1e100, False, True),
        (5e-324, False, False),
        (float("nan"), False, True),
        (0.1, True, True),
    ],
)
def test_numbers_that_some_javas_write_with_more_digits_are_known(value: float, single: bool, alike: bool) -> None:
    assert is_written_alike(value, single=single) is alike
