"""Calls as people write them: modifiers, named arguments, schemas in text, decimals, geometries, nested calls."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from cases import base, counts, is_alias, takes_lambda

from planproof.functions.registry import builtin
from planproof.functions.signature import Category


def _calls(category: Category) -> Iterator[tuple[str, str]]:
    registry = builtin()
    for name in registry:
        function = registry.functions[name]
        plain = not is_alias(name, function) and name not in registry.internal and not takes_lambda(function)
        if function.category is category and plain and not name.startswith("grouping"):
            for count in counts(function)[:3]:
                yield name, ", ".join(base(name, function, count))


_ORDERED = ("int_nn", "int DESC NULLS LAST", "string", "double_nn DESC", "map_nn", "int, string", "1")


def modifiers() -> Iterator[str]:
    """Aggregates and window functions with DISTINCT, FILTER, IGNORE NULLS and WITHIN GROUP."""
    for name, args in (*_calls(Category.AGGREGATE), *_calls(Category.WINDOW)):
        if args:
            yield f"{name}(DISTINCT {args})"
            yield f"{name}(DISTINCT {args}) OVER (PARTITION BY string)"
        yield f"{name}({args}) FILTER (WHERE boolean)"
        yield f"{name}({args}) FILTER (WHERE int)"
        yield f"{name}({args}) IGNORE NULLS"
        yield f"{name}({args}) RESPECT NULLS"
        yield f"{name}({args}) IGNORE NULLS OVER (ORDER BY int_nn)"
        yield f"{name}({args}) WITHIN GROUP (ORDER BY int_nn)"
    for name, order in product(("listagg", "string_agg"), _ORDERED):
        yield from (
            f"{name}({given}) WITHIN GROUP (ORDER BY {order})"
            for given in ("string_nn", "string, '-'", "DISTINCT string", "DISTINCT int, ','", "binary, X'2C'")
        )
    for name, order in product(("percentile_cont", "percentile_disc"), (*_ORDERED, "ym", "dt", "dec", "date")):
        yield from (
            f"{name}({p}) WITHIN GROUP (ORDER BY {order})" for p in ("0.5", "int", "2", "array(0.1, 0.9)", "NULL")
        )
    yield from (f"mode() WITHIN GROUP (ORDER BY {order})" for order in _ORDERED)
    yield from (f"mode({given}) WITHIN GROUP (ORDER BY int)" for given in ("int", "DISTINCT int"))
    yield from ("count(*)", "count(DISTINCT *)", "count(*) FILTER (WHERE int > 0)", "count(DISTINCT int, string)")
    yield from ("sum(int) + count(*)", "max(struct_nn)", "max(map_nn)", "sum(sum(int)) OVER ()", "any_value(int, true)")


_SCHEMAS = (
    *("'a INT'", "'a INT, b STRING NOT NULL'", "'a: int, b: array<string>'", "'STRUCT<a: INT>'", "'struct<a int>'"),
    *("'ARRAY<INT>'", "'MAP<STRING, INT>'", "'MAP<INT, STRING>'", "'INT'", "'VARIANT'", "'a VARIANT'", "'a TIME'"),
    *("'a DECIMAL(38,18), b DECIMAL'", "'a CHAR(3), b VARCHAR(5)'", "'a INTERVAL YEAR TO MONTH'", "'a INTERVAL'"),
    *(
        "'a TIMESTAMP_NTZ, b TIMESTAMP_LTZ'",
        "'a INT, A STRING'",
        "'`a b` INT COMMENT ''x'''",
        "'a VOID'",
        "''",
        "' a INT'",
    ),
    *("'a STRING COLLATE UTF8_LCASE'", "'STRUCT<>'", "'a GEOMETRY(4326)'", "'a INT,'", "'a'", "string_nn", "NULL", "1"),
    *("concat('a ', 'INT')", "upper('a int')", """'{"type":"struct","fields":[]}'""", "schema_of_json('{\"a\": 1}')"),
    *("schema_of_csv('1,x,2.5')", "schema_of_xml('<r><a>1</a></r>')", "lower('A INT')"),
)
_OPTIONS = ("", ", map('mode', 'FAILFAST')", ", map('a', 1)", ", map('a')", ", map()", ", map_nn", ", NULL")
_SAMPLES = (
    *("""'{"a": 1}'""", """'{"a": [1, 2.5], "b": null}'""", "'[]'", '\'[{"x": "y"}, {"z": true}]\'', "'1'", "'\"s\"'"),
    *(
        "'null'",
        "'{'",
        "''",
        "'1,2,abc'",
        "'1.5,true,2024-01-01'",
        "'<r><a>1</a><a>2</a></r>'",
        "'a,,b'",
        "NULL",
        "string_nn",
    ),
    *("'{\"a\": 12345678901234567890}'", '\'{"d": "2024-01-01"}\'', "1"),
)


def schemas() -> Iterator[str]:
    """Functions whose types a text says."""
    for name, schema in product(("from_json", "from_csv", "from_xml"), _SCHEMAS):
        yield from (f"{name}(string_nn, {schema}{options})" for options in _OPTIONS)
        yield f"{name}(string, {schema}).a"
    for name, sample in product(("schema_of_json", "schema_of_csv", "schema_of_xml"), _SAMPLES):
        yield from (f"{name}({sample}{options})" for options in _OPTIONS)
    for name, value in product(
        ("to_json", "to_csv", "to_xml"), ("struct_nn", "map", "structs", "ints", "variant", "int", "NULL")
    ):
        yield from (f"{name}({value}{options})" for options in _OPTIONS)
    types = (
        "int",
        "STRING",
        "array<int>",
        "map<string, int>",
        "struct<a: int>",
        "map<int, int>",
        "date",
        "time",
        "void",
        "x",
    )
    for name, kind in product(
        ("variant_get", "try_variant_get"), (*types, "interval", "decimal(10,2)", "variant", "a int")
    ):
        yield from (f"{name}(variant_nn, {path}, '{kind}')" for path in ("'$'", "'$.a[0]'", "string_nn", "NULL", "'a'"))
        yield f"variant_nn:a.b::{kind}"
        yield f"CAST(variant_nn AS {kind})"
    yield from (
        "variant_nn:a",
        "variant_nn:a[0].b",
        "variant_nn:['a b']",
        "variant:a::string",
        "schema_of_variant(variant)",
    )
    yield from (
        "schema_of_variant_agg(variant)",
        "parse_json(string)",
        "try_parse_json(string_nn)",
        "to_variant_object(struct_nn)",
    )


def named() -> Iterator[str]:
    """Named arguments, in order and not, missing, twice, unknown, and with defaults."""
    registry = builtin()
    for name in registry:
        function = registry.functions[name]
        if not function.names or name in registry.internal:
            continue
        values = [*base(name, function, len(function.names))]
        pairs = [f"{n} => {v}" for n, v in zip(function.names, values)]
        yield f"{name}({', '.join(pairs)})"
        yield f"{name}({', '.join(reversed(pairs))})"
        yield f"{name}({', '.join([values[0], *pairs[1:]])})"
        yield f"{name}({', '.join(pairs[1:])})"
        yield f"{name}({', '.join([*pairs, pairs[0]])})"
        yield f"{name}({', '.join([*pairs, 'other => 1'])})"
        yield f"{name}({', '.join([values[0], *pairs])})"
        yield f"{name}({pairs[0].upper()})"
    yield from (
        "upper(str => 'a')",
        "abs(x => 1)",
        "count(x => 1)",
        "mask(string_nn, lowerchar => 'q')",
        "nothing(a => 1)",
    )


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


_GENERATED = (
    *(
        "ints",
        "ints_nn",
        "map",
        "map_full_nn",
        "structs",
        "array(struct_nn)",
        "matrix_nn",
        "NULL",
        "int",
        "array()",
        "array(named_struct('x', 1))",
    ),
    *("from_json(string, 'array<int>')", "variant", "split(string, ',')", "map_nn['a']", "filter(ints, x -> x > 0)"),
)


def generators() -> Iterator[str]:
    """Generators in the select list, with and without names, beside other columns."""
    for name, value in product(
        ("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer"), _GENERATED
    ):
        yield from (
            f"{name}({value})",
            f"{name}({value}) AS c",
            f"{name}({value}) AS (c, d)",
            f"int, {name}({value})",
            f"{name}({value}) + 1",
        )
    yield from (
        "stack(2, 1, 2, 3)",
        "stack(2, 1, 'a', 2)",
        "stack(2, int_nn, int, 1)",
        "stack(1, 1, 2) AS (a, b)",
        "stack(0, 1)",
        "stack(int, 1)",
    )
    yield from (
        "stack(2, 1, 2, 3, 4) AS (a)",
        "stack(2)",
        "stack(2, NULL, 1)",
        "stack('2', 1, 2)",
        "stack(3, 1, 2)",
        "stack(2, dec, int)",
    )
    yield from (
        f"json_tuple({args})"
        for args in (
            "string, 'a'",
            "string, 'a', 'b'",
            "string",
            "string, int",
            "int, 'a'",
            "string, NULL",
            "NULL, 'a'",
        )
    )
    yield from (
        "json_tuple(string, 'a', 'b') AS (x, y)",
        "json_tuple(string, 'a') AS x",
        "explode(ints), explode(strings)",
    )


WRITTEN = {
    "modifiers": modifiers,
    "schemas": schemas,
    "named": named,
    "decimals": decimals,
    "geo": geo,
    "moments": moments,
    "collated": collated,
    "generators": generators,
}
"""Each group of calls by its name."""
