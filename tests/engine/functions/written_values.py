"""Calls over one kind of value: decimals, geometries, moments of time, collated strings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

_DECIMALS = (
    "DECIMAL(1,0)",
    "DECIMAL(5,2)",
    "DECIMAL(10,10)",
    "DECIMAL(20,0)",
    "DECIMAL(38,0)",
    "DECIMAL(38,18)",
    "DECIMAL(38,38)",
)
_OF_DECIMALS = (
    *(
        "abs",
        "ceil",
        "floor",
        "round",
        "bround",
        "sum",
        "avg",
        "try_sum",
        "try_avg",
        "negative",
        "sign",
        "sqrt",
        "max",
        "median",
    ),
    *(
        "stddev",
        "collect_list",
        "typeof",
        "try_to_number",
        "percentile_approx",
        "hex",
        "bin",
        "conv",
        "width_bucket",
        "positive",
    ),
)


def decimals() -> Iterator[str]:
    """Precision and scale."""
    cast = [f"CAST(dec_nn AS {t})" for t in _DECIMALS]
    for left, right in product(cast, cast):
        yield from (f"{left} {symbol} {right}" for symbol in ("+", "-", "*", "/", "%", "DIV", "=", "<"))
        yield from (
            f"{name}({left}, {right})" for name in ("pmod", "try_add", "try_multiply", "try_divide", "greatest", "mod")
        )
        yield from (f"coalesce({left}, {right})", f"IF(boolean, {left}, {right})", f"array({left}, {right})")
        yield f"uniform({left}, {right})"
    for value in cast:
        yield from (f"{name}({value})" for name in _OF_DECIMALS)
        yield from (
            f"{name}({value}, {n})" for name in ("round", "bround", "ceil", "floor") for n in (-40, -3, 0, 1, 5, 40)
        )
        yield from (
            f"{value} {symbol} {n}" for symbol in "+-*/%" for n in ("1", "100L", "1.5", "2.5D", "'1'", "int", "NULL")
        )
        yield from (f"CAST({value} AS {t})" for t in _DECIMALS)
        yield from (f"TRY_CAST({value} AS {t})" for t in (*_DECIMALS, "INT", "STRING", "INTERVAL SECOND", "TIMESTAMP"))
    yield from (
        "1.",
        ".5",
        "1e3",
        "1.5e-3",
        "1E400BD",
        "123456789012345678901234567890",
        "1e-40",
        "0.00",
        "-0.10",
        "1.50BD",
        "1S",
        "1Y",
    )


_GEO = (
    *(
        "st_geomfromwkb(binary)",
        "st_geomfromwkb(binary_nn, 4326)",
        "st_geomfromwkb(binary, 3857)",
        "st_geogfromwkb(binary_nn)",
    ),
    *(
        "st_geomfromwkb(binary, int)",
        "NULL",
        "binary",
        "st_setsrid(st_geomfromwkb(binary), 4326)",
        "st_geomfromwkb(binary, NULL)",
    ),
    *(
        "st_setsrid(st_geogfromwkb(binary), 4326)",
        "st_setsrid(st_geogfromwkb(binary), 3857)",
        "st_geomfromwkb(binary_nn, 27700)",
    ),
)
_OVER_GEO = (
    *(
        "st_srid({})",
        "st_asbinary({})",
        "st_asbinary({}, 'XDR')",
        "st_setsrid({}, int)",
        "st_setsrid({}, 0)",
        "{} IS NULL",
    ),
    *(
        "CAST({} AS STRING)",
        "CAST({} AS BINARY)",
        "CAST({} AS GEOMETRY(4326))",
        "CAST({} AS GEOMETRY(ANY))",
        "count({})",
    ),
    *(
        "CAST({} AS GEOGRAPHY(4326))",
        "CAST({} AS GEOGRAPHY(ANY))",
        "max({})",
        "array({})",
        "typeof({})",
        "to_json(struct({}))",
    ),
    *(
        "collect_list({})",
        "hash({})",
        "coalesce({}, {})",
        "{} = {}",
        "struct({})",
        "map(1, {})",
        "first({})",
        "st_asbinary({}, NULL)",
    ),
)


def geo() -> Iterator[str]:
    """Geometries and geographies."""
    yield from _GEO
    for over, value in product(_OVER_GEO, _GEO):
        yield over.format(value, value)
    yield from (f"coalesce({a}, {b})" for a, b in product(_GEO[:5], _GEO[:5]))


_MOMENTS = (
    "date_nn",
    "ts",
    "ntz_nn",
    "time",
    "interval_nn",
    "ym",
    "dt_nn",
    "string",
    "int_nn",
    "NULL",
    "INTERVAL '1' DAY",
    "INTERVAL 2 MONTHS",
)
_OF_ONE = (
    *(
        "make_date({0}, 1, 1)",
        "extract(YEAR FROM {0})",
        "extract(SECOND FROM {0})",
        "extract(DAYS FROM {0})",
        "date_part('month', {0})",
    ),
    *(
        "- {0}",
        "abs({0})",
        "sum({0})",
        "avg({0})",
        "max({0})",
        "sign({0})",
        "sequence({0}, {0})",
        "CAST({0} AS INTERVAL HOUR TO SECOND)",
    ),
    *(
        "CAST({0} AS INT)",
        "CAST({0} AS BIGINT)",
        "CAST({0} AS DECIMAL(20,6))",
        "CAST({0} AS TIME(3))",
        "CAST({0} AS DATE)",
    ),
    *(
        "CAST({0} AS TIMESTAMP)",
        "CAST({0} AS INTERVAL MONTH)",
        "CAST({0} AS INTERVAL)",
        "{0} * 2",
        "{0} / 2.5",
        "2 * {0}",
        "{0} * '2'",
    ),
    *(
        "date_trunc('HOUR', {0})",
        "trunc({0}, 'MM')",
        "to_char({0}, 'yyyy')",
        "date_format({0}, 'y')",
        "hour({0})",
        "time_trunc('HOUR', {0})",
    ),
    *(
        "try_divide({0}, 2)",
        "try_multiply({0}, 3)",
        "time_bucket(INTERVAL '5' MINUTE, {0})",
        "unix_micros({0})",
        "hash({0})",
    ),
    *(
        "TIMESTAMPADD(HOUR, 1, {0})",
        "DATEADD(DAY, 1, {0})",
        "DATE_ADD({0}, 1)",
        "DATEDIFF(DAY, {0}, {0})",
        "TIMESTAMPDIFF(MONTH, {0}, {0})",
    ),
    *(
        "to_time({0})",
        "try_to_time({0})",
        "make_time(1, 2, {0})",
        "current_time({0})",
        "time_diff('HOUR', {0}, {0})",
        "window({0}, '1 hour')",
    ),
)
_OF_TWO = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} < {1}",
    "coalesce({0}, {1})",
    "try_add({0}, {1})",
    "try_subtract({0}, {1})",
    "array({0}, {1})",
)


def moments() -> Iterator[str]:
    """Dates, times and intervals."""
    yield from (form.format(value) for form in _OF_ONE for value in _MOMENTS)
    yield from (form.format(a, b) for form in _OF_TWO for a, b in product(_MOMENTS, _MOMENTS))


_COLLATED = (
    "string_nn",
    "lcase",
    "'x'",
    "string COLLATE UNICODE_CI",
    "lcase_nn COLLATE UTF8_BINARY",
    "upper(lcase)",
    "int",
    "NULL",
)
_OF_STRINGS = (
    *(
        "{0} = {1}",
        "concat({0}, {1})",
        "{0} || {1}",
        "coalesce({0}, {1})",
        "replace({0}, {1})",
        "substring({0}, 1)",
        "{0} LIKE {1}",
    ),
    *(
        "array({0}, {1})",
        "map({0}, {1})",
        "struct({0}, {1})",
        "split({0}, {1})",
        "contains({0}, {1})",
        "regexp_replace({0}, 'a', {1})",
    ),
    *(
        "CASE WHEN boolean THEN {0} ELSE {1} END",
        "IF(boolean, {0}, {1})",
        "greatest({0}, {1})",
        "{0} IN ({1}, 'q')",
        "trim({1} FROM {0})",
    ),
    *(
        "lower({0})",
        "collation({0})",
        "typeof({0})",
        "{0} RLIKE {1}",
        "translate({0}, {1}, {1})",
        "lpad({0}, 5, {1})",
        "max({0})",
    ),
    *(
        "listagg({0}, {1})",
        "array_join(array({0}), {1})",
        "element_at(map({0}, 1), {1})",
        "str_to_map({0}, {1})",
        "CAST({0} AS STRING)",
    ),
    *(
        "split_part({0}, {1}, 1)",
        "levenshtein({0}, {1})",
        "array_contains(array({0}), {1})",
        "concat_ws({0}, {1}, {1})",
        "decode(1, 1, {0}, {1})",
    ),
)


def collated() -> Iterator[str]:
    """Strings of several collations."""
    yield from (form.format(a, b) for form in _OF_STRINGS for a, b in product(_COLLATED, _COLLATED))
