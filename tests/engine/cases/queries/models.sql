with source as (
    select * from orders
),
renamed as (
    select
        id as order_id,
        customer_id,
        cast(placed as date) as placed_on,
        date_trunc('month', placed) as placed_month,
        total as order_total,
        upper(trim(status)) as order_status,
        coalesce(attrs['priority'], 0) as priority,
        size(items) as item_count
    from source
)
select * from renamed;
with ranked as (
    select
        *,
        row_number() over (partition by id order by placed desc) as recency
    from orders
),
latest as (
    select * from ranked where recency = 1
)
select id as order_id, customer_id, placed, total, status, tags, items, attrs from latest;
with customers_ as (
    select * from customers
),
orders_ as (
    select id as order_id, customer_id, placed, total from orders
),
customer_orders as (
    select
        customer_id,
        min(placed) as first_order_at,
        max(placed) as most_recent_order_at,
        count(order_id) as number_of_orders,
        sum(total) as lifetime_value
    from orders_
    group by customer_id
),
final as (
    select
        customers_.id as customer_id,
        customers_.name,
        customer_orders.first_order_at,
        customer_orders.most_recent_order_at,
        coalesce(customer_orders.number_of_orders, 0) as number_of_orders,
        customer_orders.lifetime_value,
        case
            when customer_orders.number_of_orders is null then 'none'
            when customer_orders.number_of_orders > 1 then 'returning'
            else 'new'
        end as customer_type
    from customers_
    left join customer_orders on customers_.id = customer_orders.customer_id
)
select * from final;
with lines as (
    select orders.id as order_id, orders.customer_id, item.sku, item.qty, item.price, item.ship.city as ship_city
    from orders lateral view explode(items) exploded as item
),
priced as (
    select
        md5(cast(concat(coalesce(cast(order_id as string), '_null_'), '-', coalesce(cast(sku as string), '_null_')) as string)) as line_key,
        *,
        qty * price as amount,
        sum(qty * price) over (partition by order_id) as order_amount
    from lines
)
select priced.*, round(100 * amount / nullif(order_amount, 0), 2) as share_of_order from priced;
with spine as (
    select explode(sequence(to_date('2020-01-01'), to_date('2020-12-31'), interval 1 day)) as date_day
),
daily as (
    select cast(placed as date) as date_day, status, sum(total) as revenue, count(distinct customer_id) as buyers
    from orders
    where placed >= '2020-01-01'
    group by 1, 2
),
joined as (
    select spine.date_day, daily.status, coalesce(daily.revenue, 0) as revenue, coalesce(daily.buyers, 0) as buyers
    from spine
    left join daily on spine.date_day = daily.date_day
)
select
    date_day,
    status,
    revenue,
    buyers,
    sum(revenue) over (partition by status order by date_day rows between 6 preceding and current row) as revenue_7_days,
    lag(revenue, 1) over (partition by status order by date_day) as previous_revenue,
    datediff(current_date(), date_day) as days_ago
from joined;
select cast('orders' as string) as source_relation, id, cast(customer_id as string) as reference, placed as happened_at, cast(null as string) as note from orders
union all
select cast('customers' as string) as source_relation, id, name, cast(since as timestamp), nation from customers;
select
    customer_id,
    sum(case when status = 'placed' then total else 0 end) as placed_total,
    sum(case when status = 'shipped' then total else 0 end) as shipped_total,
    max(case when status = 'returned' then 1 else 0 end) = 1 as has_returns,
    collect_set(status) as statuses,
    count_if(total > 100) as large_orders,
    percentile(total, 0.5) as median_total
from orders
group by customer_id
having count(*) > 0;
with changes as (
    select
        id,
        status,
        placed as valid_from,
        lead(placed) over (partition by id order by placed) as valid_to,
        lag(status) over (partition by id order by placed) as previous_status
    from orders
)
select
    changes.*,
    coalesce(valid_to, cast('9999-12-31' as timestamp)) as valid_to_or_open,
    valid_to is null as is_current,
    unix_timestamp(valid_to) - unix_timestamp(valid_from) as seconds_in_status,
    exists (select 1 from customers where customers.id = changes.id) as is_customer
from changes
where previous_status is null or previous_status <> status;
