with source as (

    select * from {{ source('tpch', 'lineitem') }}

)

select
    l_orderkey as order_id,
    l_linenumber as line_number,
    l_partkey as part_id,
    l_quantity as quantity,
    l_extendedprice as gross_price,
    l_discount as discount,
    cast(l_extendedprice * (1 - l_discount) as decimal(15, 2)) as net_price,
    l_returnflag = 'R' as is_returned,
    l_shipdate as ship_date,
    l_receiptdate as receipt_date,
    lower(trim(l_shipmode)) as ship_mode
from source
