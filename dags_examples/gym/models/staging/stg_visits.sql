select member_id, checked_in, (unix_timestamp(checked_out) - unix_timestamp(checked_in)) / 60 as minutes
from {{ source('raw_gym', 'visits') }}
