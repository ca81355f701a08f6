"""Calls that only text can say: lambdas, windows, casts, operators over all pairs of types, functions in FROM.

They go through planproof's whole analysis. `TEXTS` names each group; a text is an expression over the specimens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cases import Answer, base, counts, is_alias, takes_lambda
from specimens import SPECIMENS, TYPES, spelled
from written import WRITTEN

from planproof import AnalysisError, Catalog, Conf, Unknown, plan
from planproof_engine.expr.function import Category
from planproof_engine.functions.registry import builtin
from planproof_engine.types import VOID

VIEW = "specimens"
_ARRAYS = ("ints", "ints_nn", "ints_full_nn", "strings_nn", "matrix_nn", "structs_nn", "array(1, 2)", "void", "NULL")
_MAPS = ("map", "map_nn", "map_full_nn", "map('a', 1)", "NULL")
_BODIES = ("x", "x IS NULL", "NULL", "1", "int", "x = int_nn", "CAST(x AS STRING)", "coalesce(x, x)", "true", "x > 0")
_PAIRS = ("x", "y", "x = y", "NULL", "coalesce(x, y)", "concat(x, y)", "y + 1", "int", "struct(x, y)")
_INITIALS = ("0", "0L", "''", "NULL", "int", "CAST(NULL AS DOUBLE)", "array(0)", "ints_nn")
_MERGES = ("a", "a + x", "x", "NULL", "coalesce(a, 0)", "1", "array_append(a, x)")


def lambdas() -> Iterator[str]:
    for array in _ARRAYS:
        for body in _BODIES:
            yield from (f"{f}({array}, x -> {body})" for f in ("transform", "filter", "exists", "forall", "array_sort"))
        yield from (
            f"{f}({array}, (x, i) -> {b})" for f in ("transform", "filter") for b in ("i", "i > 0", "x", "exists")
        )
        yield f"transform({array}, 5)"
        yield f"array_sort({array})"
        yield from (f"array_sort({array}, (x, y) -> {body})" for body in ("1", "NULL", "x", "IF(x < y, -1, 1)", "1L"))
        for other in _ARRAYS:
            yield from (f"zip_with({array}, {other}, (x, y) -> {body})" for body in _PAIRS)
        for initial in _INITIALS:
            yield from (f"aggregate({array}, {initial}, (a, x) -> {merge})" for merge in _MERGES)
            yield f"reduce({array}, {initial}, (a, x) -> a, a -> CAST(a AS STRING))"
    for left in _MAPS:
        for body in ("k", "v", "v IS NULL", "NULL", "v > 0", "int", "concat(k, v)"):
            yield from (f"{f}({left}, (k, v) -> {body})" for f in ("map_filter", "transform_keys", "transform_values"))
        for right in _MAPS:
            yield from (
                f"map_zip_with({left}, {right}, (k, a, b) -> {body})" for body in ("k", "a", "coalesce(a, b)", "int")
            )


_FRAMES = ("", "ORDER BY bigint", "PARTITION BY string ORDER BY int_nn ROWS BETWEEN 1 PRECEDING AND CURRENT ROW")


def windows() -> Iterator[str]:
    """Every aggregate and window function over a few windows."""
    registry = builtin()
    for name in registry:
        function = registry.functions[name]
        if function.category not in (Category.AGGREGATE, Category.WINDOW) or is_alias(name, function):
            continue
        if name in registry.internal or takes_lambda(function) or name in ("grouping", "grouping_id"):
            continue
        for count in counts(function)[:2]:
            args = ", ".join(base(name, function, count))
            yield from (f"{name}({args}) OVER ({frame})" for frame in _FRAMES)


def casts() -> Iterator[str]:
    targets = [t.simple for t in TYPES.values() if t != VOID]
    for source in TYPES:
        column = source if source == "void" else f"{source}_nn"
        yield from (f"{cast}({column} AS {target})" for target in targets for cast in ("CAST", "TRY_CAST"))


_OPERATORS = ("+", "-", "*", "/", "%", "DIV", "=", "<=>", "<", "&", "||", "AND", "IN")


def operators() -> Iterator[str]:
    for left in TYPES:
        for right in TYPES:
            one = left if left == "void" else f"{left}_nn"
            for symbol in _OPERATORS:
                yield f"{one} IN ({right})" if symbol == "IN" else f"{one} {symbol} {right}"


_BOUNDS = ("5", "'5'", "1.5", "2.5D", "bigint('+5')", "NULL", "CAST(NULL AS INT)", "true", "DATE'2024-02-29'", "1 + 2")


def tables() -> Iterator[str]:
    """Functions in FROM: each text is what stands there."""
    yield from (f"range({bound})" for bound in _BOUNDS)
    yield from (f"range(0, {bound}, 2)" for bound in _BOUNDS)
    yield from ("range(0, 5, 0)", "range(rand())", "range(0, 5, 1, 2)", "range()", "range(1, 2, 3, 4, 5)")
    yield from ("collations()", "sql_keywords()", "sql_keywords(1)", "abs(1)", "explode(array(1, 2))", "explode(NULL)")
    yield from ("variant_explode(parse_json('1'))", "variant_explode_outer(parse_json('1'))", "variant_explode(1)")
    yield from ("variant_explode(input => parse_json('1'))", "posexplode_outer(map(1, 2))", "stack(1 + 1, 1, 2)")
    yield from ("inline(array(struct(1, 2)))", "json_tuple('{}', 'a')", "json_tuple(1, 'a')", "nothing(1)")


TEXTS: dict[str, Callable[[], Iterator[str]]] = {
    "lambdas": lambdas,
    "windows": windows,
    "casts": casts,
    "operators": operators,
    "tables": tables,
    **WRITTEN,
}
IN_FROM = "tables"
"""The group whose texts stand in FROM."""

FEW = {"lambdas": 7, "windows": 3, "casts": 17, "operators": 131, "tables": 1} | dict.fromkeys(WRITTEN, 31)
"""The golden cases: each n-th text of a group."""


def query(group: str, text: str) -> str:
    return f"SELECT * FROM {text}" if group == IN_FROM else f"SELECT {text} FROM {VIEW}"


def catalog() -> Catalog:
    columns = [s for s in SPECIMENS.values() if not s.is_literal]
    return Catalog({VIEW: [(s.sql, s.expr.type, s.expr.nullable) for s in columns]})


def answered(group: str, text: str, where: Catalog, conf: Conf) -> Answer:
    """planproof's answer."""
    try:
        found = plan(query(group, text), where, conf=conf)
    except AnalysisError as refused:
        return Answer(error=refused.condition)
    except Unknown as unknown:
        return Answer(unknown=unknown.construct)
    return Answer(tuple((f.name, spelled(f.type), f.nullable) for f in found.schema))
