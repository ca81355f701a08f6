select id as member_id, trim(name) as member_name, plan_id, cast(joined as date) as joined_on
from {{ source('raw_gym', 'members') }}
where id is not null
