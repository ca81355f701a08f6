"""A secret in every place that has one, looked for in everything that planproof says, writes and starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof import Guard, Model
from planproof.cli.group import cli
from planproof.confidential import hide_secrets
from planproof.project import cache as caches
from planproof.publish.transaction.places import database_root
from planproof.report.formats import FORMATS, render
from planproof.report.run import run_report
from planproof.session import open as opened
from planproof.session.protocol import SparkFailure

SECRET = "hunter2-which-nobody-may-see"
PROFILE = """
shop:
  target: dev
  outputs:
    dev:
      type: spark
      method: session
      host: NA
      schema: shop
      user: "{{ env_var('DBT_SECRET') }}"
      password: "{{ env_var('DBT_SECRET') }}"
      token: "{{ env_var('DBT_SECRET') }}"
      server_side_parameters:
        spark.hadoop.fs.s3a.secret.key: "{{ env_var('DBT_SECRET') }}"
        spark.hadoop.javax.jdo.option.ConnectionURL: "jdbc:postgresql://u:{{ env_var('DBT_SECRET') }}@db/m"
"""


def written(folder: Path) -> Iterator[Path]:
    """The files below a folder that hold the secret."""
    for path in folder.rglob("*"):
        if path.is_file() and SECRET.encode() in path.read_bytes():
            yield path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dbt_manifest: Any) -> Path:
    for name in ("DBT_SECRET", "AWS_SECRET_ACCESS_KEY", "DBT_ENV_SECRET_X", "AIRFLOW_CONN_SPARK", caches.KEY):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("PLANPROOF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PLANPROOF_DEBUG", "1")
    caches.cache_key.cache_clear()
    home = tmp_path / "shop"
    (home / "target").mkdir(parents=True)
    (home / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (home / "profiles.yml").write_text(PROFILE)
    columns = {"id": {"data_type": "bigint", "constraints": [{"type": "not_null"}]}}
    models = {
        "fine": {"sql": "select 1L as id", "columns": columns, "contract": True},
        "broken": {"sql": "select current_timestamp() as other", "columns": columns, "contract": True},
        "rejected": {"sql": "select nothing as id from shop.fine", "parents": ["fine"]},
        "unread": {"sql": "select from_utc_timestamp('2024-01-01', current_timezone()) as at"},
    }
    (home / "target" / "manifest.json").write_text(json.dumps(dbt_manifest(models)))
    return home


@pytest.mark.parametrize("words", [[], ["--conf", f"spark.hadoop.fs.s3a.secret.key={SECRET}"]])
def test_a_check_tells_no_secret(words: list[str], home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    files = [word for form in FORMATS for word in ("--format", form, "-o", f"report.{form}")]
    for given in (files, ["--json", "--verbose"], ["--select", "nothing_there"]):
        said = CliRunner().invoke(cli, ["check", "--profiles-dir", str(home), *words, *given])
        assert said.exit_code in (1, 2), said.output
        assert SECRET not in said.output
    assert (home / "report.html").exists()
    assert list(written(home.parent)) == []


@pytest.mark.parametrize("command", ["run", "freeze", "audit", "recover", "clean"])
def test_what_cannot_run_tells_no_secret(command: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile is one of a server that is not there: its errors know the password."""
    monkeypatch.chdir(home)
    text = PROFILE.replace("method: session", "method: thrift").replace("host: NA", "host: 127.0.0.1\n      port: 9")
    (home / "profiles.yml").write_text(text)
    said = CliRunner().invoke(cli, [command, "--profiles-dir", str(home)])
    assert said.exit_code == 2, said.output
    assert SECRET not in said.output
    assert list(written(home.parent) if command != "run" else ()) == []


