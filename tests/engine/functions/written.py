"""Calls as people write them: modifiers, named arguments, schemas in text, generators, and over one kind of value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from cases import base, counts, is_alias, takes_lambda
from written_values import collated, decimals, geo, moments

from planproof_engine.expr.function import Category
from planproof_engine.functions.registry import builtin


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
