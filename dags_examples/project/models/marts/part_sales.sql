with items as (

    select * from {{ ref('stg_line_items') }}

),

parts as (

    select * from {{ ref('stg_parts') }}

)

select
    parts.part_id,
    parts.part_name,
    parts.brand,
    count(*) as times_sold,
    sum(items.quantity) as quantity_sold,
    sum(items.net_price) as net_revenue,
    max(parts.retail_price) as retail_price
from items
inner join parts on items.part_id = parts.part_id
group by parts.part_id, parts.part_name, parts.brand
