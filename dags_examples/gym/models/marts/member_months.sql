{{ config(materialized='table') }}
select
    m.member_id,
    p.plan,
    date_trunc('month', v.checked_in) as month,
    count(*) as visits,
    sum(v.minutes) as minutes
from {{ ref('stg_members') }} m
join {{ ref('stg_visits') }} v on v.member_id = m.member_id
left join {{ ref('plans') }} p on p.plan_id = m.plan_id
group by 1, 2, 3
