"""`planproof run` in processes of its own: on a Thrift server, on Spark Connect, and interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.report.run import RunReport

MODELS = {
    "left.sql": "{{ config(materialized='table') }}\nselect id from values (1L), (2L) as t(id)\n",
    "right.sql": "{{ config(materialized='table') }}\nselect id from values (2L), (3L) as t(id)\n",
    "mart.sql": "{{ config(materialized='table') }}\n"
    "select {{ 'nullif(l.id, 2)' if var('broken', false) else 'l.id' }} as id\n"
    "from {{ ref('left') }} as l join {{ ref('right') }} as r on l.id = r.id\n",
    "parted.sql": "{{ config(materialized='table') }}\nselect id from values (1L), (null) as t(id)\n",
    "log.sql": "{{ config(materialized='incremental') }}\nselect id from {{ ref('left') }}\n"
    "{% if is_incremental() %}where id > (select max(id) from {{ this }}){% endif %}\n",
}
SCHEMA = """
models:
  - name: mart
    config: {contract: {enforced: true}}
    columns: [{name: id, data_type: bigint, constraints: [{type: not_null}]}]
  - name: parted
    config: {contract: {enforced: true}, meta: {planproof: {on_violation: quarantine}}}
    columns: [{name: id, data_type: bigint, constraints: [{type: not_null}]}]
"""


def written(folder: Path, target: dict[str, object]) -> Path:
    (folder / "dbt_project.yml").write_text(
        "name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false}\n"
    )
    profile = {"shop": {"target": "dev", "outputs": {"dev": {"type": "spark", **target}}}}
    (folder / "profiles.yml").write_text(json.dumps(profile))
    (folder / "models").mkdir()
    (folder / "models" / "schema.yml").write_text(SCHEMA)
    for name, text in MODELS.items():
        (folder / "models" / name).write_text(text)
    return folder


def outcomes(output: str) -> dict[str, str]:
    report = RunReport.from_json(output)
    return {r.details.name: r.outcome for r in report.reports}


PUBLISHED = dict.fromkeys(("left", "right", "mart", "parted", "log"), "published")
STOPPED = {**PUBLISHED, "mart": "rejected"}


def test_a_run_on_a_thrift_server(thrift: str, tmp_path: Path) -> None:
    """Two threads, each over a connection of its own; a second run appends nothing, a broken one is stopped."""
    from pyhive import hive

    host, port = thrift.split(":")
    place = {"method": "thrift", "host": host, "port": int(port), "user": "dbt", "schema": "run_thrift"}
    project = written(tmp_path, {**place, "threads": 2, "poll_interval": 0})
    cursor = hive.connect(host, int(port)).cursor()
    cursor.execute("create database run_thrift")
    for args, expected in (((), PUBLISHED), (("--vars", "{broken: true}"), STOPPED)):
        found = CliRunner().invoke(cli, ["run", "--project-dir", str(project), "--json", *args])
        assert outcomes(found.stdout) == expected, found.output
        assert found.exit_code == (1 if "rejected" in expected.values() else 0), found.output
    stored = {"mart": [(2,)], "log": [(1,), (2,)], "parted": [(1,)], "parted__quarantine": [(None,), (None,)]}
    for table, rows in stored.items():
        cursor.execute(f"select id from run_thrift.{table} order by id")
        assert cursor.fetchall() == rows
    elsewhere = CliRunner().invoke(cli, ["run", "--project-dir", str(project), "--conf", "thrift.host=other"])
    assert elsewhere.exit_code == 2
    assert "would run on the Thrift server other:10000: name that server" in elsewhere.stderr


@pytest.mark.conformance
@pytest.mark.needs_spark("4.0", "a Connect server in pip's package")
@pytest.mark.parametrize("by", ["profile", "conf"])
def test_a_run_on_spark_connect(tmp_path: Path, by: str) -> None:
    """In a process of its own, which holds one kind of session; `local[2]` starts a server there."""
    pytest.importorskip("grpc")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.remote": "local[2]",
    }
    target = {"method": "session", "host": "NA", "schema": "default", "threads": 2}
    project = written(tmp_path, {**target, "server_side_parameters": settings if by == "profile" else {}})
    given = [f"--conf={key}={value}" for key, value in settings.items()] if by == "conf" else []
    command = [sys.executable, "-m", "planproof", "run", "--project-dir", str(project), "--json", *given]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert outcomes(ran.stdout) == PUBLISHED


@pytest.mark.conformance
@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_interrupted_run_leaves_nothing_half_done(tmp_path: Path, threads: str) -> None:
    """Ctrl-C while a model is written: exit code 130, its old rows are there, and nothing is left to recover."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.master": "local[2]",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
    }
    target = {"method": "session", "host": "NA", "schema": "default", "server_side_parameters": settings}
    project = written(tmp_path, target)
    for name in MODELS:
        (project / "models" / name).unlink()
    (project / "models" / "schema.yml").unlink()
    (project / "models" / "kept.sql").write_text(
        "{{ config(materialized='table') }}\n{% if var('long', false) %}\n"
        "select sum(hash(a.id, b.id)) as id from range(3000000) a cross join range(3000000) b\n"
        "{% else %}select 7L as id{% endif %}\n"
    )
    (project / "models" / "after.sql").write_text("select * from {{ ref('kept') }}")
    command = [sys.executable, "-m", "planproof"]
    place = ["--project-dir", str(project)]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    first = subprocess.run([*command, "run", *place], cwd=tmp_path, env=environment, capture_output=True, timeout=300)
    assert first.returncode == 0, first.stderr[-3000:]
    given = ["--vars", "{long: true}", "--threads", threads]
    with subprocess.Popen(
        [*command, "run", *place, *given], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as ran:
        assert ran.stderr is not None
        said = ""
        for line in ran.stderr:
            said += line
            if "1 of 2 START table default.kept" in line:
                break
        time.sleep(10)
        ran.send_signal(signal.SIGINT)
        said += ran.stderr.read()
    assert ran.returncode == 130, said
    assert "interrupted: no further model was begun" in said
    assert "2 of 2 START" not in said
    recovered = subprocess.run(
        [*command, "recover", *place], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert "nothing to recover" in recovered.stdout, recovered.stderr[-3000:]
    files = [f for f in (tmp_path / "warehouse" / "kept").rglob("*.parquet") if "staging" not in str(f)]
    assert files, "the table that was published before is gone"
