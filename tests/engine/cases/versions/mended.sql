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
