"""The README's five commands, typed one after the other in a project as `dbt init` makes one."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner
from projects import fresh_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

README = Path(__file__).parents[2] / "README.md"
HEADING = "## Five commands for a project that exists\n"

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


def five_commands() -> list[str]:
    block = README.read_text("utf-8").split(HEADING)[1].split("```sh\n")[1].split("```")[0]
    typed = [line.partition("#")[0].strip() for line in block.splitlines()]
    return [command for command in typed if command]


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


def test_a_newcomer_walks_the_five_commands(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    raw, schema = fresh_name(), fresh_name()
    spark.sql(f"create database {raw}")
    for table in RAW:
        spark.sql(f"create table {raw}.{table}")
    target = {"type": "spark", "method": "session", "host": "NA", "schema": schema, "threads": 2}
    (tmp_path / "profiles.yml").write_text(json.dumps({"gym": {"target": "dev", "outputs": {"dev": target}}}))
    monkeypatch.setenv("DBT_PROFILES_DIR", str(tmp_path))
    monkeypatch.setenv("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
    monkeypatch.setenv("DBT_USE_COLORS", "false")
    monkeypatch.delenv("PLANPROOF", raising=False)
    monkeypatch.chdir(tmp_path)
    typed = Typed(capfd)
    assert typed("dbt init gym --skip-profile-setup")[0] == 0
    project = tmp_path / "gym"
    for name, text in FILES.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text.replace("RAW", raw))
    monkeypatch.chdir(project)

    commands = five_commands()
    assert [command.split()[:2] for command in commands] == [
        words.split()
        for words in ("dbt compile", "planproof freeze", "planproof check", "planproof infer", "dbt build")
    ]
    compile_, freeze, check, infer, build = commands
    assert typed(compile_)[0] == 0

    # The seed was never loaded: the others are frozen, and the way on is named.
    code, said = typed(freeze)
    assert code == 0
    assert "planproof_sources.json: 2 schemas\n" in said
    assert f"not frozen: {schema}.plans: Spark knows no such relation; `dbt seed` loads it" in said

    code, said = typed(check)
    assert code == 0
    assert "5 models · 1 unproved · 4 without a contract" in said
    assert "`dbt seed`" in " ".join(said.split()).partition("note: the schema of 1 source or seed")[2]

    code, said = typed(infer)
    assert code == 0
    assert "stg_members: joined_on date" in said
    assert "left out member_months: its schema is not known offline" in said
    starter = yaml.safe_load((project / "models/example/schema.yml").read_text())["models"]
    assert [m["config"] for m in starter] == [{"contract": {"enforced": True}}] * 2

    # dbt's starter project fails one of its own tests, which dbt runs after the table is published.
    code, said = typed(build)
    assert code == 1
    assert re.search(r"FAIL 1 not_null_my_first_dbt_model_id", said)
    assert re.search(r"Done\. PASS=\d+ WARN=0 ERROR=1 SKIP=3 ", said)
    assert (
        "planproof: 4 published (3 contracts proved), 1 left to dbt (1 seed); report target/planproof/report.json"
        in said
    )
    assert spark.table(f"{schema}.member_months").count() == 2

    # The build loaded the seed: what was named above leads to a project that is known whole, and promised whole.
    assert typed(freeze) == (0, "planproof_sources.json: 3 schemas\n")
    assert "left out" not in typed(infer)[1]
    assert typed(compile_)[0] == 0
    code, said = typed(check)
    assert code == 0
    assert "5 models · 5 proved · " in said
    promised = (project / "models/marts/_marts.yml").read_text()
    assert "        data_type: bigint\n\n      # counted from the turnstile\n      - name: visits\n" in promised
