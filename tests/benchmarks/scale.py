"""What `planproof check` costs on a large project: seconds and memory, first without a cache's entries, then with them.

    python tests/benchmarks/scale.py [--models 10000] [--jobs N] [--keep FOLDER] [--format json]

The project is generated as dbt leaves one after `dbt compile`: models with three CTEs, joins and lambdas, in three
layers, a contract on every fifth. Timed are runs of the command itself, as processes of their own: cold, with nothing
changed, with one leaf changed, with one model changed that others read, and without the cache. Memory is the largest
sum of the proportional set sizes of the command and its workers. Where others use the machine too, the seconds of the
processors say more than those of the clock. The cache and Python's bytecode lie beside the project: the first run finds
neither, as after an installation.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROJECT, SOURCES = "grown", 20
MACROS = ["macro.dbt.run_hooks", "macro.dbt.statement", "macro.dbt.persist_docs", "macro.dbt.create_table_as"]

STAGING = """\
{{{{ config(materialized='view') }}}}
with source as (
    select * from {{{{ source('raw', 'orders_{source}') }}}}
), renamed as (
    select
        id as order_id, customer_id, cast(amount as decimal(12, 2)) as amount, items, ordered_at,
        upper(status) as status
    from source
    where id is not null
), priced as (
    select
        *,
        transform(items, i -> i.price * i.quantity) as line_totals,
        filter(items, i -> i.quantity > {number}) as bulk,
        aggregate(items, cast(0 as double), (total, i) -> total + i.price) as listed
    from renamed
)
select order_id, customer_id, amount, items, line_totals, size(bulk) as bulk_lines, listed, ordered_at, status
from priced
"""

MART = """\
{{{{ config(materialized='table') }}}}
with left_side as (
    select order_id, customer_id, amount, items, line_totals, bulk_lines, listed, ordered_at, status
    from {{{{ ref('{left}') }}}}
), right_side as (
    select order_id, max(amount) as best, count(*) as times, max(ordered_at) as last_at
    from {{{{ ref('{right}') }}}}
    group by order_id
), joined as (
    select
        l.order_id, l.customer_id, coalesce(l.amount, r.best) as amount, l.items, l.line_totals, l.bulk_lines,
        l.listed + coalesce(r.times, 0) as listed, greatest(l.ordered_at, r.last_at) as ordered_at,
        case when exists(l.items, i -> i.sku = 'x{number}') then 'special' else l.status end as status
    from left_side l
    left join right_side r on l.order_id = r.order_id
)
select order_id, customer_id, amount, items, transform(line_totals, t -> t * {number}) as line_totals,
    bulk_lines, listed, ordered_at, status
