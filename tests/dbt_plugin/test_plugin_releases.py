"""What single releases of dbt-core bring: each case runs where that release is installed (`make test-dbt112`)."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

pytestmark = pytest.mark.hive

CORE = tuple(int(part) for part in version("dbt-core").split(".")[:2])
since_112 = pytest.mark.skipif(CORE < (1, 12), reason="dbt-core 1.12 brought it")

MODEL = """
    {{ config(materialized='table', file_format='parquet') }}
    select {% if var('bad', false) %} 'x' {% else %} 1 {% endif %} as id
    """
CONTRACT = """
    models:
      - name: promised
        config: {contract: {enforced: true}}
        columns: [{name: id, data_type: int}]
    """

PARSER = """
    # In the place of dbt's own binary parser: what it hands over is a manifest, here one that dbt-core has parsed.
    import shutil, sys, tempfile
    from dbt.cli.main import dbtRunner

    args = sys.argv[1:]
    for name in ("--log-format", "--log-level-file", "--invocation-id"):
        at = args.index(name)
        del args[at : at + 2]
    with tempfile.TemporaryDirectory() as logs:
        done = dbtRunner().invoke(["--no-use-v2-parser", "--log-path", logs, "parse", "--no-partial-parse", *args])
    sys.exit(0 if done.success else 1)
    """


def broken_run_is_stopped(dbt: Any, *more: str) -> None:
    before = dbt.state("promised")
    assert not dbt.run("run", "--select", "promised", "--vars", "{bad: true}", *more).success
    assert "PP504" in dbt.results["promised"]["message"]
    assert dbt.state("promised") == before


def test_one_guarded_build(dbt: Any) -> None:
    dbt.write({"models/promised.sql": MODEL, "models/promised.yml": CONTRACT})
    assert dbt.run("build").success, dbt.results
    assert dbt.rows("promised") == [(1,)]
    assert dbt.reports["promised"]["outcome"] == "published"
    broken_run_is_stopped(dbt)


@since_112
def test_a_manifest_of_the_v2_parser_is_guarded(dbt: Any) -> None:
    dbt.write({"models/promised.sql": MODEL, "models/promised.yml": CONTRACT, "parser.py": PARSER})
    parser = ("--use-v2-parser", "--v2-parser", f"{sys.executable} {dbt.root / 'parser.py'}")
    assert dbt.run("run", "--select", "promised", *parser).success, dbt.results
    assert "Delegating parse to v2 parser" in dbt.log
    assert dbt.reports["promised"]["outcome"] == "published"
    broken_run_is_stopped(dbt, *parser)


@since_112
def test_the_pointer_to_a_models_latest_version_stands_beside_the_guarded_table(dbt: Any) -> None:
    yaml = """
        models:
          - name: versioned
            latest_version: 2
            config: {contract: {enforced: true}, latest_version_pointer: {enabled: true}}
            columns: [{name: id, data_type: int}]
            versions: [{v: 1}, {v: 2}]
        """
    dbt.write({"models/versioned_v1.sql": MODEL, "models/versioned_v2.sql": MODEL, "models/versioned.yml": yaml})
    for _ in range(2):
        assert dbt.run("run", "--select", "versioned").success, dbt.results
        assert dbt.rows("versioned") == dbt.rows("versioned_v2") == [(1,)]
    before = dbt.state("versioned")
    assert not dbt.run("run", "--select", "versioned", "--vars", "{bad: true}").success
    assert dbt.state("versioned") == before
    assert dbt.reports["versioned_v2"]["outcome"] == "rejected"
