"""Random queries of forms that `random_queries` does not write: pipes, pivots, grouping sets, correlated subqueries,
set operations that coerce, types deep within each other, intervals, aliases that other items read.

    python tests/engine/versions/random_grammar.py [COUNT [SEED]]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from random_queries import AGGREGATES, Scope
from random_rare import Rare

TYPES = (
    "int", "bigint", "smallint", "tinyint", "string", "double", "float", "decimal(10,2)", "decimal(38,18)", "decimal(5,0)",
    "date", "timestamp", "timestamp_ntz", "boolean", "binary", "array<int>", "array<string>", "map<string,int>",
    "struct<a:int,b:string>", "array<struct<a:int>>", "interval day", "interval year to month", "interval day to second",
    "char(3)", "varchar(5)",
)  # fmt: skip


class Wide(Rare):
    """Writes the forms above, those of `Rare`, and at times those of `Writer`."""

    def write(self) -> str:
        self.aliases = 0
        if self.maybe(0.2):
            return super().write()
        if self.maybe(0.6):
            return self.random.choice(self.rare())()
        forms: list[Callable[[], str]] = [
            self.coerced_set,
            self.coerced_items,
            self.deep,
            self.aliased,
            self.correlated,
            self.grouping,
            self.pivots,
            self.unpivots,
            self.pipes,
            self.framed,
            self.generating,
            self.inline,
            self.nested_ctes,
            self.moments,
            self.stars,
            self.named_arguments,
            self.lateral,
            self.ordered,
        ]
        return self.random.choice(forms)()

    def any(self, scope: Scope, depth: int = 1) -> str:
        return self.expr(self.choose(*"iisfdtDbSIMPvx"), scope, depth)

    def coerced_set(self) -> str:
        """Columns of different types meet."""
        width = self.random.randint(1, 3)
        kinds = [self.choose(*"isfdtDbxSIMPvN") for _ in range(width)]

        def side() -> str:
            text, scope = self.source(0)
            items = [self.expr(k if self.maybe(0.6) else self.choose(*"ifdsDtN"), scope, 1) for k in kinds]
            names = [f" as k{at}" if self.maybe(0.6) else "" for at in range(width)]
            return f"select {', '.join(i + n for i, n in zip(items, names))} from {text}"

        operator = self.choose(
            "union all", "union", "intersect", "except", "union all by name", "minus all", "union by name"
        )
        sides = [side() for _ in range(self.random.choice((2, 2, 3)))]
        made = f" {operator} ".join(sides) if self.maybe(0.7) else f" {operator} ".join(f"({s})" for s in sides)
        if self.maybe(0.3):
            return f"select *, {self.choose('1', 'k0', 'k0 + 1', 'k1 is null')} from ({made}) u"
        return made + self.choose("", "", " order by 1", " order by k0", " limit 3")

    def coerced_items(self) -> str:
        text, scope = self.source(0)
        a, b, c = (self.any(scope) for _ in range(3))
        kind = self.choose(*TYPES)
        items = [
            f"coalesce({a}, {b})", f"array({a}, {b})", f"map({a}, {b})", f"case when {self.expr('b', scope, 0)} then {a} else {b} end",
            f"{a} in ({b}, {c})", f"{a} = {b}", f"{a} <=> {b}", f"{a} between {b} and {c}", f"if({self.expr('b', scope, 0)}, {a}, {b})", f"greatest({a}, {b})",
            f"({a}) + ({b})", f"({a}) - ({b})", f"({a}) * ({b})", f"({a}) / ({b})", f"({a}) || ({b})", f"nullif({a}, {b})", f"nvl2({a}, {b}, {c})",
            f"cast({a} as {kind})", f"try_cast({a} as {kind})", f"concat({a}, {b})", f"cast(array({a}) as array<{kind}>)", f"struct({a} as x, {b})", f"named_struct('x', {a}, 'y', {b})",
            f"case {a} when {b} then 1 when {c} then 2 end", f"array_contains(array({a}), {b})", f"array_union(array({a}), array({b}))", f"concat(array({a}), array({b}))",
            f"map_concat(map('a', {a}), map('b', {b}))", f"stack(2, {a}, {b})", f"decode({a}, {b}, {c}, 1)", f"typeof({a})", f"({a}, {b}) = ({b}, {c})", f"({a}, {b}) in (({b}, {c}))",
            f"({a})::{kind}", f"element_at(array({a}), {b})", f"array({a})[{b}]", f"least({a}, {b}, {c})", f"({a}) % ({b})", f"-({a})", f"({a}) and ({b})", f"({a}) div ({b})", f"zip_with(array({a}), array({b}), (x, y) -> coalesce(x, y))",
            f"aggregate(array({a}), {b}, (s, x) -> {self.choose('s', 'x', 's + x', 'coalesce(s, x)')})", f"transform(array({a}, {b}), (x, i) -> struct(i, x))",
        ]  # fmt: skip
        asked = [
            self.random.choice(items) + (f" as k{at}" if self.maybe(0.4) else "")
            for at in range(self.random.randint(1, 2))
        ]
        where = f" where {self.random.choice(items)}" if self.maybe(0.05) else ""
        return f"select {', '.join(asked)} from {text}{where}"

    def deep(self) -> str:
        """Structs, maps and arrays within each other, and lambdas over them."""
        s, d, i = (
            Scope(),
            self.choose("items", "transform(scores, x -> struct(x as qty, id as sku))"),
            self.choose("id", "1"),
        )
        forms = [
            f"transform({d}, z -> struct(z.qty as q, {i} as o))", f"transform({d}, z -> z.qty).x", f"filter({d}, z -> z.qty > 1).qty",
            f"transform(filter({d}, z -> z.sku is not null), z -> named_struct('a', z, 'b', array(z.qty)))", "buyer.address.*", "buyer.*", "struct(buyer.*, 1 as more)",
            f"aggregate({d}, 0, (s, z) -> s + z.qty)", f"aggregate({d}, cast(null as bigint), (s, z) -> coalesce(s, 0) + z.qty, s -> s / 2)",
            f"map_from_entries(transform({d}, z -> struct(z.sku, z.qty)))", f"map_from_entries(transform({d}, (z, n) -> (n, z)))", f"arrays_zip({d}, scores)", "arrays_zip(tags, scores, items)", "arrays_zip(items.sku, tags as t)",
            f"flatten(transform({d}, z -> array(z.qty, null)))", f"exists({d}, z -> exists(scores, x -> x = z.qty))", f"transform({d}, z -> transform(scores, x -> x * z.qty))",
            "transform_values(props, (k, v) -> struct(k, v))", "map_filter(props, (k, v) -> v > id)", "transform(map_entries(props), e -> e.value)", "map_zip_with(props, props, (k, a, b) -> struct(a, b))", "map_keys(props)[0]", "props.a", "props['a']", f"{d}[0].qty", f"{d}.qty[0]", "buyer.address.zip + 1", "buyer.name || tags[0]", "to_json(items)", "from_json(to_json(items), 'array<struct<sku:string,qty:int>>')", "from_json(status, schema_of_json('{\"a\":[1,{\"b\":2}]}'))", "inline(items)", "explode(props)", "posexplode(items)", "struct(*)", "array(struct(*))[0].id", "named_struct('a', buyer).a.address.city", "struct(id, status).id", "struct(id, status).col2", "sort_array(items)", "array_sort(items, (l, r) -> l.qty - r.qty)", "array_distinct(items)[0]", "cast(buyer as struct<n:string,a:struct<c:string,z:bigint>>)", "cast(items as array<struct<s:string,q:bigint,p:double>>)", "cast(props as map<string,double>)", "size(items) + cardinality(props)", "concat(items, array(struct('a', 1, 2.0)))", "array_append(items, struct('a' as sku, 1 as qty, 1.0 as price))", "coalesce(buyer.address, struct('a', 1))", "slice(items, 1, 2)[0]", "element_at(props, status)", "try_element_at(items, 1).price", "array_max(transform(items, z -> z.price))", "array_join(transform(items, z -> z.sku), ',')", "zip_with(items, scores, (z, n) -> z.qty + n)", "reduce(items, struct(0 as n, 0.0D as t), (a, z) -> struct(a.n + 1 as n, a.t + z.price as t), a -> a.t / a.n)", "array_position(tags, status)", "map(status, items)", "map_concat(props, map('a', 1L))", "array_repeat(buyer, 2)", "sequence(day, day + 3)", "transform(sequence(1, size(tags)), i -> tags[i - 1])", "array_insert(scores, 1, id)", "exists(tags, t -> t in (select note from days))", "transform(tags, t -> (select max(week) from days))", "filter(scores, (x, i) -> x > i and x is not null)", "nullif(buyer, buyer)", "buyer is null", "buyer = struct('a', struct('b', 1))", "items = array()", "hash(items, props)", "first(items) over (order by id)", "collect_list(buyer) over (partition by status)",
        ]  # fmt: skip
        asked = [self.random.choice(forms) for _ in range(self.random.randint(1, 3))]
        where = f" where {self.expr('b', s, 1)}" if self.maybe(0.2) else ""
        if self.maybe(0.3):
            inner = ", ".join(f"{e} as k{at}" for at, e in enumerate(asked))
            return f"select {self.choose('*', 'k0', 'k0.*', 'k0[0]', 'k0 is null', 'count(k0)', 'max(k0)')} from (select {inner} from orders{where})"
        return f"select {', '.join(asked)} from orders{where}"

    def aliased(self) -> str:
        """Items that read aliases on their left."""
        text, scope = self.source(0)
        kind = self.choose(*"isdfD")
        made = f"{self.expr(kind, scope, 1)} as la"
        inner = Scope([("la", kind)])
        second = f"{self.expr(kind, inner, 2)} as lb"
        third = self.choose(
            self.expr(kind, Scope([("la", kind), ("lb", kind)]), 2),
            "lb is null",
            "sum(lb)",
            "max(la) over ()",
            "la = lb",
            "count(la)",
            "array(la, lb)",
        )
        tail = self.choose(
            "",
            "",
            " where la is null",
            " group by all",
            " group by la",
            " group by 1, 2",
            " having lb is null",
            " order by lb",
            " order by la + 1",
        )
        return f"select {made}, {second}, {third} from {text}{tail}"

    def correlated(self) -> str:
        text, scope = self.source(0)
        inner, other = self.relation(0)
        key = f"{self.expr('i', other, 0)} {self.choose('=', '=', '=', '>', '<=>')} {self.expr('i', scope, 0)}"
        where = f" where {key}" if self.maybe(0.75) else ""
        where += (
            f"{' and ' if where else ' where '}{self.expr('b', Scope(scope.columns + other.columns), 1)}"
            if self.maybe(0.4)
            else ""
        )
        kind = self.choose(*"isdD")
        found = self.choose(self.fill(self.random.choice(AGGREGATES[kind]), other, 1), self.expr(kind, other, 1))
        tail = self.choose(
            "",
            "",
            "",
            " limit 1",
            f" group by {self.expr('s', other, 0)}",
            f" order by {self.expr('i', other, 0)} limit 1",
            " having count(*) > 1",
        )
        asked = f"(select {found} from {inner}{where}{tail})"
        exists = f"{self.choose('', 'not ')}exists (select {self.choose('1', '*', found)} from {inner}{where}{tail})"
        within = f"{self.expr(kind, scope, 1)} {self.choose('', 'not ')}in {asked}"
        test = self.choose(
            exists, within, f"{asked} {self.choose('=', '>')} {self.expr(kind, scope, 0)}", f"{asked} is null"
        )
        item = self.any(scope)
        return self.choose(
            f"select {item}, {asked} as found from {text}", f"select {asked} from {text} where {test}", f"select {item} from {text} where {test} or {self.expr('b', scope, 0)}", f"select {item} from {text} where {test}",
            f"select {self.expr('s', scope, 0)}, max({asked}) from {text} group by 1", f"select case when {test} then 1 else {asked} end from {text}", f"select {self.expr('s', scope, 0)}, count(*) from {text} group by 1 having {test}", f"select {item} from {text} order by {asked}", f"select sum(case when {test} then 1 end) from {text}", f"select coalesce({asked}, null), {test} from {text}",
        )  # fmt: skip

    def grouping(self) -> str:
        text, scope = self.source(0)
        a, b, c = (self.expr(k, scope, self.random.randint(0, 1)) for k in self.choose("isD", "sbi", "Dst"))
        group = self.choose(
            f"{a}, rollup({b}, {c})", f"cube({a}, {b}), {c}", f"grouping sets (({a}, {b}), ({c}), ())", f"grouping sets ({a}, ({b}, {c}))", f"rollup(({a}, {b}), {c})", f"{a}, {b} with cube", f"{a}, {b}, {c} grouping sets (({a}, {b}), {c})", f"{a}, grouping sets (rollup({b}), cube({c}))", f"grouping sets (({a}), ({a})), {b}", f"rollup({a}), rollup({b})", "1, 2", "all", f"{a}, {b}, {c}", f"cube(({a}), ({b}, {c}))", f"rollup(1, 2), {c}",
        )  # fmt: skip
        items = [self.choose(a, f"{a} as ka"), self.choose(b, f"{b} as kb", f"coalesce({b}, null)")]
        items += [self.choose(f"grouping({a})", "grouping_id()", f"grouping_id({a}, {b})", self.aggregate(scope, 1)[0], f"count({a})", f"grouping({a}) + count(*)", f"sum(grouping({b})) over ()", f"rank() over (order by {a})", f"max({c})", f"struct({a}, {b})", f"max({a}) over (partition by grouping({b}))") for _ in range(self.random.randint(1, 2))]  # fmt: skip
        having = self.choose(
            "",
            "",
            "",
            f" having grouping({a}) = 0",
            " having count(*) > 1",
            f" having {a} is not null",
            f" order by grouping({a}), {b}",
            " order by 1",
            f" order by {a}",
            " having grouping_id() > 0",
            f" order by max({c})",
        )
        return f"select {', '.join(items)} from {text} group by {group}{having}"

    def inline(self) -> str:
        kinds = [self.choose(*"isfdDtbNv") for _ in range(self.random.randint(1, 3))]
        rows = []
        for _ in range(self.random.randint(1, 3)):
            values = [
                self.expr(k if self.maybe(0.75) else self.choose(*"ifdN"), Scope(), self.choose(0, 0, 1)) for k in kinds
            ]
            rows.append(f"({', '.join(values)})" if len(values) > 1 or self.maybe(0.7) else values[0])
        names = self.choose(
            "",
            " v",
            f" as v({', '.join(f'k{at}' for at in range(len(kinds)))})",
            f" as ({', '.join(f'k{at}' for at in range(len(kinds)))})",
        )
        made = f"values {', '.join(rows)}{names}"
        return self.choose(
            made,
            f"select * from {made}",
            f"select col1, {self.choose('*', 'col1 + 1', 'v.*', 'max(col1) over ()')} from {made}",
            f"select k0, typeof(k0) from {made}",
            f"select * from {made} union all {made.split(' v')[0].split(' as ')[0]}",
            f"with t as ({made}) select * from t",
        )

    def nested_ctes(self) -> str:
        first, _kinds = self.query(0)
        second, _ = self.query(0)
        use = self.choose(
            "select * from a join b",
            "select a.*, b.* from a, b",
            "select * from a union all select * from a",
            "with a as (select 1 as z) select * from a",
            "select (select count(*) from a) as n, * from b",
            "select * from (with b as (select * from a) select * from b) q",
            "select * from a natural join b",
            "from a select *",
            "select count(*) from a where exists (select * from b)",
            "select a.* from b, a as b2, a",
            "table a",
        )
        return f"with a as ({first}), {self.choose('b', 'B', 'b(x)', '`b`')} as ({second if self.maybe(0.5) else 'select * from a'}) {use}"

    def moments(self) -> str:
        text, scope = self.source(0)
        t, u, d, e, v, n = (self.expr(k, scope, 1) for k in "ttDDvi")
        forms = [
            f"({t}) - ({u})", f"({d}) - ({e})", f"({t}) - ({d})", f"({t}) + ({v})", f"({d}) + ({v})", f"({v}) + ({d})", f"({v}) * ({n})", f"({v}) / ({n})", f"({v}) + ({v})", f"extract(day from {v})", f"extract(seconds from {t})", f"date_part('dow', {d})", f"({d}) = ({t})", f"({t}) between ({d}) and ({u})", f"greatest({d}, {t})", f"coalesce({d}, {t}, null)", f"array({d}, {t})", f"date_trunc('week', {t})", f"trunc({t}, 'q')", f"timestampadd(month, {n}, {d})", f"timestampdiff(day, {d}, {t})", f"datediff(hour, {d}, {u})", f"date_add({t}, {n})", f"({d}) + ({n})", f"({n}) + ({d})", f"make_date({n}, 1, 1) + 1", f"to_timestamp({t})", f"cast({t} as timestamp_ntz)", f"cast({n} as timestamp)", f"cast({t} as bigint)", f"cast({v} as string)", f"cast({v} as int)", f"cast({n} as interval day)", f"window({t}, '1 hour')", f"window({t}, '1 hour', '15 minutes').start", f"date_format({d}, 'yy')", f"unix_timestamp({d})", f"sum({v})", f"avg({v})", f"sequence({d}, {e}, {v})", f"sequence({t}, {u}, interval 1 hour)", f"({v}) > ({v})", f"abs({v})", f"sign({v})", f"least({v}, {v})", f"next_day({t}, 'mo')", f"months_between({t}, {d})", f"last_day({t})", f"{t} at time zone 'UTC'", f"convert_timezone('UTC', {t})", f"make_timestamp({d}, {t})", f"try_subtract({d}, {v})", f"try_add({d}, {n})", f"interval {self.choose('1', '2')} {self.choose('day', 'weeks', 'month', 'year 2 months', 'hour 3 minutes')}", f"interval '{self.choose('1 2:03', '1-2', '4')}' {self.choose('day to minute', 'year to month', 'second', 'hour')}", f"-({v})", f"if({self.expr('b', scope, 0)}, {d}, {t})", f"({d}) in ({t}, {e})", f"({d}) > '2024-01-01'", f"({t}) = '2024'", f"nullif({d}, {t})", f"({v}) = ({v})", f"max({v}) over (order by {t} range between {v} preceding and current row)", f"max({t}) - min({u})",
        ]  # fmt: skip
        return f"select {', '.join(self.random.choice(forms) for _ in range(self.random.randint(1, 3)))} from {text}"

    def stars(self) -> str:
        text, scope = self.source(0)
        column = self.random.choice(scope.columns)[0].split(".")[-1]
        relation = self.random.choice(scope.relations)
        star = self.choose(
            "*",
            f"{relation}.*",
            f"* except ({column})",
            f"{relation}.* except ({column})",
            f"struct({relation}.*)",
            "count(*)",
            f"count({relation}.*)",
            "array(*)",
            "struct(*)",
            f"* except ({column}, {column})",
            "coalesce(*)",
            "hash(*)",
            f"count(distinct *), max({column})",
            f"struct(* except ({column})).*",
            "named_struct('a', struct(*)).a.*",
            "concat_ws(',', *)",
            "* except (nope)",
            "greatest(*)",
            "to_json(struct(*))",
        )
        return f"select {self.choose('', f'{self.any(scope)} as k, ')}{star}{self.choose('', ' as s', '')} from {text}{self.choose('', '', ' group by all', f' group by {column}', ' where coalesce(*) is null', ' order by all')}"

    def named_arguments(self) -> str:
        text, scope = self.source(0)
        form = self.choose(
            "mask({s}, lowerChar => null)", "mask(str => {s}, digitChar => 'd')", "explode(collection => {I})", "posexplode(collection => {I})", "count_min_sketch({i}, confidence => 0.5D, seed => 1, epsilon => 0.5D)", "mask({s}, nope => 1)", "mask({s}, upperChar => 'X', 'x')", "abs(expr => {i})", "mask({s}, str => 'a')", "mask(lowerChar => 'a')",
            "try_variant_get(parse_json({s}), '$.a', 'int')", "variant_get(parse_json({s}), '$.a', 'array<int>')", "parse_json({s}):a", "parse_json({s}):a.b[0]::int", "to_variant_object(struct({i}, {s}))", "is_variant_null(parse_json({s}))", "schema_of_variant(parse_json({s}))", "cast(parse_json({s}) as int)", "cast(parse_json({s}) as array<string>)", "{s} collate unicode_ci = 'a'", "collation({s} collate unicode)", "max({s} collate utf8_lcase)", "concat({s} collate utf8_lcase, 'b')",
        )  # fmt: skip
        return f"select {self.fill(form, scope, 1)} from {text}"

    def lateral(self) -> str:
        text, scope = self.source(0)
        inner, other = self.relation(0)
        both = Scope(scope.columns + other.columns)
        made = f"select {self.any(both)} as l1, {self.choose('max', 'count', '')}({self.expr('i', other, 0)}) as l2 from {inner} where {self.expr('i', other, 0)} = {self.expr('i', scope, 0)}"
        made = self.choose(
            made,
            f"select {self.expr('i', scope, 1)} as l1, {self.expr('s', scope, 1)} as l2",
            f"select {self.aggregate(other, 1)[0]} as l1 from {inner} where {self.expr('i', other, 0)} > {self.expr('i', scope, 0)}",
            f"values ({self.expr('i', scope, 0)}, 1)",
            f"select * from {inner} limit 1",
        )
        join = self.choose(
            ", lateral", " join lateral", " left join lateral", " cross join lateral", " inner join lateral"
        )
        on = self.choose("", "", " on true", " on l1 = 1") if "," not in join and "cross" not in join else ""
        return f"select {self.choose('*', 'lt.*', 'l1', f'{self.any(scope)}, l1')} from {text}{join} ({made}) {self.choose('lt', 'as lt(l1, l2)', 'lt(l1)')}{on}"

    def ordered(self) -> str:
        made, kinds = self.select(0)
        names = [n for n, _ in kinds if n] or ["1"]
        key = self.choose(
            self.random.choice(names),
            f"{self.random.choice(names)} + 1",
            "count(*)",
            "max(id)",
            "id",
            "2 desc",
            "all desc nulls first",
            f"lower({self.random.choice(names)})",
            "row_number() over (order by 1)",
            "(select 1)",
            "1, 1",
            "-1",
            "struct(1)",
            "map('a', 1)",
            "null",
        )
        return f"{made} {self.choose('order by', 'sort by', 'cluster by', 'distribute by')} {key}{self.choose('', ' limit 2', ' limit all', ' offset 3', ' limit cast(2 as bigint)', ' limit null')}"


def queries(count: int, seed: int, version: str = "4.3") -> list[str]:
    writer = Wide(seed, version)
    return [writer.write() for _ in range(count)]


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:])]
    print("\n".join(queries(given[0] if given else 20, given[1] if len(given) > 1 else 1)))
