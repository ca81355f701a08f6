with orders as (

    select * from {{ ref('stg_orders') }}

),

items as (

    select
        order_id,
        collect_list(
            struct(line_number, part_id, quantity, net_price, discount, is_returned, ship_date, receipt_date)
        ) as items
    from {{ ref('stg_line_items') }}
    group by order_id

)

select
    orders.order_id,
    orders.customer_id,
    orders.order_date,
    orders.order_priority,
    orders.order_status,
    items.items
from orders
inner join items on orders.order_id = items.order_id
