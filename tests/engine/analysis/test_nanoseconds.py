"""Timestamps of nanoseconds, as Spark 4.3.0 answered in both ANSI modes, in the zone America/Los_Angeles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planproof import Conf, plan
from planproof_engine.origin import AnalysisError

CONF = Conf(time_zone="America/Los_Angeles", timestamp_nanos=True)

N9 = "timestamp_ntz'2020-01-01 10:00:00.123456789'"
L7 = "timestamp_ltz'2020-01-01 10:00:00.1234567'"

ANSWERS = {
    "{n9}": "timestamp_ntz(9) NOT NULL",
    "{l7}": "timestamp_ltz(7) NOT NULL",
    "timestamp'2020-01-01 10:00:00.100000000+01:00'": "timestamp_ltz(9) NOT NULL",
    "timestamp'2020-01-01 10:00:00.1234567890'": "INVALID_TIMESTAMP_LITERAL_PRECISION",
    "timestamp'2020-01-01 10:00:00.123456'": "timestamp NOT NULL",
    "current_timestamp(9)": "timestamp_ltz(9) NOT NULL",
    "now(7)": "timestamp_ltz(7) NOT NULL",
    "localtimestamp(8)": "timestamp_ntz(8) NOT NULL",
    "current_timestamp(6)": "timestamp NOT NULL",
    "current_timestamp(10)": "INVALID_TIMESTAMP_PRECISION",
    "hour({n9})": "int NOT NULL",
    "dayofyear({n9})": "int NOT NULL",
    "quarter({l7})": "int NOT NULL",
    "unix_micros({n9})": "bigint NOT NULL",
    "unix_nanos({l7})": "decimal(21,0) NOT NULL",
    "extract(second from {l7})": "decimal(11,9) NOT NULL",
    "date_trunc('DAY', {n9})": "timestamp_ntz(9)",
    "date_format({l7}, 'yyyy')": "string NOT NULL",
    "to_timestamp({n9})": "timestamp",
    "to_date({l7}, 'yyyy')": ("date NOT NULL", "date"),
    "cast({n9} as date)": "date NOT NULL",
    "cast({n9} as int)": "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
    "cast(1L as timestamp_ntz(9))": "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
    "cast(null as timestamp_ltz(7))": "timestamp_ltz(7)",
    "try_cast({n9} as timestamp_ltz(8))": "timestamp_ltz(8)",
    "try_cast({l7} as timestamp_ntz(9))": "timestamp_ntz(9) NOT NULL",
    "cast({l7} as variant)": "variant NOT NULL",
    "array({n9}, {l7})": "array<timestamp_ltz(9)> NOT NULL",
    "array({n9}, timestamp'2020-01-01')": "array<timestamp_ltz(9)> NOT NULL",
    "array({l7}, date'2020-01-01')": "array<timestamp_ltz(7)> NOT NULL",
    "coalesce({n9}, 'a')": ("timestamp_ntz(9) NOT NULL", "string NOT NULL"),
    "{n9} = 'a'": "boolean",
    "{n9} < {l7}": "boolean NOT NULL",
    "{l7} = 1": "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
    "{n9} + interval 1 day": "timestamp_ntz(9) NOT NULL",
    "{l7} + null": "timestamp_ltz(7)",
    "{n9} - make_interval(1)": "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
    "{n9} - {l7}": "interval day to second NOT NULL",
    "{n9} - 'a'": ("interval day to second", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"),
    "date'2020-01-01' + {n9}": "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
    "months_between({n9}, {l7})": ("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "double NOT NULL"),
    "timestampadd(hour, 1, {n9})": ("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "timestamp NOT NULL"),
    "convert_timezone('UTC', {n9})": ("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "timestamp_ntz NOT NULL"),
    "last_day({n9})": "date NOT NULL",
    "date_add({n9}, 1)": "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
    "sequence({n9}, {n9})": "DATATYPE_MISMATCH.SEQUENCE_WRONG_INPUT_TYPES",
    "approx_top_k({n9})": "DATATYPE_MISMATCH.TYPE_CHECK_FAILURE_WITH_HINT",
    "percentile_approx({n9}, 0.5)": "date",
    "to_char({l7}, 'yyyy')": "string NOT NULL",
    "from_json('', 'a timestamp_ntz(9)')": "struct<a:timestamp_ntz(9)>",
    "max({n9})": "timestamp_ntz(9)",
}
"""Type and flag, or the condition of the refusal; two of them where ANSI off has another one."""


def answer(expression: str, ansi: bool) -> str:
    try:
        (field,) = plan("select " + expression.format(n9=N9, l7=L7), conf=replace(CONF, ansi=ansi)).schema
    except AnalysisError as error:
        return error.condition
    return field.type.simple + ("" if field.nullable else " NOT NULL")


@pytest.mark.parametrize("expression", ANSWERS)
def test_the_answer_is_that_of_spark(expression: str) -> None:
    told = ANSWERS[expression]
    expected = told if isinstance(told, tuple) else (told, told)
    assert (answer(expression, True), answer(expression, False)) == expected


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (N9, "TIMESTAMP_NTZ '2020-01-01 10:00:00.123456789'"),
        ("timestamp'2020-01-01 10:00:00.100000000+01:00'", "TIMESTAMP_LTZ '2020-01-01 01:00:00.100000000'"),
        ("now(9)", "current_timestamp()"),
        ("now(6)", "now()"),
        ("localtimestamp(9)", "localtimestamp()"),
    ],
)
def test_names(expression: str, name: str) -> None:
    assert plan(f"select {expression}", conf=CONF).schema[0].name == name
