{{ config(materialized='view') }}

with revenue as (

    select * from {{ ref('order_revenue') }}

),

customers as (

    select * from {{ ref('stg_customers') }}

),

nations as (

    select * from {{ ref('stg_nations') }}

)

select
    nations.region_name,
    nations.nation_name,
    count(*) as order_count,
    sum(revenue.net_revenue) as net_revenue
from revenue
inner join customers on revenue.customer_id = customers.customer_id
inner join nations on customers.nation_id = nations.nation_id
group by nations.region_name, nations.nation_name
