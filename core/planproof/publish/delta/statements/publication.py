"""One publish of a Delta table where SQL is all that reaches Spark.

The model's rows are written to a Delta table of their own beside the target. They are audited there, and one statement
of Delta's copies them: it is Delta that orders the commits of all writers. Rows are written twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote

from planproof.judge.draft import Effect
from planproof.publish.audit.constraints import looks_at_all
from planproof.publish.delta.actions import LOG, UnknownAction, list_added_paths, read_action
from planproof.publish.delta.publication import PATIENCE
from planproof.publish.delta.written import WrittenTable
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes import Note, Notebook, Stage
from planproof.publish.transaction import STATES, Ending, Target, database_root
from planproof.publish.transaction.lock import Locked, acquire
from planproof.publish.transaction.names import Refused, join
from planproof.session import Moved, SparkFailure, encode_uri, local, store_of
from planproof.session.delta.protocol import LogState
from planproof.session.delta.statements import DeltaStatements, Version, is_conflict
from planproof.session.described import declared_schema
from planproof.session.snapshots import DataFile, Unlisted
from planproof_engine import AnalysisError, Finding, PhysicalSchema, Verdict, evolve, quote_parts

FORMAT = "delta by statements"
"""What the notes of such a publish call its format."""
AFTER = "_after"
"""Ends the name of the folder of a copy of the table as it will be."""
BAD = "_bad"
"""Ends the name of the folder of bad rows."""
_PAUSE = 0.2
_EMPTY_TEXTS = "a partition column holds an empty text as NULL; what the contract promises is counted"
_TAKEN = ("TABLE_OR_VIEW_ALREADY_EXISTS", "DELTA_TABLE_ALREADY_EXISTS", "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION")
"""What is said of a new table whose name, or place, others have taken meanwhile."""


class StatementPublication(WrittenTable):
    """`rows` is the staged table, as SQL names it; `after` the relation that holds all rows of the table as it will be.
    `target` is the table by its folder: whoever renames it meanwhile has its rows.

    `exact`: what was audited depends on what the target held, so that nobody may have committed since. `replaces_all`:
    no row of the target stays. `prepares` are statements before the one that publishes, which `commits` runs, and which
    Delta's history calls by one of `operations`. `reads_as_stored` is a query of the staged rows as the target will
    hold them, where files do not tell it.
    """

    next_step = "run `planproof recover` once Spark answers: the table's history tells whether it was committed"

    def __init__(self, job: Job, tables: DeltaStatements, base: LogState, strategy: str) -> None:
        names, store, home = job.names, store_of(job.session), find_home(job)
        self.tables, self.folder = tables, join(home, names.staging.last)
        self.rows = self.after = quote_parts(("delta", self.folder))
        effect = Effect.REPLACES if strategy == "replace" else Effect.CHANGES
        entry = Stage(job.model.name, names.target.quoted, self.rows, strategy, effect)
        note = Note.begin(names, job.model.name, strategy, base.location, False)
        note = evolve(note, folder=self.folder, others=(self.folder + AFTER,), format=FORMAT, base=base.version)
        super().__init__(entry, Notebook(store, home, note))
        self.exact, self.replaces_all = looks_at_all(job), strategy == "replace"
        self.commits: Callable[[], object] | None = None
        self.prepares: tuple[str, ...] = ()
        self.operations: tuple[str, ...] = ("CREATE", "REPLACE")
        self.reads_as_stored: str | None = None
        self.target = quote_parts(("delta", base.location))
        self._session, self._base, self._mark, self._home = job.session, base, names.stamp, home
        self._is_registered = job.target is not None
        self._state: LogState | None = None
        self._files: list[str] = []
        self._written: str | None = None
        self._version: Version | None = None
        self._replaced: list[Version] = []
        self._has_looked_back = False
        self._is_unanswered = False
        if not self.notebook.write():
            raise Refused(
                f"{self.entry.model}: {self.notebook.location} cannot be written from this machine. Without that file "
                "a recovery would not find the staged rows of a killed run"
            )

    @property
    def base(self) -> LogState:
        return self._base

    def state(self) -> LogState:
        """The staged table, by the one commit that made it. Raises `Refused` where Spark has written it to a disk that
        this machine does not see."""
        if self._state is None:
            commit = self._read_commit()
            try:
                info, metadata, protocol = (read_action(commit, k) for k in ("commitInfo", "metaData", "protocol"))
                self._files = list_added_paths(commit)
            except UnknownAction as unknown:
                raise SparkFailure(f"{self.folder}: {unknown}", outside=True) from unknown
            self._written = (info.get("operationMetrics") or {}).get("numOutputRows")
            schema = declared_schema(str(metadata["schemaString"]))
            self._state = LogState(self.folder, 0, schema, metadata, protocol)
        return self._state

    def _read_commit(self) -> str:
        commit = self.notebook.store.read(join(self.folder, LOG, f"{0:020}.json"))
        if commit is None:
            raise Refused(
                f"{self.entry.model}: Spark has written {self.folder} where this machine does not see it. A Delta "
                "table is published by way of files that both share; run the model in a classic session (in dbt: "
                "method: session)"
            )
        return commit

    def schema(self) -> PhysicalSchema:
        return self.state().schema

    def list_paths(self) -> Sequence[str]:
        """The data files of the one commit: what Delta writes together later holds the same rows."""
        self.state()
        return [encode_uri(join(self.folder, unquote(path))) for path in self._files]

    @property
    def partition_by(self) -> Sequence[str]:
        """What is merged is not staged in partitions."""
        return self.base.partition_by if self.entry.strategy == "change" else super().partition_by

    @property
    def unread(self) -> str | None:
        return super().unread if self.reads_as_stored is None else _EMPTY_TEXTS

    def count(self) -> int:
        return int(self._session.rows(f"SELECT count(*) FROM {self.rows}")[0][0])

    def new_rows(self) -> str:
        return self.reads_as_stored or self.rows

    def rows_after(self) -> str:
        return self.after

    def list_before(self, most: int) -> list[DataFile]:
        raise Unlisted("this session does not tell which files hold its rows")

    def list_after(self, most: int) -> list[DataFile]:
        raise Unlisted("this session does not tell which files hold its rows")

    def note(self, name: str, **changes: Any) -> None:
        self.entry.step = name
        self.stop_if_evicted()
        if not self.notebook.write(step=name) and name == "commit":
            # A recovery undoes at once what its note does not say to be at its commit.
            self.entry.step = "refused"
            self.stop_if_evicted()
            raise Refused(f"{self.entry.model}: {self.notebook.location} cannot be written any more", transient=True)

    @contextmanager
    def ask(self) -> Iterator[None]:
        """Remembers of the statements within the block whether Spark has answered them."""
        self._is_unanswered = True
        try:
            yield
        except (AnalysisError, SparkFailure) as error:
            self._is_unanswered = isinstance(error, SparkFailure) and error.outside and not error.condition
            raise
        self._is_unanswered = False

    def commit(self) -> None:
        """One statement. Raises `Moved`, and `SparkFailure`."""
        assert self.commits is not None, "it was staged"
        self.note("commit")
        # Whoever waits for others looks at the table afterwards.
        with self.tables.take_turns(), self._keep_others_out():
            self._refuse_moved()
            try:
                with self.ask():
                    for statement in self.prepares:
                        self._session.rows(statement)
                    with self.tables.mark(self._mark):
                        self.commits()
            except (AnalysisError, SparkFailure) as error:
                self._explain(error)
        self.step("clean")
        self._tidy()

    @contextmanager
    def _keep_others_out(self) -> Iterator[None]:
        """No other publish of planproof's that depends on what the table holds comes in between. Other writers may."""
        if not self.exact:
            yield
            return
        note, until = self.notebook.note, time.monotonic() + PATIENCE
        while True:
            try:
                held = acquire(self.notebook.store, self._home, note.slug, f"{self._mark}_commit", self.entry.model)
                break
            except Locked as locked:
                if time.monotonic() > until:
                    self.step("refused")
                    raise Moved(str(locked)) from locked
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            with suppress(SparkFailure):
                held.release()

    def _refuse_moved(self) -> None:
        """Raises `Moved` where the target is not what the audit looked at any more."""
        if self._is_another():
            self.step("refused")
            raise Moved(f"{self.entry.model} was made, dropped, replaced or renamed while its rows were staged")
        version = self.tables.find_version(self.base.location) if self.exact else self.base.version
        if version != self.base.version:
            self.step("refused")
            raise Moved(f"others have committed version {version} of {self.entry.model}")

    def _is_another(self) -> bool:
        """Others may have given the table another name, or its name to another one."""
        id = self.base.metadata.get("id")
        if self._is_registered:
            return self.tables.find_id(self.entry.target) != id
        return self._session.registered_table(self.entry.target) is not None or self.tables.find_id(self.target) != id

    def _explain(self, error: AnalysisError | SparkFailure) -> None:
        """Raises what a statement that failed means for the publish."""
        is_taken = self.base.version < 0 and (error.condition or "") in _TAKEN and self._is_there_now()
        if is_conflict(error) or is_taken:
            self.step("refused")
            raise Moved(f"others have changed {self.entry.model} meanwhile: {error}") from error
        if isinstance(error, AnalysisError):
            said = f"Spark refused the statement that publishes {self.entry.model}: {error.message}"
            raise SparkFailure(said, error.condition, outside=True) from error
        raise error

    def _is_there_now(self) -> bool:
        name = self._session.registered_table(self.entry.target)
        return name is not None or self.tables.find_version(self.base.location) >= 0

    def _look_back(self) -> None:
        """What others have committed between the look at the table and this publish. Raises `SparkFailure`."""
        if self._has_looked_back:
            return
        self._session.rows(f"REFRESH TABLE {self.entry.target}")
        said = self.tables.history(self.base.location, self.base.version)
        self._version = next((version for version in said if version.mark == self._mark), None)
        if self._version is not None and self.replaces_all and self.base.version >= 0:
            self._replaced = [version for version in said if version.number < self._version.number]
            self.replaced = sum(version.added for version in self._replaced)
        self._has_looked_back = True

    def tell_of_others(self) -> Iterator[Finding]:
        self._look_back()
        if self.is_stale:
            yield self._tell_of_stale()
        yield from super().tell_of_others()

    def _tell_of_stale(self) -> Finding:
        message = (
            f"others committed to {self.entry.model} between the audit of its new rows and this publish, which depends "
            "on what the table held: it reads its own table, or promises keys, limits or data tests. Keys were counted "
            "again, nothing else. Look at the newest rows"
        )
        return Finding(Verdict.WARNING, "PP624", "catalog", message=message)

    def _tell_of_replaced(self) -> list[Finding]:
        """Other statements than appends do not say how many of their rows are gone."""
        found = super()._tell_of_replaced()
        changed = [version for version in self._replaced if version.changes_rows and not version.added]
        if found or not changed:
            return found
        said = f"version {changed[0].number} ({changed[0].operation})"
        message = (
            f"another writer changed rows of {self.entry.model} while its new rows were staged, in {said}: the publish "
            "replaced them, as the bare statement would. An older version of the table holds them"
        )
        return [Finding(Verdict.WARNING, "PP621", "catalog", found=said, message=message)]

    @property
    def is_on_top(self) -> bool:
        try:
            self._look_back()
        except (SparkFailure, AnalysisError):
            return True
        expected = self.base.version + 1 + len(self.prepares)
        if self._version is not None:
            return self._version.number != expected
        # A statement that writes no row may commit nothing.
        return self.tables.find_version(self.base.location) != self.base.version + len(self.prepares)

    @property
    def is_stale(self) -> bool:
        return self.exact and self.is_on_top

    def is_committed(self) -> bool:
        """Raises `SparkFailure` where nobody can tell."""
        found = self.tables.find_commit(self.base.location, self.base.version, self._mark)
        # Threads may share one session, and with it the mark.
        if found is None or not any(name in found.operation.upper() for name in self.operations):
            return False
        rows = None if "MERGE" in self.operations else found.metrics.get("numOutputRows")
        if None not in (rows, self._written) and str(rows) != str(self._written):
            raise SparkFailure(
                f"version {found.number} of {self.base.location} has {rows} rows, and {self._written} were staged",
                outside=True,
            )
        if self.tables.find_id(self.entry.target) != self.tables.find_id(self.target):
            if self.base.version < 0 and not self._is_unanswered:
                return False  # Delta had written the new table's log when the catalog refused its name.
            raise SparkFailure(
                f"its rows were committed to {self.base.location}, but {self.entry.target} is not the name of that "
                "table in the catalog",
                outside=True,
            )
        return True

    def is_alone(self) -> bool:
        if self._version is None or self.is_on_top:
            return False
        return self.tables.find_version(self.base.location) == self._version.number

    def find_undoing(self) -> str | None:
        if self._version is None:
            return None
        later = self.tables.history(self.base.location, self._version.number)
        found = next((version for version in later if version.replaces), None)
        return None if found is None else f"version {found.number}"

    def refuse_another(self) -> None:
        """Raises a transient `Refused` where the table that this began on was dropped, renamed or made anew."""
        if self.base.version >= 0 and self._is_another():
            raise Refused(
                f"{self.entry.model} was dropped, renamed or made anew while its rows were staged. Nothing was "
                "published; run the model again",
                transient=True,
            )

    def _tidy(self) -> None:
        with suppress(SparkFailure):  # A recovery finds them by the note.
            self._delete_folders()
            self.notebook.delete()

    def _delete_folders(self) -> None:
        for location in (self.folder, self.folder + AFTER, self.folder + BAD):
            self.notebook.store.delete(location)

    def settle(self) -> Ending:
        """Finds out from the table's history what became of a commit. Raises `Evicted`, and `SparkFailure` where a
        statement may still be under way."""
        ending: Ending = "undone"
        target = STATES[self.entry.step].target
        if target is Target.NEW or (target is Target.EITHER and self.is_committed()):
            self._tidy()
            ending = "finished"
        elif self._is_unanswered:
            # Without its rows the statement fails, if Spark has not read them yet. The note stays: a recovery looks
            # for what comes late.
            with suppress(SparkFailure):
                self._delete_folders()
            self.close()
            if target is Target.EITHER:
                raise SparkFailure(
                    "Spark did not answer, and may still carry out the statement that publishes it", outside=True
                )
        else:
            self.stop_if_seen_evicted()
            self.discard()
        self.close()
        return ending


def find_home(job: Job) -> str:
    """Where notes and staged rows lie. Raises `Refused`."""
    home = job.root or database_root(job.session, job.names.target.namespace)
    if local(home) is None:
        raise Refused(
            f"{job.model.name} is a Delta table below {home}, which planproof reaches only where Spark's driver is in "
            "its own process: run it in a classic session (in dbt: method: session)"
        )
    return home