@pytest.mark.parametrize("key", ["target-path", "name", "profile", "model-paths"])
@pytest.mark.parametrize("value", [SECRET, f"{SECRET}\n", "x" * 5000 + SECRET, f"/root/{SECRET}/x"])
def test_a_project_file_tells_no_secret(key: str, value: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("DBT_SECRET", value)
    project = {"name": "shop", "profile": "shop", key: "{{ env_var('DBT_SECRET') }}"}
    (home / "dbt_project.yml").write_text(json.dumps(project))
    for command in (["check", "--no-cache"], ["explain", "fine"], ["infer", "--dry-run"], ["diff", ".", "target"]):
        said = CliRunner().invoke(cli, command)
        assert SECRET not in said.output, command
        assert "internal error" not in said.output, command


def test_a_publish_tells_no_secret(spark: Any, database: str, tmp_path: Path) -> None:
    keys = ("spark.hadoop.fs.s3a.secret.key", "fs.s3a.secret.key", "spark.some.password", "spark.x.token")
    for key in keys:
        spark.conf.set(key, SECRET)
    try:
        guard = Guard(spark)
        reports = [
            guard.publish(Model(f"{database}.t", "select 1 as id")),
            guard.publish(Model(f"{database}.t", "select nothing as id")),
            guard.publish(Model(f"{database}.u", "select assert_true(false) as id")),
        ]
        state = Path(database_root(opened(spark), (database,)).removeprefix("file:"))
    finally:
        for key in keys:
            spark.conf.unset(key)
    assert reports[0].outcome == "published"
    from datetime import datetime, timezone

    run = run_report("run", reports, datetime.now(timezone.utc))
    for form in FORMATS:
        assert SECRET not in render(run, form)
    assert SECRET not in json.dumps([report.to_dict() for report in reports], default=str)
    assert list(written(state)) == []


STARTED = """
import os
import sys
import threading
import time
from pathlib import Path
import planproof.session
seen = set()
def look():
    # Each process that this one starts, while it starts as well.
    while True:
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = file.read_bytes()
                if SECRET.encode() in words or b"Xmx" in words or b"spark.ui.enabled" in words:
                    seen.add(words)
            except OSError:
                pass
        time.sleep(0.02)
threading.Thread(target=look, daemon=True).start()
conf = {"spark.master": "local[1]", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", **SETTINGS}
def built(conf):
    # Spark as dbt opens it for its first statement, which is none of planproof's.
    import json
    from types import SimpleNamespace
    from dbt.cli.main import dbtRunner
    from pyspark.sql import SparkSession
    target = {"type": "spark", "method": "session", "host": "NA", "schema": "default", "server_side_parameters": conf}
    Path("models").mkdir()
    Path("models/m.sql").write_text("{{ config(materialized='view') }} select 1 as id")
    Path("dbt_project.yml").write_text(json.dumps({"name": "shop", "profile": "shop"}))
    Path("profiles.yml").write_text(json.dumps({"shop": {"target": "dev", "outputs": {"dev": target}}}))
    found = dbtRunner().invoke(["--quiet", "run"])
    assert found.success, found
    return SimpleNamespace(spark=SparkSession.builder.getOrCreate())
session = OPENED
hadoop = session.spark.sparkContext._jsc.hadoopConfiguration()
assert hadoop.get("fs.s3a.secret.key") == SECRET, "Spark has it all the same"
java = session.spark._jvm.java.lang.System
assert [java.getProperty("a." + key) for key in ("password", "b", "c")] == [SECRET, 'x "y', "z"], "and so has the JVM"
assert session.spark.conf.get("spark.driver.own.password") == SECRET
assert "PYSPARK_SUBMIT_ARGS" not in os.environ
assert session.spark.conf.get("spark.from.defaults") == "read", "the machine's own settings count"
assert any(b"spark.ui.enabled" in words for words in seen), "the command line of the JVM"
print("told:", [words for words in seen if SECRET.encode() in words])
"""


@pytest.mark.parametrize(
    "opened",
    [
        pytest.param("planproof.session.open_embedded(conf)", marks=pytest.mark.conformance),
        "planproof.session.open_for_dbt(conf)",
        pytest.param("built(conf)", marks=pytest.mark.conformance),
    ],
)
def test_no_command_line_tells_a_secret(opened: str, tmp_path: Path) -> None:
    """pyspark would write each setting on the command line of the JVM, which all users of the machine can read."""
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("the system shows no command lines")
    script, secret = tmp_path / "script.py", f"{SECRET}-{tmp_path.name}"
    (tmp_path / "spark-defaults.conf").write_text("spark.from.defaults read\n")
    (tmp_path / "no.jar").write_bytes(b"PK\5\6" + bytes(18))
    settings = {
        "spark.hadoop.fs.s3a.secret.key": secret,
        "spark.driver.own.password": secret,
        "spark.driver.extraJavaOptions": f"""-Da.password={secret} '-Da.b=x "y' -Da.c=z""",
        **({"spark.jars": (tmp_path / "no.jar").as_uri()} if opened.endswith("dbt(conf)") else {}),
        "spark.hadoop.javax.jdo.option.ConnectionPassword": secret,
        "spark.some.url": f"jdbc:postgresql://u:{secret}@db/m",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(tmp_path),
    }
    script.write_text(f"SECRET, SETTINGS = {secret!r}, {settings!r}\n{STARTED.replace('OPENED', opened)}")
    ended = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "SPARK_CONF_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stdout) == (0, "told: []\n"), ended.stderr[-2000:]


@pytest.mark.parametrize(
    "message",
    [
        f"no answer of jdbc:mysql://ada:{SECRET}@db/m",
        f"jdbc:postgresql://db/m?user=ada&password={SECRET}&ssl=true",
        f"fs.s3a.secret.key={SECRET}, retry",
        f"SharedKey token: {SECRET}",
        f"sc://here:15002/;token={SECRET}",
        f"{{'fs.s3a.access.key': 'x', aws_secret_access_key={SECRET}}}",
        f"AccessKey={SECRET};EndpointSuffix=core",
        f"user='ada', password='{SECRET}'",
        f'required username="ada" password="{SECRET} and {SECRET}";',
        f'{{"fs.s3a.secret.key": "{SECRET}"}}',
        f"Map(fs.s3a.secret.key -> {SECRET})",
        f"List((fs.s3a.secret.key,{SECRET}))",
        f"s3://AKIA:ab/{SECRET}@bucket/x",
        f"https://{SECRET}@github.com/x/y.git",
        f"mysql://ada:p@{SECRET}@db/m",
        f"jdbc:oracle:thin:scott/{SECRET}@//db:1521/x",
        f"https://x.blob.core.windows.net/c?sv=1&sig={SECRET}&se=2",
        f"https://x.s3.amazonaws.com/k?X-Amz-Signature={SECRET}",
        f"https://x.s3.amazonaws.com/k?Expires=1&Signature={SECRET}",
        f"fs.azure.sas.c.a.blob.core.windows.net={SECRET}",
        f"Authorization: Bearer {SECRET}",
        f"header.Authorization=Basic {SECRET}",
        f"ssl.keystore.pass={SECRET}, passphrase={SECRET}",
        f"beeline --password {SECRET} -e x",
        f"fs.s3a.encryption.key={SECRET}",
        f"spark.hadoop.parquet.encryption.key.list -> k1:{SECRET}",
        f"Set-Cookie: JSESSIONID={SECRET}; Path=/",
        f"SharedAccessSignature={SECRET}",
        f"x?jwt={SECRET}&dbpass={SECRET}, PASS={SECRET}",
        f'{{\\"password\\": \\"{SECRET}\\", \\"a\\": 1}}',
        f'password="a\\"{SECRET}"',
        f"{{'password': b'{SECRET}'}}",
        f"SET `fs.s3a.secret.key` = `{SECRET}`",
        f"ArrayBuffer([fs.s3a.secret.key,{SECRET}])",
        f"redirected to /x?token%3D{SECRET}",
        f"401 for Bearer {SECRET}0123456789ab",
        f"Basic YWRh{SECRET}0123456789ab== was refused",
        f"the server gave eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{SECRET}",
        f"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n{SECRET}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\\nMIIE\\n{SECRET}",
        f"<property><name>fs.s3a.secret.key</name><value>a{SECRET}</value></property>",
        f"<name> ssl.keystore.password </name>\n  <value>\n{SECRET}\n</value>",
        f"<server><username>ada</username><password>&lt;{SECRET}</password></server>",
        *(f"no {known}0123456789abcdef{SECRET}" for known in ("ghp_", "github_pat_", "glpat-", "xoxb-", "ya29.")),
    ],
)
def test_a_failure_is_told_without_what_was_told_in_confidence(message: str) -> None:
    assert SECRET not in str(SparkFailure(message))
    assert "***" in hide_secrets(message)


def test_a_failure_of_megabytes_is_told_in_short() -> None:
    """What a query, or its rows, have Spark say is looked through for patterns."""
    assert len(str(SparkFailure("Method does " * 10**6))) < 100_000


@pytest.mark.parametrize(
    "message",
    [
        "column token is not there",
        "password_hash bigint",
        "a: b",
        "the key id = 5",
        "struct<token: string, password: BIGINT>",
        "column 'token': it may be null",
        "signature: (int) -> int",
        "http://localhost:8080/a@b",
        "hdfs://nn:8020/user/a@b.c/x",
        "abfss://container@account.dfs.core.windows.net/x",
        "select token, password from t",
        "Basic authentication is not supported, nor a bearer of tokens",
        "-----BEGIN CERTIFICATE-----",
        "<name>token</name> is no element of <value>5</value>",
        "<Password>",
    ],
)
def test_the_rest_of_a_failure_is_told(message: str) -> None:
    assert hide_secrets(message) == message
