"""Random lambda expressions over data with nulls, empties, duplicates and extremes, and how real Spark answers them.

An expression is made as text, from a typed grammar: `Grammar(random).value(kind)`. It is planned and rewritten alone,
so that what other expressions read does not matter; many pairs then share one query.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pyspark.errors import PySparkException

from planproof.api import optimize, plan
from planproof.catalog import Catalog
from planproof.conf import Conf
from planproof.types import Array, as_nullable, parse_type

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
}
FIRM = "array<struct<a:int NOT NULL,n:int NOT NULL,b:string,c:string,e:string>>"
_SOLID = Array(parse_type(FIRM).element, False)  # type: ignore[attr-defined]
COLUMNS: list[tuple[str, Any, bool]] = [*((n, t, n != "id") for n, t in TYPES.items()), ("firm", _SOLID, False)]

STORED = [(n, as_nullable(parse_type(t) if isinstance(t, str) else t), True) for n, t, _ in COLUMNS]
"""The columns as a file gives them back: Spark reads every flag as nullable."""

_SHIP = '{"city":"x","zip":7}'
_FULL = f'{{"sku":"s","qty":2,"price":1.5,"note":"n","tags":["t",null],"ship":{_SHIP}}}'
_BARE = '{"sku":null,"qty":null,"price":null,"note":null,"tags":null,"ship":null}'
_ODD = '{"sku":"b","qty":-2147483648,"price":-0.0,"note":"","tags":[],"ship":{"city":null,"zip":0}}'
_SOME = '{"sku":"a","qty":0,"price":"NaN","note":"B","tags":["a","a"],"ship":{"city":"b","zip":null}}'
_ENTRY = '{"a":1,"b":2.0,"c":"x","e":"y"}'
ROWS = (
    f'"id":1,"name":"a","k":1,"d":1.5,"xs":[1,2,null,2],"ds":[1.0,null,0.0],"words":["a","B",null],"items":[{_FULL},{_SOME}],'
    f'"box":{{"items":[{_FULL},null,{_ODD}],"label":"l"}},"attrs":{{"k1":{_ENTRY},"a":null}}',
    '"id":2,"xs":[],"ds":[],"words":[],"items":[],"box":{"items":[]},"attrs":{}',
    '"id":3,"name":"b,c","k":-1,"d":"NaN"',
    f'"id":4,"name":"","k":2147483647,"d":1.7976931348623157E308,"xs":[2147483647,-2147483648],"ds":["NaN",-0.0,"Infinity"],'
    f'"words":["","b","b"],"items":[null,{_BARE},{_ODD}],"box":{{"label":null}},"attrs":{{"b":{_ENTRY}}}',
    f'"id":5,"name":"b","k":0,"d":0.0,"xs":[0,0,0],"ds":[0.0],"words":["b"],"items":[{_SOME},{_SOME}],"box":null',
    '"id":6,"name":"B","k":3,"d":-2.5,"xs":[null],"ds":[null],"words":[null],"items":[null],"box":{"items":[null]}',
    '"id":7,"name":"7","k":2,"xs":[],"words":[],"attrs":{}',
)


def load(spark: Any, path: str) -> None:
    """Writes the rows as Parquet and puts them behind two views: `equality` in memory, `equality_files` on disk."""
    # pyspark logs each error that it raises, and here every other query is to fail.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    schema = ", ".join(f"{n} {t}" for n, t in TYPES.items())
    options = "map('allowNonNumericNumbers', 'true')"
    values = ", ".join(f"('{{{row}}}')" for row in ROWS)
    made = "named_struct('a', coalesce(x, 0), 'n', 1, 'b', name, 'c', 'c', 'e', name)"
    firm = f"transform(coalesce(xs, array()), x -> {made}) AS firm"
    flat = f"SELECT j.* FROM (SELECT from_json(text, '{schema}', {options}) AS j FROM VALUES {values} AS t(text))"
    spark.sql(f"SELECT *, {firm} FROM ({flat})").coalesce(1).write.mode("overwrite").parquet(path)
    files = spark.read.parquet(path)
    files.createOrReplaceTempView("equality_files")
    # Without a scan the optimizer evaluates a query by itself: no job, and a hundred times as many expressions.
    wanted = spark.read.parquet(path).schema.json().replace('"nullable":false', '"nullable":true')
    java = spark._jvm.org.apache.spark.sql.types
    made = spark._jsparkSession.createDataFrame(files._jdf.collectAsList(), java.DataType.fromJson(_flags(wanted)))
    made.createOrReplaceTempView("equality")


def _flags(schema: str) -> str:
    """Spark reads every field of a file as nullable: the flags that `COLUMNS` names are put back."""
    import json

    form = json.loads(schema)
    by_name = {f["name"]: f for f in form["fields"]}
    by_name["id"]["nullable"] = False
    by_name["firm"]["nullable"] = by_name["firm"]["type"]["containsNull"] = False
    for member in by_name["firm"]["type"]["elementType"]["fields"][:2]:
        member["nullable"] = False
    return json.dumps(form)


KINDS = ("int", "double", "string", "boolean", "ints", "doubles", "strings", "items", "entries", "firms")
_ELEMENTS = {
    "ints": "int",
    "doubles": "double",
    "strings": "string",
    "items": "item",
    "entries": "entry",
    "firms": "firm",
    "pairs": "pair",
}
_ZEROS = {"int": "0", "double": "0D", "string": "''", "boolean": "false"}
_FIELDS = {
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


@dataclass
class Grammar:
    """Random expressions. `risky`: whether the last one holds what may raise under ANSI."""

    chance: Random
    risky: bool = False
    scope: list[tuple[str, str]] = field(default_factory=list)
    names: int = 0

    def value(self, kind: str, depth: int = 3) -> str:
        """An expression of the kind; smaller ones as `depth` falls."""
        known = self._known(kind)
        if depth <= 0 or (known and self.chance.random() < 0.25):
            return self.chance.choice([*known, *self._leaves(kind)])
        made: Callable[[int], str] = getattr(self, f"_{kind}")
        return made(depth - 1)

    def _known(self, kind: str) -> list[str]:
        """Lambda variables of the kind, and fields of those that are structs; the inner ones likelier."""
        found = []
        for name, of in dict(self.scope).items():
            found += [name] if of == kind else [f"{name}.{f}" for f in _FIELDS.get(of, {}).get(kind, ())]
        return found + found[-2:]

    def _leaves(self, kind: str) -> list[str]:
        """Columns and constants; a column that a variable hides is none here."""
        hidden = {name for name, _ in self.scope}
        return [leaf for leaf in self._constants(kind) if not hidden & set(re.findall(r"\w+", leaf))]

    def _never_taken(self) -> str:
        """A branch that would raise, and that no element takes."""
        visible = list(dict(self.scope))
        if not visible:
            return self._leaf("if(name IS NULL, CAST(upper(name) AS INT), k)")
        name = self.chance.choice(visible)
        return self._raising(f"if({name} IS NULL AND {name} IS NOT NULL, element_at(slice(xs, 1, 0), 1), 1)")

    def _leaf(self, text: str) -> str:
        """The text, where no variable hides one of its columns."""
        return text if not {n for n, _ in self.scope} & set(re.findall(r"\w+", text)) else "1"

    def _constants(self, kind: str) -> tuple[str, ...]:
        return {
            "int": ("k", "0", "1", "-1", "2147483647", "size(xs)"),
            "double": ("d", "0D", "1.5D"),
            "string": ("name", "'b'", "''", "box.label"),
            "boolean": ("true", "k = 1", "name IS NULL"),
            "ints": ("xs", "items.qty", "slice(xs, 1, 0)"),
            "doubles": ("ds", "box.items.price"),
            "strings": ("words", "items.sku", "slice(words, 1, 0)", "array('a', 'b')"),
            "items": ("items", "box.items", "items"),
            "entries": ("map_values(attrs)",),
            "firms": ("firm",),
            "pairs": ("map_entries(attrs)",),
        }[kind]

    def within(self, *bound: tuple[str, str]) -> Grammar:
        return Grammar(self.chance, self.risky, [*self.scope, *bound], self.names)

    def _fresh(self) -> str:
        # Names repeat across depths, and some are columns: shadowing is part of what is tested.
        return self.chance.choice(("x", "y", "k", "w", "v1", "name"))

    def _body(self, kind: str, depth: int, *params: tuple[str, str]) -> str:
        inner = self.within(*params)
        text = inner.value(kind, depth)
        self.risky |= inner.risky
        return text

    def _pick(self, *options: Callable[[], str]) -> str:
        return self.chance.choice(options)()

    def _raising(self, text: str) -> str:
        self.risky = True
        return text

    def _array(self, depth: int, kinds: Sequence[str] = tuple(_ELEMENTS)) -> tuple[str, str]:
        kind = self.chance.choice(kinds)
        return self.value(kind, depth), _ELEMENTS[kind]

    def _predicate(self, function: str, depth: int, kinds: Sequence[str] = tuple(_ELEMENTS)) -> str:
        array, element = self._array(depth, kinds)
        name = self._fresh()
        test = self.chance.random()
        if element == "firm" and test > 0.7:
            return f"{function}({array}, {name} -> {name}.a > {name}.n)"
        if test < 0.06:
            return f"{function}({array}, {name} -> {name} IS {self.chance.choice(('', 'NOT '))}NULL)"
        return f"{function}({array}, {name} -> {self._body('boolean', depth, (name, element))})"

    def _reduced(self, kind: str, depth: int) -> str:
        array, element = self._array(depth)
        name = self._fresh()
        body = self._body(kind, depth, (name, element))
        if kind == "int":
            self.risky = True
        step = {"int": "acc + {}", "double": "acc + {}", "string": "concat(acc, {})"}[kind].format(f"({body})")
        return f"aggregate({array}, {_ZEROS[kind]}, (acc, {name}) -> {step})"

    def _int(self, depth: int) -> str:
        v = self.value
        return self._pick(
            lambda: f"size({self._array(depth)[0]})",
            lambda: f"length({v('string', depth)})",
            lambda: self._raising(f"({v('int', depth)} {self.chance.choice('+-*')} {v('int', depth)})"),
            lambda: self._raising(f"CAST({v('int', depth)} div {v('int', depth)} AS INT)"),
            lambda: self._raising(f"CAST({v('string', depth)} AS INT)"),
            lambda: f"array_max({v('ints', depth)})",
            lambda: f"coalesce({v('int', depth)}, {v('int', depth)})",
            lambda: f"if({v('boolean', depth)}, {v('int', depth)}, {v('int', depth)})",
            lambda: self._reduced("int", depth),
            lambda: self._never_taken(),
            lambda: f"size({self._transformed('ints', depth)})",
            lambda: self._raising(self._end(self._transformed("ints", depth))),
            lambda: self._raising(f"element_at(items, {v('int', depth)}).qty"),
            lambda: self._leaf("attrs['k1'].a"),
            lambda: self._raising(self._leaf("CAST(reverse(upper(name)) AS INT)")),
            lambda: self._raising(f"{self._predicate('filter', depth, ('items',))}[0].qty"),
            lambda: f"size({self._predicate('filter', depth)})",
            lambda: f"size(map_filter(attrs, {self._entry('boolean', depth)}))",
        )

    def _double(self, depth: int) -> str:
        v = self.value
        return self._pick(
            lambda: f"({v('double', depth)} {self.chance.choice('+-*')} {v('double', depth)})",
            lambda: self._raising(f"({v('double', depth)} / {v('double', depth)})"),
            lambda: f"({v('double', depth)} / {self.chance.choice(('2', '4D', '0.5D'))})",
            lambda: f"CAST({v('int', depth)} AS DOUBLE)",
            lambda: f"coalesce({v('double', depth)}, {v('double', depth)})",
            lambda: self._reduced("double", depth),
        )

    def _string(self, depth: int) -> str:
        v = self.value
        return self._pick(
            lambda: f"concat({v('string', depth)}, {v('string', depth)})",
            lambda: f"upper({v('string', depth)})",
            lambda: f"reverse({v('string', depth)})",
            lambda: f"coalesce({v('string', depth)}, {v('string', depth)})",
            lambda: f"CAST({v('int', depth)} AS STRING)",
            lambda: f"CASE WHEN {v('boolean', depth)} THEN {v('string', depth)} ELSE {v('string', depth)} END",
            lambda: self._reduced("string", depth),
            lambda: self._raising(
                f"map_from_entries(transform(words, w -> struct(w, upper(w))))[{v('string', depth)}]"
            ),
            lambda: f"array_join({v('strings', depth)}, ',')",
        )

    def _boolean(self, depth: int) -> str:
        v, kind = self.value, self.chance.choice(("int", "double", "string"))
        sign = self.chance.choice(("=", "<", ">=", "<=>", "!="))
        return self._pick(
            lambda: f"({v(kind, depth)} {sign} {v(kind, depth)})",
            lambda: f"({v('boolean', depth)} {self.chance.choice(('AND', 'OR'))} {v('boolean', depth)})",
            lambda: f"(NOT {v('boolean', depth)})",
            lambda: f"({v(kind, depth)} IS NULL)",
            lambda: self._predicate("exists", depth),
            lambda: self._predicate("forall", depth),
            lambda: self._contained(depth),
            lambda: self._contained(depth),
            lambda: self._counted(depth),
            lambda: self._fused(depth),
            lambda: self._overlapping(depth),
            lambda: self.chance.choice(_VOLATILE),
        )

    def _counted(self, depth: int) -> str:
        compared = self.chance.choice(("{} > 0", "{} >= 1", "{} = 0", "0 < {}", "{} > 1", "{} != 0"))
        return f"({compared.format('size(' + self._predicate('filter', depth) + ')')})"

    def _fused(self, depth: int) -> str:
        kind, name = self.chance.choice(("ints", "doubles", "strings")), self._fresh()
        test = self._body("boolean", depth, (name, _ELEMENTS[kind]))
        return f"{self.chance.choice(('exists', 'forall'))}({self._transformed(kind, depth)}, {name} -> {test})"

    def _overlapping(self, depth: int) -> str:
        kind = self.chance.choice(("ints", "strings"))
        arrays = [self.value(kind, depth), self._body(kind, depth, ("x", _ELEMENTS[kind]))]
        if kind == "ints":
            failing = ("slice(xs, 1, 0)", f"array({self._leaf('(coalesce(k, 0) + 2147483647)')})")
            arrays = self.chance.choice((arrays, failing, ("array_repeat(1, 200)", "array(hash(uuid()) & 1)")))
            self.risky |= arrays is failing
        elif self.chance.random() < 0.5:
            arrays = self.chance.sample(("words", "items.sku", "box.items.sku", "map_keys(attrs)"), 2)
        sides = self.chance.sample(("x", "w"), 2)
        return f"exists({arrays[0]}, x -> exists({arrays[1]}, w -> {sides[0]} = {sides[1]}))"

    def _end(self, array: str) -> str:
        form = self.chance.choice(("get({}, 0)", "{}[0]", "element_at({}, 1)", "element_at({}, -1)", "{}[1]"))
        return form.format(array)

    def _contained(self, depth: int) -> str:
        kind = self.chance.choice(("ints", "doubles", "strings"))
        name = self._fresh()
        array, sides = self.value(kind, depth), [name, self._body(_ELEMENTS[kind], depth, (name, _ELEMENTS[kind]))]
        if kind == "ints":
            sides[1] = self._pick(
                lambda: f"coalesce({name}, 1)",
                lambda: self._raising(self.within((name, "int"))._leaf("(coalesce(k, 0) + 2147483647)")),
                lambda: self.within((name, "int"))._leaf("k"),
                lambda: "(hash(uuid()) & 1)",
            )
            array = "array_repeat(1, 200)" if "uuid" in sides[1] else self.chance.choice((array, "slice(xs, 1, 0)"))
        self.chance.shuffle(sides)
        return f"exists({array}, {name} -> {sides[0]} = {sides[1]})"

    def _filtered(self, kind: str, depth: int) -> str:
        v, array = self.value, self.value(kind, depth)
        name, index = self.chance.choice((("x", "i"), ("k", "n"), ("y", "x")))
        inner = self._body("int", depth, (name, _ELEMENTS[kind]), (index, "int"))
        column = self.within((name, _ELEMENTS[kind]))._leaf("k")
        bound = self.chance.choice(("0", "1", "2", "-1", "3L", "2147483647", "NULL", "size(xs)", column, inner))
        if kind == "ints" and self.chance.random() < 0.25:
            bound = self._raising(self.within((name, "int"))._leaf("(coalesce(k, 0) + 2147483647)"))
            array = "slice(xs, 1, 0)"
        return self._pick(
            lambda: self._predicate("filter", depth, (kind,)),
            lambda: f"filter({array}, ({name}, {index}) -> {_indexed(index, bound, self.chance)})",
            lambda: f"slice({array}, 1, 2)",
            lambda: f"reverse({array})",
            lambda: self._raising(f"slice({array}, {v('int', depth)}, 1)"),
        )

    def _transformed(self, kind: str, depth: int) -> str:
        array, element = self._array(depth)
        name = self._fresh()
        of = _ELEMENTS[kind]
        if self.chance.random() < 0.2:
            index = "i" if name != "i" else "n"
            return f"transform({array}, ({name}, {index}) -> {self._body(of, depth, (name, element), (index, 'int'))})"
        return f"transform({array}, {name} -> {self._body(of, depth, (name, element))})"

    def _zipped(self, kind: str, depth: int) -> str:
        (left, a), (right, b) = self._array(depth), self._array(depth)
        return f"zip_with({left}, {right}, (x, y) -> {self._body(_ELEMENTS[kind], depth, ('x', a), ('y', b))})"

    def _made(self, kind: str, depth: int) -> str:
        return self._pick(
            lambda: self._transformed(kind, depth),
            lambda: self._transformed(kind, depth),
            lambda: self._filtered(kind, depth),
            lambda: self._zipped(kind, depth),
            lambda: f"transform(items, x -> x.{self.chance.choice(_FIELDS['item'][_ELEMENTS[kind]])})",
            lambda: f"slice({self._transformed(kind, depth)}, {self.chance.choice(('1, 1', '2, 1', '-1, 1'))})",
            lambda: f"map_values(transform_values(attrs, {self._entry(_ELEMENTS[kind], depth)}))",
            lambda: f"{self._filtered('items', depth)}.{self.chance.choice(_FIELDS['item'][_ELEMENTS[kind]])}",
        )

    def _ints(self, depth: int) -> str:
        if self.chance.random() < 0.1:
            return f"slice(transform({self._array(depth)[0]}, (x, n) -> n), 2, 1)"
        if self.chance.random() < 0.04 and not self.scope:
            return "array(size(array_distinct(transform(words, x -> concat(coalesce(name, ''), upper(name), uuid())))))"
        return self._made("ints", depth)

    def _doubles(self, depth: int) -> str:
        return self._made("doubles", depth)

    def _strings(self, depth: int) -> str:
        if self.chance.random() < 0.15:
            return f"map_keys(map_filter(attrs, {self._entry('boolean', depth)}))"
        return self._made("strings", depth)

    def _items(self, depth: int) -> str:
        return self._filtered("items", depth)

    def _entries(self, depth: int) -> str:
        if self.chance.random() < 0.3:
            return f"map_values(map_filter(attrs, {self._entry('boolean', depth)}))"
        return self._filtered("entries", depth)

    def _entry(self, kind: str, depth: int) -> str:
        return f"(k, y) -> {self._body(kind, depth, ('k', 'string'), ('y', 'entry'))}"

    def _pairs(self, depth: int) -> str:
        return self._filtered("pairs", depth) if self.chance.random() < 0.3 else "map_entries(attrs)"

    def _firms(self, depth: int) -> str:
        return self._filtered("firms", depth)


_SPREAD = "(size(filter(array_repeat(1, 200), (x, i) -> i < (hash(uuid()) & 255))) BETWEEN 80 AND 165)"
"""True as long as each element gets a bound of its own: 122 of 200 are kept then, give or take 6."""
_VOLATILE = (
    _SPREAD,
    "(get(transform(array_repeat(1, 5), x -> rand(3)), 0) < 0.5)",
    "(size(filter(array_repeat(1, 9), x -> rand(3) < 0.2)) > 0)",
    "exists(transform(array_repeat(1, 9), x -> rand(3)), r -> r < 0.2)",
)


def _indexed(index: str, bound: str, chance: Random) -> str:
    return chance.choice((f"{index} < {bound}", f"{bound} > {index}", f"{index} <= {bound}", f"{bound} >= {index}"))


@dataclass(frozen=True, slots=True)
class Pair:
    """An expression before and after; `rules` made the difference."""

    before: str
    after: str
    rules: tuple[str, ...]
    risky: bool


@dataclass
class Tally:
    """What was tried: expressions made, pairs that a rule made, how often each rule fired, and what differed."""

    made: int = 0
    pairs: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[str, str, str]] = field(default_factory=list)


def pairs(seed: int, ansi: bool, count: int, tally: Tally) -> Iterable[Pair]:
    """`count` rewritten expressions. A rewriting that was made and then dropped is a difference."""
    chance, catalog, conf = Random(f"{seed} {ansi}"), Catalog({"equality": COLUMNS}), Conf(ansi=ansi)
    left = count
    while left:
        grammar = Grammar(chance)
        text = grammar.value(chance.choice(KINDS[:7]), chance.choice((2, 3, 3)))
        tally.made += 1
        rewriting = optimize(plan(f"SELECT id, {text} AS e FROM equality", catalog, conf=conf))
        if rewriting.findings:
            tally.differences.append((text, "", rewriting.findings[0].message))
        if rewriting.rules:
            left -= 1
            tally.pairs += 1
            tally.fired.update(rewriting.rules)
            after = rewriting.sql.removeprefix("SELECT id, ").removesuffix(" AS e FROM equality")
            yield Pair(text, after, rewriting.rules, grammar.risky and ansi)


def outcome(spark: Any, expressions: Sequence[str], table: str) -> tuple[str, list[list[str]]] | str:
    """Schema and rows, value by value, or the condition of the error."""
    items = ", ".join(f"{e} AS e{n}" for n, e in enumerate(expressions))
    try:
        frame = spark.sql(f"SELECT id, {items} FROM {table}")
        return frame.schema.json(), [[repr(v) for v in row] for row in sorted(frame.collect())]
    except PySparkException as error:
        return f"{error.getCondition() or type(error).__name__}"


def compare(spark: Any, found: Sequence[Pair], table: str, tally: Tally) -> None:
    """Adds the pairs that differ to the tally. Where one of many fails, halves are asked."""
    before = outcome(spark, [p.before for p in found], table)
    after = outcome(spark, [p.after for p in found], table)
    if before == after and not (isinstance(before, str) and len(found) > 1):
        return
    if len(found) == 1:
        tally.differences.append((found[0].before, found[0].after, f"{before} / {after}"[:2000]))
        return
    middle = len(found) // 2
    compare(spark, found[:middle], table, tally)
    compare(spark, found[middle:], table, tally)


def search(spark: Any, seed: int, count: int, table: str = "equality", until: int | None = None) -> Tally:
    """Compares `count` pairs in either ANSI mode; `until` stops at that many differences."""
    tally = Tally()
    for ansi in (True, False):
        spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        calm: list[Pair] = []
        risky: list[Pair] = []
        for pair in pairs(seed, ansi, count, tally):
            # What may raise is asked alone: one error hides what the others answer.
            batch, width = (risky, 1) if pair.risky else (calm, 40)
            batch.append(pair)
            if len(batch) == width:
                compare(spark, batch, table, tally)
                batch.clear()
            if until is not None and len(tally.differences) >= until:
                return tally
        for batch in (calm, risky):
            if batch:
                compare(spark, batch, table, tally)
    return tally
