"""The demo: `dbt build` publishes a model and what it reads, guarded, on embedded Spark; then the model is broken.

    python dags_examples/demo.py [--home DIRECTORY] [--scale 0.02]

Everything lies below the home, `.demo` at first: data, warehouse, metastore, and a copy of the example's dbt project,
to which dbt writes. It may be run again: the data are kept, the models are published anew. Exits with 0 when the story
went as it is told here, else with 1, and with 2 where it could not be told."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import io
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from rich.console import Console
from rich.rule import Rule

from planproof.report.model import Report
from planproof.report.run import RunReport
from planproof.report.text import show
from planproof_engine.finding import Verdict

sys.path.insert(0, str(Path(__file__).parent))
import demo_data

EXAMPLE = Path(__file__).parent / "project"
SCHEMA = "shop"
MODEL = "customer_activity"
COLUMN = "order_count"
CHANGE = {"customer_join": "left"}


class WentWrong(Exception):
    """The story did not go as told; the message says where."""


class CannotTell(Exception):
    """Something that the demo needs is not there; the message says what."""


@dataclass
class Demo:
    """One telling of the story. `home` is absolute, and `project` is a dbt project of its own, to which dbt writes;
    `reports` keeps what planproof reported of each `dbt build`."""

    home: Path
    console: Console
    project: Path
    scale: float = demo_data.SCALE
    schema: str = SCHEMA
    reports: list[RunReport] = field(default_factory=list)

    @property
    def table(self) -> str:
        return f"{self.schema}.{MODEL}"

    def tell(self) -> None:
        """Raises `WentWrong` where the story did not go as told, `CannotTell` where it could not be told."""
        self.prepare()

        self.chapter("1  Every model keeps its contract")
        healthy = self.build(f"+{MODEL}")
        self.expect(not healthy.failing(), f"a healthy model was stopped: {_names(healthy.failing())}")
        self.expect_published(healthy.reports)
        before = self.rows()
        self.say(f"{self.table} holds {before[0]:,} rows; {COLUMN} is null in {before[1]:,} of them.")
        self.expect(before[0] > 0 and before[1] == 0, f"{self.table} is not healthy to begin with: {before}")

        self.chapter("2  Someone wants the customers without orders, too")
        self.say(f"In {MODEL}.sql, `inner join order_stats` becomes `left join order_stats`.")
        self.say(f"The contract still promises that {COLUMN} is never null. Before any data is read:")
        self.expect_found_offline(self.check())

        self.chapter("3  The change is run all the same")
        broken = self.build(MODEL, **CHANGE)
        self.expect_one_stopped(broken)
        after = self.rows()

        self.chapter("4  What became of the table")
        self.console.print(f"  select count(*), count_if({COLUMN} is null) from {self.table}")
        self.console.print(f"    published before   {before[0]:>8,} rows {before[1]:>8,} nulls")
        self.console.print(f"    now                {after[0]:>8,} rows {after[1]:>8,} nulls")
        self.expect(after == before, f"{self.table} changed although its model was stopped")
        self.console.print("\nAs promised:", style="bold green")
        self.say(f"{MODEL} was stopped, and its table still holds the rows published before.")

    # --- the steps --------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """The sources: generated files, registered as tables; the seed."""
        self.say("This takes about a minute: dbt and Spark in this process, on generated data.")
        self.chapter(f"0  TPC-H data, scale {self.scale}")
        with self.working("generating data"):
            data = demo_data.generate(self.home, self.scale)
        with self.working("starting Spark, registering the sources"), stderr_in(self.home / "spark.log"):
            self.dbt("run-operation", "register_sources")
        with self.working("loading the seed"):
            self.dbt("seed")
        rows = self.query(" union all ".join(f"select '{t}', count(*) from tpch.{t}" for t in demo_data.TABLES))
        self.say(f"{', '.join(f'{name} {count:,}' for name, count in rows)} rows in {_short(data)}")

    def build(self, selection: str, **variables: str) -> RunReport:
        """`dbt build` of what is selected; dbt's own output is the demo's."""
        shown = f" --vars '{_yaml(variables)}'" if variables else ""
        self.console.print(f"  $ dbt build --select {selection}{shown}\n", style="bold", markup=False)
        record = self.project / "target" / "planproof" / "report.json"
        record.unlink(missing_ok=True)
        ended_well = self.invoke("build", "--select", selection, variables=variables).success
        self.expect(record.is_file(), "`dbt build` left no report of planproof's")
        report = RunReport.from_json(record.read_text("utf-8"))
        self.expect(ended_well == (not report.failing()), f"dbt ended {'well' if ended_well else 'with an error'}")
        self.reports.append(report)
        self.console.print()
        return report

    def check(self) -> Report:
        """`planproof check` of the changed model, after dbt has compiled it. The check itself needs no Spark."""
        with self.working("dbt compiles the change"):
            self.dbt("compile", variables=CHANGE)
        command = ["check", "--project-dir", _short(self.project), "--select", MODEL, "--fail-on", "unproved"]
        self.console.print(
            f"  $ planproof check --project-dir {_short(self.project)} --select {MODEL} --fail-on unproved\n",
            style="bold",
            markup=False,
        )
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            code = planproof(*command, "--json")
        self.expect(code == 1, f"`planproof check --fail-on unproved` ended with {code}: {written.getvalue()[:500]}")
        report = RunReport.from_json(written.getvalue())
        show(report.reports, self.console, seconds=report.seconds)
        self.console.print()
        return report.reports[0]

    def rows(self) -> tuple[int, int]:
        """Of the published table: rows, and nulls in the column that must not have any."""
        ((rows, nulls),) = self.query(f"select count(*), count_if({COLUMN} is null) from {self.table}")
        return rows, nulls

    def query(self, sql: str) -> list[Any]:
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        if spark is None:
            raise CannotTell("there is no Spark session; dbt should have left one running")
        return [tuple(row) for row in spark.sql(sql).collect()]

    def dbt(self, *args: str, variables: dict[str, str] | None = None) -> None:
        """Runs a dbt command in this process, without its output. Raises `CannotTell` with dbt's message."""
        result = self.invoke("--quiet", *args, variables=variables)
        if not result.success:
            failed = [
                f"{r.node.name}: {r.message}" for r in getattr(result.result, "results", ()) if r.status != "success"
            ]
            raise CannotTell(f"dbt {args[0]} failed: {result.exception or '; '.join(failed)}")

    def invoke(self, *args: str, variables: dict[str, str] | None = None) -> Any:
        """dbt's result of a command in this process."""
        from dbt.cli.main import dbtRunner

        place = ["--project-dir", str(self.project), "--profiles-dir", str(self.project)]
        return dbtRunner().invoke([*args, *place, "--vars", json.dumps(variables or {})])

    # --- what must have happened ------------------------------------------------------------------------------------

    def expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise WentWrong(otherwise)

    def expect_published(self, reports: tuple[Report, ...]) -> None:
        self.expect(bool(reports), "no model was run")
        late = [r for r in reports if r.outcome != "published"]
        self.expect(not late, f"not published: {_names(late)}")

    def expect_found_offline(self, report: Report) -> None:
        found = {f.field: f for f in report.of(Verdict.UNPROVED, Verdict.VIOLATED)}
        self.expect(COLUMN in found, f"the offline check says nothing of {COLUMN}, but {sorted(map(str, found))}")
        self.expect(set(found) == {COLUMN}, f"the offline check doubts more than {COLUMN}: {sorted(map(str, found))}")

    def expect_one_stopped(self, run: RunReport) -> None:
        stopped = [r for r in run.reports if r.outcome == "rejected"]
        self.expect(
            [r.model for r in stopped] == [self.table], f"stopped were {_names(stopped)}, not {self.table} alone"
        )
        violated = stopped[0].of(Verdict.VIOLATED)
        self.expect([f.field for f in violated] == [COLUMN], f"stopped for {[str(f) for f in violated]}")
        self.expect(violated[0].origin is not None, "the violation has no place in the model")

    # --- the telling ------------------------------------------------------------------------------------------------

    def chapter(self, title: str) -> None:
        self.console.print()
        self.console.print(Rule(title, align="left", style="cyan"))
        self.console.print()

    def say(self, text: str) -> None:
        self.console.print(f"  {text}", markup=False, highlight=False)

    @contextlib.contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Shows that something takes long, and how long it took."""
        began = time.monotonic()
        with self.console.status(what):
            if not self.console.is_terminal:
                self.console.print(f"  {what} ...", style="dim")
            yield
        if self.console.is_terminal:
            self.console.print(f"  {what} ... {time.monotonic() - began:.1f} s", style="dim")


def planproof(*args: str) -> int:
    """The command line in this process, whose one Spark session all commands share; its exit code."""
    from planproof.cli import main

    with mock.patch.object(sys, "argv", ["planproof", *args]):
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


@contextlib.contextmanager
def alone(home: Path) -> Iterator[None]:
    """Holds the home for this process. Raises `CannotTell` where another demo has it: Derby serves one at a time."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CannotTell(f"another demo runs in {home}; wait for it, or give --home") from error
        yield


