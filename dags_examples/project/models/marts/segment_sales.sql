{{
    config(
        materialized='incremental',
        incremental_strategy='insert_overwrite',
        partition_by=['order_year']
    )
}}

with orders as (

    select
        *,
        year(order_date) as order_year
    from {{ ref('order_revenue') }}

),

customers as (

    select * from {{ ref('stg_customers') }}

)

select
    customers.market_segment,
    count(*) as order_count,
    sum(orders.net_revenue) as net_revenue,
    orders.order_year
from orders
inner join customers on orders.customer_id = customers.customer_id
{% if is_incremental() %}
-- Only the last year can still change.
where orders.order_year >= (select max(order_year) from {{ this }})
{% endif %}
group by customers.market_segment, orders.order_year
