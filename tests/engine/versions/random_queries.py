"""Random queries as people write them: Spark's clauses and functions mixed, most of them sound, some of them not.

    python tests/engine/versions/random_queries.py [COUNT [SEED]]

prints queries. A template's holes are filled at random: `{s}` a text, `{i}` a whole number, `{n}` any number, and so on
(`HOLES`). One hole in thirty gets something of another type, one name in a hundred is unknown: Spark's refusals are
compared as well.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from random_forms import AGGREGATES, FORMS, FRAMES, HOLES, KINDS, LITERALS, RANKED, TABLES, WINDOWED


@dataclass(frozen=True)
class Scope:
    """The columns that an expression can name: the text that names one, by kind."""

    columns: list[tuple[str, str]] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)


class Writer:
    """Writes one query after the other; the same ones of the same seed."""

    def __init__(self, seed: int, version: str = "4.3") -> None:
        self.random = random.Random(seed)  # nothing is kept secret by it
        self.version = tuple(map(int, version.split(".")))
        self.aliases = 0
        self.mistyped, self.unknown = 0.006, 0.003

    # --- expressions ---

    def maybe(self, share: float) -> bool:
        return self.random.random() < share

    def choose(self, *given: str) -> str:
        return self.random.choice(given)

    def expr(self, kind: str, scope: Scope, depth: int) -> str:
        if self.maybe(self.mistyped):
            kind = self.random.choice(HOLES)
        if self.maybe(self.unknown):
            return self.choose(
                "missing", "o.missing", "id.x", "nope(1)", "orders.id", "day", "id", "status", "buyer.nope", "tags.x"
            )
        if kind == "a":
            kind = self.random.choice("isfdtDbSIMP" + "is")
        if kind == "n":
            kind = self.random.choice("iifd")
        named = [text for text, of in scope.columns if of == kind]
        if depth <= 0 or self.maybe(0.35):
            if named and self.maybe(0.8):
                return self.random.choice(named)
            return self.random.choice(LITERALS[kind]) if not self.maybe(0.03) else "null"
        return self.fill(self.random.choice(FORMS[kind]), scope, depth - 1)

    def fill(self, form: str, scope: Scope, depth: int) -> str:
        def one(match: re.Match[str]) -> str:
            made = self.expr(match.group(1), scope, depth)
            return f"({made})" if re.search(r"[^\w.'()\[\]]", re.sub(r"\([^()]*\)|'[^']*'", "", made)) else made

        return re.sub(r"\{(\w)\}", one, form)

    def aggregate(self, scope: Scope, depth: int) -> tuple[str, str]:
        kind = self.random.choice([*AGGREGATES, "i", "d", "s"])
        made = self.fill(self.random.choice(AGGREGATES[kind]), scope, depth)
        if self.maybe(0.15):
            made = self.choose(
                f"coalesce({made}, null)", f"cast({made} as string)", f"({made})", f"{made} is null", f"array({made})"
            )
            kind = "?"
        return made, kind

    def windowed(self, scope: Scope, named: str = "") -> str:
        if self.maybe(0.4):
            ranked = self.fill(self.random.choice(RANKED), scope, 1)
            keys = f"partition by {self.expr('s', scope, 1)} " if self.maybe(0.6) else ""
            made = f"{ranked} over ({keys}order by {self.expr(self.random.choice('inDt'), scope, 1)}{self.choose('', ' desc')})"
        else:
            call = self.fill(self.random.choice(WINDOWED), scope, 1)
            made = f"{call} over {named}" if named and self.maybe(0.5) else f"{call} over ({self.window(scope)})"
        return (
            made
            if self.maybe(0.8)
            else self.choose(
                f"coalesce({made}, null)",
                f"({made}) is null",
                f"array({made})",
                f"cast({made} as string)",
                f"if({self.expr('b', scope, 0)}, {made}, null)",
            )
        )

    def window(self, scope: Scope) -> str:
        parts = []
        if self.maybe(0.6):
            parts.append(f"partition by {self.expr('a', scope, 1)}")
        if self.maybe(0.8):
            ordered = self.expr(self.random.choice("inDts"), scope, 1)
            parts.append(f"order by {ordered}{self.choose('', ' desc', ' nulls last', ' asc nulls first')}")
            parts.append(self.random.choice(FRAMES))
        return " ".join(part for part in parts if part)

    def alias(self) -> str:
        self.aliases += 1
        return self.choose("c", "v", "total", "n", "x", "`a b`", "K", "value") + (
            str(self.aliases) if self.maybe(0.9) else ""
        )

    # --- relations ---

    def relation(self, depth: int) -> tuple[str, Scope]:
        """A FROM item, and what it names."""
        self.aliases += 1
        pick = self.random.random()
        name = f"r{self.aliases}"
        if pick < 0.55 or depth <= 0:
            table = self.random.choice(list(TABLES))
            used = name if self.maybe(0.7) else table
            columns = [(self.named(used, c), KINDS[t]) for c, t, _ in TABLES[table]]
            text = table if used == table else f"{table}{self.choose(' ', ' as ')}{used}"
            if self.maybe(0.03):
                text = f"{table} tablesample ({self.choose('10 percent', '5 rows', 'bucket 1 out of 4')}){'' if used == table else ' ' + used}"
            return text, Scope(columns, [used])
        if pick < 0.75:
            made, kinds = self.query(depth - 1)
            return f"({made}) {name}", self.scope_of(name, kinds)
        if pick < 0.82:
            kinds = [("k", "i"), ("w", "s"), ("z", self.random.choice("idDfb"))]
            rows = ", ".join(
                "(" + ", ".join(self.random.choice(LITERALS[k] + ["null"]) for _, k in kinds) + ")"
                for _ in range(self.random.randint(1, 3))
            )
            return f"(values {rows}) as {name}(k, w, z)", self.scope_of(name, kinds)
        if pick < 0.87:
            return self.choose("range(10)", "range(1, 5)", "range(0, 10, 2)") + f" {name}", self.scope_of(
                name, [("id", "i")]
            )
        if pick < 0.91:
            call, kinds = self.random.choice(
                [("explode(array(1, 2))", [("col", "i")]), ("posexplode(array('a'))", [("pos", "i"), ("col", "s")]), ("explode(map('a', 1))", [("key", "s"), ("value", "i")]), ("inline(array(struct(1, 'a')))", [("col1", "i"), ("col2", "s")]), ("stack(2, 1, 'a', 2, 'b')", [("col0", "i"), ("col1", "s")]), ("json_tuple('{}', 'a', 'b')", [("c0", "s"), ("c1", "s")])]
            )  # fmt: skip
            return f"{call} {name}", self.scope_of(name, kinds)
        left, one = self.relation(depth - 1)
        right, other = self.relation(depth - 1)
        return self.joined(left, one, right, other)

    def named(self, relation: str, column: str) -> str:
        return f"{relation}.{column}" if self.maybe(0.75) else column

    def scope_of(self, name: str, kinds: list[tuple[str, str]]) -> Scope:
        return Scope([(self.named(name, c), k) for c, k in kinds if c], [name])

    def joined(self, left: str, one: Scope, right: str, other: Scope) -> tuple[str, Scope]:
        both = Scope(one.columns + other.columns, one.relations + other.relations)
        kind = self.choose(
            "join",
            "inner join",
            "left join",
            "left outer join",
            "right join",
            "full join",
            "full outer join",
            "cross join",
            "left semi join",
            "left anti join",
            "natural join",
            ",",
            "natural left join",
        )
        if kind in ("cross join", ",") or "natural" in kind:
            return f"{left}{'' if kind == ',' else ' '}{kind} {right}", both
        if self.maybe(0.2):
            ours = {text.split(".")[-1] for text, _ in one.columns}
            keys = [c for c in dict.fromkeys(text.split(".")[-1] for text, _ in other.columns) if c in ours]
            if keys:
                using = f"{left} {kind} {right} using ({self.random.choice(keys)})"
                return using, one if "semi" in kind or "anti" in kind else both
        condition = (
            f"{self.expr('i', one, 0)} = {self.expr('i', other, 0)}" if self.maybe(0.7) else self.expr("b", both, 2)
        )
        return f"{left} {kind} {right} on {condition}", one if "semi" in kind or "anti" in kind else both

    def source(self, depth: int) -> tuple[str, Scope]:
        text, scope = self.relation(depth)
        while self.maybe(0.25):
            right, other = self.relation(depth - 1)
            text, scope = self.joined(text, scope, right, other)
        if self.maybe(0.1):
            name, outer = f"g{self.aliases}", self.choose("", " outer")
            call, kinds = self.random.choice(
                [("explode({I})", [("e", "i")]), ("posexplode({S})", [("p", "i"), ("e", "s")]), ("explode({M})", [("mk", "s"), ("mv", "i")]), ("inline({Z})", [("a1", "s"), ("a2", "i"), ("a3", "d")]), ("explode({Z})", [("z1", "?")])]
            )  # fmt: skip
            text += f" lateral view{outer} {self.fill(call, scope, 1)} {name} as {', '.join(c for c, _ in kinds)}"
            scope = Scope(scope.columns + [(self.named(name, c), k) for c, k in kinds], [*scope.relations, name])
        elif self.maybe(0.06):
            name = f"l{self.aliases}"
            text += f"{self.choose(', lateral', ' join lateral', ' left join lateral')} (select {self.expr('i', scope, 1)} as li, {self.expr('s', scope, 1)} as ls) {name}"
            scope = Scope([*scope.columns, (f"{name}.li", "i"), (f"{name}.ls", "s")], [*scope.relations, name])
        return text, scope

    # --- queries ---

    def items(self, scope: Scope, named: str = "") -> tuple[list[str], list[tuple[str, str]]]:
        items, kinds = [], []
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.choice("iissfdtDbSIMZPvx")
            made = self.windowed(scope, named) if self.maybe(0.12) else self.expr(kind, scope, 2)
            kind = "?" if " over " in made else kind
            name = self.alias() if self.maybe(0.75) else ""
            items.append(f"{made}{self.choose(' as ', ' ') + name if name else ''}")
            kinds.append((name, kind))
        if self.maybe(0.08):
            items.insert(
                0,
                self.random.choice(
                    [
                        "*",
                        f"{scope.relations[0]}.*",
                        "* except (id)",
                        "*",
                        "struct(*) as everything",
                        "count(*) over () as all_rows",
                    ]
                ),
            )
        return items, kinds

    def select(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        text, scope = self.source(depth)
        where = f" where {self.expr('b', scope, 2)}" if self.maybe(0.4) else ""
        if self.maybe(0.35):
            return self.grouped(text, scope, where)
        named = "w" if self.maybe(0.08) else ""
        items, kinds = self.items(scope, named)
        distinct = "distinct " if self.maybe(0.08) else ""
        made = f"select {distinct}{', '.join(items)} from {text}{where}"
        made += f" window w as ({self.window(scope)})" if named else ""
        return made, kinds

    def grouped(self, text: str, scope: Scope, where: str) -> tuple[str, list[tuple[str, str]]]:
        kinds = [(self.random.choice("isDsb")) for _ in range(self.random.randint(0, 2))]
        groups = [self.expr(kind, scope, self.random.randint(0, 1)) for kind in kinds]
        items, output = [], []
        for group, kind in zip(groups, kinds):
            name = self.alias() if self.maybe(0.5) else ""
            items.append(f"{group} as {name}" if name else group)
            output.append((name, kind))
        for _ in range(self.random.randint(1, 3)):
            made, kind = self.aggregate(scope, 1)
            name = self.alias() if self.maybe(0.75) else ""
            items.append(f"{made} as {name}" if name else made)
            output.append((name, kind))
        if self.maybe(0.05):
            items.append(self.expr("a", scope, 1))
            output.append(("", "?"))
        made = f"select {', '.join(items)} from {text}{where}"
        if groups:
            listed = ", ".join(groups)
            ordinals = ", ".join(str(at + 1) for at in range(len(groups)))
            made += " group by " + self.random.choice(
                [
                    listed,
                    listed,
                    listed,
                    ordinals,
                    "all",
                    f"rollup({listed})",
                    f"cube({listed})",
                    f"{listed} with rollup",
                    f"grouping sets (({listed}), ())",
                    f"{listed}, {self.expr('i', scope, 0)}",
                ]
            )
        if self.maybe(0.2):
            made += f" having {self.fill(self.random.choice(AGGREGATES['b']), scope, 1)}"
        return made, output

    def query(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        made, kinds = self.select(depth)
        if depth > 0 and self.maybe(0.1):
            operator = self.choose(
                "union all",
                "union",
                "intersect",
                "except",
                "minus",
                "union all by name",
                "except all",
                "intersect all",
                "union distinct",
            )
            if self.maybe(0.5):
                same = [
                    f"{self.expr(kind, Scope(), 1)} as {name}" if name else self.expr(kind, Scope(), 1)
                    for name, kind in self.known(kinds)
                ]
                other = "select " + ", ".join(same)
            else:
                other = self.select(0)[0]
            made = f"{made} {operator} {other}"
        if self.maybe(0.15):
            names = [name for name, _ in kinds if name]
            keys = self.random.choice([*(names or ["1"]), "1", "all", "rand()", "2"])
            made += f" order by {keys}{self.choose('', ' desc', ' nulls first')}"
        if self.maybe(0.1):
            made += self.choose(" limit 10", " limit 10 offset 2", " limit all", " offset 1", " limit 1 + 1")
        return made, kinds

    def known(self, kinds: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(name, kind if kind in HOLES else self.random.choice("is")) for name, kind in kinds]

    def write(self) -> str:
        self.aliases = 0
        pick = self.random.random()
        if pick < 0.68:
            return self.query(2)[0]
        if pick < 0.82:
            return self.common()
        return self.random.choice([self.pivot, self.unpivot, self.piped, self.scalar, self.recursive])()

    # --- other forms of a query ---

    def common(self) -> str:
        first, kinds = self.query(1)
        self.aliases += 1
        scope = self.scope_of("a", kinds)
        if not scope.columns:
            return f"with a as ({first}) select * from a"
        listed = ""
        if self.maybe(0.15):
            listed = f"({', '.join(f'k{at}' for at in range(len(kinds)))})"
            scope = self.scope_of("a", [(f"k{at}", kind) for at, (_, kind) in enumerate(kinds)])
        pick = self.random.random()
        if pick < 0.5:
            return f"with a{listed} as ({first}) select {', '.join(self.items(scope)[0])} from a"
        if pick < 0.7:
            return f"with a{listed} as ({first}), b as (select * from a) {self.grouped('b as a', scope, '')[0]}"
        right, other = self.relation(0)
        text, both = self.joined("a", scope, right, other)
        return f"with a{listed} as ({first}) select {', '.join(self.items(both)[0])} from {text}"

    def pivot(self) -> str:
        call = self.choose(
            "sum(amount)",
            "max(rate) as m, count(*)",
            "first(placed)",
            "sum(amount) total",
            "avg(rate) + 1",
            "max(day)",
            "count(distinct id)",
        )
        values = self.choose("'a', 'b'", "'a' as x, 'b'", "'open'", "'a', null", "1, 2")
        columns = self.choose(
            "status, amount, rate, placed, day, id", "customer_id, status, amount, rate, placed, day, id"
        )
        return f"select * from (select {columns} from orders) pivot ({call} for status in ({values}))"

    def unpivot(self) -> str:
        nulls = self.choose("", "include nulls ", "exclude nulls ")
        columns = self.choose("week", "week, note", "id, level", "level as l, mini", "weight, due", "id, name")
        table = "days" if "week" in columns else "customers"
        return f"select * from {table} unpivot {nulls}(val for col in ({columns}))"

    def piped(self) -> str:
        text, scope = self.source(0)
        steps = []
        for _ in range(self.random.randint(1, 3)):
            steps.append(
                self.random.choice(
                    [
                        f"where {self.expr('b', scope, 1)}",
                        f"extend {self.expr('a', scope, 1)} as e{len(steps)}",
                        f"select {', '.join(self.items(scope)[0])}",
                        f"aggregate {self.aggregate(scope, 1)[0]} as n group by {self.expr('s', scope, 0)}",
                        f"order by {self.expr('i', scope, 0)}",
                        "limit 3",
                        f"as p{len(steps)}",
                        f"set {self.random.choice(scope.columns)[0].split('.')[-1]} = {self.expr('a', scope, 1)}",
                        f"drop {self.random.choice(scope.columns)[0].split('.')[-1]}",
                    ]
                )
            )
        return f"from {text} |> " + " |> ".join(steps)

    def scalar(self) -> str:
        text, scope = self.source(0)
        inner, other = self.relation(0)
        kind = self.random.choice("isdD")
        found = self.fill(self.random.choice(AGGREGATES[kind]), other, 0)
        condition = f" where {self.expr('i', other, 0)} = {self.expr('i', scope, 0)}" if self.maybe(0.6) else ""
        asked = f"(select {found} from {inner}{condition})"
        if self.maybe(0.5):
            return f"select {self.expr('a', scope, 1)}, {asked}{self.choose('', ' as found')} from {text}"
        return f"select {self.expr('a', scope, 1)} as a from {text} where {self.expr(kind, scope, 1)} {self.choose('=', '>', '<>')} {asked}"

    def recursive(self) -> str:
        first = self.choose(
            "select 1 as n", "select 1L", "select cast(1 as decimal(5,2)) as n", "values (1)", "select 1 as n, 'a' as s"
        )
        width = 2 if "'a'" in first else 1
        listed = self.choose("(n)", "(n, s)" if width == 2 else "(n)", "")
        step = "n + 1" + (", concat(s, 'b')" if width == 2 else "")
        kind = self.choose("union all", "union all", "union")
        return f"with recursive r{listed} as ({first} {kind} select {step} from r where n < 5) select {self.choose('*', 'n', 'max(n)', 'n, n * 2 as twice')} from r"


def queries(count: int, seed: int, version: str = "4.3") -> list[str]:
    writer: Writer = Writer(seed, version)
    write: Callable[[], str] = writer.write
    return [write() for _ in range(count)]


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:]), 20, 1][:2] if len(sys.argv) < 3 else [int(sys.argv[1]), int(sys.argv[2])]
    print("\n".join(queries(given[0], given[-1] if len(given) > 1 else 1)))
