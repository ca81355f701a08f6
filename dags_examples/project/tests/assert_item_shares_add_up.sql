-- The shares of an order's items add up to one, but for the rounding of each of them.
select
    order_id,
    aggregate(item_shares, cast(0 as decimal(10, 4)), (total, item) -> cast(total + item.share as decimal(10, 4))) as share
from {{ ref('order_revenue') }}
where
    abs(
        aggregate(item_shares, cast(0 as decimal(10, 4)), (total, item) -> cast(total + item.share as decimal(10, 4))) - 1
    ) > 0.0005
