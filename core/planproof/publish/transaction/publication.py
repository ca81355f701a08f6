"""One publish under way: Spark, the files, and the journal entry that says how far it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from planproof.judge.draft import Effect
from planproof.publish.transaction.content import (
    Remains,
    TableFiles,
    list_content,
    look_for,
    path_from_root,
)
from planproof.publish.transaction.deletion import Holdings, data_of, is_in_versions_of
from planproof.publish.transaction.journal import Content, Entry, Journal, Prior
from planproof.publish.transaction.lock import Lock
from planproof.publish.transaction.names import PREFIX, Refused, is_within, join, parent, refuse_unspeakable
from planproof.publish.transaction.partition import format_spec
from planproof.publish.transaction.states import STATES, UNDO, UNDONE, Target
from planproof.publish.transaction.version_note import write_note
from planproof.session import Session, SparkFailure, SparkPlanes, Store, StoredTable, decode_uri
from planproof.session.absence import is_listed
from planproof.session.files import is_hidden
from planproof_engine import AnalysisError, ColumnNames, PhysicalSchema, RelationName, quote_literal, quote_parts
from planproof_engine.types import format_ddl


class JournaledPublication:
    """What the strategies work on. Everything that undoing needs stands in `entry`.

    `unregistered`: the columns of staged files that no table stands over yet. `final`: the schema of the plan that
    wrote them, as it ran, where Spark tells it; `planes`: all of a query that was written as it was analyzed.
    `watched`: every row that Python gave was looked at as it was written. `target` is the relation as the publish found
    it, `replaced` the files that it had then, where the publish takes their place, `others` how many of others it has
    replaced, too, and `strays` how many lie in each older version, written after that was replaced. `statement` gives a
    view its query.
    `is_own`: this process began it, and did not read it from a journal. `is_occupied`: it found an empty folder where
    Spark is to put its table: one that lay there that long is nobody's who makes a table at this moment."""

    next_step = "run `planproof recover` once the cause is gone"

    def __init__(
        self, session: Session, store: Store, journal: Journal, lock: Lock, target: StoredTable | None = None
    ) -> None:
        self.session, self.store, self.journal, self.lock = session, store, journal, lock
        self.target, self.is_own, self.is_occupied = target, False, False
        self.replaced: TableFiles | None = None
        self.others = 0
        self.strays: dict[str, int] = {}
        self._needs_lock = True
        self._is_unanswered = False
        self.statement: str | None = None
        self.unregistered: PhysicalSchema | None = None
        self.final: PhysicalSchema | None = None
        self.planes: SparkPlanes | None = None
        self.watched = self.is_on_top = self.is_stale = False

    @property
    def entry(self) -> Entry:
        return self.journal.entry

    def step(self, name: str, **changes: Any) -> None:
        """Raises `Evicted` where another run has taken the table over, as whatever changes something does."""
        self.lock.fence()
        self.journal.step(name, **changes)

    def fence(self) -> None:
        """Raises `Evicted` where another run has taken the table over."""
        if self._needs_lock:
            self.lock.fence()

    def note(self, name: str, **changes: Any) -> None:
        """What was staged is noted before it is audited; the journal has it from the next step on."""
        if name == "audit":
            changes["content"] = self._staged_content()
        self.journal.note(name, **changes)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        return self.session.rows(sql)

    def change(self, sql: str) -> None:
        """Runs a statement of planproof's own that changes the catalog. Raises `SparkFailure` where Spark refuses it:
        the model's query has no part in that. Most often the relations changed a moment ago, and it is transient."""
        try:
            self.define(sql)
        except AnalysisError as error:
            said = f"Spark refused a step of the publish of {self.entry.model}"
            refused = SparkFailure(f"{said}: {error.message}", error.condition, outside=True)
            if refused.transient:
                others = "somebody may have changed the table, or what is staged for it, at the same time"
                refused = SparkFailure(f"{said}; {others}: {error.message}", error.condition, outside=True)
            raise refused from error

    def define(self, sql: str) -> None:
        """Runs a statement that changes the catalog, and that holds the model's own query."""
        self.fence()
        try:
            self.session.rows(sql)
        except BaseException as error:
            # Who is interrupted leaves the call to whoever carries it out, and a catalog may be slow to do so.
            self._is_unanswered = self._is_unanswered or not getattr(error, "condition", None)
            raise

    def delete(self, location: str) -> None:
        self.fence()
        self.store.delete(location)

    def move(self, source: str, target: str) -> None:
        self.fence()
        self.store.move(source, target)

    def write(self, sql: str) -> None:
        """Runs the statement that stages rows."""
        written = self.session.write(sql)
        self.final = None if written is None else written.executed

    def write_files(self, planes: SparkPlanes) -> bool:
        """Stages the rows of a query as it was analyzed; False, and nothing is written, where it takes a statement."""
        self.planes = self.session.write_files(planes, self.entry.stage_location)
        return self.planes is not None

    def stored(self, name: str) -> StoredTable | None:
        return self.session.registered_table(name)

    def location(self, name: str) -> str | None:
        """Where the relation's data lie now, None without a table."""
        table = self.stored(name)
        return decode_uri(table.location) if table and table.location else None

    def set_location(self, name: str, location: str) -> None:
        refuse_unspeakable(self.session, [location], "a table's folder")
        self.change(f"ALTER TABLE {name} SET LOCATION {quote_literal(location)}")

    def refresh(self) -> None:
        """Has Spark read the target's files anew.

        What is cached over them is built again from the plan that was cached, with the files that this plan listed:
        only a refresh by path has it list them again (CacheManager.recacheByPath, which Spark's INSERT calls).
        """
        target = self.entry.target
        self.run(f"REFRESH TABLE {target}")
        location = self.location(target)
        if location is not None:
            self.run(f"REFRESH {quote_literal(location)}")

    def rename(self, old: str, new: str, kind: str = "table") -> None:
        kept = self._name_as_kept(new)
        if kept != new and self.store.exists(self.entry.native) and not self.store.names(self.entry.native):
            # Hive made it beside the one that Spark writes to; Spark renames no table onto a folder.
            self.delete(self.entry.native)
        self.change(f"ALTER {'TABLE' if kind == 'table' else 'VIEW'} {old} RENAME TO {kept}")

    def _name_as_kept(self, name: str) -> str:
        """A name as the catalog will have it: Hive's are in lower case, as is the folder to which it moves a managed
        table's files. Where `spark.sql.caseSensitive` is on, Spark looks for them in one that is spelt as the name was
        (HiveExternalCatalog.renameTable).
        """
        named = RelationName.parse(name)
        if not self.session.conf.case_sensitive or self.is_in_memory():
            return name
        # The database's name must stay the one that the old name has.
        return named.sibling(named.key[-1]).quoted

    def is_in_memory(self) -> bool:
        """Whether the session's catalog is one that ends with it."""
        return bool(self.run("SET spark.sql.catalogImplementation")[0][1] == "in-memory")

    def refuse_changed(self) -> None:
        """Raises `Refused` where the target is another relation than the one that was read under the lock: others need
        no lock of planproof's to alter, drop or rename it."""
        if not self.is_exchanged():
            return
        now = self.stored(self.entry.target)
        what = "is not there any more" if now is None else "was not there" if self.target is None else "is another one"
        raise Refused(
            f"{self.entry.model} {what}: somebody made, dropped, renamed or altered it while its new rows were staged. "
            f"It was left as it is, and nothing was published; {self.tell_prior()}run the model again",
            transient=True,
        )

    def is_exchanged(self) -> bool:
        """Whether the target is another relation by now than the one that the publish has found, as far as this process
        knows that one."""
        now = self.stored(self.entry.target)
        if self.is_own:
            return _identity(now) != _identity(self.target)
        return now is not None and prior_of(now) != self.entry.prior

    def tell_prior(self) -> str:
        """Says where the old relation waits, if somebody gave its name to another one in the moment in which it had
        stepped aside."""
        if self.entry.prior is None or self.stored(self.entry.away) is None:
            return ""
        return f"what stood there before waits as {self.entry.away}; "

    def refuse_exchanged(self) -> None:
        """The same right after the call that pointed the target to the staged files: where it met a table that somebody
        had altered, or made anew, in that moment, that table is given its own files back."""
        now, then = self.stored(self.entry.target), self.target
        if then is None or (now is not None and _identity(now, placed=False) == _identity(then, placed=False)):
            return
        if now is not None and now.location and is_within(decode_uri(now.location), self.entry.stage_location):
            home = self._files_of_exchanged(now, then)
            if home is not None:
                self.set_location(self.entry.target, home)
        raise Refused(
            f"{self.entry.model} was altered, dropped or made anew by somebody else during its publish; look at "
            "it, and run the model again",
            transient=True,
        )

    def _files_of_exchanged(self, now: StoredTable, then: StoredTable) -> str | None:
        """Where the files of an exchanged table lie: where they did, if it is the one that was found, and in its
        default place, if it is another one that is managed. None of another one that is not: nobody knows it."""
        before, same = decode_uri(then.location or ""), (now.created, now.managed) == (then.created, then.managed)
        others = Holdings(self.session)
        if (
            same
            and self.store.exists(before)
            and others.holder(before, [RelationName.parse(self.entry.target)]) is None
        ):
            return before
        return self.entry.native if now.managed else None

    def count_others(self, found: Iterable[str]) -> None:
        """Counts the files that others have put into the target since the publish began, among those that it has just
        replaced (as `content.TableFiles` names them): later nobody can tell them."""
        if self.replaced is not None:
            self.others = len(frozenset(found) - self.replaced.own)

    def names_in(self, folder: str) -> list[str]:
        """The data files right in a folder, as `content.TableFiles` names them; none where they cannot be listed."""
        prior = self.entry.prior
        root = prior.location if prior and prior.location else folder
        with suppress(SparkFailure):
            return [path_from_root(f"{folder}/{name}", root) for name in self.store.contents(folder) if "/" not in name]
        return []

    def delete_replaced(self, folder: str, now: StoredTable | None = None) -> None:
        """Deletes the files of a folder that the target had when the publish began, and no data of the target lie in;
        `now` is the target, where it was just looked at. Whoever recovers does not know what was there."""
        if self.replaced is None:
            self.delete_unused(folder, now)
        elif not self._has_data_in(folder, now):
            self.delete_own(folder)

    def delete_own(self, folder: str) -> None:
        """Deletes the files of a folder that the target had when the publish began, and the folder where nothing else
        lies in it. What has come there since is another writer's, also what comes at this moment, and what lies deeper
        is another table's."""
        self.fence()
        root = self.entry.prior.location if self.entry.prior and self.entry.prior.location else folder
        for file in [join(folder, name) for name in self.store.contents(folder)]:
            if self.replaced is not None and path_from_root(file, root) in self.replaced.own:
                self.store.delete(file)
        if not self.store.contents(folder):
            for name in filter(is_hidden, self.store.names(folder)):
                self.store.delete(join(folder, name))
            self.store.prune(folder)

    def bring_back(self) -> None:
        """Gives the old relation, which this publish has just put aside under a name that nobody else uses, its name
        back. An evicted publish does that, too: nobody else would look for it there."""
        entry, prior = self.entry, self.entry.prior
        if prior is not None and self.stored(entry.target) is None and self.stored(entry.away) is not None:
            kind = "TABLE" if prior.kind == "table" else "VIEW"
            self.run(f"ALTER {kind} {entry.away} RENAME TO {self._name_as_kept(entry.target)}")

    def is_committed(self) -> bool:
        """Whether the target holds what was staged here."""
        current = self.location(self.entry.target)
        return current is not None and is_within(current, self.entry.stage_location)

    @property
    def away_home(self) -> str:
        """Where a managed table lies by default while it stands aside."""
        return join(parent(self.entry.native), RelationName.parse(self.entry.away).last)

    def return_old_directory(self) -> None:
        """Moves the old table's directory back, where a rename died that had moved it and not yet the table's name."""
        entry, prior = self.entry, self.entry.prior
        if prior is None or not prior.managed or prior.location is None or self.store.exists(prior.location):
            return
        old = self.away_home
        named_still = self.stored(entry.target) is not None and self.stored(entry.away) is None
        if named_still and self.store.exists(old):
            self.move(old, prior.location)

    def drop(self, name: str, kind: str = "table") -> None:
        """Raises `SparkFailure` where the relation is still there. A metastore in trouble may say that a table does not
        exist, and Hive then reports the drop as done."""
        self.change(f"DROP {'TABLE' if kind == 'table' else 'VIEW'} IF EXISTS {name}")
        if is_listed(name, self.run):
            raise SparkFailure(f"the catalog took DROP {name} for done, and has it still", outside=True)

    def delete_unused(self, location: str, now: StoredTable | None = None) -> None:
        """Deletes a directory, unless data of the target lie there; `now` is the target, where it was just looked
        at."""
        if not self._has_data_in(location, now):
            self.delete(location)

    def _has_data_in(self, location: str, now: StoredTable | None) -> bool:
        if now is not None and now.location and not now.partition_by:
            held = [decode_uri(now.location)]
        else:
            held = data_of(self.session, self.entry.target)
        return any(is_within(one, location) for one in held)

    def holder_of_staged(self) -> str | None:
        """The table that holds data among what was staged, where the target is another relation by now: what it was may
        have another name. None where nobody does."""
        if STATES[self.entry.step].target is Target.OLD:
            return None
        if self.stored(self.entry.target) is not None and not self.is_exchanged():
            return None
        return Holdings(self.session).guest(self.entry.stage_location, [RelationName.parse(self.entry.staging)])

    def is_shared(self, folder: str) -> bool:
        """Whether another table has data below a folder of this one; asked of the catalog where files lie deeper."""
        if not any("/" in name for name in self.store.contents(folder)):
            return False
        return Holdings(self.session).holder(folder, [RelationName.parse(self.entry.target)]) is not None

    def is_version(self, location: str | None) -> bool:
        """True for a version directory of this table, which no one but planproof made."""
        return location is not None and is_in_versions_of(location, RelationName.parse(self.entry.target))

    def is_staged(self) -> bool:
        """Whether the catalog knows the staging table; its name is this publish's own."""
        return self.stored(self.entry.staging) is not None

    def is_own_catalog(self) -> bool:
        """Whether it is certain that the session's metastore is the one in which the publish ran."""
        return self.is_own or (self.entry.catalog is not None and self.entry.catalog == self.session.catalog_id)

    def has_columns(self) -> bool:
        """True where the target has every column that it gets with the delta."""
        return not self._missing_columns()

    def add_columns(self) -> None:
        """Adds the columns that the target gets with the delta: one metastore call, after the audit."""
        missing = self._missing_columns()
        if missing:
            self.step("columns")
            self.change(f"ALTER TABLE {self.entry.target} ADD COLUMNS ({column_list(missing)})")

    def _missing_columns(self) -> list[tuple[str, str]]:
        if not self.entry.columns:
            return []
        table = self.stored(self.entry.target)
        known = ColumnNames(table.schema.names if table else ())
        return [(name, kind) for name, kind in self.entry.columns if name not in known]

    def list_rejected(self) -> list[tuple[str, str]]:
        """The staging tables of this target that were kept for a look, quoted, each with its location."""
        entry = self.entry
        database, _, staging = entry.staging.rpartition(".")
        kept = re.compile(rf"{re.escape(f'{PREFIX}_{entry.slug}_')}[0-9a-f]{{10}}_\d+")
        shown = [str(row[1]) for row in self.run(f"SHOW TABLES IN {database} LIKE '{PREFIX}_{entry.slug}_*'")]
        names = [f"{database}.{quote_parts((name,))}" for name in shown if kept.fullmatch(name)]
        found = [(name, self.location(name)) for name in names if name != f"{database}.{staging}"]
        return [(name, location) for name, location in found if location is not None]

    @property
    def can_be_kept(self) -> bool:
        """Nothing is written beside a view."""
        return self.entry.effect is not Effect.DEFINES

    def keep(self) -> None:
        self.drop_rejected()
        self.register()

    def close(self) -> None:
        self.lock.fence()
        self.journal.close()

    def leave(self) -> None:
        """Gives the publish up: its files stay where they are; its journal goes, and a staging table that only points
        to them."""
        staging = self.stored(self.entry.staging)
        if staging is not None and not staging.managed:
            self.drop(self.entry.staging)
        self.close()

    def drop_rejected(self) -> None:
        """Removes what earlier rejections kept: the newest one is there to be looked at."""
        for name, location in self.list_rejected():
            self.drop(name)
            if self.is_version(location):
                self.delete_unused(location)

    def register(self) -> None:
        """Puts the staging table over files that were written without one, for whoever queries them."""
        if self.unregistered is not None:
            columns = column_list((f.name, format_ddl(f.type)) for f in self.unregistered)
            place = quote_literal(self.entry.stage_location)
            # A statement that failed half way may still have made the table.
            self.unregistered = None
            self.run(f"CREATE TABLE {self.entry.staging} ({columns}) USING parquet LOCATION {place}")

    def drop_staging(self) -> None:
        """Drops the staging table, where there is one; the files stay, unless they are a managed table's."""
        if self.unregistered is None:
            self.drop(self.entry.staging)

    def look_for_files(self, location: str | None = None, below: str = "") -> Remains:
        """Which of the files that were audited, all or those `below` a folder, lie at a location, or where they were
        staged."""
        return look_for(self.store, location or self.entry.stage_location, self.entry.content, below)

    def refuse_incomplete(self) -> None:
        """Raises `Refused` where the files that were audited are not all that lies there now."""
        found = self._staged_content()
        if None not in (found, self.entry.content) and found != self.entry.content:
            raise Refused(
                f"{self.entry.model}: files below {self.entry.stage_location} were deleted, added or changed after "
                "they had been audited; nothing was published. Run the model again",
                transient=True,
            )

    def _staged_content(self) -> Content | None:
        return None if self.entry.effect is Effect.DEFINES else list_content(self.store, self.entry.stage_location)

    @property
    def may_be_late(self) -> bool:
        """Whether a call that points to the staging may still be carried out: it had no answer, its caller is gone, or
        the publish was taken from an owner who may wake up within it."""
        is_open = STATES[self.entry.step].target is Target.EITHER and (self._is_unanswered or not self.is_own)
        return is_open or self._may_wake_up

    @property
    def _may_wake_up(self) -> bool:
        return self.lock.took_over and not self.entry.owner.is_dead

    def discard(self) -> None:
        """Removes what was staged: its files, and last its registration, by which the catalog knows the publish.

        Files that a late call may still point to stay, for a later publish to sweep. As long as nothing of the target
        was touched, all that was staged is this publish's own: no lock is asked for, and an evicted publish removes it.
        """
        if self.is_own and STATES[self.entry.step].target is Target.OLD:
            self._needs_lock = False
        if self.may_be_late and self.entry.swap.repoints:
            if self._may_wake_up and self.store.exists(self.entry.stage_location):
                write_note(self.store, self.entry.stage_location, None)
        elif self.holder_of_staged() is None:
            self.delete_unused(self.entry.stage_location)
        if self.entry.step == UNDO:
            self.step(UNDONE)
        self.drop_staging()
        if not self._needs_lock:
            self.withdraw()
            self._needs_lock = True

    def withdraw(self) -> None:
        """Takes back the rows that this publish was to quarantine, wherever they stand by now."""
        bad_rows = self.entry.quarantine
        if bad_rows is None:
            return
        if self.stored(bad_rows.table) is not None:
            self.change(f"ALTER TABLE {bad_rows.table} DROP IF EXISTS PARTITION ({format_spec(bad_rows.partition)})")
        self.delete(bad_rows.location)


def column_list(columns: Iterable[tuple[str, str]]) -> str:
    """Names and types as ADD COLUMNS takes them."""
    return ", ".join(f"{quote_parts((name,))} {kind}" for name, kind in columns)


def prior_of(target: StoredTable | None) -> Prior | None:
    """What stands at the target before the publish; None where nothing does."""
    if target is None:
        return None
    location = decode_uri(target.location) if target.location else None
    kind = "table" if target.kind == "table" else "iceberg view" if target.is_iceberg_view else "view"
    # What a log names is deleted by its own format, and by nobody else.
    managed = target.managed and not target.has_log
    return Prior(kind, managed, location, bool(target.partition_by))


def _identity(table: StoredTable | None, placed: bool = True) -> tuple[object, ...] | None:
    """What makes a relation the one that it is; of a view, which is replaced whatever it says, its kind."""
    if table is None or table.kind != "table":
        return None if table is None else (table.kind,)
    own = (table.kind, table.schema.as_nullable(), table.partition_by, table.format, table.managed, table.created)
    return (*own, decode_uri(table.location or "")) if placed else own
