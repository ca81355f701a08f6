with customers as (

    select * from {{ ref('stg_customers') }}

),

nations as (

    select * from {{ ref('stg_nations') }}

),

order_stats as (

    select
        customer_id,
        count(*) as order_count,
        max(order_date) as last_order_date,
        sum(net_revenue) as lifetime_revenue
    from {{ ref('order_revenue') }}
    group by customer_id

)

select
    customers.customer_id,
    customers.customer_name,
    customers.market_segment,
    nations.nation_name,
    order_stats.order_count,
    order_stats.last_order_date,
    order_stats.lifetime_revenue
from customers
inner join nations on customers.nation_id = nations.nation_id
{{ var('customer_join') }} join order_stats on customers.customer_id = order_stats.customer_id
