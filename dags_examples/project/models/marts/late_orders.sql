with orders as (

    select * from {{ ref('int_order_items') }}

),

targets as (

    select * from {{ ref('priority_targets') }}

),

judged as (

    select
        orders.order_id,
        orders.order_date,
        orders.order_priority,
        date_add(orders.order_date, targets.days_to_deliver) as due_date,
        filter(
            orders.items,
            item -> item.receipt_date > date_add(orders.order_date, targets.days_to_deliver)
        ) as late_items,
        size(orders.items) as item_count
    from orders
    inner join targets on orders.order_priority = targets.order_priority

)

select
    order_id,
    order_date,
    order_priority,
    due_date,
    item_count,
    size(late_items) as late_item_count,
    transform(late_items, item -> datediff(item.receipt_date, due_date)) as days_late,
    exists(late_items, item -> item.ship_date > due_date) as shipped_late
from judged
where size(late_items) > 0
