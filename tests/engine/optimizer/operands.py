"""Random expressions with an operand that Spark computes in a projection of its own.

Beside it they read a few fields of an array of structs."""

from __future__ import annotations

from random import Random

_SITES = (
    "aggregate(items, 0D, (s, i) -> s + i.price)",
    "size(filter(items, i -> i.qty > 1))",
    "size(filter(box.items, i -> i.sku = 'a'))",
)
_OPERANDS = (
    "size(items)",
    "size(words)",
    "(k + 1)",
    "(2 * k)",
    "hash(name)",
    "length(upper(name))",
    "length(element_at(words, 1))",
    "aggregate(xs, 0, (s, z) -> s + z)",
    "aggregate(items, 0D, (s, i) -> s + i.price)",
    "size(filter(items, i -> i.qty IS NOT NULL))",
)
_FORMS = {
    "double": (
        "({site} / {once})",
        "({site} + {once})",
        "({once} + {site})",
        "coalesce({site} / 2, {once})",
        "if({site} > 1, {once}, 0D)",
        "({site} + array_max(transform(ds, z -> z + {once})))",
        "({site} + size(filter(xs, z -> z > {once})))",
        "aggregate(items, 0D, (s, i) -> s + i.price * {once})",
    ),
    "boolean": (
        "({within} AND {site} > 1)",
        "({site} > 1 OR NOT {within})",
        "exists(items, i -> i.qty > 1 AND {within})",
        "(size(filter(xs, z -> {within})) = {site})",
    ),
}


def needed_twice(kind: str, chance: Random) -> str:
    """A number (`double`) or a test (`boolean`)."""
    operand, other, more = chance.choice(_OPERANDS), *chance.choices(("0", "1", "3", "-1", "k"), k=2)
    once, within = f"nullif({operand}, {other})", f"{operand} BETWEEN {other} AND {more}"
    return chance.choice(_FORMS[kind]).format(site=chance.choice(_SITES), once=once, within=within)
