-- Queries by somebody who did not know the rules, one per line after its name: `lambdas.py --queries`. Their tables are those of lambda_data.py.
-- gross revenue by nation
select c.nation, sum(aggregate(o.items, cast(0 as decimal(30,2)), (acc, i) -> cast(acc + i.price * i.quantity as decimal(30,2)))) as gross_revenue from orders o join customers c on o.custkey = c.custkey where o.status = 'O' group by c.nation
-- late orders by year
select year(orderdate) as order_year, count(*) as orders_cnt, count_if(exists(items, i -> i.receiptdate > i.commitdate)) as late_orders, count_if(forall(items, i -> i.shipdate < i.commitdate)) as punctual_orders from orders group by year(orderdate)
-- top customers by returned value
with returns as (select custkey, filter(items, i -> i.returnflag = 'R') as returned from orders where orderdate >= date'1998-01-01'), valued as (select custkey, size(returned) as returned_lines, aggregate(returned, cast(0 as decimal(30,2)), (acc, i) -> cast(acc + i.price as decimal(30,2))) as returned_value from returns) select c.custkey, c.name, sum(v.returned_lines) as lines_cnt, sum(v.returned_value) as value_sum from valued v join customers c on v.custkey = c.custkey group by c.custkey, c.name having sum(v.returned_value) > 50000 order by value_sum desc, c.custkey limit 20
-- line amounts of finished orders
select orderkey, total, transform(items, i -> i.price * i.quantity) as line_amounts from orders where forall(items, i -> i.linestatus = 'F') and size(items) >= 3
-- orders by number of ship modes
select size(array_distinct(transform(items, i -> i.shipmode))) as ship_modes, count(*) as orders_cnt, sum(total) as total_value from orders group by 1
-- largest charges with discounted air lines
select orderkey, orderdate, aggregate(items, 0d, (acc, i) -> acc + cast(i.price as double) * i.quantity * (1 - i.discount) * (1 + i.tax)) as charge from orders where exists(items, i -> i.shipmode = 'AIR' and i.discount > 0.05) order by charge desc, orderkey limit 100
-- peak load per model
select device.model as model, max(aggregate(device.readings, 0d, (acc, r) -> acc + r.value)) as peak_load from devices group by device.model
-- slim readings of hot devices
select id, transform(device.readings, r -> struct(r.kind as kind, r.value as value)) as slim_readings from devices where exists(device.readings, r -> r.value > 990)
-- max of a kind family and positive counters
select id, array_max(transform(filter(device.readings, r -> r.kind like '1%'), r -> r.value)) as max_value_1x, size(filter(device.readings, r -> r.n3 > 0)) as positive_n3 from devices
-- in band readings of steady devices
select device.model as model, count(*) as devices_cnt, sum(size(filter(device.readings, r -> r.value between 100 and 200))) as in_band_readings from devices where forall(device.readings, r -> r.value >= 20) group by device.model having count(*) > 1
-- struct accumulator over readings
with stats as (select device.model as model, aggregate(device.readings, named_struct('total', 0d, 'hot', 0), (acc, r) -> named_struct('total', acc.total + r.value, 'hot', acc.hot + if(r.value > 750, 1, 0))) as s from devices) select model, sum(s.total) as total_value, sum(s.hot) as hot_readings from stats group by model
-- reading fingerprint and shards
select id, array_join(transform(device.readings, r -> concat(r.kind, ':', substr(r.s0, 1, 4))), '|') as fingerprint, transform(device.readings, r -> pmod(r.n0, 16)) as shards from devices where device.model in ('1', '2', 'A', '1F')
-- pages of top scoring attributes
select id, transform_values(map_filter(attrs, (k, v) -> v.score >= 90), (k, v) -> v.page) as top_pages from events where exists(map_values(attrs), v -> v.score >= 90)
-- score map and landing page
select id, transform_values(attrs, (k, v) -> v.score) as scores, attrs['k1'].page as landing_page from events
-- total score by property segment
select props['k3'] as segment, count(*) as events_cnt, sum(aggregate(map_values(attrs), cast(0 as double), (acc, v) -> acc + v.score)) as total_score from events group by props['k3']
-- keys of entries with even hits and low score
select id, transform(filter(map_entries(attrs), e -> e.value.hits % 2 = 0 and e.value.score < 25), e -> e.key) as quiet_keys from events where id % 5 = 0
-- short property keys
select id, map_keys(map_filter(props, (k, v) -> length(v) = 1)) as short_keys, size(map_filter(props, (k, v) -> v like '%A')) as a_values from events where size(map_filter(props, (k, v) -> length(v) = 1)) >= 2
-- labelled scores from two maps
select id, map_zip_with(transform_values(attrs, (k, v) -> v.score), props, (k, s, p) -> concat(p, '=', cast(cast(s as int) as string))) as labelled from events where element_at(attrs, 'k2').score > 50
-- share of each x in its row
select id, transform(xs, x -> x / aggregate(xs, 0d, (acc, y) -> acc + y)) as shares from events
-- values near the row peak
select id, size(filter(xs, x -> x > array_max(xs) * 0.9)) as near_peak from events
-- word slugs prefixed by the normalised name
select id, transform(words, w -> concat(regexp_replace(lower(trim(name)), '[^a-z0-9]+', '_'), '/', lower(w))) as word_slugs from events where id % 2 = 0
-- first appearance rank of each word
select id, transform(words, w -> element_at(map_from_arrays(array_distinct(words), sequence(1, size(array_distinct(words)))), w)) as word_ranks from events
-- quantities above the order average
select orderkey, filter(items.quantity, q -> q > aggregate(items.quantity, 0, (acc, x) -> acc + x) / size(items.quantity)) as above_avg_qty from orders where size(items) > 1
-- events whose name contains one of the words
select exists(words, w -> contains(upper(substring_index(trim(name), ' ', -1)), w)) as has_match, count(*) as events_cnt, max(id) as last_id from events group by 1
-- standard deviation of xs
with centred as (select id, transform(xs, x -> x - aggregate(xs, 0d, (acc, y) -> acc + y, acc -> acc / size(xs))) as deviations from events) select id, round(sqrt(aggregate(deviations, 0d, (acc, d) -> acc + d * d) / 20), 4) as sd, size(filter(deviations, d -> d > 0)) as above_mean from centred
-- first rail part of each order
select orderkey, get(filter(items, i -> i.shipmode = 'RAIL'), 0).partkey as first_rail_part, get(transform(items, i -> i.address.city), 0) as first_city from orders
-- orders with a bulk line by status
select status, count(*) as bulk_orders, sum(total) as bulk_total from orders where size(filter(items, i -> i.quantity > 45)) > 0 group by status
-- orders with a very large line amount
select orderkey, custkey, total from orders where exists(transform(items, i -> i.price * i.quantity), p -> p > 4000000)
-- words shared with property values
select id, filter(words, w -> array_contains(map_values(props), w)) as shared_words from events where exists(words, w -> array_contains(map_values(props), w))
-- orders with two suppliers on one ship mode and flag
select orderkey, size(items) as lines_cnt from orders where exists(items, a -> a.quantity > 30 and exists(items, b -> b.linenumber > a.linenumber and b.shipmode = a.shipmode and b.returnflag = a.returnflag and b.suppkey <> a.suppkey))
-- peak readings without a higher peer
select id, transform(filter(device.readings, r -> not exists(device.readings, o -> o.value > r.value)), r -> r.kind) as peak_kinds from devices
-- returned bulk lines by ship mode
select i.shipmode, count(*) as lines_cnt, sum(i.price) as amount from orders lateral view explode(filter(items, x -> x.returnflag = 'R' and x.quantity >= 25)) t as i group by i.shipmode
-- very late lines by nation
with late as (select custkey, explode(filter(items, i -> datediff(i.receiptdate, i.commitdate) > 365)) as line from orders where status = 'F') select c.nation, count(*) as late_lines, sum(l.line.quantity) as late_quantity from late l join customers c on l.custkey = c.custkey group by c.nation
-- average reading by model and kind
select d.device.model as model, r.kind as kind, avg(r.value) as avg_value, max(r.n1) as max_n1 from devices d lateral view explode(filter(d.device.readings, x -> x.value > 100)) t as r group by d.device.model, r.kind
-- two character properties by key
select k, count(*) as uses, count(distinct v) as distinct_values, min(v) as first_value from events lateral view explode(map_filter(props, (pk, pv) -> length(pv) = 2)) t as k, v group by k
-- busiest suppliers by truck
select supp, sum(qty) as units, sum(net) as net_amount from orders lateral view inline(transform(filter(items, i -> i.shipmode = 'TRUCK'), i -> struct(i.suppkey as supp, i.quantity as qty, cast(i.price * (1 - cast(i.discount as decimal(4,2))) as decimal(18,4)) as net))) t as supp, qty, net group by supp order by units desc, supp limit 25
-- order totals by status
select status, count(*) as orders_cnt, sum(total) as total_sum, max(orderdate) as last_order, max(size(items)) as max_lines from orders group by status
-- first line of each order
select orderkey, items[0].partkey as first_part, items[0].address.city as first_ship_city, size(items) as lines_cnt from orders where items[0].quantity > 45
-- open items in full
select orderkey, orderdate, filter(items, i -> i.returnflag = 'N') as open_items from orders where orderdate >= date'2001-01-01'
-- readings sorted by value in full
select id, array_sort(device.readings, (l, r) -> case when l.value < r.value then -1 when l.value > r.value then 1 else 0 end) as sorted_readings from devices where device.model = '2A'
-- distinct words and sorted xs
select id, sort_array(array_distinct(words)) as vocabulary, slice(sort_array(xs, false), 1, 3) as top_xs, array_min(xs) as min_x from events
-- active customers by nation
select c.nation, count(distinct o.custkey) as active_customers, sum(o.total) as order_value from customers c join orders o on o.custkey = c.custkey where o.orderdate < date'1997-01-01' group by c.nation
-- first two attributes in full
select id, map_filter(attrs, (k, v) -> k in ('k1', 'k2')) as leading_attrs from events where id % 4 = 1
-- readings by kind without a filter
select r.kind as kind, count(*) as readings_cnt, sum(r.value) as value_sum, max(r.s5) as max_s5 from devices lateral view explode(device.readings) t as r group by r.kind
