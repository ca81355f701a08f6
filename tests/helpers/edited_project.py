"""The texts of the project that the editor's tests edit."""

NOT_NULL = {"constraints": [{"type": "not_null"}]}
STG = """\
{{ config(materialized='view') }}

select
    id as order_id,
    cast(amount as decimal(12, 2)) as amount,
    tags
from {{ source('raw', 'orders') }}
"""
MART = """\

{{ config(materialized='table') }}
with priced as (
    select order_id, amount * 2 as twice -- über 1 €
    from {{ ref('stg') }}
)
select order_id, twice
from priced
"""


def render(text: str) -> str:
    for tag, said in (("{{ source('raw', 'orders') }}", "raw.orders"), ("{{ ref('stg') }}", "shop.stg")):
        text = text.replace(tag, said)
    return text.strip().partition("}}")[2]
