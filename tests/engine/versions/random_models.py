"""Random queries as dbt compiles models: chains of CTEs, incremental filters, one row per key, pivots by CASE, exploded
arrays, joins to a calendar, unions by name.

    python tests/engine/versions/random_models.py [COUNT [SEED]]
"""

# ruff: noqa: E501  # one form of a model is one line

from __future__ import annotations

import sys
from collections.abc import Callable

from random_queries import Scope, Writer


class Models(Writer):
    """Writes models over the tables of `random_queries`."""

    def write(self) -> str:
        self.aliases = 0
        text, scope = self.source(0)
        keys = [c for c, kind in scope.columns if kind in "isD"] or ["1"]
        key = self.random.choice(keys)
        items = [
            f"{self.expr(k, scope, 2)} as {k.lower()}{at}" for at, k in enumerate(self.choose("iDsd", "isfb", "tdSs"))
        ]
        source = f"select {key} as pk, {', '.join(items)} from {text}{self._incremental(scope)}"
        steps: list[Callable[[], str]] = [
            self._latest, self._pivot, self._exploded, self._totals, self._united, self._calendar, self._gaps, self._nested,
            self._compared,
        ]  # fmt: skip
        ctes, last = [f"source as ({source})"], "source"
        for at in range(self.random.randint(1, 3)):
            made = self.random.choice(steps)().replace("{from}", last)
            last = f"step{at}"
            ctes.append(f"{last} as ({made})")
        final = self.choose("select * from {}", "select pk, count(*) as n from {} group by pk", "select distinct * from {}",
                            "select *, current_timestamp() as loaded_at from {} where pk is not null", "from {}", "select * except (pk) from {}",
                            "select {0}.*, o.status from {0} left join orders o on o.id = {0}.pk")  # fmt: skip
        return f"with {', '.join(ctes)} {final.format(last)}"

    def _incremental(self, scope: Scope) -> str:
        moments = [c for c, kind in scope.columns if kind in "tD"]
        if not moments or self.maybe(0.4):
            return ""
        at = self.random.choice(moments)
        return self.choose(
            f" where {at} > (select coalesce(max(day), date'1900-01-01') from days)", f" where {at} >= (select max(placed) - interval 3 days from orders)",
            f" where cast({at} as date) = current_date() - 1", f" where {at} between date'2024-01-01' and current_timestamp()",
        )  # fmt: skip

    def _latest(self) -> str:
        order = self.choose("pk desc", "pk desc nulls last, 1", "pk")
        return self.choose(
            f"select * from (select *, row_number() over (partition by pk order by {order}) as rn from {{from}}) t where rn = 1",
            f"select * from {{from}} qualify row_number() over (partition by pk order by {order}) = 1",
            "select pk, max_by(struct(*), pk) as latest from {from} group by pk",
            "select pk, max(struct(pk, 1 as v)).v as latest from {from} group by 1",
        )

    def _pivot(self) -> str:
        by = self.choose("pk", "cast(pk as string)", "coalesce(pk, null)")
        parts = []
        for at in range(3):
            value, given = self.choose("1", "'1'", "'a'"), self.choose("1", "1.5", "pk", "null")
            case = f"case when {by} = {value} then {given} {self.choose('', 'else 0 ')}end"
            parts.append(f"{self.choose('sum', 'max', 'count')}({case}) as p{at}")
        return f"select pk, {', '.join(parts)} from {{from}} group by {self.choose('pk', '1', 'all')}"

    def _exploded(self) -> str:
        made = self.choose(
            "array(1, 2)",
            "split(cast(pk as string), ',')",
            "sequence(1, 3)",
            "array(struct(1 as a, pk as b))",
            "map('a', pk)",
        )
        names = "k, v" if made.startswith("map") else "x"
        return self.choose(
            f"select f.*, e.* from {{from}} f lateral view {self.choose('', 'outer ')}explode({made}) e as {names}",
            f"select pk, explode({made}) from {{from}}",
            "select pk, pos from {from} lateral view posexplode(array(pk)) e as pos, item",
            "select pk, transform(array(pk), (x, i) -> struct(x as value, i)) as items from {from}",
        )

    def _totals(self) -> str:
        call = self.choose(
            "count(*)",
            "sum(1.5)",
            "avg(length(cast(pk as string)))",
            "approx_count_distinct(pk)",
            "collect_list(pk)",
            "max(pk) - min(pk)",
        )
        group = self.choose("pk", "rollup(pk)", "cube(pk)", "grouping sets ((pk), ())")
        return f"select pk, {call} as total, {self.choose('1', 'grouping(pk)' if group != 'pk' else '2')} as level from {{from}} group by {group}{self.choose('', ' having count(*) > 1')}"

    def _united(self) -> str:
        if self.version < (4,) and self.maybe(0.2):
            return "select pk from {from} intersect select week from days"
        return self.choose(
            "select * from {from} union all by name select 1 as pk, 'x' as added",
            "select pk, 1 as k from {from} union all select id, 2.5 from orders",
            "select pk from {from} union select cast(id as decimal(20,2)) from customers",
            "select pk, null as k from {from} union all select pk, current_date() from {from}",
            "select pk from {from} except select week from days",
        )

    def _calendar(self) -> str:
        return self.choose(
            "select f.pk, d.day, date_trunc('month', d.day) as month, datediff(d.day, current_date()) as age from {from} f cross join days d",
            "select f.*, d.note from {from} f left join days d on d.week = f.pk and d.day >= date_sub(current_date(), 7)",
            "select f.pk, s.d from {from} f lateral view explode(sequence(date'2024-01-01', current_date(), interval 1 month)) s as d",
            "select pk, add_months(current_date(), 1) as next_month, last_day(to_date('2024-01-01')) as month_end, date_format(current_timestamp(), 'yyyy') as y from {from}",
        )

    def _gaps(self) -> str:
        return self.choose(
            "select *, lag(pk) over (order by pk) as before, lead(pk, 1, pk) over (order by pk) as after from {from}",
            "select *, sum(case when pk is null then 1 else 0 end) over (order by pk rows unbounded preceding) as island from {from}",
            "select pk, first_value(pk, true) over w as first, ntile(4) over w as quarter from {from} window w as (partition by pk order by pk)",
            "select pk, percent_rank() over (order by pk) * 100 as share, count(*) over () as everyone from {from}",
        )

    def _nested(self) -> str:
        return self.choose(
            "select pk, named_struct('id', pk, 'tags', array(pk)) as item, to_json(struct(pk)) as js from {from}",
            "select pk, item.id, item.tags[0] as tag from (select pk, struct(pk as id, array(pk, null) as tags) as item from {from})",
            "select pk, from_json('{{}}', 'a int, b array<string>').b as bs, get_json_object(cast(pk as string), '$.a') as a from {from}".replace("{{}}", "{}"),
            "select pk, map_from_entries(collect_list(struct(cast(pk as string) as key, pk as value))) as m from {from} group by pk",
            "select pk, aggregate(filter(array(pk, null), x -> x is not null), 0, (s, x) -> s + 1) as filled from {from}",
        )  # fmt: skip

    def _compared(self) -> str:
        return self.choose(
            "select f.pk, (select count(*) from orders o where o.id = f.pk) as orders, exists (select 1 from days where week = f.pk) as known from {from} f",
            "select * from {from} f where f.pk in (select id from customers) or f.pk is null",
            "select coalesce(a.pk, b.id) as pk, a.pk is distinct from b.id as changed from {from} a full outer join customers b on a.pk = b.id",
            "select * from {from} left anti join orders on pk = id",
            "select pk, nullif(pk, 0) as n, md5(cast(concat_ws('-', coalesce(cast(pk as string), ''), '1') as string)) as surrogate_key from {from}",
        )


def queries(count: int, seed: int, version: str = "4.3") -> list[str]:
    writer = Models(seed, version)
    return [writer.write() for _ in range(count)]


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:])]
    print("\n".join(queries(given[0] if given else 20, given[1] if len(given) > 1 else 1)))
