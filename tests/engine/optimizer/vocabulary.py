"""What random expressions are made of: the kinds of values, and the columns, fields and constants of each."""

from __future__ import annotations

from importlib import metadata

SPARK = metadata.version("pyspark")
COLLATES = int(SPARK[0]) >= 4
"""Whether this Spark has collations."""
KINDS = ("int", "long", "double", "decimal", "string", "lcase", "boolean")
"""The kinds of one value; those of arrays are the keys of `ELEMENTS`."""
ELEMENTS = {
    "ints": "int",
    "longs": "long",
    "doubles": "double",
    "decimals": "decimal",
    "strings": "string",
    "lcases": "lcase",
    "grids": "ints",
    "items": "item",
    "entries": "entry",
    "firms": "firm",
    "pairs": "pair",
}
ROOTS = (*KINDS[:1], *KINDS, *list(ELEMENTS)[:7], "strings", "int", "boolean", "boolean")
"""What whole expressions are: the kinds that most rules look at come more than once."""
TESTED = (*ELEMENTS, "items", "firms", "items", "firms")
PLAIN = ("ints", "longs", "doubles", "strings")
VALUES = {kind: array for array, kind in ELEMENTS.items()}
ZEROS = {"int": "0", "long": "0L", "double": "0D", "decimal": "CAST(0 AS DECIMAL(12,2))", "string": "''"}
FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "item": {
        "int": ("qty", "ship.zip"),
        "double": ("price",),
        "string": ("sku", "city", "ship.city"),
        "strings": ("tags",),
    },
    "entry": {"int": ("a",), "double": ("b",), "string": ("c", "e")},
    "pair": {"int": ("value.a",), "double": ("value.b",), "string": ("key", "value.c")},
    "firm": {"int": ("a", "n"), "string": ("b", "c", "e")},
}
CONSTANTS: dict[str, tuple[str, ...]] = {
    "int": ("k", "0", "1", "-1", "2147483647", "size(xs)"),
    "long": ("big", "id", "0L", "9223372036854775807L"),
    "double": ("d", "0D", "1.5D"),
    "decimal": ("dec", "0.00", "99999999.99"),
    "string": ("name", "'b'", "''", "box.label"),
    "lcase": ("tongue", "CAST('B' AS STRING COLLATE UTF8_LCASE)" if COLLATES else "'B'"),
    "boolean": ("true", "(k = 1)", "(name IS NULL)"),
    "ints": ("xs", "items.qty", "slice(xs, 1, 0)", "flatten(grid)"),
    "longs": ("ls",),
    "doubles": ("ds", "box.items.price"),
    "decimals": ("decs",),
    "strings": ("words", "items.sku", "slice(words, 1, 0)", "array('a', 'b')"),
    "lcases": ("tongues",),
    "grids": ("grid",),
    "items": ("items", "box.items", "items"),
    "entries": ("map_values(attrs)",),
    "firms": ("firm",),
    "pairs": ("map_entries(attrs)",),
}
SPREAD = "(size(filter(array_repeat(1, 200), (x, i) -> i < (hash(uuid()) & 255))) BETWEEN 80 AND 165)"
"""True as long as each element gets a bound of its own: 122 of 200 are kept then, give or take 6."""
VOLATILE = (
    SPREAD,
    "(get(transform(array_repeat(1, 5), x -> rand(3)), 0) < 0.5)",
    "(size(filter(array_repeat(1, 9), x -> rand(3) < 0.2)) > 0)",
    "exists(transform(array_repeat(1, 9), x -> rand(3)), r -> r < 0.2)",
)
LOOKUP = "map_from_entries(transform(words, w -> struct(w, upper(w))))"
