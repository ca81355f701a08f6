"""Random queries of single clauses: pivots, pipes, windows with frames, generators."""

from __future__ import annotations

from random_queries import Writer


class Clauses(Writer):
    """Writes one query of a clause in its many forms."""

    def pivots(self) -> str:
        source = self.choose(
            "orders",
            "(select status, paid, amount, day, id from orders)",
            "(select status, paid, amount, rate as r from orders) o",
            "(select * from orders where id > 1)",
        )
        call = self.choose(
            "sum(amount)",
            "max(day) as m, min(amount)",
            "count(1)",
            "sum(amount) as s, avg(amount) as a",
            "collect_list(amount)",
            "first(amount) + 1",
            "amount",
            "sum(amount + 1) filter (where id > 1)",
            "max(struct(amount, day)).amount",
            "any_value(amount)",
        )
        keys = self.choose(
            "status in ('a', 'b')",
            "(status, paid) in (('a', true), ('b', false) as bf)",
            "paid in (true as yes, false as no)",
            "status in ('a' as x, 'b' as y, null)",
            "status in (1, 2)",
            "paid in ('a')",
            "(status, paid) in ('a', 'b')",
            "status in (upper('a'))",
            "day in (date'2024-01-01')",
            "amount in (1.5, 2)",
            "nope in (1)",
            "status in ('a', 'a')",
            "(status) in ('a')",
        )
        after = self.choose(
            "", "", " where id > 1", " p", " as p where p.a is null", " order by 1", " p join days d on d.week = 1"
        )
        return f"select {self.choose('*', '*', 'a', 'x, y', 'count(*)', 'p.*', '`a_sum(amount)`', '* except (id)')} from {source} pivot ({call} for {keys}){after}"

    def unpivots(self) -> str:
        nulls = self.choose("", "include nulls ", "exclude nulls ")
        single = self.choose(
            "id, level",
            "id as a, mini as 'b'",
            "weight, due, id",
            "id, name",
            "level as x, mini as y",
            "born, joined",
            "nope",
            "customers.id, level",
            "due",
            "id as `x y`",
        )
        several = self.choose(
            "(id, level), (mini, level)",
            "(id, name) as a, (level, country) as b",
            "(id, name), (level)",
            "(weight, born) as w",
        )
        form = f"val for col in ({single})" if self.maybe(0.6) else f"(v1, v2) for col in ({several})"
        after = self.choose("", "", " u", " as u(a, b, c)", " where val is null", " u join days on week = 1")
        return f"select {self.choose('*', 'val, col', 'col, count(*)', 'v1 + v2', 'upper(col)', 'u.*', 'name')} from {self.choose('customers', '(select id, name, level, mini, born, weight, due, joined, country from customers) t', 'customers c')} unpivot {nulls}({form}){after}{' group by col' if self.maybe(0.1) else ''}"

    def pipes(self) -> str:
        text, scope = self.source(0)
        text = text if self.maybe(0.5) else f"{text} |> select *"
        steps = []
        for at in range(self.random.randint(1, 4)):
            column = self.random.choice(scope.columns)[0].split(".")[-1]
            steps.append(
                self.choose(
                    f"where {self.expr('b', scope, 1)}", f"extend {self.any(scope)} as e{at}, 1 as f{at}", f"extend {self.any(scope)}", f"select {self.any(scope)} as s{at}, {column}", f"select *, {self.any(scope)} as x{at}", f"set {column} = {self.any(scope)}", f"drop {column}", f"as p{at}",
                    f"aggregate count(*) as n{at}, {self.aggregate(scope, 1)[0]} group by {column}", f"aggregate {self.aggregate(scope, 1)[0]} as g{at}", f"aggregate group by {column}", f"aggregate max({column}) group by {self.expr('s', scope, 0)} as k{at}, {column}",
                    f"join days as j{at} on j{at}.week = 1", f"left join days using ({column})", f"cross join (select 1 as one{at})", "union all (select 1)", f"union all from {text}", "except all (table days)", "order by 1", f"order by {column} desc nulls last limit 3", "limit 5 offset 1", "tablesample (10 percent)", f"pivot (count(*) for {column} in (1, 2))", f"unpivot (v{at} for c{at} in ({column}))", f"lateral view explode(array(1, 2)) l{at} as lv{at}", f"select {self.windowed(scope)} as w{at}", f"extend sum({column}) over () as t{at}", "distinct",
                )
            )  # fmt: skip
        return f"{self.choose('from ', 'table ') if ' ' not in text else 'from '}{text} |> " + " |> ".join(steps)

    def framed(self) -> str:
        text, scope = self.source(0)
        order = self.expr(self.choose(*"inDtdv"), scope, 0)
        bound = self.choose(
            "unbounded preceding",
            "1 preceding",
            "interval 1 day preceding",
            "1.5 preceding",
            "current row",
            "1 following",
            "interval '1' month preceding",
            "(1 + 1) preceding",
            "interval '1:00' hour to minute preceding",
            "'1' preceding",
            "2 following",
        )
        end = self.choose(
            "", "current row", "unbounded following", "2 following", "interval 2 days following", "1 preceding"
        )
        unit = self.choose("rows", "range", "range")
        frame = f"{unit} between {bound} and {end}" if end else f"{unit} {bound}"
        call = self.choose(
            "sum({n})",
            "count(*)",
            "avg({d})",
            "max({s})",
            "first_value({a}) respect nulls",
            "last({i}, true)",
            "collect_set({s})",
            "lag({i}, 2, {n})",
            "lead({d}, 1, {i})",
            "lag({s}, {i})",
            "nth_value({s}, 2) ignore nulls",
            "row_number()",
            "percentile_cont(0.5) within group (order by {n})",
            "sum({v})",
            "listagg({s}, ',')",
            "ntile({i})",
            "ntile(2L)",
            "cume_dist()",
            "max_by({s}, {n})",
            "sum(distinct {i})",
            "count({a}, {a}) filter (where {b})",
            "lag({D}, -1, {t})",
            "median({n})",
            "mode({s})",
            "stddev({d})",
            "bool_and({b})",
            "corr({n}, {n})",
            "approx_count_distinct({a})",
            "min({v})",
        )
        made = self.fill(call, scope, 1)
        partition = self.choose(
            "",
            f"partition by {self.any(scope)}, {self.expr('s', scope, 0)} ",
            f"partition by {self.expr('D', scope, 1)} ",
        )
        window = f"{partition}order by {order}{self.choose('', ' desc', f', {self.any(scope)}')} {frame if self.maybe(0.7) else ''}"
        if self.maybe(0.3):
            return f"select {made} over w as a, count(*) over (w {self.choose('', 'rows 1 preceding')}) from {text} window w as ({window}){self.choose('', ', v as (w)', ', v as (partition by 1)')}"
        item = self.choose(
            f"{made} over ({window})",
            f"sum({made} over ({window})) over ()",
            f"sum(sum({self.expr('i', scope, 0)})) over (order by 1)",
            f"{made} over ({window}) + 1 as k",
            f"coalesce({made} over ({window}), null)",
        )
        return f"select {item} from {text}{self.choose('', '', f' where {made} over ({window}) > 1', f' order by {made} over ({window})')}"

    def generating(self) -> str:
        text, scope = self.source(0)
        call = self.choose(
            "explode({I})",
            "explode_outer({S})",
            "posexplode({I})",
            "posexplode_outer({M})",
            "inline({Z})",
            "inline_outer({Z})",
            "stack(2, {s}, {i}, {s}, {i})",
            "stack(3, {i}, {d}, {f})",
            "explode({M})",
            "json_tuple({s}, 'a', 'b')",
            "explode(split({s}, ','))",
            "explode({L})",
            "stack({i}, 1, 2)",
            "explode({s})",
            "explode(transform({I}, x -> struct(x, x + 1)))",
            "explode(map_entries({M}))",
        )
        made = self.fill(call, scope, 1)
        names = self.choose("", " as g", " as (g, h)", " as (g, h, k)", " g")
        item = self.choose("", f", {self.any(scope)} as o", f", {self.any(scope)}")
        view = self.choose(" as g", " as g, h", "", " as g, h, k")
        return self.choose(
            f"select {made}{names}{item} from {text}", f"select * from {text} lateral view {self.choose('', 'outer ')}{made} lv{view}", f"select g, {self.any(scope)} from {text} lateral view {made} lv{view} lateral view outer explode(array(g, 1)) lw as z", f"select count(*), g from {text} lateral view {made} lv{view} group by g", f"select * from {text}, lateral {made}{self.choose('', ' as t(g)', ' t', ' as t(g, h)')}", f"select {made} + 1 from {text}", f"select {made}, explode(array(1)) from {text}", f"select * from (select {made}{names} from {text}) where 1 = 1", f"select {made}, count(*) from {text} group by all", f"select distinct {made} from {text}", f"select * from {text} left join lateral {made} t on true",
        )  # fmt: skip
