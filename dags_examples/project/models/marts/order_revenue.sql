with orders as (

    select * from {{ ref('int_order_items') }}

)

select
    order_id,
    customer_id,
    order_date,
    order_status,
    size(items) as item_count,
    aggregate(
        items,
        cast(0 as decimal(25, 2)),
        (total, item) -> cast(total + item.net_price as decimal(25, 2))
    ) as net_revenue,
    exists(items, item -> item.is_returned) as has_returns,
    -- The order's total does not depend on `item`: written like this, Spark adds it up once per item.
    transform(
        items,
        item -> struct(
            item.line_number as line_number,
            cast(
                item.net_price / aggregate(
                    items,
                    cast(0 as decimal(25, 2)),
                    (total, other) -> cast(total + other.net_price as decimal(25, 2))
                ) as decimal(7, 4)
            ) as share
        )
    ) as item_shares
from orders
