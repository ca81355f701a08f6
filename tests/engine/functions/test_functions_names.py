"""The registry covers what `SHOW FUNCTIONS` lists, and says in which versions of Spark a line stands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from planproof import AnalysisError, Catalog, Conf, Unknown, plan
from planproof_engine.functions.names import DOCUMENTED
from planproof_engine.functions.registry import build_table, builtin, is_of_version

LISTED: dict[str, str] = json.loads((Path(__file__).parents[1] / "cases" / "function_names.json").read_text())
"""As real Spark lists them; `tests/engine/functions/sweep.py --names` asks it again."""


def test_the_list_of_names_is_spark_s() -> None:
    assert DOCUMENTED == LISTED


def test_every_function_that_spark_lists_is_registered() -> None:
    assert sorted(LISTED.keys() - set(builtin())) == []


@pytest.mark.parametrize("name", ["!=", "<>", "||", "case", "cast"])
def test_what_the_grammar_alone_calls_is_no_function(name: str) -> None:
    assert name in builtin().internal


def test_a_function_does_not_exist_before_its_version() -> None:
    with pytest.raises(AnalysisError) as refused:
        plan("SELECT variant_delete(NULL, '$.a') AS v", Catalog(), conf=Conf(spark="4.0"))
    assert refused.value.condition == "UNRESOLVED_ROUTINE"
    assert plan("SELECT parse_json('1') AS v", Catalog(), conf=Conf(spark="4.0")).schema[0].type.simple == "variant"
    assert builtin("3.5").find("parse_json") is None
    assert builtin("3.5").find("luhn_check") is not None


def test_a_line_stands_from_its_version_to_its_end() -> None:
    line = builtin().find("abs")
    assert line is not None
    older, newer = replace(line, until="4.1"), replace(line, since="4.1", changed="4.2")
    assert [is_of_version("abs", older, v) for v in ("3.5", "4.0", "4.1")] == [True, True, False]
    assert [is_of_version("abs", newer, v) for v in ("4.0", "4.1", "4.2", "4.3")] == [False, False, True, True]
    lines = [("abs", older), ("abs", newer)]
    assert build_table(lines, version="4.0").find("abs") is older
    assert build_table(lines, version="4.3").find("abs") is newer


@pytest.mark.parametrize(
    ("name", "first", "before"),
    [
        ("max_by", "3.5", None),
        ("min_by", "3.5", None),
        ("<<", "4.0", "3.5"),
        ("time", "4.1", "4.0"),
        ("try_to_date", "4.1", "4.0"),
    ],
)
def test_a_function_stands_from_where_spark_s_registry_has_it(name: str, first: str, before: str | None) -> None:
    assert builtin(first).find(name) is not None
    assert before is None or builtin(before).find(name) is None


def test_max_by_takes_a_count_since_4_2() -> None:
    older, newer = builtin("4.1").find("max_by"), builtin("4.2").find("max_by")
    assert older is not None
    assert newer is not None
    assert (older.arity(), newer.arity()) == ((2, 2), (2, 3))


@pytest.mark.parametrize(
    ("sql", "version", "answered"),
    [
        ("current_timestamp()", "4.0", True),
        ("instr('ab', 'b')", "3.5", True),
        ("instr('ab', 'b', 1)", "4.2", False),
        ("current_timestamp(6)", "4.2", False),
        ("instr('ab', 'b', 1)", "4.3", True),
    ],
)
def test_parameters_stand_from_their_version_on(sql: str, version: str, answered: bool) -> None:
    if answered:
        assert plan(f"SELECT {sql}", Catalog(), conf=Conf(spark=version)).schema[0].nullable is False
        return
    with pytest.raises(AnalysisError) as refused:
        plan(f"SELECT {sql}", Catalog(), conf=Conf(spark=version))
    assert refused.value.condition == "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"


@pytest.mark.parametrize(
    ("sql", "before", "printed", "since"),
    [
        ("raise_error('x')", "3.5", "raise_error(x)", "4.0"),
        ("1 BETWEEN 0 AND 2", "3.5", "((1 >= 0) AND (1 <= 2))", "4.0"),
        ("DATE'2020-01-01' + NULL", "4.0", "date_add(DATE '2020-01-01', NULL)", "4.1"),
    ],
)
def test_a_call_is_printed_as_its_version_does(sql: str, before: str, printed: str, since: str) -> None:
    def name(version: str) -> str:
        return plan(f"SELECT {sql}", Catalog(), conf=Conf(spark=version)).schema[0].name

    assert name(before) == printed
    assert name(since) != printed


def test_percentiles_within_groups_stand_in_spark_3_5() -> None:
    asked = plan("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY 1 DESC)", Catalog(), conf=Conf(spark="3.5"))
    assert asked.schema[0].name == "percentile_cont(0.5) WITHIN GROUP (ORDER BY 1 DESC)"


@pytest.mark.parametrize(
    ("sql", "version"),
    [("mode(1, true)", "3.5"), ("to_char(DATE'2020-01-01', 'y')", "3.5"), ("make_timestamp(DATE'2020-01-01')", "4.0")],
)
def test_what_takes_more_since_refuses_it_before(sql: str, version: str) -> None:
    assert plan(f"SELECT {sql}", Catalog()).schema
    with pytest.raises(AnalysisError):
        plan(f"SELECT {sql}", Catalog(), conf=Conf(spark=version))


def test_what_assert_true_prints_with_ids_is_unknown_in_an_older_spark() -> None:
    asked = Catalog({"t": [("a", "boolean", True)]})
    assert plan("SELECT assert_true(a) AS x FROM t", asked, conf=Conf(spark="4.0")).schema.names == ("x",)
    with pytest.raises(Unknown):
        plan("SELECT assert_true(a) FROM t", asked, conf=Conf(spark="4.0"))


def test_a_function_that_changed_since_is_unknown_in_an_older_spark() -> None:
    line = builtin().find("abs")
    assert line is not None
    older = build_table([("abs", replace(line, changed="4.2"))], version="4.0")
    with pytest.raises(Unknown):
        plan("SELECT abs(1)", Catalog(), registry=older)


@pytest.mark.parametrize(
    ("sql", "since", "before"),
    [
        ("unix_seconds(timestamp_ntz'2020-01-01')", "4.3", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
        ("current_time(7)", "4.3", "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"),
        ("approx_top_k(time'10:00:00')", "4.3", "DATATYPE_MISMATCH.TYPE_CHECK_FAILURE_WITH_HINT"),
        ("percentile_approx(time'10:00:00', 0.5D)", "4.3", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"),
        ("to_char(time'10:00:00', 'HH')", "4.3", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"),
        ("time_trunc('HOUR', '10:00:00')", "4.2", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
        ("collect_list(1) IGNORE NULLS", "4.2", "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"),
        ("listagg(DISTINCT 1) WITHIN GROUP (ORDER BY 1)", "4.2", None),
    ],
)
def test_what_the_sweep_of_4_1_and_4_2_told(sql: str, since: str, before: str | None) -> None:
    for version in ("4.1", "4.2", "4.3"):
        conf = replace(Conf.of(version), time_type=True)
        if version >= since:
            assert plan(f"SELECT {sql}", Catalog(), conf=conf).schema
            continue
        with pytest.raises(AnalysisError) as refused:
            plan(f"SELECT {sql}", Catalog(), conf=conf)
        assert before is None or refused.value.condition == before


def test_bytes_are_reversed_as_text_before_4_2() -> None:
    types = [
        plan("SELECT reverse(X'1C')", Catalog(), conf=Conf.of(v)).schema[0].type.simple for v in ("3.5", "4.1", "4.2")
    ]
    assert types == ["string", "string", "binary"]