from joined
where order_id > {number}
"""

ORDERS = [
    ("id", "bigint"),
    ("customer_id", "bigint"),
    ("amount", "double"),
    ("items", "array<struct<sku:string,price:double,quantity:int>>"),
    ("ordered_at", "timestamp"),
    ("status", "string"),
]
OUTPUT = {
    "order_id": "bigint",
    "customer_id": "bigint",
    "amount": "decimal(12,2)",
    "items": "array<struct<sku:string,price:double,quantity:int>>",
    "line_totals": "array<double>",
    "bulk_lines": "int",
    "listed": "double",
    "ordered_at": "timestamp",
    "status": "string",
}


def template(number: int, models: int) -> tuple[str, list[str]]:
    """The text of a model and the ids of its parents: a third are staging models, others join two before them."""
    if number < max(1, models // 3):
        source = number % SOURCES
        return STAGING.format(source=source, number=number % 7), [f"source.{PROJECT}.raw.orders_{source}"]
    left, right = model_name(number // 2), model_name(number // 3)
    return MART.format(left=left, right=right, number=number % 11), [f"model.{PROJECT}.{n}" for n in (left, right)]


def model_name(number: int) -> str:
    return f"model_{number:05d}"


def compiled(text: str, parents: list[str]) -> str:
    """What dbt makes of such a template."""
    body = text.partition("\n")[2]
    for parent in parents:
        name = parent.rpartition(".")[2]
        body = body.replace(f"{{{{ source('raw', '{name}') }}}}", f"`raw`.`{name}`")
        body = body.replace(f"{{{{ ref('{name}') }}}}", f"`shop`.`{name}`")
    return f"\n{body.strip()}"


def node(number: int, models: int, text: str, parents: list[str]) -> dict[str, Any]:
    """A model of the manifest, with all the keys that dbt 1.11 writes."""
    name, promised = model_name(number), number % 5 == 0 and number >= models // 3
    config = {
        "enabled": True,
        "alias": None,
        "schema": None,
        "database": None,
        "tags": [],
        "meta": {},
        "group": None,
        "materialized": "view" if "'view'" in text else "table",
        "incremental_strategy": None,
        "persist_docs": {},
        "post-hook": [],
        "pre-hook": [],
        "quoting": {},
        "column_types": {},
        "full_refresh": None,
        "grants": {},
        "unique_key": None,
        "on_schema_change": "ignore",
        "on_configuration_change": "apply",
        "packages": [],
        "docs": {"show": True, "node_color": None},
        "contract": {"enforced": promised, "alias_types": True},
        "event_time": None,
        "concurrent_batches": None,
        "access": "protected",
        "freshness": None,
    }
    columns = {
        column: {
            "name": column,
            "description": "",
            "meta": {},
            "data_type": data_type,
            "quote": None,
            "tags": [],
            "config": {"meta": {}, "tags": []},
            "granularity": None,
            "doc_blocks": [],
            "constraints": [{"type": "not_null"}] if column == "order_id" else [],
        }
        for column, data_type in OUTPUT.items()
    }
    folder = "staging" if "'view'" in text else "marts"
    path = f"{folder}/{name}.sql"
    return {
        "database": None,
        "schema": "shop",
        "name": name,
        "resource_type": "model",
        "package_name": PROJECT,
        "path": path,
        "original_file_path": f"models/{path}",
        "unique_id": f"model.{PROJECT}.{name}",
        "fqn": [PROJECT, folder, name],
        "alias": name,
        "config": config,
        "tags": [],
        "description": "",
        "meta": {},
        "checksum": {"name": "sha256", "checksum": hashlib.sha256(text.strip().encode()).hexdigest()},
        "columns": columns if promised else {},
        "group": None,
        "docs": {"show": True, "node_color": None},
        "patch_path": f"{PROJECT}://models/schema.yml" if promised else None,
        "build_path": None,
        "unrendered_config": {"materialized": config["materialized"]},
        "created_at": 1.0 + number,
        "relation_name": f"`shop`.`{name}`",
        "raw_code": text.strip(),
        "doc_blocks": [],
        "language": "sql",
        "refs": [{"name": p.rpartition(".")[2], "package": None, "version": None} for p in parents],
        "sources": [],
        "metrics": [],
        "functions": [],
        "depends_on": {"macros": MACROS, "nodes": parents},
        "compiled": True,
        "compiled_path": f"target/compiled/{PROJECT}/models/{path}",
        "compiled_code": compiled(text, parents),
        "extra_ctes_injected": True,
        "extra_ctes": [],
        "contract": config["contract"],
        "access": "protected",
        "constraints": [],
        "version": None,
        "latest_version": None,
        "deprecation_date": None,
        "primary_key": [],
        "time_spine": None,
        "unrendered_config_call_dict": {},
        "config_call_dict": {"materialized": "view"},
    }


def source(number: int) -> dict[str, Any]:
    name = f"orders_{number}"
    return {
        "database": None,
        "schema": "raw",
        "name": name,
        "resource_type": "source",
        "package_name": PROJECT,
        "path": "models/schema.yml",
        "original_file_path": "models/schema.yml",
        "source_name": "raw",
        "unique_id": f"source.{PROJECT}.raw.{name}",
        "fqn": [PROJECT, "raw", name],
        "identifier": name,
        "relation_name": f"`raw`.`{name}`",
        "columns": {},
        "config": {"enabled": True},
        "meta": {},
        "tags": [],
        "created_at": 1.0,
        "description": "",
        "source_description": "",
        "loader": "",
        "unrendered_config": {},
    }


class Grown:
    """A generated project in a folder; what is changed is written as `dbt compile` would leave it."""

    def __init__(self, folder: Path, models: int) -> None:
        self.folder, self.count = folder, models
        self.nodes: dict[str, dict[str, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "dbt_project.yml").write_text(f"name: {PROJECT}\nversion: '1'\nprofile: {PROJECT}\n")
        for kind in ("staging", "marts"):
            (folder / "models" / kind).mkdir(parents=True, exist_ok=True)
        (folder / "models" / "schema.yml").write_text("version: 2\n")
        frozen = {
            "version": 1,
            "sources": {
                f"raw.orders_{i}": {"columns": [{"name": n, "type": t, "nullable": True} for n, t in ORDERS]}
                for i in range(SOURCES)
            },
        }
        (folder / "planproof_sources.json").write_text(json.dumps(frozen))
        for number in range(models):
            self.write(number, *template(number, models))
        self.compile()

    def write(self, number: int, text: str, parents: list[str]) -> None:
        found = node(number, self.count, text, parents)
        self.nodes[found["unique_id"]] = found
        (self.folder / found["original_file_path"]).write_text(text)

    def change(self, number: int, old: str, new: str) -> None:
        text, parents = template(number, self.count)
        assert old in text, (old, text)
        self.write(number, text.replace(old, new), parents)

    def compile(self) -> None:
        """Writes the manifest."""
        manifest: Mapping[str, Any] = {
            "metadata": {
                "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
                "dbt_version": "1.11.0",
                "adapter_type": "spark",
                "project_name": PROJECT,
                "generated_at": "2099-01-01T00:00:00Z",
            },
            "nodes": self.nodes,
            "sources": {s["unique_id"]: s for s in map(source, range(SOURCES))},
            "macros": {},
        }
        (self.folder / "target").mkdir(exist_ok=True)
        (self.folder / "target" / "manifest.json").write_text(json.dumps(manifest))


def memory(pid: int) -> int:
    """The proportional set size, in kB, of a command and the workers that it started."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
            children = Path(f"/proc/{one}/task/{one}/children").read_text().split()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
        waiting += map(int, children)
    return total


