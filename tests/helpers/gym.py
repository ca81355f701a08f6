"""A small project that reads two tables of somebody else, and a terminal in its folder: pages are walked in it."""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

FILES = {
    "seeds/plans.csv": "plan_id,plan,monthly_price\n1,basic,19.90\n2,plus,29.90\n3,student,\n",
    "models/staging/_sources.yml": """\
version: 2
sources:
  - name: raw_gym
    schema: RAW
    tables:
      - name: members
      - name: visits
""",
    "models/staging/stg_members.sql": """\
select id as member_id, trim(name) as member_name, plan_id, cast(joined as date) as joined_on
from {{ source('raw_gym', 'members') }}
where id is not null
""",
    "models/staging/stg_visits.sql": """\
select member_id, checked_in, (unix_timestamp(checked_out) - unix_timestamp(checked_in)) / 60 as minutes
from {{ source('raw_gym', 'visits') }}
""",
    "models/marts/member_months.sql": """\
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
""",
    "models/marts/_marts.yml": """\
version: 2

models:
  - name: member_months
    description: One row per member and month.
    columns:
      - name: member_id
        description: "who"
        data_tests: [not_null]

      # counted from the turnstile
      - name: visits
        description: "how often"
""",
}
RAW = (
    "members using parquet as select * from values (1L, ' Ada ', 1, '2024-01-03'), (2L, 'Ben', 2, '2024-02-01')"
    " as t(id, name, plan_id, joined)",
    "visits using parquet as select * from values (1L, timestamp'2024-03-01 08:00:00', timestamp'2024-03-01 09:10:00'),"
    " (2L, timestamp'2024-03-02 08:30:00', null) as t(member_id, checked_in, checked_out)",
)


class Typed:
    """A terminal in the project's folder."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture

    def __call__(self, command: str) -> tuple[int, str]:
        """The exit code, and all that is said."""
        from dbt.cli.main import dbtRunner

        from planproof.cli.group import cli

        program, *words = shlex.split(command)
        self.capture.readouterr()
        if program == "planproof":
            done = CliRunner().invoke(cli, words)
            return done.exit_code, done.output
        assert program == "dbt"
        return int(not dbtRunner().invoke(words).success), self.capture.readouterr().out