@contextlib.contextmanager
def stderr_in(file: Path) -> Iterator[None]:
    """Sends what is written to standard error to a file; a JVM that starts meanwhile goes on writing there."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with file.open("wb") as log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def _names(reports: Any) -> str:
    return ", ".join(f"{r.model} ({r.error or '; '.join(str(f) for f in r.findings[:3])})" for r in reports) or "none"


def _short(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.resolve().relative_to(Path.cwd()))
    return str(path)


def _yaml(variables: dict[str, str]) -> str:
    return "{" + ", ".join(f"{k}: {v}" for k, v in variables.items()) + "}"


def copy_example(to: Path) -> Path:
    """The example's dbt project anew in a folder of the demo: nothing is written beside the example's own files."""
    shutil.rmtree(to, ignore_errors=True)
    return Path(shutil.copytree(EXAMPLE, to, ignore=shutil.ignore_patterns("target", "logs", "dbt_packages")))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--home", type=Path, default=Path(".demo"), help="where data and tables go (default: .demo)")
    parser.add_argument(
        "--scale", type=float, default=demo_data.SCALE, help="TPC-H scale factor (default: %(default)s)"
    )
    given = parser.parse_args()
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    began = time.monotonic()
    home = given.home.resolve()
    os.environ["PLANPROOF_DEMO_HOME"] = str(home)
    os.environ["PLANPROOF_DEMO_SCHEMA"] = SCHEMA
    project = home / "project"
    os.environ["DBT_PROFILES_DIR"] = str(project)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # The story is told before code that the JVM compiles with all optimizations would pay.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    try:
        with alone(home):
            Demo(home, console, copy_example(project), given.scale).tell()
    except WentWrong as error:
        console.print(f"\nThe demo did not go as told: {error}", style="bold red", markup=False)
        return 1
    except (CannotTell, FileNotFoundError) as error:
        console.print(f"\nThe demo could not run: {error}", style="bold red", markup=False)
        console.print(f"Spark's own log: {_short(home)}/spark.log", style="dim")
        return 2
    console.print(
        f"{time.monotonic() - began:.0f} s. Data and tables are in {_short(home)}.", style="dim", markup=False
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
