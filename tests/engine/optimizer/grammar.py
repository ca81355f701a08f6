"""Random lambda expressions over the columns of `rows`, as text, from a typed grammar.

`Grammar(random).value(kind)` is one expression. Names of variables repeat across depths, and some are columns:
shadowing is part of what is tested. What was said once is said again now and then, so that expressions share parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from operands import needed_twice
from phrases import Phrases, words
from vocabulary import COLLATES, CONSTANTS, ELEMENTS, FIELDS, KINDS, LOOKUP, PLAIN, TESTED, VALUES, VOLATILE, ZEROS


def _folded(text: str) -> str:
    return f"collate({text}, 'UTF8_LCASE')" if COLLATES else f"lower({text})"


class Grammar(Phrases):
    """A rule per kind of value, and the loops that they share."""

    def _array(self, depth: int, kinds: Sequence[str] = tuple(ELEMENTS)) -> tuple[str, str]:
        kind = self.chance.choice(kinds)
        known = self._known(ELEMENTS[kind]) if ELEMENTS[kind] in KINDS else []
        if known and self.chance.random() < 0.4:
            return f"array({', '.join(self.chance.choices(known, k=2))})", ELEMENTS[kind]
        plain = self.chance.random() < 0.3
        return self.chance.choice(self._leaves(kind)) if plain else self.value(kind, depth), ELEMENTS[kind]

    def _outer(self, kind: str, depth: int, *bound: tuple[str, str]) -> str:
        """What the variables `bound` of a lambda do not change; the first of them where they hide what it says."""
        return self.within(*bound)._leaf(self.value(kind, depth), bound[0][0])

    def _never_taken(self) -> str:
        """A branch that would raise, and that no element takes."""
        visible = list(dict(self.scope))
        if not visible:
            return self._leaf("if(name IS NULL, CAST(upper(name) AS INT), k)")
        name = self.chance.choice(visible)
        return self._raising(f"if({name} IS NULL AND {name} IS NOT NULL, element_at(slice(xs, 1, 0), 1), 1)")

    def _predicate(self, function: str, depth: int, kinds: Sequence[str] = TESTED) -> str:
        array, element = self._array(depth, kinds)
        name = self._fresh()
        if self.chance.random() < 0.12:
            return f"{function}({array}, {name} -> {self._said_twice(depth, name, element)})"
        test = self.chance.random()
        if element in FIELDS and test > 0.75:
            fields = self.chance.choice([f for f in FIELDS[element].values() if len(f) > 1])
            one, other = self.chance.sample(fields, 2)
            return f"{function}({array}, {name} -> {name}.{one} {self.chance.choice(('>', '=', '<=>'))} {name}.{other})"
        if test < 0.06:
            return f"{function}({array}, {name} -> {name} IS {self.chance.choice(('', 'NOT '))}NULL)"
        if test < 0.2 and element in ("int", "long"):
            self.risky = True
            form = self.chance.choice(("1 div {0} {1} 0", "{0} + 1 {1} 1", "{0} * 2 {1} 3"))
            return f"{function}({array}, {name} -> {form.format(name, self.chance.choice('><='))})"
        if test < 0.3 and element in KINDS:
            sides = [name, self._outer(element, depth, (name, element))]
            self.chance.shuffle(sides)
            return f"{function}({array}, {name} -> {sides[0]} {self.chance.choice(('>', '<=>', '!='))} {sides[1]})"
        return f"{function}({array}, {name} -> {self._body('boolean', depth, (name, element))})"

    def _said_twice(self, depth: int, name: str, element: str) -> str:
        """A test that runs a loop twice: in any case, in branches alone, within another lambda, or as a field."""
        inner = self.within((name, element))
        kind = self.chance.choice((*[element] * 4, "int", "double", "string", "boolean", "boolean"))
        if kind not in ("int", "double", "string", "lcase"):
            kind = "boolean"
        loop = inner._looped(kind, depth) if self.chance.random() < 0.15 else inner._looped_over_leaf(kind)
        one, other = inner.value(kind, 0), inner.value(kind, 0)
        self.risky |= inner.risky
        form = self.chance.choice(
            (
                "({loop} > {one} AND {loop} < {other})",
                "(coalesce({loop}, {one}) = {loop})",
                "({loop} <=> coalesce({one}, {loop}))",
                "if({one} <=> {other}, {loop} = {one}, {loop} <=> {other})",
                "({loop} <=> {one} OR {loop} = {other})",
                "(nullif({one}, {one}) = coalesce({loop}, {loop}))",
                "exists(array({one}, {other}), k -> {loop} <=> k AND {loop} >= {one})",
                "(to_json(struct({loop}, {loop})) = '')",
                "(to_json(struct({loop})) <=> to_json(named_struct('a', {loop})))",
            )
        )
        return form.format(loop=loop, one=one, other=other)

    def _looped_over_leaf(self, kind: str) -> str:
        """A short loop that gives one value, with a variable in it where there is one of the kind."""
        if kind == "boolean" and self.chance.random() < 0.3:
            return "(size(filter(array(1, 2, 3), z -> rand(3) < 0.3)) > 0)"
        if kind == "boolean":
            kind = self.chance.choice(("int", "double", "string", "lcase"))
            form = self.chance.choice(
                ("exists(filter({0}, z -> z = {1}), z -> true)", "(filter({0}, z -> z > {1})[0] > {1})")
            )
        else:
            sums = f"aggregate({{0}}, {ZEROS.get(kind)}, (acc, z) -> acc + z % {{1}})"
            forms = ("array_max(transform({0}, z -> coalesce({1}, z)))", "get(filter({0}, z -> z >= {1}), 0)")
            form = self.chance.choice((*forms, sums) if kind in ("int", "double") else forms)
            self.risky |= form == sums
        known = self._known(kind) or self._leaves(kind)
        return form.format(self.chance.choice(self._leaves(VALUES[kind])), self.chance.choice(known))

    def _looped(self, kind: str, depth: int) -> str:
        """A loop that gives one value."""
        if kind == "boolean":
            return self._predicate(self.chance.choice(("exists", "forall")), depth)
        return self._pick(
            lambda: f"array_max({self._transformed(VALUES[kind], depth)})",
            lambda: f"get({self._transformed(VALUES[kind], depth)}, 0)",
            lambda: (
                self._reduced(kind, depth) if kind in ZEROS else f"get({self._transformed(VALUES[kind], depth)}, 0)"
            ),
            lambda: self._raising(f"{self._transformed(VALUES[kind], depth)}[0]"),
        )

    def _reduced(self, kind: str, depth: int) -> str:
        """An aggregate, with a last step now and then, and with a struct as its accumulator."""
        fixed = self.chance.random() < 0.25
        array, element = (self.chance.choice(self._leaves(VALUES[kind])), kind) if fixed else self._array(depth)
        name = self._fresh()
        self.risky |= kind in ("int", "long", "decimal")
        step = {"string": "concat({}, {})", "decimal": "CAST({1} + {0} AS DECIMAL(12,2))"}.get(kind, "{} + {}")
        step = self.chance.choice((step, "{1} + {0}")) if kind in ("int", "long", "double") else step
        body = self._outer(kind, depth, (name, kind)) if fixed else self._body(kind, depth, (name, element))
        if self.chance.random() < 0.2 and name != "acc":
            start = f"named_struct('s', {ZEROS[kind]}, 'n', 0)"
            made = f"named_struct('s', {step.format('acc.s', f'({body})')}, 'n', acc.n + 1)"
            return f"aggregate({array}, {start}, (acc, {name}) -> {made}, acc -> acc.s)"
        last, shared = "", self._again(kind)
        if self.chance.random() < (0.6 if fixed else 0.25):
            more = body if fixed else self.chance.choice(shared) if shared else self._body(kind, depth, ("acc", kind))
            last = f", acc -> {step.format('acc', f'({more})')}"
        return f"aggregate({array}, {ZEROS[kind]}, (acc, {name}) -> {step.format('acc', f'({body})')}{last})"

    def _any(self, kind: str, depth: int) -> str:
        """What there is of every kind."""
        v, array = self.value, VALUES[kind]
        return self._pick(
            lambda: f"coalesce({v(kind, depth)}, {v(kind, depth)})",
            lambda: f"if({v('boolean', depth)}, {v(kind, depth)}, {v(kind, depth)})",
            lambda: f"CASE WHEN {v('boolean', depth)} THEN {v(kind, depth)} ELSE {v(kind, depth)} END",
            lambda: f"{v(array, depth)}[0]",
            lambda: self._raising(f"element_at({v(array, depth)}, {self.chance.choice(('1', '-1', '0'))})"),
            lambda: self._raising(f"element_at({self._predicate('filter', depth, (array,))}, 1)"),
            lambda: f"array_max({v(array, depth)})",
        )

    def _int(self, depth: int) -> str:
        v = self.value
        return self._pick(
            lambda: f"size({self._array(depth)[0]})",
            lambda: f"length({v('string', depth)})",
            lambda: self._raising(f"({v('int', depth)} {self.chance.choice('+-*')} {v('int', depth)})"),
            lambda: self._raising(f"CAST({v('int', depth)} div {v('int', depth)} AS INT)"),
            lambda: self._raising(f"CAST({v('string', depth)} AS INT)"),
            lambda: self._any("int", depth),
            lambda: self._any("int", depth),
            lambda: self._reduced("int", depth),
            lambda: self._never_taken(),
            lambda: self._raising(self._leaf("CAST(reverse(upper(name)) AS INT)")),
            lambda: self._raising(f"{self._predicate('filter', depth, ('items',))}[0].qty"),
            lambda: f"size({self._predicate('filter', depth)})",
            lambda: f"array_position({v('strings', depth)}, {v('string', depth)})",
            lambda: f"size(map_filter(attrs, {self._entry('boolean', depth)}))",
            lambda: f"size({self._transformed('ints', depth)})",
            lambda: self._raising(self._end(self._transformed("ints", depth))),
            lambda: self._raising(f"element_at({self._leaf('items', 'box.items')}, {v('int', depth)}).qty"),
            lambda: "attrs['k1'].a",
        )

    def _long(self, depth: int) -> str:
        v = self.value
        return self._pick(
            lambda: self._raising(f"({v('long', depth)} {self.chance.choice('+-*')} {v('int', depth)})"),
            lambda: f"CAST({v('int', depth)} AS BIGINT)",
            lambda: self._any("long", depth),
            lambda: self._reduced("long", depth),
            lambda: self._raising(f"({v('long', depth)} div {v('int', depth)})"),
        )

    def _double(self, depth: int) -> str:
        v = self.value
        return self._pick(
            lambda: f"({v('double', depth)} {self.chance.choice('+-*')} {v('double', depth)})",
            lambda: self._raising(f"({v('double', depth)} {self.chance.choice('/%')} {v('double', depth)})"),
            lambda: self._raising(f"({v('int', depth)} / {v('int', depth)})"),
            lambda: f"({v('double', depth)} / {self.chance.choice(('2', '4D', '0.5D'))})",
            lambda: f"CAST({v(self.chance.choice(('int', 'decimal', 'boolean')), depth)} AS DOUBLE)",
            lambda: f"round({v('double', depth)}, 1)",
            lambda: self._raising(self._leaf(needed_twice("double", self.chance), "0D")),
            lambda: self._any("double", depth),
            lambda: self._reduced("double", depth),
        )

    def _decimal(self, depth: int) -> str:
        v = self.value
        return self._pick(
            lambda: self._raising(f"CAST({v('decimal', depth)} + {v('decimal', depth)} AS DECIMAL(12,2))"),
            lambda: self._raising(f"CAST({v('int', depth)} AS DECIMAL(10,2))"),
            lambda: self._any("decimal", depth),
            lambda: self._reduced("decimal", depth),
        )

    def _string(self, depth: int) -> str:
        v = self.value
        return self._pick(
            lambda: f"concat({v('string', depth)}, {v('string', depth)})",
            lambda: f"concat_ws({v('string', 0)}, {v('string', depth)}, {v('string', depth)})",
            lambda: f"to_json(struct({v('int', depth)} AS a, {v('string', depth)} AS b))",
            lambda: f"upper({v('string', depth)})",
            lambda: f"{self.chance.choice(('reverse', 'lower', 'md5'))}({v('string', depth)})",
            lambda: self._any("string", depth),
            lambda: f"CAST({v('int', depth)} AS STRING)",
            lambda: self._reduced("string", depth),
            lambda: self._raising(f"{self._leaf(LOOKUP, 'map()')}[{v('string', depth)}]"),
            lambda: f"array_join({v('strings', depth)}, ',')",
            lambda: f"to_json(struct({self._array(depth, PLAIN)[0]}, {self._array(depth, PLAIN)[0]}))",
            lambda: f"to_json(arrays_zip({self._array(depth, PLAIN)[0]}, {v('ints', depth)}))",
        )

    def _lcase(self, depth: int) -> str:
        return self._pick(
            lambda: f"upper({self.value('lcase', depth)})",
            lambda: self._any("lcase", depth),
        )

    def _boolean(self, depth: int) -> str:
        v, kind = self.value, self.chance.choice(("int", "double", "string", "int", "long", "decimal", "lcase"))
        sign = self.chance.choice(("=", "<", ">=", "<=>", "!="))
        return self._pick(
            lambda: f"({v(kind, depth)} {sign} {v(kind, depth)})",
            lambda: f"({v(kind, depth)} {sign} {v(kind, depth)})",
            lambda: f"({v('string', 0)} {sign} {_folded(v('string', depth))})",
            lambda: f"({v('boolean', depth)} {self.chance.choice(('AND', 'OR', '=', '<=>'))} {v('boolean', depth)})",
            lambda: f"(NOT {v('boolean', depth)})",
            lambda: f"({v(kind, depth)} IS NULL)",
            lambda: f"({v('boolean', depth)} IS NULL)",
            lambda: self._predicate("exists", depth),
            lambda: self._predicate("forall", depth),
            lambda: self._contained(depth),
            lambda: self._contained(depth),
            *[lambda: self._counted(depth)] * 2,
            lambda: self._fused(depth),
            lambda: self._overlapping(depth),
            lambda: self._over_fields(depth),
            lambda: self._raising(self._leaf(needed_twice("boolean", self.chance), "true")),
            lambda: self._raising(f"({v('string', depth)} LIKE {v('string', depth)})"),
            lambda: f"CAST({v(self.chance.choice(('int', 'double', 'decimal')), depth)} AS BOOLEAN)",
            lambda: self.chance.choice(VOLATILE),
        )

    def _counted(self, depth: int) -> str:
        compared = self.chance.choice(("{} > 0", "{} >= 1", "{} = 0", "0 < {}", "{} > 1", "{} != 0"))
        kinds = self.chance.choice((TESTED, ("ints", "longs")))
        return f"({compared.format('size(' + self._predicate('filter', depth, kinds) + ')')})"

    def _fused(self, depth: int) -> str:
        kind, name = self.chance.choice(tuple(ELEMENTS)[:6]), self._fresh()
        test = self._body("boolean", depth, (name, ELEMENTS[kind]))
        return f"{self.chance.choice(('exists', 'forall'))}({self._transformed(kind, depth)}, {name} -> {test})"

    def _overlapping(self, depth: int) -> str:
        kind = self.chance.choice(tuple(ELEMENTS)[:6])
        one, failing = (("x", ELEMENTS[kind]),), f"array(coalesce({self._outer('int', depth, ('x', 'int'))}, 1) + 1)"
        arrays = [self.value(kind, depth), self._body(kind, depth, *one)]
        chosen = self.chance.random()
        if chosen < 0.1:
            arrays = ["array_repeat(1, 200)", "array(hash(uuid()) & 1)"]
        elif chosen < 0.3:
            arrays = [self.chance.choice(self._leaves("ints")), failing if "x" not in words(failing) else "array(1)"]
            self.risky = True
        elif chosen < 0.4:
            arrays = [self.chance.choice(self._leaves(kind)), "array(x)"]
        elif chosen < 0.6:
            arrays = [self.chance.choice(self._leaves(kind)) for _ in "12"]
        sides = self.chance.sample(("x", "w"), 2)
        return f"exists({arrays[0]}, x -> exists({arrays[1]}, w -> {sides[0]} = {sides[1]}))"

    def _over_fields(self, depth: int) -> str:
        """A lambda over an array that is made of an outer element's fields, whose flag is no other's."""
        kind = self.chance.choice(("firms", "pairs"))
        fields = ", ".join({"firms": ("x.a", "x.n"), "pairs": ("x.key",)}[kind])
        sought = self._outer("int" if kind == "firms" else "string", depth, ("x", ELEMENTS[kind]), ("y", "int"))
        return f"exists({self.chance.choice(self._leaves(kind))}, x -> exists(array({fields}), y -> y <=> {sought}))"

    def _end(self, array: str) -> str:
        form = self.chance.choice(("get({}, 0)", "{}[0]", "element_at({}, 1)", "element_at({}, -1)", "{}[1]"))
        return form.format(array)

    def _entry(self, kind: str, depth: int) -> str:
        return f"(k, y) -> {self._body(kind, depth, ('k', 'string'), ('y', 'entry'))}"

    def _contained(self, depth: int) -> str:
        """An exists that compares each element with one value, which may use it, be null, raise or change."""
        kind = self.chance.choice(("ints", "longs", "doubles", "decimals", "strings", "lcases"))
        name, one = self._fresh(), ELEMENTS[kind]
        if self.chance.random() < 0.05:
            return f"exists(array_repeat(1, 200), {name} -> (hash(uuid()) & 1) = {name})"
        array, within = self.value(kind, depth), self.within((name, one))
        fixed = [c for c in CONSTANTS[one] if not c[0].islower()]
        outer = self.value(one, depth) if self.chance.random() < 0.7 else self.chance.choice(self._leaves(one))
        sought = self._pick(
            lambda: self._body(one, depth, (name, one)),
            lambda: within._leaf(outer, fixed[0]),
            lambda: within._leaf(outer, fixed[0]),
            *[lambda: f"coalesce({within._leaf(outer, name)}, {self.chance.choice(fixed)})"] * 3,
            lambda: f"coalesce({name}, {self.chance.choice(fixed)})",
            lambda: self.chance.choice(fixed),
        )
        sides = [name, sought]
        self.chance.shuffle(sides)
        return f"exists({array}, {name} -> {sides[0]} = {sides[1]})"

    def _filtered(self, kind: str, depth: int) -> str:
        v, array = self.value, self.value(kind, depth)
        name, index = self.chance.choice((("x", "i"), ("k", "n"), ("y", "x")))
        inner = self._body("int", depth, (name, ELEMENTS[kind]), (index, "int"))
        outer = self.within((name, ELEMENTS[kind]), (index, "int"))._leaf(v("int", depth))
        column = self.within((name, ELEMENTS[kind]))._leaf("k")
        bound = self.chance.choice(
            ("0", "1", "2", "-1", "3L", "2147483647", "NULL", "size(xs)", column, inner, inner, outer, outer)
        )
        return self._pick(
            lambda: self._predicate("filter", depth, (kind,)),
            lambda: f"filter({array}, ({name}, {index}) -> {_indexed(index, bound, self.chance)})",
            lambda: f"filter({array}, ({name}, {index}) -> {_indexed(index, bound, self.chance)})",
            lambda: f"slice({array}, 1, {self.chance.choice('002')})",
            lambda: f"reverse({array})",
            lambda: self._raising(f"slice({array}, {v('int', depth)}, 1)"),
        )

    def _transformed(self, kind: str, depth: int) -> str:
        array, element = self._array(depth)
        name = self._fresh()
        of = ELEMENTS[kind]
        if of in ("int", "double") and self.chance.random() < 0.16:
            known = self._known(kind)
            array = self.chance.choice(known or self._leaves(kind))
            return f"transform({array}, {name} -> {self._branched(depth, name, of)})"
        if element == of and of in ZEROS and self.chance.random() < 0.2:
            sign = "||" if of == "string" else self.chance.choice("+-*%") if of == "double" else "-"
            sides = [name, self._outer(of, depth, (name, of))]
            self.chance.shuffle(sides)
            self.risky = True
            return f"transform({array}, {name} -> {f' {sign} '.join(sides)})"
        if of == "int" and self.chance.random() < 0.1:
            return f"transform({array}, {name} -> if({self._said_twice(depth, name, element)}, 1, 2))"
        if self.chance.random() < 0.2:
            index = "i" if name != "i" else "n"
            return f"transform({array}, ({name}, {index}) -> {self._body(of, depth, (name, element), (index, 'int'))})"
        return f"transform({array}, {name} -> {self._body(of, depth, (name, element))})"

    def _branched(self, depth: int, name: str, of: str) -> str:
        """A test against what the lambda does not change and may raise, which a branch may hold again."""
        within = self.within((name, of))
        fixed = (
            "length(element_at(words, 1))",
            "aggregate(xs, 0, (acc, z) -> acc + z)",
            "array_max(transform(ds, z -> nullif(length(element_at(words, 1)), z)))",
            self._outer(of, depth, (name, of)),
        )
        outer = self._raising(within._leaf(self.chance.choice(fixed)))
        form = self.chance.choice(
            (
                "if({name} > {outer}, {name}, {other})",
                "CASE WHEN {name} = {outer} THEN {other} ELSE {name} END",
                "coalesce({name} - {outer}, {other})",
                "if({name} < {outer} OR {other} = {name}, {name}, 1)",
                "coalesce(nullif({outer}, {name}), {other})",
            )
        )
        return form.format(name=name, outer=outer, other=self.chance.choice((outer, "0", name)))

    def _zipped(self, kind: str, depth: int) -> str:
        (left, a), (right, b) = self._array(depth), self._array(depth)
        return f"zip_with({left}, {right}, (x, y) -> {self._body(ELEMENTS[kind], depth, ('x', a), ('y', b))})"

    def _flattened(self, kind: str, depth: int) -> str:
        array, element = self._array(depth)
        name = self._fresh()
        return f"flatten(transform({array}, {name} -> {self._body(kind, depth, (name, element))}))"

    def _made(self, kind: str, depth: int) -> str:
        fields = FIELDS["item"].get(ELEMENTS[kind], ())
        paths: list[Callable[[], str]] = [
            lambda: f"transform({self._leaf('items', 'box.items')}, x -> x.{self.chance.choice(fields)})",
            lambda: f"{self._filtered('items', depth)}.{self.chance.choice(fields)}",
        ]
        return self._pick(
            *[lambda: self._transformed(kind, depth)] * 2,
            lambda: self._filtered(kind, depth),
            lambda: self._zipped(kind, depth),
            lambda: self._flattened(kind, depth),
            lambda: f"slice({self._transformed(kind, depth)}, {self.chance.choice(('1, 1', '2, 1', '-1, 1'))})",
            lambda: f"map_values(transform_values(attrs, {self._entry(ELEMENTS[kind], depth)}))",
            lambda: f"coalesce({self.value(kind, depth)}, {self.value(kind, depth)})",
            lambda: f"array({self.value(ELEMENTS[kind], depth)}, {self.value(ELEMENTS[kind], depth)})",
            *(paths if fields else []),
        )

    def _ints(self, depth: int) -> str:
        if self.chance.random() < 0.08:
            return f"slice(transform({self._array(depth)[0]}, (x, n) -> n), 2, 1)"
        if self.chance.random() < 0.04 and not self.scope:
            return "array(size(array_distinct(transform(words, x -> concat(coalesce(name, ''), upper(name), uuid())))))"
        return self._made("ints", depth)

    def _longs(self, depth: int) -> str:
        return self._made("longs", depth)

    def _doubles(self, depth: int) -> str:
        return self._made("doubles", depth)

    def _decimals(self, depth: int) -> str:
        return self._made("decimals", depth)

    def _strings(self, depth: int) -> str:
        if self.chance.random() < 0.12:
            return f"map_keys(map_filter(attrs, {self._entry('boolean', depth)}))"
        return self._made("strings", depth)

    def _lcases(self, depth: int) -> str:
        return self._made("lcases", depth)

    def _grids(self, depth: int) -> str:
        return self._made("grids", depth)

    def _items(self, depth: int) -> str:
        return self._filtered("items", depth)

    def _entries(self, depth: int) -> str:
        if self.chance.random() < 0.3:
            return f"map_values(map_filter(attrs, {self._entry('boolean', depth)}))"
        return self._filtered("entries", depth)

    def _pairs(self, depth: int) -> str:
        return self._filtered("pairs", depth) if self.chance.random() < 0.3 else self._leaf("map_entries(attrs)")

    def _firms(self, depth: int) -> str:
        return self._filtered("firms", depth)


def _indexed(index: str, bound: str, chance: Random) -> str:
    return chance.choice((f"{index} < {bound}", f"{bound} > {index}", f"{index} <= {bound}", f"{bound} >= {index}"))
