"""The rows over which random expressions are compared: nulls (list, element, field), empties, duplicates, extremes."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

from vocabulary import COLLATES, SPARK

from planproof_engine.conf import Conf
from planproof_engine.types import Array, Struct, as_nullable, parse_type

_SHIP_TYPE = "struct<city:string,zip:int>"
ITEM = f"struct<city:string,sku:string,qty:int,price:double,note:string,tags:array<string>,ship:{_SHIP_TYPE}>"
TYPES = {
    "id": "bigint",
    "name": "string",
    "k": "int",
    "d": "double",
    "xs": "array<int>",
    "ds": "array<double>",
    "words": "array<string>",
    "items": f"array<{ITEM}>",
    "box": f"struct<items:array<{ITEM}>,label:string>",
    "attrs": "map<string,struct<a:int,b:double,c:string,e:string>>",
    "big": "bigint",
    "ls": "array<bigint>",
    "dec": "decimal(10,2)",
    "decs": "array<decimal(10,2)>",
    "grid": "array<array<int>>",
}
LCASE = "string collate UTF8_LCASE" if COLLATES else "string"
FIRM = "array<struct<a:int NOT NULL,n:int NOT NULL,b:string,c:string NOT NULL,e:string NOT NULL>>"
_SOLID = Array(parse_type(FIRM).element, False)  # type: ignore[attr-defined]
MADE: dict[str, tuple[Any, str, bool]] = {
    "firm": (
        _SOLID,
        "transform(coalesce(xs, array()), "
        "x -> named_struct('a', coalesce(x, 0), 'n', 1, 'b', name, 'c', 'c', 'e', 'b'))",
        False,
    ),
    "tongue": (parse_type(LCASE), f"CAST(name AS {LCASE})", True),
    "tongues": (parse_type(f"array<{LCASE}>"), f"transform(words, w -> CAST(w AS {LCASE}))", True),
}
"""Columns that JSON does not spell: the type, the expression over the others, whether it is nullable."""


def conf(ansi: bool) -> Conf:
    """The settings of the Spark that runs."""
    return replace(Conf.of(SPARK), ansi=ansi)


COLUMNS: list[tuple[str, Any, bool]] = [
    *((n, t, n != "id") for n, t in TYPES.items()),
    *((n, t, nullable) for n, (t, _, nullable) in MADE.items()),
]

STORED = [(n, as_nullable(parse_type(t) if isinstance(t, str) else t), True) for n, t, _ in COLUMNS]
"""The columns as a file gives them back: Spark reads every flag as nullable."""

_SHIP = '{"city":"x","zip":7}'
_FULL = f'{{"sku":"s","qty":2,"price":1.5,"note":"n","tags":["t",null],"ship":{_SHIP}}}'
_BARE = '{"sku":null,"qty":null,"price":null,"note":null,"tags":null,"ship":null}'
_ODD = '{"sku":"b","qty":-2147483648,"price":-0.0,"note":"","tags":[],"ship":{"city":null,"zip":0}}'
_SOME = '{"sku":"a","qty":0,"price":"NaN","note":"B","tags":["a","a"],"ship":{"city":"b","zip":null}}'
_ENTRY = '{"a":1,"b":2.0,"c":"x","e":"y"}'
_ZERO = '{"a":0,"b":"NaN","c":null,"e":""}'
_MOST = "9223372036854775807"
_DEEP = "99999999.99"
ROWS = (
    f'"id":1,"name":"a","k":1,"d":1.5,"xs":[1,2,null,2],"ds":[1.0,null,0.0],"words":["a","B",null],"items":[{_FULL},{_SOME}],'
    f'"box":{{"items":[{_FULL},null,{_ODD}],"label":"l"}},"attrs":{{"k1":{_ENTRY},"a":null}},'
    f'"big":1,"ls":[1,null,{_MOST}],"dec":1.50,"decs":[1.50,null,-0.01],"grid":[[1,2],[],null,[null]]',
    '"id":2,"xs":[],"ds":[],"words":[],"items":[],"box":{"items":[]},"attrs":{},"ls":[],"decs":[],"grid":[]',
    '"id":3,"name":"b,c","k":-1,"d":"NaN"',
    f'"id":4,"name":"","k":2147483647,"d":1.7976931348623157E308,"xs":[2147483647,-2147483648],"ds":["NaN",-0.0,"Infinity"],'
    f'"words":["","b","b"],"items":[null,{_BARE},{_ODD}],"box":{{"label":null}},"attrs":{{"b":{_ENTRY}}},'
    f'"big":{_MOST},"ls":[{_MOST},-9223372036854775808],"dec":{_DEEP},"decs":[{_DEEP},-{_DEEP}],"grid":[[2147483647]]',
    f'"id":5,"name":"b","k":0,"d":0.0,"xs":[0,0,0],"ds":[0.0],"words":["b"],"items":[{_SOME},{_SOME}],"box":null,'
    f'"big":0,"ls":[0],"dec":0,"decs":[0],"grid":[[0],[0]],"attrs":{{"b":{_ZERO},"B":{_ZERO}}}',
    '"id":6,"name":"B","k":3,"d":-2.5,"xs":[null],"ds":[null],"words":[null],"items":[null],"box":{"items":[null]},'
    '"big":-1,"ls":[null],"decs":[null],"grid":[null]',
    f'"id":7,"name":"7","k":2,"d":-0.0,"xs":[3,1],"ds":[2.0,-0.0],"words":["7","A","a"],"items":[{_FULL}],'
    f'"box":{{"items":[{_SOME}],"label":"a"}},"attrs":{{"7":{_ENTRY},"a":{_ZERO}}},'
    '"big":7,"ls":[3,1],"dec":7,"decs":[2.25,7],"grid":[[3,1],[2]]',
    f'"id":8,"name":"x","k":2147483647,"d":0.0,"xs":[],"ds":[],"words":[],"items":[],"box":{{"items":[],"label":"z"}},'
    f'"attrs":{{}},"big":{_MOST},"ls":[],"dec":{_DEEP},"decs":[],"grid":[]',
    '"id":9,"name":"9","k":2,"xs":[],"ds":[null],"words":[],"attrs":{},"ls":[1]',
    f'"id":10,"name":"1","k":1,"d":1.0,"xs":[1,0,2147483647],"ds":[1.0,0.0],"words":["1","x",""],"big":1,'
    f'"ls":[1,0,{_MOST}],"dec":1,"decs":[1,0,{_DEEP}],"grid":[[1],[0,2147483647]],"items":[{_FULL},{_SOME},{_ODD}],'
    f'"box":{{"items":[{_FULL},{_ODD}],"label":"1"}},"attrs":{{"1":{_ENTRY},"0":{_ZERO}}}',
)


def load(spark: Any, path: str) -> None:
    """Writes the rows as Parquet and puts them behind two views: `equality` in memory, `equality_files` on disk."""
    # pyspark logs each error that it raises, and here every other query is to fail.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    schema = ", ".join(f"{n} {t}" for n, t in TYPES.items())
    options = "map('allowNonNumericNumbers', 'true')"
    values = ", ".join(f"('{{{row}}}')" for row in ROWS)
    made = ", ".join(f"{text} AS {name}" for name, (_, text, _) in MADE.items())
    flat = f"SELECT j.* FROM (SELECT from_json(text, '{schema}', {options}) AS j FROM VALUES {values} AS t(text))"
    spark.sql(f"SELECT *, {made} FROM ({flat})").coalesce(1).write.mode("overwrite").parquet(path)
    files = spark.read.parquet(path)
    files.createOrReplaceTempView("equality_files")
    # Without a scan the optimizer evaluates a query by itself: no job, and a hundred times as many expressions.
    java = spark._jvm.org.apache.spark.sql.types
    form = {"type": "struct", "fields": [_form(f, d) for f, d in zip(files.schema.fields, COLUMNS)]}
    kept = java.DataType.fromJson(json.dumps(form))
    spark._jsparkSession.createDataFrame(files._jdf.collectAsList(), kept).createOrReplaceTempView("equality")


def _form(stored: Any, declared: tuple[str, Any, bool]) -> Any:
    """A column's JSON form with the flags that `COLUMNS` names: Spark reads every field of a file as nullable."""
    _, data_type, nullable = declared
    form = stored.jsonValue()
    return {**form, "nullable": nullable, "type": _flagged(form["type"], data_type)}


def _flagged(form: Any, data_type: Any) -> Any:
    if isinstance(data_type, Array):
        element = _flagged(form["elementType"], data_type.element)
        return {**form, "containsNull": data_type.contains_null, "elementType": element}
    if isinstance(data_type, Struct):
        fields = [
            {**f, "nullable": d.nullable, "type": _flagged(f["type"], d.type)}
            for f, d in zip(form["fields"], data_type.fields)
        ]
        return {**form, "fields": fields}
    return form
