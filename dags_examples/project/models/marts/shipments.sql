{{ config(materialized='incremental', incremental_strategy='append') }}

select
    order_id,
    line_number,
    part_id,
    ship_mode,
    ship_date,
    receipt_date,
    datediff(receipt_date, ship_date) as days_in_transit
from {{ ref('stg_line_items') }}
{% if is_incremental() %}
where ship_date > (select max(ship_date) from {{ this }})
{% endif %}
