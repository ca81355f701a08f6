"""The formats that the suite is played with: what stands before, what is published, and what may be killed.

Another format is another entry of `FORMATS`. It says its cases, and the calls of its own by which it changes anything;
tests/formats/conftest.py says with which settings its Spark starts.
"""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planproof import Contract, Guard, Model, Report
from planproof.publish.delta.statements import left as statements_left
from planproof.session.classic import ClassicSession
from planproof.session.store import RoutedStore
from planproof.settings import Settings

BY_STATEMENTS = os.environ.get("DELTA_BY") == "statements"
"""As Thrift and Connect reach Delta's tables."""
if BY_STATEMENTS:
    # What a test has killed is not carried out later.
    statements_left.is_young = lambda store, location: False
    ClassicSession.delta = lambda self: None  # type: ignore[method-assign]

Rows = list[tuple[Any, ...]]
APPEND = {"materialized": "incremental", "incremental_strategy": "append"}
OVERWRITE = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": ["d"]}
MERGE = {"materialized": "incremental", "incremental_strategy": "merge", "options": {"unique_key": "id"}}
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Case:
    """`before` makes the table `{t}`; `model` is published then. `old` is None where nothing stood before. `adds`: what
    each later publish of it adds. `has_gap`: readers may find no table for a moment."""

    before: str | None
    model: Mapping[str, Any]
    old: Rows | None
    new: Rows
    adds: Rows = field(default_factory=list)
    has_gap: bool = False
    is_view: bool = False

    def after(self, publishes: int) -> Rows:
        """The rows after so many publishes of it."""
        return sorted([*self.new, *self.adds * (publishes - 1)], key=str)


@dataclass(frozen=True)
class Format:
    """`using` stands after USING; `needs` is a setting of the session and what it has to hold. `calls` names what
    changes tables and is not called by the session or its store: module, class and method."""

    name: str
    using: str
    cases: Mapping[str, Case]
    needs: tuple[str, str] | None = None
    catalog: str | None = None
    calls: tuple[tuple[str, str, str], ...] = ()

    def owners(self) -> list[tuple[Any, str]]:
        return [(getattr(importlib.import_module(module), owner), name) for module, owner, name in self.calls]

    @contextmanager
    def database(self, spark: Any) -> Iterator[str]:
        """A database of its own, dropped with all that it holds."""
        name = f"f{next(_numbers)}_{os.getpid()}"
        name = f"{self.catalog}.{name}" if self.catalog else name
        spark.sql(f"create database {name}")
        try:
            yield name
        finally:
            for row in spark.sql(f"show tables in {name}").collect():
                for kind in ("table", "view"):  # One of the two fails where a view may have taken a table's place.
                    with suppress(Exception):
                        purge = " purge" if self.catalog and kind == "table" else ""
                        spark.sql(f"drop {kind} if exists {name}.`{row['tableName']}`{purge}")
            spark.sql(f"drop database if exists {name}{'' if self.catalog else ' cascade'}")


OLD = "create table {t} using {using} as select 1 as id, 'a' as s"
PARTS = "create table {t} using {using} partitioned by (d) as select * from values (1, 'x'), (2, 'y') as v(id, d)"
_ADDED = {"sql": "select 2 as id, 'b' as s", **APPEND}
_PARTS = {"sql": "select * from values (3, 'x'), (4, 'z') as v(id, d)", **OVERWRITE}
_OVERWRITTEN = [(2, "y"), (3, "x"), (4, "z")]

PARQUET = Format(
    "parquet",
    "parquet",
    {
        "location": Case(OLD, {"sql": "select 2 as id, 'b' as s"}, [(1, "a")], [(2, "b")]),
        "rename": Case(OLD, {"sql": "select 2L as id, 'b' as s"}, [(1, "a")], [(2, "b")], has_gap=True),
        "first": Case(None, {"sql": "select 2 as id, 'b' as s"}, None, [(2, "b")], has_gap=True),
        "append": Case(OLD, _ADDED, [(1, "a")], [(1, "a"), (2, "b")], [(2, "b")]),
        "partitions": Case(PARTS, _PARTS, [(1, "x"), (2, "y")], _OVERWRITTEN),
        "view": Case(
            "create view {t} as select 1 as id, 'a' as s",
            {"sql": "select 2 as id, 'b' as s", "materialized": "view"},
            [(1, "a")],
            [(2, "b")],
            is_view=True,
        ),
    },
)
_LOGGED = {
    "replace": Case(OLD, {"sql": "select 2 as id, 'b' as s"}, [(1, "a")], [(2, "b")]),
    "first": Case(None, {"sql": "select 2 as id, 'b' as s"}, None, [(2, "b")], has_gap=True),
    "append": Case(OLD, _ADDED, [(1, "a")], [(1, "a"), (2, "b")], [(2, "b")]),
    "partitions": Case(PARTS, _PARTS, [(1, "x"), (2, "y")], _OVERWRITTEN),
    "merge": Case(
        OLD,
        {"sql": "select * from values (1, 'c'), (2, 'b') as v(id, s)", **MERGE},
        [(1, "a")],
        [(1, "c"), (2, "b")],
    ),
}
"""Of formats with a log of versions."""
ICEBERG = Format(
    "iceberg",
    "iceberg",
    _LOGGED,
    needs=("spark.sql.catalog.lake_hadoop", "iceberg"),
    catalog="lake_hadoop",
    calls=(("planproof.session.iceberg", "IcebergTransaction", "commit"),),
)
DELTA = Format(
    "delta",
    "delta",
    _LOGGED,
    needs=("spark.sql.catalog.spark_catalog", "delta"),
    calls=(
        *(("planproof.session.delta.tables", "Delta", name) for name in ("clone", "create", "insert", "commit")),
        *(("planproof.session.delta.tables", "Delta", name) for name in ("register", "fence")),
        ("planproof.session.delta.tables", "Held", "open"),
    ),
)
FORMATS = {each.name: each for each in (PARQUET, ICEBERG, DELTA)}


