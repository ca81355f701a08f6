with source as (

    select * from {{ source('tpch', 'orders') }}

)

select
    o_orderkey as order_id,
    o_custkey as customer_id,
    o_orderdate as order_date,
    trim(o_orderpriority) as order_priority,
    case o_orderstatus
        when 'F' then 'fulfilled'
        when 'O' then 'open'
        else 'partial'
    end as order_status,
    o_totalprice as total_price
from source
