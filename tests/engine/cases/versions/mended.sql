select explode(scores), transform(scores, x -> struct(x as qty)) from orders
select explode(scores), max(struct(id as q)) over (order by id) from orders
select explode(scores), to_json(struct(id + 1.5 as q)) from orders
select explode(scores), to_json(struct(id as q)) from orders
select explode(scores) as g, struct(g as q) from orders
select explode(scores), struct(id as q), id as z from orders
select explode(scores), -struct(id as q).q from orders
select explode(scores), struct(id as q).q + 1.5D from orders
select explode(scores), upper(struct(status as q).q) from orders
select explode(scores), length(struct(status as q).q) from orders
select explode(scores), struct(current_date() as q) from orders
select explode(scores), named_struct('a', current_date()) from orders
select explode(scores), id as z, struct(z as q) from orders
select explode(scores), id as z, struct(z + 1.5 as q) from orders
select 1 from orders group by cube(id) order by max(id)
select 1 from orders group by cube(id) order by max(rate)
select 1 from orders group by cube(id) order by max(id + 1)
select id from orders group by cube(id) order by max(id)
select 1 from orders group by cube(id) having max(id) > 1
select 1 from orders group by cube(id + 1) order by max(id)
select 1 from orders group by cube(orders.id) order by max(orders.id)
select max(id) from orders group by cube(id) order by max(id)
select id, max(id) from orders group by cube(id) order by max(id)
select id as k from orders group by cube(id) order by max(id)
select 1 from orders group by cube(id) order by count(distinct id, rate)
select 1 from orders group by cube(id) sort by max(id)
select note from days group by grouping sets ((note), (note)) having grouping(note) = 0
select note from days group by grouping sets ((note), (note)) order by grouping(note)
select note as k from days group by grouping sets ((note), (note)) order by grouping(note)
select note from days group by grouping sets ((note), (note)) having grouping_id() = 0
select note from days group by grouping sets ((note), (note)) having grouping_id() = 0 and note > 'a'
select note from days group by grouping sets ((note), (note)) having grouping_id(note) = 0
select note as k from days group by grouping sets ((note), (note)) having grouping_id(note) = 0
select 1 as k from days group by grouping sets ((note), (note)) having grouping_id(note) = 0
select * from values (1.5D, exists (select 1 from customers c9 where c9.id = 2S)) as v(k0, k1)
select * from values (1, (select max(id) from customers)) as v(k0, k1)
select * from values (1, (select 1)) as v(k0, k1)
select * from values (1, 1 in (select id from customers)) as v(k0, k1)
select * from values (1, 1 in (select 1)) as v(k0, k1)
values (1, exists (select 1 from customers))
values (1, exists (select 1))
select * from values (1), ((select 1 from nowhere))
select * from values ((select 1), 'a'), (1.5, 2)
select week from days order by (select max(id) from customers where customers.id = days.week)
select note from days order by (select max(id) from customers where customers.id = days.week)
select note from days order by (select id from customers where customers.id = days.week)
select note from days order by (select (select max(days.week) from orders) from customers)
select note from days order by (select id from customers where customers.id = days.week having count(*) > 1)
select note from days order by (select max(id) from customers where customers.id > days.week)
select sum(sum(week)) over (order by 1) from days order by lag(week) over (order by day rows between 1 preceding and current row)
select sum(sum(week)) over (order by 1) from days order by lag(1) over (order by 1 rows between 1 preceding and current row)
select sum(week) from days order by lag(week) over (order by day rows between 1 preceding and current row)
select sum(sum(week)) over (order by 1) from days order by count(distinct week) over (order by day)
select sum(sum(week)) over (order by 1) from days order by count(week) filter (where true) over (order by day)
select element_at(null, 1)
with a as (select upper(array(1)) as x from days), b as (select * from a) select 1
with a as (select upper(array(1)) as x from days), b as (select * from a) select * from a
with a as (select upper(array(1)) as x from days), b as (select x from a) select * from a
with a as (select upper(array(1)) as x from days), b as (select count(*) from a) select * from a
with a as (select nope from days), b as (select * from a) select * from a
with a as (select nope from days), b as (select * from a) select * from b
with a as (select upper(array(1)) as x from days), b as (select 1 as k, a.* from a) select * from a
with a as (select upper(array(1)) as x from days), b as (select x from a), c as (select * from b) select * from a
with a as (select distinct upper(array(1)) as x from days), b(x) as (select * from a) select * from a
with a as (select upper(array(1)) as x, 1 as y from days), b(x) as (select * from a) select * from b
with a as (select l.y from days r1 left join lateral (select week as y) l) select (select count(*) from a)
with a as (select collect_list(l.y) as z from days r1 join lateral (select week as y) l) select 1 where exists (select * from a)
select (select count(*) from days r1 left join lateral (select week as y) l)
with a as (select l.y from days r1 left join lateral (select week as y) l order by 1) select (select count(*) from a)
select p.* from days pivot (count(1) for note in ('a'))
select p.* from days pivot (sum(week) as s for note in ('a'))
select p.* from (select week from days)
select p.x.* from days pivot (count(1) for note in ('a'))
select * from orders pivot (count(1) for paid in ('a'))
select * from orders pivot (count(1) for status in ('a'))
select * from orders pivot (count(1) for (status, paid) in ('a'))
select note, week from days window w as (partition by nope(1))
select sum(week) over w from days window w as (order by day), v as (partition by nope(1))
select (extract(week from day), note) in (select week, note from days) from days
select (week + 1, note) in (select week, note from days) from days
select (abs(week), note) in (select week, note from days) from days
select (ifnull(week, 1), nvl(note, 'a')) in (select week, note from days) from days
select (date_part('day', day), cast(week as string)) in (select week, note from days) from days
select to_binary(uuid(), 'utf-8'), to_binary(note, 'utf-8'), to_binary('a', 'utf-8'), to_binary('a', 'base64'), to_binary('aa'), encode(uuid(), 'utf-8'), try_to_binary(uuid(), 'utf-8') from days
select max(note) as a, count(*) from days where max(week) over () > 1 and nope = 1
select lag(week) over (order by day rows between 1 preceding and current row) from days where row_number() over (order by day) = 1
select count(distinct week) over () from days where row_number() over (order by day) = 1
select distinct map('a', 1) as n4 from days order by 2 desc
select kurtosis(randn()) as n2 from days order by 2
select range.week from days as range window w as (order by 1 range between current row and unbounded following)
select sum(week) over (range between current row and unbounded following) from days
select sum(week) over (range between unbounded preceding and current row) from days
select sum(week) over (order by note range between '1' following and '2' following) from days
select sum(week) over (order by day range between '1' following and '2' following) from days
select sum(week) over (order by day range between '1' preceding and '2' following) from days
select sum(week) over (order by day range between interval 2 days following and interval 1 day following) from days
select sum(week) over (order by day range between 1 + 1 following and 1 following) from days
select null.a
select null[0]
select null[0].a
select null['a']
select null[0] + 1
select max(null[0])
select (null)[0], upper(null[0])
select k.a from values (null) t(k)
select k[0] from values (null) t(k)
select k['a'] as x, k.b.c as y from values (null) t(k)
select * from values (true, cast(("q") as interval day)) v
select col1, v.* from values (cast(('x' 'y') as float), 1.25) as (k0, k1)
select * from (select * from orders where id > 1) pivot (amount for nope in (1))
select p.* from (select amount, paid from orders) pivot (any_value(amount) for paid in (true as yes, false as no)) order by 1
select p.* from (select id, amount, paid from orders) pivot (first(amount) + 1 for paid in (true as yes, false as no)) where id > 1
select * from values (null, cast('a' as float), cast(null as int)), (cast(null as int), 2E0, cast(null as int)) as v(k0, k1, k2)
select x'00ff' as n4 from days as r1 full join orders r2 on r1.week = r2.id cross join orders cluster by id limit cast(2 as bigint)
select p.* from (select status, paid, amount, day, id from orders) pivot (sum(amount) as s, avg(amount) as a for status in (upper('a')))
select binary(r1.status), (select current_date() from customers as r2 where r2.level = r1.id having count(*) > 1) as found from orders r1
select sum((mini * r1.level)) over w as a, count(*) over (w ) from customers r1 window w as (order by interval 3 hours range '1' preceding)
select array('x', null), (select 1 from customers r2 where mini = week and startswith('12', r1.note) having count(*) > 1) as found from days r1
select r1.day as ka, r1.status as kb, rank() over (order by r1.day) from orders r1 group by rollup((r1.day, r1.status), placed) order by max(placed)
select r1.note as ka, false as kb, grouping_id(), max(week) from days as r1 group by grouping sets ((r1.note), (r1.note)), false having grouping(r1.note) = 0
select sum(distinct nullifzero(2S)) over (order by 2S, (2147483648, status) in (select week, note from days) range between 2 following and 1 preceding) from orders r1
select p.* from (select status, paid, amount, day, id from orders) pivot (max(struct(amount, day)).amount for (status, paid) in (('a', true), ('b', false) as bf)) order by 1
select r1.scores x3 from orders r1 right join orders on id = orders.customer_id left join lateral (select orders.customer_id as li, quote(orders.status) as ls) l2 order by all
select r2.level, r2.name, grouping_id(r2.level, r2.name) from orders as r1 full outer join customers r2 on r1.customer_id = status, orders as r3 group by r2.level, r2.name with cube order by max(day)
select sum(sum(r1.week)) over (order by 1) from days r1 order by lag(if(true, day, date'1999-12-01'), -1, to_timestamp(r1.note, 'yyyy')) over (order by day rows between '1' preceding and 1 preceding)
with a as (select try_cast(r1.status as date) - r1.id v2, props as K3, try_element_at((array_repeat((1), 2)), r1.id) x from orders as r1), b as (select * from a) select * from a union all select * from a
select last_day(orders.day) as ka, country, grouping_id(), sum(grouping(country)) over () from orders left anti join customers r2 using (id), customers r3 group by rollup(1, 2), orders.placed order by max(orders.placed)
select sum(lag(monthname(r1.born), r1.level) over (partition by r1.name::date order by r1.mini )) over () from customers r1 where lag(monthname(r1.born), r1.level) over (partition by r1.name::date order by r1.mini ) > 1
select mini as ka, printf('%s', r1.country) as kb, grouping(mini) + count(*), sum(grouping(printf('%s', r1.country))) over () from customers r1 group by mini, rollup(printf('%s', r1.country), r1.born) order by max(r1.born)
select last(regexp_count(r1.note, r1.note), true) over w as a, count(*) over (w ) from days as r1 window w as (partition by if(null, r1.day, date'2024-01-31') order by r1.week, quarter(r1.day) range between (1 + 1) preceding and interval 2 days following)
select max_by((to_csv((named_struct('name', 'n', 'address', named_struct('city', 'c', 'zip', 1))))), (pmod((1), orders.customer_id))) over (partition by orders.day order by date'2024-01-31', slice(orders.tags, 1, (-3)) range between 1.5 preceding and interval 2 days following) from orders
select cast(cast(null as int) as date), array_except(orders.scores, orders.scores) as k1 from orders minus all select r2.due / due, transform(r4.scores, x -> x + r4.customer_id) from customers as r2 full join customers on r2.level = customers.mini right join orders as r4 using (id) order by 1
select sum(count(scores, expm1(r1.rate)) filter (where r1.paid) over (order by r1.id range between 1 following and unbounded following)) over () from orders r1 where count(scores, expm1(r1.rate)) filter (where r1.paid) over (order by r1.id range between 1 following and unbounded following) > 1
select sum(count(sin(0.1F), timestamp_ntz'2024-01-31 10:00:00') filter (where true) over (order by 1e2BD desc rows between interval '1' month preceding and 1 preceding)) over () from days where count(sin(0.1F), timestamp_ntz'2024-01-31 10:00:00') filter (where true) over (order by 1e2BD desc rows between interval '1' month preceding and 1 preceding) > 1
select coalesce(avg(((customers.due + l1.li) / customers.due)) over (partition by sort_array(split('a,b', ','), false), customers.name order by customers.joined, customers.level range between interval '1:00' hour to minute preceding and interval 2 days following), null) from customers left join lateral (select abs(customers.mini) as li, nvl(("q"), customers.country) as ls) l1
with a as (select greatest(current_date(), date'2024-01-31'), (to_json((named_struct('name', 'n', 'address', named_struct('city', 'c', 'zip', 1))))) is not null c2, string(id), (last_value(r1.tags) ignore nulls over (partition by dateadd(r1.day, id) order by hour(r1.placed) nulls last)) is null from orders tablesample (10 percent) r1), B as (select * from a) select * from a union all select * from a
select day as ka, coalesce(note, null), rank() over (order by day) from days group by day, lower(note) with cube order by grouping(lower(note))
select array_max(array(1, 2)) as ka, note, rank() over (order by note) from days group by array_max(array(1, 2)), note with cube order by grouping(array_max(array(1, 2)))
select name as ka, country, grouping_id(name, lower(country)), max(name) over (partition by grouping(lower(country))) from customers group by cube(name, lower(country)), mini
select sum(grouping(status)), max(grouping_id()) from orders group by rollup(status)
select sum(grouping(status)) from orders group by rollup(status) having sum(grouping(status)) > 0 order by sum(grouping(status))
select id as ka, status from orders group by id, rollup(status, (1))
select id + 1, status from orders group by rollup(status, 1), 1
select id as ka, grouping_id(), status from orders group by id, rollup(ka, status) having grouping_id() = 0
select stack(if(true, 2, 3), 1, 'a', 2, 'b'), stack(int('2'), 1, 2)
select stack(bit_count(3), 1, 2) from days
select stack(size(array(1, 2)), 1, 'a')
select stack(cast(null as int), 1, 2)
select stack(nullif(2, 3), 1, 2)
select stack(named_struct('a', named_struct('b', 7 % 4)).a.b, 1, 2, 3) from days
select * from values (array(1)[5])
select * from values (coalesce(1, int('a'))), (if(true, 2, 1 div 0))
select * from values (element_at(array(1), 3)) as v(a)
select * from values (2147483647 + 1), (abs(-128Y))
select * from values (format_string('%q', 1))
select * from values (aes_encrypt('a', 'b'))
select * from values ('a' rlike '(')
select * from values (sequence(1, 0, 1))
select * from values (to_number('x', '999'))
select * from values (make_date(2024, 13, 1)), (to_date('x'))
select * from values (int('1.5')), (cast(300 as tinyint))
select * from values (cast('x' as interval day))
select * from values (assert_true(false))
select * from values (array(1)[5], 1), (date'2024-01-01', 'a')
select * from values (1, 2) as v(a)
select * from values null, null as v(a)
select * from values true v
select id from orders where id in (values (1), (2))
select (values (1), (2))
select (values (1))
select * from values (nanvl(0.1F, 1D))
select (select count(*) from days where week <=> o.customer_id and o.customer_id between o.amount and o.id) from orders o
select (select count(*) from days where o.id not between o.customer_id and week) as n from orders o
select o.id in (select week from days where o.customer_id between o.amount and o.id) from orders o
select (select count(*) from days where case when o.id in (o.customer_id, week) then o.paid else week = o.rate end) from orders o
select count(nope.* except (id)) from orders
select filter(array(null), x -> x), exists(array(1), x -> null) from days
select week from days qualify row_number() over (order by day)
select interval '1:2' day to hour
select interval '1  2' day to hour
select note, row_number() over (order by week) from days group by note, row_number() over (order by week)
select note, sum(week) over (partition by note) from days group by note, sum(week) over (partition by note)
select sum(id) over W from orders window w as (order by day)
select note, row_number() ignore nulls over nope from days window w as (order by note)
select note from days window w as (w2), w2 as (w2)
select hash(props), struct(id, status).col2 from orders
select * from customers natural left semi join days
select * from customers natural cross join days
select e.key from days lateral view range(3) e
select * from orders version as of -1
select * from orders timestamp as of null
select * from nope timestamp as of rand()
select * from nope@v1
select * from orders tablesample ()
select nope, :x
from days |> extend *
from days |> where nope |> aggregate |> select 1
from days |> where nope |> aggregate count(*) group by rollup(week)
select $$a$$
select concat(note, '') from days group by note order by nope, grouping(note)
select note || 'x', count(*) from days group by week order by grouping(note)
select id from orders limit explode(array(1))
select * from orders o join days d on explode(array(true))
select status from orders group by rollup(status) order by max(grouping(status))
select from_json(status, 'a int', map(status, 'a')), to_json(buyer) from orders
select split_part('a', ',', 2147483648), 1
select greatest(123.456, 1.25) as la, la as lb, lb from days having lb is null
select * from nope timestamp as of id
select count(* except (id)) from orders left join customers using (id)
values (hash(1), grouping_id())
select /*+ */ 1
select explode(array(1)) as (a) from days having count(*) > 1
select * from orders r1 left join lateral range(end => 5) as t(a) on true
select struct(id) over (order by id) from orders
select sum(collect_list(status)) from orders
select (select max(o.id) from orders o where o.id = c.id) from customers c group by (select max(o.id) from orders o where o.id = 1)
select (select max(o.id) from orders o where o.id = c.id) from customers c group by (select max(p.id) from orders p where c.id = p.id)
select exists (select id from orders o where o.id = c.id) from customers c group by exists (select 1 from orders o where o.id = c.id)
select map('a', 'b')[status] as k, count(*) from orders group by k order by map('a', 'b')[status]
select customer_id from orders order by map('a', 'b')[status]
select * from (select id, status from orders) pivot (1 for status in ('a'))
select * from (select id, status from orders) pivot (max(id), 'x' as k, current_date() for status in ('a'))
select * from (select id, status from orders) pivot (id + max(id) for status in ('a'))
select * from (select id, status from orders) pivot (array(1) for status in ('a'))
select (id, *) from customers
select * from days a join days b on struct(*) is null
select * from days order by struct(*)
select * from days sort by week in (*)
select week from days group by week having struct(*) is not null
select * from orders lateral view explode(array(*)) g as e
select note, max(struct(*)) from days group by 1
select note, count(*) from days group by 1
select note, count(distinct *) from days group by 1
select (*).a from days
select *[0] from days
select * collate unicode from days
select array(explode(array(1)), nope) from days
select explode(array(nope)), array(explode(array(1))) from days
select week from days where explode(array(1)) and nope
select week, array(explode(array(1))) from nope
select week + array(1), array(explode(array(week))) from days
select grouping(week), cast(1 as date) from days group by week
select cast(grouping(week) as array<int>) from days group by week
select grouping(week), sum(max(week)) from days group by week
select max(week) from days order by grouping(week), nope
select mode() within group (order by nope, week) from days
select percentile_cont(0.5) within group (order by week, 1 + array(1)) from days
select percentile_cont() within group (order by nope) from days
select transform(array(nope), x -> (select 1)) from days
select week + array(1), transform(array(1), x -> (select 1)) from days
select median(week) over (order by week), note, count(*) from days
select median(week) over (order by week), nope from days
select listagg(median(week) over (rows 1 preceding)) from days
select collect_list(uuid()), sum(percentile(week, 0.5) over ()) from days
select sum(row_number() over (order by week)) from days where week
select * from abs(nope)
select * from split((select nope), 'a')
select nope, 1e400 from days
select nope, interval 99999999999999 day from days
select interval 0 day to hour
select interval 3000000000 months
select * from (select week from days where note) q(a, b)
select nope from (select map(1, 1) as m except select map(1, 1)) q(a, b)
select array_sort(array(map(week, 2))) from days
select /*+ REPARTITION(3, id) */ o.status, c.name from orders o join customers c using (id)
select /*+ REPARTITION(3, id) */ o.status, c.name from orders o join customers c on o.customer_id = c.id
select make_date(1) from orders join customers using (nope)
select length(1, 2) from orders lateral view posexplode(props) g as e
select nope, :p from days
select make_date(1), ? from days
select sum(sum(week)), * from days
select interval 999999999999 hours
select interval 99999999999999999999 seconds
select interval 2147483648 day
select interval 106751992 day
select interval '99999999999 days'
select * orders where null
select max(max(1)) filter (where 'a') from days
select extract(year from interval 1 month) from orders join customers using (nope)
select upper(note) as g from days group by cube(upper(note), note) having upper(note) is not null
select upper(note) as g, max(week) from days group by cube(upper(note), note) having g = 'a'
select upper(note) as g from days group by grouping sets ((upper(note), week + 1), ()) having week + 1 is not null
select week + 1 as g from days group by rollup(week + 1) having week + 1 > 0
select note, max(week) from days group by rollup(note) having upper(note) = 'a'
select week from days group by rollup(week, count(*))
select coalesce(cast(note as string), 'it\\s') from days
with k(a, b) as (select week, max(week), 1 from days) select * from k
select * from (select week, note from days) pivot (max(week) over () for note in ('a'))
select 1 in ((select 1)), 1 in ((select 1 union select 2)), 1 in ((values (1)))
select id from customers where (id, name) in ((select customer_id, status from orders))
select id from customers where id in ((select customer_id from orders) union (select week from days))
select id from customers where id in ((with q as (select week from days) select * from q))
select to_json(struct(* except (buyer.address.city))) from (select buyer, id from orders)
select count(*) from days group by (select max(id) from customers where customers.id = days.week)
select count(*), (select max(id) from customers where customers.id = days.week) + 1 from days group by (select max(id) from customers where customers.id = days.week)
select count(*) from days group by (select max(id) from customers where customers.id = days.week) having (select max(id) from customers where customers.id = days.week) > 1
select count(*) from days group by rollup((select max(id) from customers where customers.id = days.week))
select interval '178956970-8' year to month
select interval '-178956970-8' year to month, interval '178956970-7' year to month
select week from days qualify rank() = 1
select week, rank() over (order by week) from days qualify rank() = 1
select map(1, 2)[nope], props['x'] from orders
select props[nope] from orders
select props[(nope)], limits[nope.x] from orders, customers
select buyer[nope] from orders
select id[nope] from orders
select note, count(*) > 1 as c from days group by cube(note) having count(*) > 1 order by first(note)
select note, week + 1 as k from days group by cube(note, week + 1) having week + 1 > 1 order by count(*)
select note, week + 1 as k from days group by cube(note, week) having week + 1 > 1 order by first(day)
select note, count(*) as c from days group by rollup(note, week) having week > 1 order by count(*)
select note from days group by rollup(note) having grouping(note) = 0 order by max(week)
select note from days group by rollup(note) having grouping(note) = 0 order by max(note)
select note, count(*) as c from days group by rollup(note) having grouping(note) = 0 order by count(*)
select note, count(*) as c from days group by rollup(note) having grouping(note) = 0 order by grouping_id()
select note, week from days group by rollup(note, week) having grouping(note) = 0 order by grouping(week), grouping_id(note, week)
select (x || y) in ('a', z), (x || y) = z from (select 'a' collate unicode as x, 'b' collate utf8_lcase as y, 'c' collate unicode_ci as z)
from nowhere |> aggregate max(sum(week) over ()) group by note
from days |> aggregate lag(week) over (order by week) as w
select * between 0 and 1 from (select 1 as d)
select concat('${x}', 'a') from orders
select '${x}' as k from orders where status = '${x}'
select current_time(month(timestamp_ntz'2024-01-31 10:00:00')), ceil(amount, day(date'2024-01-02')) from orders
select array(1), 4 >> 1
select array(1)[0] > 1, 4 >> 1, cast(array() as array<array<int>>)
select note collate sys.builtin.utf8_lcase, note collate system.builtin.utf8_lcase from days
select cast(note as string collate builtin.unicode) from days
select /*+ repartition(week + 1) */ week from days
select /*+ broadcast() */ week from days
select /*+ repartition(3, week), broadcast(days) */ week from days
from days |> set week = explode(array(note))
from days |> set week = upper(explode(array(note)))
from days |> set week = *
select week, (select count(*) from orders where customer_id = week), max(note) from days
select week, (select count(*) from orders where customer_id = week) from days group by note
select grouping(note), (select count(*) from orders where customer_id = week) from days group by note
select 1 from days group by sum(sum(week))
select week from days where sum(sum(week)) > 1
select week from days distribute by sum(sum(week))
select d.week from days d join orders o on sum(sum(week)) > 1
select grouping(note) as k, count(*) from days group by k
select grouping_id(), count(*) from days group by 1, note
select grouping(note) as k from days group by rollup(k)
select grouping(note) as k, note from days group by cube(note, k)
select grouping_id() over () from days group by cube(note)
select grouping(note) over (partition by note) from days group by cube(note)
select grouping(note) over () from days group by note
select grouping(note), count(*) from days group by week having n > 1
select * from range(struct(*))
select * from values (count(distinct *))
select * from (select week, note from days) pivot (max(struct(*)) for note in ('a'))
select * from (select week, note from days) pivot (max(sum(week) over ()) for note in ('a'))
select * from (select week, note from days) pivot (count(*) for note in (cast(null as void)))
select tags[cast(null as void)], scores[nullif(1, 1)] from orders
select note, explode(array(note)) as k from days group by rollup(note)
select note as p, explode(array(note)) as k from days group by rollup(note)
select explode(collect_list(week)) as k, note from days group by cube(note)
select note, explode(array(note)) as k from days group by note
select week like, note between from days
select week ilike, note not, day rlike from days
select week like from days
select * from (select week like from days) where like > 1
select week between and 3 from days
select cast(week as string(99999999999)) from days
select current_date(week) from days
select current_user (a, b), 1 from days
select session_user(week), current_time(week) from days
select current_date(week) as k from days
select current_timestamp(days.week) from days
select week from days order by buyer.nope
select struct(distinct id) from orders
select struct(all as a, 1) from orders
select struct(distinct, id) from (select 1 as distinct, 2 as id)
select week as k0, week + 1 as k1 from days group by rollup(k0, k0 + 1)
select week + 1 as k0, count(*) from days group by cube(k0, k0 + 1)
select upper(note) as u, count(*) from days group by rollup(u || 'x', u) having u is not null
select note as k, k from days group by all
select 1 as k, k from days group by all order by nope
select note as k, k from days group by 1
select note as k, k from days group by 2
select nope, sum(week) over w from days
select sum(week) over w from days where nope = 1
select max(week) as m from days group by cube(day) having grouping(note) = 0
select note, max(week) as m from days group by cube(note) having grouping(week) = 0
select max(week) from days group by rollup(upper(note)) having grouping(note) = 0
select max(week) from days join orders using (day) join customers using (id) group by day having name = 'a' and id > 1
select max(a.week) from days a join days b using (day) group by day having note = 'a'
select a.day as k, max(a.week) from days a join days b on a.week = b.week group by a.day having week > 1
select note = 'a', sum(max(week)) from days
select sum(max(week)), note = 'a' from days
select max(week), sum(max(week)), note from days
select max(week) from days group by rollup(nope, 2)
select max(week) from days group by grouping sets ((nope, 2), ())
select max(week) from days group by nope, 3
select max(week), grouping_id() from days group by 1, note
select lag(week, (select 1)) over (order by day) from days
select lag(week, 1, (select 1)) over (order by day) from days
select upper(note) as (a, b) from days
select grouping_id(), nope from days group by rollup(week)
select week, grouping_id() from days group by rollup(nope)
select upper(grouping(nope)) from days group by rollup(week)
select week, abs(array(1)), grouping_id() from days group by rollup(week)
select week, grouping_id(), abs(array(1)) from days group by rollup(week)
select * from identifier(chr(100) || 'ays')
select week, rank() over w as r from days window w as (order by day) order by r
select * from days, lateral explode(collect_list(week)) as e
select * from days, lateral explode(array(days.week)) as e
select max(week) over (partition by day) as k, count(*) from days group by rollup(k)
select lag(week) over (order by week) as k, count(*), grouping(lag(week) over (order by week)) from days group by lag(week) over (order by week) with cube
select lag(week) over (order by week) as k, lag(week) over (order by week) + sum(week) as z from days group by lag(week) over (order by week), week with cube
select max(week) over (partition by day) as k, count(*) from days group by 1
select explode(array(1)) as a, explode(array(2)) as b, count(*) from days group by week
select *, explode(array(1)) as week, week + 1 as next from days
with a as (select week, explode(collect_set(day)) as e from days group by week having e is not null), b as (select nope from days) select * from days
with q as (select 1 as b from (select week from days) x(c0, c1)) select day from days a join days b on a.week = b.week
with q as (select upper(note, 1) from days) select day from days a join days b on a.week = b.week
select upper(note, 1) from days union all select day from days a join days b on a.week = b.week
select *, count(*) from days left join lateral (select max(id) as m, week as k from customers where id = week) x group by 1, 2
select * from (select day, note, week from days) pivot (count(*) for note in (rand(), max(1)))
select * from (select day, note, week from days) pivot (count(*) for week in (exists(array(1), x -> x > 1)))
select * from (select id, name, country from customers) pivot (count(*) for (country, id) in (null))
select * from (select country, level, id from customers) pivot (count(*) for (country, level) in (null))
select explode(if(true, explode(array(array(1, 2, 3))), 1)) as a from days
select * from (select id, weight as x, id as y from customers) unpivot (v for n in (x, y))
select * from (select weight as x, level as y from customers) unpivot (v for n in (x, y))
select * from (select weight as x, due as y from customers) unpivot (v for n in (x, y))
select note from days group by note, rank()
select count(*) from days group by row_number()
select note from days group by rank()
select note, rank() from days group by note
select note from days group by rollup(note, rank())
select note from days distribute by lag(week)
select note from days limit rank()
select note from days group by note having lag(map('a', 1)) > 1
select note from days order by lag(map('a', 1))
select note from days order by rank()
from days |> extend row_number() as o
from days |> extend ntile(2) + 1 as o
from days |> set week = rank()
from days |> extend lag(week) as o
from days |> extend row_number() over (order by week) as o
from days |> extend rank() over (partition by note order by week) + 1 as o
from days |> aggregate max(explode(array(1))) group by note
from days |> aggregate count(*) + explode(array(1)) as x
from days |> aggregate 1e4 * sum(week) as x group by note
from days |> aggregate 5L + count(*) as x
from days |> aggregate 1e400 group by note
select * from days a join customers c on (select max(o.rate) from orders o where o.id = a.week) and a.week > 1
select * from days a join customers c on a.week = array(1) and (select max(o.status) from orders o where o.id = a.week)
select note from days order by upper(note in (select name, country from customers))
select note from days group by note having note in (select name, country from customers)
select note from days group by note having (select array(max(name)) from customers where name = days.note)
select max(week), (select struct(c.id, c.name) from customers c where c.id = days.week) from days group by (select c.name from customers c where c.id = days.week)
select max(week), (select c.id from customers c where c.id = days.week) from days group by (select max(c.name) from customers c where c.id = days.week)
select mask(upper(note, 1), otherChar => '*', nope => 1) from days
select mask(note, otherChar => upper('a', 'b'), nope => 1) from days
select mask(transform(distinct array(1), x -> x), nope => 1) from days
select cast(note as string collate nope) from days
select nope, cast(note as string collate nope) from days
select upper(note, 1), try_cast(note as array<string collate nope>) from days
select cast(note as string collate unicode_ci) from days
select note from days group by note order by explode(array(week))
select note from days order by explode(array(nope))
select /*+ coalesce(1, nope) */ upper(1, 2) from days
select /*+ coalesce(nope) */ nope from days
select /*+ repartition('2') */ note from days
select /*+ repartition('note') */ note from days
select /*+ repartition('a b') */ note from days
select /*+ repartition(3, '`note`') */ note from days
select in(1, 2, 3), in(week, 1) from days
select round(avg(-1), 2) over (partition by week) from days
select round(avg(week), 2) over () from days
select array_sort(collect_list(1)) over (partition by week), note from days
select upper('a') over () from days
select * from (select name, country, id from customers) pivot (max(id) for country in (interval '1' day, interval '2' month))
select * from (select name, country, id from customers) pivot (max(id) for country in (map(1, 2), map('a', null)))
select * from (select name, country, id from customers) pivot (max(id) for country in (timestamp'2024-01-01 10:00:00', timestamp_ntz'2024-01-01 10:00:00.5'))
select week, window(timestamp'2024-01-01', '1 day') as w from days
select * from values (1, rank())
select * from (select name, country, id from customers) pivot (max(id) for country in (1.5D, 1e10, 1.50))
select note from days order by note.x
select note from days order by week, upper(week.x)
select id from orders order by buyer.address.zip.x
select distinct note from days order by note.x
select note as k from days sort by k.x
select note from days group by note order by week.x
select note from days order by note[0]
with recursive r(n) as (select 1L union all select week from r, days) select n from r
with recursive r(n) as (select 'a' union all select week from r, days) select n from r
with recursive r(n) as (select interval '1' day union all select interval '1 02' day to hour from r) select n from r
with recursive r(n) as (select cast(1 as decimal(5,2)) union all select cast(1 as decimal(9,2)) from r) select n from r
with recursive r(n) as (select cast(1 as decimal(9,2)) union all select cast(1 as decimal(5,2)) from r) select n from r
select week from days, (select window('2024-01-01', '1 day') as w) order by w.start
select * except (id, ID, Id) from customers
select * except (id, c.ID) from customers as c
select * except (id, c.id) from customers as c
select * except (buyer.name, BUYER.NAME) from orders
select * except (buyer.name, buyer.NAME) from orders
select * from orders unpivot (id for k in (amount, rate))
select * from orders unpivot include nulls (id for k in (amount, rate))
select * from orders unpivot (`a b` for k in (amount, rate))
select * from orders unpivot include nulls (`a b` for k in (amount, rate))
select * from orders unpivot (`a-b` for k in (amount, rate))
select * from orders unpivot (`a.b` for k in (amount, rate))
select * from orders unpivot (`orders.id` for k in (amount, rate))
select * from orders unpivot (v for v in (amount, rate))
select * from orders unpivot ((v, id) for k in ((amount, rate), (rate, amount)))
from orders map id, status using 'cat' as k, v
from orders reduce * using 'cat' as (k int)
from orders map select map.id
select * from orders lateral view explode(tags) map as k
select map.id from customers map join orders reduce using (id)
from orders map distinct id using 'cat'
select transform(all id) using 'cat' from orders
select percentile_approx(id, null, -3) from orders
select percentile_approx(id, 2.0, null) from orders
select percentile_approx(id, id, -3) from orders
select o.customer_id, count(*) from orders o join customers c on o.customer_id = c.id group by o.customer_id having o.customer_id > 1 order by o.customer_id
select o.id, count(*) from orders o join customers c on o.customer_id = c.id group by o.id having c.id > 1
select o.id, count(*) from orders o join customers c on o.customer_id = c.id group by o.id order by c.id
select o.id as id, count(*) from orders o join customers c on o.customer_id = c.id group by o.id having c.id > 1
select c.id, count(*) from orders o left join customers c using (id) group by c.id having id > 1
select date_trunc('month', o.placed) as placed, sum(amount) from orders o group by 1 order by o.placed
select date_trunc('month', o.placed) as placed, sum(amount) from orders o group by 1 order by placed
select o.id, count(*) from orders o join customers c on o.customer_id = c.id group by rollup (o.id) order by c.id
