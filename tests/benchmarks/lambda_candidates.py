"""Rewritings that were tried and are no rules: the text as one would write it, and a hand-written faster one.

`python tests/benchmarks/lambdas.py --tried` measures them, over the same data as the rules.
"""


def _zipped(fields: list[str]) -> tuple[str, str]:
    """A sum over fields of the readings, of 24 fields, and the same over these alone, zipped."""
    body = " + ".join(f"length(r.{f})" if f.startswith("s") else f"r.{f} % 7" for f in fields)
    text = f"select id, aggregate({{}}, 0L, (a, r) -> a + {body}) as r from devices"
    paths = ", ".join(f"device.readings.{f}" for f in fields)
    return text.format("device.readings"), text.format(f"arrays_zip({paths})")


_NUMBERS, _STRINGS = [f"n{n}" for n in range(10)], [f"s{n}" for n in range(12)]
CANDIDATES = {
    "3 of 24 fields zipped": _zipped(_NUMBERS[:3]),
    "9 of 24 fields zipped": _zipped(_NUMBERS[:9]),
    "9 numbers and 6 strings of 24 fields zipped": _zipped(_NUMBERS[:9] + _STRINGS[:6]),
    "9 numbers and 12 strings of 24 fields zipped": _zipped(_NUMBERS[:9] + _STRINGS),
    "one transform for two": (
        "select id, transform(transform(xs, x -> x + 1), y -> y * 2) as r from events",
        "select id, transform(xs, x -> (x + 1) * 2) as r from events",
    ),
    "filter of a filter as AND": (
        "select id, size(filter(filter(words, w -> w > '2'), w -> length(w) > 2)) as r from events",
        "select id, size(filter(words, w -> w > '2' and length(w) > 2)) as r from events",
    ),
    "aggregate of a transform as one aggregate": (
        "select id, aggregate(transform(xs, x -> x * 2), 0D, (a, x) -> a + x) as r from events",
        "select id, aggregate(xs, 0D, (a, x) -> a + x * 2) as r from events",
    ),
    "a struct accumulator as two aggregates": (
        """select id, aggregate(xs, named_struct('s', 0D, 'n', 0L),
            (a, x) -> named_struct('s', a.s + x, 'n', a.n + 1), a -> a.s / a.n) as r from events""",
        "select id, aggregate(xs, 0D, (a, x) -> a + x) / aggregate(xs, 0L, (a, x) -> a + 1) as r from events",
    ),
    "one filter for two lambdas": (
        """select id, aggregate(filter(xs, x -> x > 50), 0D, (a, x) -> a + x) as r, size(filter(xs, x -> x > 50)) as n
            from events""",
        """select id, aggregate(f, 0D, (a, x) -> a + x) as r, size(f) as n
            from (select *, filter(xs, x -> x > 50) as f from events)""",
    ),
    "a call that a body has twice": (
        "select id, transform(words, w -> concat(upper(reverse(w)), '-', upper(reverse(w)))) as r from events",
        "select id, transform(words, w -> transform(array(upper(reverse(w))), v -> concat(v, '-', v))[0]) as r from events",
    ),
    "a path for a transform": (
        "select orderkey, transform(items, i -> i.shipmode) as r from orders",
        "select orderkey, items.shipmode as r from orders",
    ),
    "two fields where Spark prunes by itself": (
        "select orderkey, try_element_at(filter(items, i -> i.returnflag = 'R'), 1).partkey as r from orders",
        """select orderkey, try_element_at(filter(arrays_zip(items.returnflag, items.partkey), i -> i.returnflag = 'R'), 1)
            .partkey as r from orders""",
    ),
    "membership in a filter": (
        "select id, filter(words, w -> exists(map_values(props), p -> p = w)) as r from events",
        "select id, filter(words, w -> array_contains(map_values(props), w)) as r from events",
    ),
    "each key's value": (
        "select id, transform(map_keys(props), k -> props[k]) as r from events",
        "select id, map_values(props) as r from events",
    ),
    "the largest, bound": (
        "select id, transform(xs, x -> array_max(xs) - x) as r from events",
        "select id, transform(array(array_max(xs)), v -> transform(xs, x -> v - x))[0] as r from events",
    ),
    "the largest of four, bound": (
        "select orderkey, transform(items.quantity, q -> q / array_max(items.quantity)) as r from orders",
        """select orderkey, transform(array(array_max(items.quantity)), v -> transform(items.quantity, q -> q / v))[0] as r
            from orders""",
    ),
    "has the word": (
        "select id, exists(words, w -> w = '1F') as r from events",
        "select id, array_contains(words, '1F') as r from events",
    ),
    "has the double": (
        "select id, exists(xs, x -> x = 7D) as r from events",
        "select id, array_contains(xs, 7D) as r from events",
    ),
    "both sides of map entries": (
        """select id, aggregate(map_entries(attrs), 0D, (a, e) -> a + if(e.key like 'k%', e.value.score * e.value.hits, 0D)) as r
            from events""",
        """select id, aggregate(arrays_zip(map_keys(attrs), map_values(attrs).score, map_values(attrs).hits), 0D,
            (a, e) -> a + if(e.`0` like 'k%', e.score * e.hits, 0D)) as r from events""",
    ),
    "a date cast to text once": (
        "select orderkey, transform(items, i -> concat(orderdate, ':', i.shipmode)) as r from orders",
        """select orderkey, transform(array(cast(orderdate as string)), v -> transform(items, i ->
            concat(v, ':', i.shipmode)))[0] as r from orders""",
    ),
    "bound around four whole structs": (
        """select orderkey, filter(items, i -> i.quantity > aggregate(items, 0, (a, x) -> a + x.quantity) / size(items)) as r
            from orders""",
        """select orderkey, transform(array(aggregate(items, 0, (a, x) -> a + x.quantity) / size(items)), v ->
            filter(items, i -> i.quantity > v))[0] as r from orders""",
    ),
    "bound around eight whole structs": (
        """select id, filter(device.readings, r -> r.value > aggregate(device.readings, 0D, (a, x) -> a + x.value)
            / size(device.readings)) as r from devices""",
        """select id, transform(array(aggregate(device.readings, 0D, (a, x) -> a + x.value) / size(device.readings)), v ->
            filter(device.readings, r -> r.value > v))[0] as r from devices""",
    ),
}
