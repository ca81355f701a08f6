"""What `dbt build` of a project of yours costs guarded, beside bare dbt: first builds of a new schema, and later ones.

    python tests/benchmarks/project_cost.py PROJECT [--rounds 2] [--tests after|answered|before]

PROJECT is a folder of dbt's, with its packages installed; a copy is built, in a Spark of this process. The ways take
turns, after one turn that is not counted. Prints the ratios of wall time and of the processors' time (medians), and
whether both ways gave each node the same status and failures. Nodes that fail, fail in both.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from build_cost import Found, session, worked

WAYS = ("on", "off")


def prepare(project: Path, home: Path, tests: str) -> str:
    """Copies the project, with the setting; returns its profile's name."""
    shutil.copytree(project, home, ignore=shutil.ignore_patterns(".git", "target", "logs"))
    file = home / "dbt_project.yml"
    form = yaml.safe_load(file.read_text())
    models = form.setdefault("models", {})
    models["+meta"] = {"planproof": {"tests": tests}}
    models.setdefault("+file_format", "parquet")
    file.write_text(yaml.safe_dump(form))
    return str(form["profile"])


def build(home: Path, profile: str, schema: str, way: str) -> tuple[float, float, Found]:
    """Seconds of a whole build, those that the processors worked for it, and what it found."""
    from dbt.cli.main import dbtRunner

    output = {"type": "spark", "method": "session", "host": "NA", "schema": schema, "threads": 1}
    (home / "profiles.yml").write_text(yaml.safe_dump({profile: {"target": "dev", "outputs": {"dev": output}}}))
    os.environ["PLANPROOF"] = way
    given = ["--project-dir", str(home), "--profiles-dir", str(home), "--quiet", "--no-send-anonymous-usage-stats"]
    dbtRunner().invoke(["parse", *given])  # Not counted: the schema's name makes dbt parse all anew.
    began, work = time.perf_counter(), worked()
    ended = dbtRunner().invoke(["build", *given])
    if ended.exception is not None:
        raise ended.exception
    found = {r.node.unique_id: (str(r.status), r.failures) for r in ended.result.results}
    return time.perf_counter() - began, worked() - work, found


def turns(spark: Any, home: Path, profile: str, rounds: int) -> tuple[dict[tuple[str, str], Any], dict[str, Found]]:
    """Seconds by kind of build and way, and what each way found last."""
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    found: dict[str, Found] = {}
    for turn in range(-1, rounds):
        for way in sorted(WAYS, reverse=bool(turn % 2)):
            schema = f"project_{way}_{turn + 1}"
            spark.sql(f"create database {schema}")
            shutil.rmtree(home / "target", ignore_errors=True)
            for kind in ("first", "later"):
                wall, work, found[way] = build(home, profile, schema, way)
                if turn >= 0:
                    times.setdefault((kind, way), []).append((wall, work))
            spark.sql(f"drop database {schema} cascade")
    return times, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tests", choices=("after", "answered", "before"), default="answered")
    args = parser.parse_args()
    project = args.project.resolve()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "project"
        profile = prepare(project, home, args.tests)
        os.chdir(folder)
        spark = session(Path(folder))
        times, found = turns(spark, home, profile, args.rounds)
        spark.stop()
    for kind in ("first", "later"):
        for at, of in enumerate(("wall", "processor")):
            on, off = (statistics.median(one[at] for one in times[kind, way]) for way in WAYS)
            print(f"{kind:<6} {of:<9} guarded {on:6.2f} s, bare {off:6.2f} s, ratio {on / off:.2f}")
    counts: dict[str, int] = {}
    for status, _ in found["off"].values():
        counts[status] = counts.get(status, 0) + 1
    print(f"{counts}; statuses and failures alike: {found['on'] == found['off']}")


if __name__ == "__main__":
    main()
