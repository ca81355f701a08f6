-- Longer queries with lambdas, one per line after its name: `lambdas.py --queries`. Their tables are those of lambda_data.py.
-- revenue by status
select status, count(*) as orders, sum(aggregate(items, cast(0 as decimal(30,2)), (a, i) -> cast(a + i.price * i.quantity as decimal(30,2)))) as revenue from orders group by status
-- late lines with days
select orderkey, transform(filter(items, i -> i.receiptdate > i.commitdate and i.shipdate < i.commitdate), i -> named_struct('line', i.linenumber, 'days', datediff(i.receiptdate, i.commitdate))) as late from orders where status = 'O'
-- bulky air returns
select orderkey, custkey, total from orders where exists(items, i -> i.returnflag = 'R' and i.shipmode = 'AIR' and i.quantity > 40)
-- star plus open count
select o.*, size(filter(o.items, i -> i.linestatus = 'O')) as open_lines from orders o where forall(o.items, i -> i.quantity >= 25)
-- nation discount given
with per_order as (select custkey, cast(aggregate(items, 0D, (a, i) -> a + i.price * i.quantity * i.discount) as decimal(18,2)) as given from orders) select c.nation, sum(p.given) as given, count(*) as n from per_order p join customers c on c.custkey = p.custkey group by c.nation having sum(p.given) > 1000
-- two dearest lines
select orderkey, transform(slice(array_sort(items, (a, b) -> case when a.price > b.price then -1 when a.price < b.price then 1 else a.linenumber - b.linenumber end), 1, 2), i -> named_struct('part', i.partkey, 'price', i.price)) as top2 from orders where size(items) > 2
-- share of order value
select orderkey, transform(items, i -> round(cast(i.price as double) / nullif(aggregate(items, 0D, (a, x) -> a + cast(x.price as double)), 0D), 4)) as shares from orders
-- ship mode combinations
select array_join(array_sort(array_distinct(transform(items, i -> i.shipmode))), '+') as modes, count(*) as n, max(total) as biggest from orders group by 1 order by n desc, modes
-- modes overlap then first rail
select orderkey, get(filter(items, i -> i.shipmode = 'RAIL'), 0).partkey as first_rail_part from orders where arrays_overlap(transform(items, i -> i.shipmode), array('RAIL', 'SHIP')) and total > 200000
-- last truck line date
select custkey, max(try_element_at(filter(items, i -> i.shipmode = 'TRUCK' and i.linestatus = 'F'), -1).shipdate) as last_truck from orders group by custkey
-- lines sharing a ship mode
select orderkey, transform(filter(items, i -> exists(items, j -> j.linenumber <> i.linenumber and j.shipmode = i.shipmode and j.returnflag = i.returnflag)), i -> i.linenumber) as twins from orders where orderdate >= date'1998-01-01'
-- five facts per order
select orderkey, size(items) as n, exists(items, i -> i.returnflag = 'R') as any_return, forall(items, i -> i.discount <= 0.05D) as low_discount, size(filter(items, i -> i.tax > 0.04D)) as taxed, array_max(transform(items, i -> i.quantity)) as max_q, aggregate(items, 0, (a, i) -> a + i.quantity) as sum_q from orders
-- customers with return heavy order
select custkey, count(*) as orders, max(size(filter(items, i -> i.returnflag = 'R'))) as worst from orders group by custkey having max(size(filter(items, i -> i.returnflag = 'R'))) >= 5
-- shipped in the order year
select orderkey, filter(transform(items, i -> if(year(i.shipdate) = year(orderdate) and quarter(i.shipdate) > quarter(orderdate), i.linenumber, null)), n -> n is not null) as later_same_year from orders
-- months touched
select month_list, count(*) as n from (select array_sort(array_distinct(transform(filter(items, i -> i.shipdate between orderdate and date_add(orderdate, 400)), i -> month(i.shipdate)))) as month_list from orders) t where size(month_list) between 1 and 2 group by month_list
-- exploded heavy lines
select l.mode, count(*) as n, sum(l.q) as units, max(l.p) as top_price from orders o lateral view explode(transform(filter(o.items, i -> i.quantity > 30), i -> struct(i.shipmode as mode, i.quantity as q, i.price as p))) t as l where o.status = 'F' group by l.mode
-- union of urgent and slow
select 'urgent' as why, orderkey, size(filter(items, i -> i.shipmode in ('AIR', 'MAIL') and i.quantity >= 45)) as n from orders where size(filter(items, i -> i.shipmode in ('AIR', 'MAIL') and i.quantity >= 45)) > 0 union all select 'slow' as why, orderkey, size(filter(items, i -> datediff(i.receiptdate, i.shipdate) > 2000)) as n from orders where size(filter(items, i -> datediff(i.receiptdate, i.shipdate) > 2000)) >= 1
-- order class by case
select case when exists(items, i -> i.returnflag = 'R' and i.price > 80000) then 'costly return' when exists(items, i -> i.returnflag = 'R') or exists(items, i -> i.returnflag = 'A') then 'some return' when forall(items, i -> i.discount = 0D) then 'full price' else 'plain' end as class, count(*) as n, sum(total) as total from orders group by 1
-- running late lines
select orderkey, custkey, sum(size(filter(items, i -> i.receiptdate > i.commitdate))) over (partition by custkey order by orderdate, orderkey rows between 4 preceding and current row) as late5 from orders where total > 100000
-- dearer than line before
select orderkey, size(filter(items, (i, k) -> k > 0 and i.price > get(items, k - 1).price)) as rises from orders where size(items) >= 4
-- above average quantity
select orderkey, transform(filter(items, i -> i.quantity > aggregate(items, 0, (a, x) -> a + x.quantity, s -> s / nullif(size(items), 0))), i -> i.partkey) as parts from orders
-- in subquery and count over zero
select orderkey, custkey from orders where custkey in (select custkey from customers where nation in ('A', 'B', 'C')) and size(filter(items, i -> i.suppkey < 50 and i.linestatus = 'O')) > 0
-- lines to nation named city
select c.name, o.orderkey, transform(filter(o.items, i -> i.address.city = upper(trim(c.nation))), i -> i.address.street) as streets from orders o join customers c on o.custkey = c.custkey where exists(o.items, i -> i.address.city = upper(trim(c.nation)))
-- city and comment prefixes
select orderkey, transform(items, (i, k) -> concat_ws('/', cast(k + 1 as string), i.address.city, lower(substring_index(i.comment, ' ', 1)))) as labels from orders where pmod(orderkey, 3) = 0
-- filter of filter of lines
select orderkey, size(filter(filter(filter(items, i -> i.quantity > 10), i -> i.discount > 0.02D), i -> i.shipmode <> 'MAIL')) as kept, total from orders where status = 'F' order by kept desc, orderkey limit 500
-- prices by line as map
select orderkey, map_filter(map_from_entries(transform(items, i -> struct(i.linenumber as line, i.price as price))), (k, v) -> v > total / 4) as dear from orders where total < 100000
-- small orders whole and tested
select orderkey, items, exists(items, i -> i.tax = 0D) as untaxed, transform(items, i -> round(i.price * (1 - i.discount) * (1 + i.tax), 2)) as charges from orders where size(items) = 1
-- newest order of customer
with ranked as (select custkey, orderkey, items, row_number() over (partition by custkey order by orderdate desc, orderkey desc) as rn from orders) select r.custkey, c.name, array_min(transform(r.items, i -> i.shipdate)) as first_ship, array_max(transform(r.items, i -> i.receiptdate)) as last_receipt, size(array_distinct(transform(r.items, i -> i.suppkey))) as suppliers from ranked r join customers c on c.custkey = r.custkey where r.rn = 1
-- customers with a fifty line
select c.nation, count(*) as n from customers c where exists (select 1 from orders o where o.custkey = c.custkey and o.status = 'O' and exists(o.items, i -> i.quantity = 50 and i.returnflag = 'N')) group by c.nation
-- weighted price and filtered counts
select year(orderdate) as y, count(*) filter (where exists(items, i -> i.shipdate < orderdate)) as shipped_before, count_if(array_contains(transform(items, i -> i.shipmode), 'SHIP')) as by_sea, sum(cast(aggregate(filter(items, i -> i.discount > 0.05D), 0D, (a, i) -> a + cast(i.price as double) * i.quantity * (1 - i.discount)) as decimal(20,2))) as discounted from orders group by year(orderdate)
-- lines sorted whole
select orderkey, array_sort(items, (a, b) -> case when a.shipdate < b.shipdate then -1 when a.shipdate > b.shipdate then 1 else a.linenumber - b.linenumber end) as by_date from orders where pmod(orderkey, 10) = 7
-- line hashes
select orderkey, transform(items, i -> xxhash64(i)) as hashes from orders
-- hot kinds
select id, device.model, transform(filter(device.readings, r -> r.value > 900), r -> r.kind) as hot from devices where pmod(id, 2) = 0
-- model peaks
select device.model as model, max(aggregate(device.readings, cast(null as double), (m, r) -> greatest(m, r.value))) as peak, min(array_min(transform(device.readings, r -> r.value))) as low, count(*) as n from devices group by device.model
-- kind of the highest value
select best.k as kind, count(*) as n, sum(best.v) as total from (select array_max(transform(device.readings, r -> named_struct('v', r.value, 'k', r.kind))) as best from devices) t group by best.k
-- min max scaled values
select id, transform(device.readings, r -> round((r.value - array_min(transform(device.readings, x -> x.value))) / nullif(array_max(transform(device.readings, x -> x.value)) - array_min(transform(device.readings, x -> x.value)), 0D), 3)) as scaled from devices
-- flattened tags
select id, filter(flatten(transform(device.readings, r -> array(substr(r.s0, 1, 2), substr(r.s5, 1, 2), substr(r.s11, 1, 2)))), t -> t rlike '^[0-9]+$') as numeric_tags from devices where device.model like '1%'
-- repeated kinds with index
select id, transform(filter(device.readings, (r, k) -> k > 0 and exists(slice(device.readings, 1, k), q -> q.kind = r.kind and q.n0 <> r.n0)), r -> r.kind) as repeated from devices
-- nibble sums
select id, aggregate(device.readings, 0L, (a, r) -> a + (r.n0 & 15) + (r.n3 & 15) + pmod(r.n7, 16)) as nibbles from devices where size(filter(device.readings, r -> r.n0 > 0 and r.n1 > 0)) >= 1
-- kind tallies exploded
with picked as (select id, array_distinct(transform(filter(device.readings, r -> r.value between 100 and 600 and r.n2 > 0), r -> r.kind)) as kinds from devices) select kind, count(*) as devices, max(id) as newest from picked lateral view explode(kinds) e as kind group by kind having count(*) > 10
-- tags beginning with model
select id, device.model, size(filter(device.readings, r -> startswith(r.s1, lpad(upper(device.model), 2, '0')) or contains(r.s2, concat(device.model, device.model)))) as hits from devices where exists(device.readings, r -> startswith(r.s1, lpad(upper(device.model), 2, '0')) or contains(r.s2, concat(device.model, device.model)))
-- jumps between readings
select id, array_max(transform(zip_with(device.readings, slice(device.readings, 2, 100), (a, b) -> b.value - a.value), d -> abs(d))) as widest from devices where device.readings is not null
-- readings over model mean
with means as (select device.model as model, avg(aggregate(device.readings, 0D, (a, r) -> a + r.value) / nullif(size(device.readings), 0)) as mean from devices group by device.model) select d.id, m.model, size(filter(d.device.readings, r -> r.value > round(m.mean, 0) + 300)) as n from devices d join means m on d.device.model = m.model where size(filter(d.device.readings, r -> r.value > round(m.mean, 0) + 300)) > 4
-- device kept whole beside count
select id, device, size(filter(device.readings, r -> r.kind in ('A', '1F', '20'))) as n from devices where pmod(id, 50) = 0 and not exists(device.readings, r -> r.value < 50)
-- outliers by deviation
select id, transform(filter(device.readings, r -> abs(r.value - aggregate(device.readings, 0D, (a, x) -> a + x.value) / nullif(size(device.readings), 0)) > 450), r -> concat(r.kind, '@', cast(r.value as string))) as outliers from devices
-- reading fingerprints
select id, aggregate(device.readings, 17L, (a, r) -> pmod(a, 1000003L) * 31L + pmod(xxhash64(r), 1000003L)) as fingerprint from devices
-- extreme readings whole
select id, filter(device.readings, r -> r.value >= 990) as extremes from devices
-- hot attribute keys
select id, array_sort(map_keys(map_filter(attrs, (k, v) -> v.score > 90 and v.hits > 1000))) as hot from events where exists(map_values(attrs), v -> v.score > 90 and v.hits > 1000)
-- score share by key
select id, transform_values(attrs, (k, v) -> round(v.score / nullif(aggregate(map_values(attrs), 0D, (a, w) -> a + w.score), 0D), 4)) as share from events
-- z scores
select id, transform(xs, x -> round((x - aggregate(xs, 0D, (a, v) -> a + v) / size(xs)) / nullif(sqrt(aggregate(xs, 0D, (a, v) -> a + v * v) / size(xs) - power(aggregate(xs, 0D, (a, v) -> a + v) / size(xs), 2)), 0D), 3)) as z from events where size(xs) > 0 and pmod(id, 4) = 1
-- rises and big steps
select size(filter(xs, (x, k) -> k > 0 and x > get(xs, k - 1))) as rises, count(*) as n, count_if(exists(transform(xs, (x, k) -> if(k > 0, x - get(xs, k - 1), 0D)), d -> d > 95)) as steep from events group by 1
-- pages of high scores
select id, name, transform(filter(map_entries(attrs), e -> e.value.score >= 80), e -> concat(e.key, '=', left(e.value.page, 4))) as pages from events
-- chosen attribute lookups
select id, transform(array('k1', 'k4', 'k9'), k -> coalesce(try_element_at(attrs, k).score, -1D)) as chosen, filter(words, w -> w = props['k1'] or w = props['k2']) as echoed from events where try_element_at(props, 'k1') <> '0'
-- props zipped with hits
select id, map_zip_with(props, transform_values(attrs, (k, v) -> v.hits), (k, p, h) -> coalesce(try_cast(p as int), 0) + pmod(h, 10)) as mixed from events where pmod(id, 5) = 0
-- words like the name tail
select id, get(filter(zip_with(xs, words, (x, w) -> if(x > 20 and endswith(lower(w), lower(substring(name, -1))), concat(w, ':', cast(cast(x as int) as string)), null)), s -> s is not null), 0) as first_hit from events
-- numbered words
select id, transform(words, (w, k) -> concat(cast(k as string), '-', lower(w))) as numbered from events where pmod(id, 2) = 1
-- moving means of three
select id, transform(xs, (x, k) -> if(k < 2, x, round((x + get(xs, k - 1) + get(xs, k - 2)) / 3, 2))) as smooth from events where name like '%7'
-- three letter words longest
select id, filter(words, w -> length(w) = 3 and w rlike '[A-F]$') as picked, aggregate(words, '', (a, w) -> if(length(w) > length(a), w, a)) as longest from events
-- hot attributes whole
select id, map_filter(attrs, (k, v) -> v.score > 95) as hot from events
-- props renamed
select id, transform_keys(props, (k, v) -> upper(k)) as renamed, zip_with(xs, reverse(xs), (a, b) -> a - b) as mirrored from events where pmod(id, 3) = 2
