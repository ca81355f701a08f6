with nations as (

    select * from {{ source('tpch', 'nation') }}

),

regions as (

    select * from {{ source('tpch', 'region') }}

)

select
    nations.n_nationkey as nation_id,
    initcap(nations.n_name) as nation_name,
    initcap(regions.r_name) as region_name
from nations
inner join regions on nations.n_regionkey = regions.r_regionkey
