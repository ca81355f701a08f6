"""A database whose folder others write into, and what they would harm."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from planproof import Guard, Model
from planproof.publish.transaction.journal import Entry
from planproof.publish.transaction.places import database_root
from planproof.session import open as opened
from planproof.session.store import store_of

RUN = "0123456789"


class Scene:
    """A database with a table `t`, another database with `victim`, and folders that belong to nobody."""

    def __init__(self, spark: Any, database: str, tmp_path: Path) -> None:
        self.spark, self.database, self.other = spark, database, f"{database}_other"
        self.session = opened(spark)
        self.store = store_of(self.session)
        for each in (self.database, self.other):
            spark.sql(f"create database {each}")
        spark.sql(f"create table {database}.t using parquet as select 1 as id")
        spark.sql(f"create table {database}.near using parquet as select 2 as id")
        spark.sql(f"create table {self.other}.victim using parquet as select 3 as id")
        spark.sql(f"create table {self.other}.t using parquet as select 4 as id")
        Guard(spark).publish(Model(f"{self.other}.t", "select 5 as id"))
        self.home = database_root(self.session, (database,)).removeprefix("file:")
        self.theirs = database_root(self.session, (self.other,)).removeprefix("file:")
        self.folder = tmp_path / "nobodys"
        (self.folder / "deep").mkdir(parents=True)
        (self.folder / "deep" / "file").write_text("precious")
        self.version = self.session.registered_table(f"{self.other}.t").location.removeprefix("file:")
        self._entry: Entry | None = None
        self.entry()
        self.is_as_it_was()
        self._first = self._all()

    def _all(self) -> Any:
        roots = (self.home, self.theirs, self.folder)
        links = [sorted(p for p in Path(root).rglob("*") if p.is_symlink()) for root in roots]
        return links, self.state()

    def is_as_it_was(self) -> bool:
        """Whether another test may have it: no file, link or table came or went. Who needs no folder makes it."""
        self.store.delete(f"{self.home}/.planproof")
        self.store.delete(f"{self.theirs}/.planproof")
        return self._all() == getattr(self, "_first", None)

    def entry(self) -> Entry:
        """What a publish of `t` would write."""
        self._entry = self._entry or self._published()
        return self._entry

    def _published(self) -> Entry:
        guard = Guard(self.spark)
        found: list[Entry] = []
        plain = "planproof.publish.formats.Parquet.commit"
        with pytest.MonkeyPatch.context() as patch:

            def commit(room: Any, publication: Any) -> Any:
                found.append(publication.entry)
                raise RuntimeError("far enough")

            patch.setattr(plain, commit)
            guard.publish(Model(f"{self.database}.t", "select 9 as id"))
        guard.recover(force=True)
        own, stamp = found[0], f"{found[0].run}_{found[0].attempt}"
        text = own.to_json().replace(stamp, f"{RUN}_1")
        entry = Entry.from_json(text)
        return replace(entry, run=RUN, attempt=1, owner=replace(entry.owner, pid=2**22 + 5, started="1"))

    def write(self, entry: Entry, name: str | None = None) -> None:
        self.write_text(json.dumps(asdict(entry)), name or f"{entry.slug}.{entry.run}_{entry.attempt}.1.json")

    def write_text(self, text: str, name: str) -> None:
        self.store.write(f"{self.home}/.planproof/journal/{name}", text)

    def rows(self) -> Any:
        """What readers see, where a table may move back."""
        names = (f"{self.database}.t", f"{self.database}.near", f"{self.other}.victim", f"{self.other}.t")
        for name in names:
            self.spark.catalog.refreshTable(name)
        # One query, as each takes Spark a second where the machine is busy.
        each = " union all ".join(f"select '{name}' as name, id from {name}" for name in names)
        rows = sorted(tuple(row) for row in self.spark.newSession().sql(each).collect())
        return rows, (self.folder / "deep" / "file").read_text()

    def state(self) -> Any:
        """The catalog's names and places, and all files of both databases and of nobody: rows are made of these, and to
        have Spark read them takes ten times as long."""
        names = [
            f"{db}.{row[1]}" for db in (self.database, self.other) for row in self.session.rows(f"show tables in {db}")
        ]
        places = {name: found.location for name in names if (found := self.session.registered_table(name)) is not None}
        files = {
            path: path.read_bytes()
            for root in (self.home, self.theirs, str(self.folder))
            for folder, _, inner in os.walk(root)
            for path in (Path(folder, name) for name in inner)
            if ".planproof" not in path.parts and path.is_file() and not path.is_symlink()
        }
        return places, files


def make_versions(lake: Path, names: tuple[str, ...]) -> list[Path]:
    """Versions of a table `t` that another metastore knows."""
    made = [lake / "__planproof" / "t" / name / "part.parquet" for name in names]
    for file in made:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("another's rows")
    return made
