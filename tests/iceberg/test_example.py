"""The project that docs/iceberg.md shows, built by dbt in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

DOCS = Path(__file__).parents[2] / "docs/iceberg.md"
BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.M | re.S)


@pytest.mark.conformance
def test_the_project_of_the_docs(tmp_path: Path, lake_settings: Callable[[Path], dict[str, str]]) -> None:
    files = dict(BLOCK.findall(DOCS.read_text("utf-8")))
    assert set(files) == {"profiles.yml", "dbt_project.yml", "models/orders.sql", "models/orders.yml"}
    # The runtime comes from a file here, and the machine's own folders are left alone.
    profiles = yaml.safe_load(files["profiles.yml"])
    given = profiles["shop"]["outputs"]["dev"]["server_side_parameters"]
    own = lake_settings(tmp_path)
    del given["spark.jars.packages"]
    given["spark.sql.catalog.lake.warehouse"] = str(tmp_path / "lake")
    given |= {key: value for key, value in own.items() if ".lake_" not in key}
    given["spark.hadoop.javax.jdo.option.ConnectionURL"] = f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true"
    files["profiles.yml"] = yaml.safe_dump(profiles)
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")

    def build() -> str:
        where = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
        code = "import sys; from dbt.cli.main import cli; sys.exit(cli())"
        done = subprocess.run(
            [sys.executable, "-c", code, "build", *where],
            cwd=tmp_path,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
            capture_output=True,
            text=True,
            timeout=240,
        )
        return done.stdout + done.stderr

    assert "planproof: 1 published" in build()
    query = tmp_path / "models/orders.sql"
    query.write_text(query.read_text().replace("select id,", "select if(id > 98, null, id) as id,"), "utf-8")
    assert "PP505" in build()
    (report,) = json.loads((tmp_path / "target/planproof/report.json").read_text())["reports"]
    assert (report["outcome"], report["strategy"]) == ("rejected", "change")
