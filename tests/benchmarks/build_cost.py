"""What planproof costs `dbt build`: a project of 30 models, with and without it, warm and interleaved in one process.

    python tests/benchmarks/build_cost.py [--models 30] [--rounds 3] [--tests after|answered|before]

Prints the ratio of wall time where schemas stay, where every table's schema changes, and where no table is there yet,
with the seconds per model; beside them the seconds of this process and its JVM, which other programs on the machine
change less. With `--tests` each model has four data tests, and the guarded build that setting; the last line says
whether both builds found the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

WHAT = ("same", "changed", "first")
SCHEMAS = {"on": "bench_guarded", "off": "bench_plain"}
PROFILE = """
shop:
  target: "on"
  outputs:
    "on": {type: spark, method: session, host: NA, schema: bench_guarded, threads: 1}
    "off": {type: spark, method: session, host: NA, schema: bench_plain, threads: 1}
"""
PROJECT = "name: shop\nversion: '1.0'\nprofile: shop\nflags: {send_anonymous_usage_stats: false, use_colors: false}\n"
TESTS = """
      - {name: id, data_tests: [not_null, unique, {relationships: {to: ref('m0'), field: id}}]}
      - {name: state, data_tests: [{accepted_values: {values: [s0, s1, s2]}}]}
"""
SELECT = """
select id, name, state, amount, {% if var('changed', false) %} id * 2L {% else %} cast(id as int) {% endif %} as number,
  transform(tags, t -> upper(t)) as tags
from {{ ref('%s') }} where id is not null
"""
COLUMNS = [
    "{name: id, data_type: bigint, constraints: [{type: not_null}]}",
    "{name: name, data_type: string}",
    "{name: state, data_type: string}",
    "{name: amount, data_type: 'decimal(12,2)'}",
    "{name: number, data_type: \"{{ 'bigint' if var('changed', false) else 'int' }}\"}",
    "{name: tags, data_type: 'array<string>'}",
]
FIRST = """
select id, concat('n', id) as name, concat('s', id % 3) as state,
  cast(id as decimal(12,2)) as amount, cast(id as int) as number,
  array('a', 'b') as tags
from range(200000)
"""


def write(root: Path, number: int, tests: str | None) -> None:
    """Two thirds tables, one third views; half of all have a contract."""
    setting = f"models: {{+meta: {{planproof: {{tests: {tests}}}}}}}\n" if tests else ""
    project = f"{PROJECT}{setting}"
    files = {"dbt_project.yml": project, "profiles.yml": PROFILE, "models/m0.sql": f"{config('table')}{FIRST}"}
    contracts = []
    for i in range(1, number):
        kind = "view" if i % 3 == 2 else "table"
        # Views read tables: a chain of views would have every reader compute all of it.
        parent = f"m{max(0, i - (2 if (i - 1) % 3 == 2 else 1))}"
        files[f"models/m{i}.sql"] = config(kind) + SELECT.replace("%s", parent)
        if i % 2:
            columns = "\n".join(f"      - {c}" for c in COLUMNS)
            contracts.append(f"  - name: m{i}\n    config: {{contract: {{enforced: true}}}}\n    columns:\n{columns}")
    if tests:
        # A property file describes a model once: a contract's columns get their tests by name.
        contracts = [_tested(text) for text in contracts]
        contracts += [f"  - name: m{i}\n    columns:{TESTS.rstrip()}" for i in range(2, number, 2)]
    files["models/models.yml"] = "models:\n" + "\n".join(contracts)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def _tested(contract: str) -> str:
    for line in TESTS.strip().splitlines():
        name, _, tests = line.strip(" -{}").partition(", ")
        before = next(row for row in contract.splitlines() if row.strip().startswith(f"- {{{name},"))
        contract = contract.replace(before, f"{before[:-1]}, {tests}}}")
    return contract


def config(kind: str) -> str:
    form = ", file_format='parquet'" if kind == "table" else ""
    return f"{{{{ config(materialized='{kind}'{form}) }}}}\n"


Found = dict[str, tuple[str, Any]]
"""Status and failures of each node."""


def build(root: Path, way: str, changed: bool) -> tuple[float, float, Found]:
    """Seconds of a whole build, those that the processors worked for it, and what it found."""
    from dbt.cli.main import dbtRunner

    os.environ["PLANPROOF"] = way
    where = ["--project-dir", str(root), "--profiles-dir", str(root), "--target", way]
    given = ["--vars", json.dumps({"changed": changed}), "--quiet"]
    began, work = time.perf_counter(), worked()
    result = dbtRunner().invoke(["build", *where, *given])
    wall, work = time.perf_counter() - began, worked() - work
    assert result.success, [r.message for r in result.result.results if r.status != "success"][:3]
    return wall, work, {r.node.unique_id: (str(r.status), r.failures) for r in result.result.results}


def worked() -> float:
    """Processor seconds of this process and of its JVM."""
    own = [os.getpid(), *map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())]
    ticks = [Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13] for process in own]
    return sum(int(tick) for pair in ticks for tick in pair) / os.sysconf("SC_CLK_TCK")


def session(home: Path) -> Any:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .enableHiveSupport()
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.warehouse.dir", f"{home}/warehouse")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:derby:memory:bench;create=true")
        .config("spark.hadoop.datanucleus.schema.autoCreateAll", "true")
        .config("spark.hadoop.hive.metastore.schema.verification", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    empty(spark)
    return spark


def empty(spark: Any) -> None:
    for schema in SCHEMAS.values():
        spark.sql(f"drop database if exists {schema} cascade")
        spark.sql(f"create database {schema}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tests", choices=("after", "answered", "before"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.chdir(home)
        spark = session(home)
        write(home, args.models, args.tests)
        for _ in range(2):
            for way in SCHEMAS:
                build(home, way, False)
        times: dict[tuple[str, str], list[tuple[float, float]]] = {}
        found: dict[str, Found] = {}
        changed = False
        for turn in range(args.rounds):
            for what in WHAT:
                changed = not changed if what == "changed" else changed
                if what == "first":
                    empty(spark)
                for way in sorted(SCHEMAS, reverse=bool(turn % 2)):
                    wall, work, found[way] = build(home, way, changed)
                    times.setdefault((what, way), []).append((wall, work))
        spark.stop()
    for what in WHAT:
        for at, of in enumerate(("wall", "processor")):
            on, off = (statistics.median(one[at] for one in times[what, way]) for way in ("on", "off"))
            per_model = (on - off) / args.models
            said = f"guarded {on:6.2f} s, plain {off:6.2f} s, ratio {on / off:.2f}, {per_model:+.3f} s per model"
            print(f"{what:<8} {of:<9} {said}")
        print(f"         {times[what, 'on']} {times[what, 'off']}")
    print(f"statuses and failures of {len(found['off'])} nodes alike: {found['on'] == found['off']}")


if __name__ == "__main__":
    main()
