with source as (

    select * from {{ source('tpch', 'customer') }}

)

select
    c_custkey as customer_id,
    c_name as customer_name,
    c_nationkey as nation_id,
    initcap(c_mktsegment) as market_segment,
    c_acctbal as account_balance
from source