def run(folder: Path, *options: str) -> tuple[float, float, float, float]:
    """Seconds, seconds of the processors, megabytes of memory and of output of one `planproof check`."""
    command = [sys.executable, "-m", "planproof", "check", "--project-dir", str(folder), *options]
    with tempfile.TemporaryFile("w+") as out:
        began, largest, asked, spent = time.perf_counter(), 0, 0.0, processors()
        work = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True, env=surroundings(folder))
        while work.poll() is None:
            # Asking costs time, of the kernel's too: seldom in a long run.
            if time.perf_counter() - asked > max(0.1, (time.perf_counter() - began) / 20):
                asked, largest = time.perf_counter(), max(largest, memory(work.pid))
            time.sleep(0.01)
        seconds = time.perf_counter() - began
        if work.returncode not in (0, 1):
            raise SystemExit(work.stderr.read() if work.stderr else "")
        return seconds, processors() - spent, largest / 1024, os.fstat(out.fileno()).st_size / 1e6


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of a command, whose files of Python and of the cache stand apart from the user's."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PLANPROOF_CACHE_DIR": str(folder / "cache")}


def processors() -> float:
    """Seconds that the processors worked for commands that have ended, their workers included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def line(title: str, seconds: float, spent: float, megabytes: float, written: float) -> str:
    return f"{title:<32}{seconds:>7.1f} s{spent:>8.1f} s of processors{megabytes:>8.0f} MB{written:>8.1f} MB written"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--jobs", help="as of `planproof check`")
    parser.add_argument("--format", default="text", help="of the report, whose size is told")
    parser.add_argument("--keep", type=Path, help="makes the project here, and leaves it")
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp(prefix="planproof-scale-"))
    jobs = ("--format", given.format, *(("--jobs", given.jobs) if given.jobs else ()))
    try:
        project = Grown(folder, given.models)
        size = (folder / "target" / "manifest.json").stat().st_size / 2**20
        print(f"{given.models:,} models, a manifest of {size:.0f} MB")
        last = given.models - 1
        steps = [
            ("cold", None),
            ("nothing changed", None),
            ("one leaf changed", (last, "t -> t * ", "t -> t * 1 * ")),
            ("one model with readers changed", (0, "upper(status)", "lower(status)")),
        ]
        first = None
        for title, change in steps:
            if change is not None:
                project.change(*change)
                project.compile()
            found = run(folder, *jobs)
            first = first or found[1]
            print(f"{line(title, *found)}{found[1] / first:>8.3f} of the first", flush=True)
        print(line("without the cache", *run(folder, *jobs, "--no-cache")), flush=True)
    finally:
        if given.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