def watch_changes(guard: Guard, format: Format, patch: Any, around: Callable[[Callable[..., Any]], Any]) -> None:
    """Puts `around` around each call of a publish of the guard that changes something."""
    rows, reads = guard.session.rows, ("SELECT", "SHOW", "DESCRIBE", "EXPLAIN", "SET", "REFRESH")
    changes = around(rows)
    patch.setattr(guard.session, "rows", lambda sql: (rows if sql.startswith(reads) else changes)(sql))
    changing = [(guard.session, "write"), (guard.session, "write_files")]
    changing += [(RoutedStore, name) for name in ("write", "create", "delete", "move", "copy")]
    for changer, name in [*changing, *format.owners()]:
        patch.setattr(changer, name, around(getattr(changer, name)))


def meanwhile(guard: Guard, format: Format, patch: Any, at: int, act: Callable[[], Any]) -> list[str]:
    """`act` happens right before number `at` of the publish's calls that change something."""
    seen: list[str] = []

    def before(plain: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            if threading.current_thread().name != "acting" and len(seen) <= at:
                seen.append(f"{plain.__name__} {[a for a in args if isinstance(a, str)][:1]}")
                if len(seen) - 1 == at:
                    failed: list[BaseException] = []
                    thread = threading.Thread(target=caught, args=(act, failed), name="acting")
                    thread.start()
                    thread.join()
                    if failed:
                        raise AssertionError(f"the other one failed: {failed[0]!r}")
            return plain(*args, **named)

        return run

    watch_changes(guard, format, patch, before)
    return seen


def caught(act: Callable[[], Any], failed: list[BaseException]) -> None:
    try:
        act()
    except Exception as error:
        failed.append(error)


def _is_left(staged: Path) -> bool:
    """Whether a staged Delta table, or a folder of files that no version of the table around it has, lies there."""
    commits = (staged.parent / "_delta_log").glob("*.json")
    return (staged / "_delta_log").exists() or not any(staged.name in commit.read_text() for commit in commits)


class Place:
    """The table of one case, a guard's session, and another session beside it. A view's name begins with `v_`."""

    def __init__(self, spark: Any, format: Format, case: str, database: str) -> None:
        self.spark, self.other = spark.newSession(), spark.newSession()
        self.format, self.case, self.database = format, format.cases[case], database
        self.t = f"{database}.{'v_t' if self.case.is_view else 't'}"
        self.make()

    def make(self) -> None:
        if self.case.before is not None:
            self.other.sql(self.case.before.format(t=self.t, using=self.format.using))

    def model(self, **more: Any) -> Model:
        return Model(self.t, **{**self.case.model, "file_format": self.format.using, **more})

    def publish(self, guard: Guard | None = None, **more: Any) -> Report:
        return (guard or Guard(self.spark)).publish(self.model(**more))

    def carry_out(self, statements: Iterable[str]) -> None:
        """What somebody else does to the table; `{columns}` and `{parts}` make it anew as it is."""
        is_parted = "partitioned by" in (self.case.before or "")
        columns, parts = ("(id int, d string)", "partitioned by (d)") if is_parted else ("(id int, s string)", "")
        for statement in statements:
            self.other.sql(statement.format(t=self.t, using=self.format.using, columns=columns, parts=parts))
            if statement.startswith("drop") and self.format.using == "parquet":
                # Iceberg's session catalog leaves the files (1.11 and 1.12): Spark then makes no table there.
                shutil.rmtree(self.home() / "t", ignore_errors=True)

    def rows(self, table: str | None = None, columns: str = "*") -> Rows | None:
        """Read by a session that has cached nothing."""
        spark, name = self.spark.newSession(), table or self.t
        if not spark.catalog.tableExists(name):
            return None
        return sorted((tuple(row) for row in spark.sql(f"select {columns} from {name}").collect()), key=str)

    def home(self) -> Path:
        shown = self.spark.sql(f"describe namespace extended {self.database}").collect()
        return Path(next(str(row[1]) for row in shown if row[0] == "Location").removeprefix("file:"))

    def left(self) -> list[str]:
        """What nobody needs once nothing is under way: staging tables, journals, notes, locks."""
        own = {self.t.rpartition(".")[2], "t__quarantine"}
        found = [row["tableName"] for row in self.spark.sql(f"show tables in {self.database}").collect()]
        state = [str(path) for path in self.home().glob(".planproof/*/*.json")]
        staged = [str(path) for path in self.home().glob("*/planproof_*") if _is_left(path)]
        return [*(name for name in found if name not in own and not name.endswith("_moved")), *state, *staged]

    def recover(self) -> None:
        """As somebody else who needs the table: nothing is left of what was under way."""
        reports = Guard(self.other).recover(force=True)
        assert "failed" not in [r.outcome for r in reports], [r.error for r in reports]


CONTRACT = Contract([("id", "int", False), ("s", "string", True)], [{"kind": "check", "expression": "id > 0"}])
QUARANTINING = Settings(on_violation="quarantine")
BAD = "select * from values (2, 'b'), (-1, 'c'), (cast(null as int), 'd') as v(id, s)"
BAD_ROWS = [(-1, "c"), (None, "d")]
