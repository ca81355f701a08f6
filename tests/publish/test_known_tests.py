"""dbt's own tests are known by their compiled text, whatever is between its words; any other text is not."""

from __future__ import annotations

import pytest

from planproof.publish.data_tests.known import Question, Thresholds, parse_question
from planproof_engine.catalog import RelationName

NOT_NULL = "\n\n\nselect id\nfrom shop.orders\nwhere id is null\n\n\n"
UNIQUE = """
select
    id as unique_field,
    count(*) as n_records

from shop.orders
where id is not null
group by id
having count(*) > 1
"""
ACCEPTED = """
with all_values as (

    select
        state as value_field,
        count(*) as n_records

    from shop.orders
    group by state

)

select *
from all_values
where value_field not in (
    'open  now','closed'
)
"""
RELATED = """
with child as (
    select customer as from_field
    from shop.orders
    where customer is not null
),

parent as (
    select id as to_field
    from shop.customers
)

select
    from_field

from child
left join parent
    on child.from_field = parent.to_field

where parent.to_field is null
"""
RANGE = """
with meet_condition as(
  select *
  from shop.orders
),

validation_errors as (
  select *
  from meet_condition
  where
    -- never true, defaults to an empty result set. Exists to ensure any combo of the `or` clauses below succeeds
    1 = 2
    -- records with a value >= min_value are permitted. The `not` flips this to find records that don't meet the rule.
    or not id >= 0
    -- records with a value <= max_value are permitted. The `not` flips this to find records that don't meet the rule.
    or not id < 10
)

select *
from validation_errors
"""
ORDERS = RelationName(("shop", "orders"))


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (RANGE, Question("accepted_range", ORDERS, "id", least=">=0", most="<10")),
        (NOT_NULL, Question("not_null", ORDERS, "id")),
        (NOT_NULL.replace("id", "`the`"), Question("not_null", ORDERS, "the")),
        (UNIQUE, Question("unique", ORDERS, "id")),
        (ACCEPTED, Question("accepted_values", ORDERS, "state", ("open  now", "closed"))),
        (
            NOT_NULL.replace("shop.orders", "(select * from shop.orders where s = ')' or id > 3) dbt_subquery"),
            Question("not_null", ORDERS, "id", where="s = ')' or id > 3"),
        ),
        (RELATED, Question("relationships", ORDERS, "customer", (), RelationName(("shop", "customers")), "id")),
    ],
)
def test_each_of_dbts_own_tests_is_known(sql: str, found: Question) -> None:
    assert parse_question(sql) == found


@pytest.mark.parametrize(
    "sql",
    [
        NOT_NULL.replace("where id", "where ids"),
        NOT_NULL.replace("select id", "select *"),
        NOT_NULL.replace("shop.orders", "(select * from shop.orders where id > 3) other"),
        NOT_NULL.replace("shop.orders", "(select id from shop.orders where id > 3) dbt_subquery"),
        NOT_NULL.replace("shop.orders", "(select * from shop.orders where id > 3 -- ) dbt_subquery"),
        NOT_NULL.replace("is null", "is null or id < 0"),
        NOT_NULL.replace("id", "true"),
        NOT_NULL.replace("shop.orders", "orders"),
        UNIQUE.replace("> 1", "> 2"),
        UNIQUE.replace("id is not", "other is not"),
        UNIQUE.replace("id", "lower(id)"),
        RANGE.replace("below succeeds\n", "below succeeds "),
        RANGE.replace(">= 0", ">= 0.5"),
        RANGE.replace("not id < 10", "not state < 10"),
        ACCEPTED.replace("'closed'", "7"),
        ACCEPTED.replace("closed", "clo\\'sed"),
        ACCEPTED.replace("closed'", "closed' || 'x'"),
        RELATED.replace("to_field is null", "to_field is null and 1 = 1"),
        RELATED.replace("= parent", "<> parent"),
        "",
    ],
)
def test_a_text_that_says_anything_else_is_not(sql: str) -> None:
    assert parse_question(sql) is None


def test_limits_are_compared_as_spark_compares_them() -> None:
    config = {"fail_calc": "count(*)", "warn_if": ">0", "error_if": ">= 10"}
    limits = Thresholds.of(config)
    assert limits is not None
    assert [(limits.warns(n), limits.fails(n)) for n in (0, 1, 10)] == [(False, False), (True, False), (True, True)]
    for other in ({"limit": 3}, {"fail_calc": "sum(n)"}, {"error_if": "between 1 and 2"}, {"warn_if": None}):
        assert Thresholds.of({**config, **other}) is None
