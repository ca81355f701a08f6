"""The README's five commands, typed one after the other in a project as `dbt init` makes one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from gym import FILES, Typed
from projects import fresh_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

README = Path(__file__).parents[2] / "README.md"
HEADING = "## Five commands for an existing project\n"


def five_commands() -> list[str]:
    block = README.read_text("utf-8").split(HEADING)[1].split("```sh\n")[1].split("```")[0]
    typed = [line.partition("#")[0].strip() for line in block.splitlines()]
    return [command for command in typed if command]


def test_a_newcomer_walks_the_five_commands(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    raw, schema = fresh_name(), fresh_name()
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
    assert typed(f"dbt run-operation -q raw_tables --args '{{schema: {raw}}}'")[0] == 0

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
        "planproof: 4 published (2 contracts proved, 1 counted, 1 without a contract), 1 left to dbt (1 seed); "
        "report target/planproof/report.json" in said
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
