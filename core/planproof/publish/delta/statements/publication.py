"""One publish of a Delta table where SQL is all that reaches Spark.

The model's rows are written to a Delta table of their own beside the target. They are audited there, and one statement
of Delta's copies them: it is Delta that orders the commits of all writers. Rows are written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from planproof.judge.effect import Effect
from planproof.publish.delta.actions import LOG, read_action
from planproof.publish.delta.publication import looks_at_all
from planproof.publish.delta.written import WrittenTable
from planproof.publish.materialize.materialization import Job
from planproof.publish.notes.note import Note
from planproof.publish.notes.notebook import Notebook
from planproof.publish.notes.publication import Stage
from planproof.publish.transaction.names import Refused, join
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.places import database_root
from planproof.publish.transaction.states import STATES, Ending, Target
from planproof.session.delta.protocol import LogState
from planproof.session.delta.statements import DeltaStatements, Version, is_conflict
from planproof.session.protocol import Moved, SparkFailure
from planproof.session.schemas import declared_schema
from planproof.session.snapshots import DataFile, Unlisted
from planproof.session.store import local, store_of
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import quote_parts
from planproof_engine.schema import PhysicalSchema

FORMAT = "delta by statements"
"""What the notes of such a publish call its format."""
AFTER = "_after"
"""Ends the name of the folder of a copy of the table as it will be."""
BAD = "_bad"
"""Ends the name of the folder of bad rows."""
_TAKEN = ("TABLE_OR_VIEW_ALREADY_EXISTS", "DELTA_TABLE_ALREADY_EXISTS", "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION")
"""What is said of a new table whose name, or place, others have taken meanwhile."""


class StatementPublication(WrittenTable):
    """`rows` is the staged table, as SQL names it; `after` the relation that holds all rows of the table as it will be.
    `target` is the table by its folder: whoever renames it meanwhile has its rows.

    `exact`: what was audited depends on what the target held, so that nobody may have committed since. `replaces_all`:
    no row of the target stays. `commits` runs the statement that publishes; `settings` hold while it does.
    """

    next_step = "run `planproof recover` once Spark answers: the table's history tells whether it was committed"

    def __init__(self, job: Job, tables: DeltaStatements, base: LogState, strategy: str) -> None:
        names, store, home = job.names, store_of(job.session), find_home(job)
        self.tables, self.folder = tables, join(home, names.staging.last)
        self.rows = self.after = quote_parts(("delta", self.folder))
        effect = Effect.REPLACES if strategy == "replace" else Effect.CHANGES
        entry = Stage(job.model.name, names.target.quoted, self.rows, strategy, effect)
        note = Note(
            job.model.name,
            names.target.quoted,
            names.slug,
            strategy,
            Owner.here(names.stamp),
            False,
            base.location,
            self.folder,
            (self.folder + AFTER,),
            format=FORMAT,
            base=base.version,
        )
        super().__init__(entry, Notebook(store, home, note))
        self.exact, self.replaces_all = looks_at_all(job), strategy == "replace"
        self.commits: Callable[[], object] | None = None
        self.settings: dict[str, str] = {}
        self.target = quote_parts(("delta", base.location))
        self._session, self._base, self._mark = job.session, base, names.stamp
        self._is_registered = job.target is not None
        self._state: LogState | None = None
        self._version: Version | None = None
        self._later: list[Version] = []
        self._is_unanswered = False
        if not self.notebook.write():
            raise Refused(
                f"{self.entry.model}: {self.notebook.location} cannot be written from this machine. What is staged of "
                "a Delta table is found again by that note"
            )

    @property
    def base(self) -> LogState:
        return self._base

    def state(self) -> LogState:
        """The staged table, by the one commit that made it. Raises `Refused` where Spark has written it to a disk that
        this machine does not see."""
        if self._state is None:
            commit = self.notebook.store.read(join(self.folder, LOG, f"{0:020}.json"))
            if commit is None:
                raise Refused(
                    f"{self.entry.model}: Spark has written {self.folder} where this machine does not see it. A Delta "
                    "table is published by way of files that both share; run the model in a classic session (in dbt: "
                    "method: session)"
                )
            metadata, protocol = (read_action(commit, kind) for kind in ("metaData", "protocol"))
            schema = declared_schema(str(metadata["schemaString"]))
            self._state = LogState(self.folder, 0, schema, metadata, protocol)
        return self._state

    def schema(self) -> PhysicalSchema:
        return self.state().schema

    def list_paths(self) -> Sequence[str]:
        """The data files of the staged table: nobody else writes there."""
        return self._session.files(local(self.folder) or self.folder)

    def count(self) -> int:
        return int(self._session.rows(f"SELECT count(*) FROM {self.rows}")[0][0])

    def new_rows(self) -> str:
        return self.rows

    def rows_after(self) -> str:
        return self.after

    def list_before(self, most: int) -> list[DataFile]:
        raise Unlisted("this session does not tell which files hold its rows")

    def list_after(self, most: int) -> list[DataFile]:
        raise Unlisted("this session does not tell which files hold its rows")

    def note(self, name: str, **changes: Any) -> None:
        self.entry.step = name
        self.stop_if_evicted()
        self.notebook.write(step=name)

    def commit(self) -> None:
        """One statement. Raises `Moved`, and `SparkFailure`."""
        assert self.commits is not None, "it was staged"
        self.note("commit")
        self._refuse_moved()
        self._is_unanswered = True
        try:
            with self.tables.mark(self._mark, self.settings):
                self.commits()
        except (AnalysisError, SparkFailure) as error:
            self._explain(error)
        self._is_unanswered = False
        self.step("clean")
        with suppress(SparkFailure, AnalysisError):
            self._look_back()
        self._tidy()

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
        relation = self.entry.target if self._is_registered else self.target
        return self.tables.find_id(relation) != self.base.metadata.get("id")

    def _explain(self, error: AnalysisError | SparkFailure) -> None:
        """Raises what a statement that failed means for the publish. Who has Spark's answer knows that it has ended."""
        condition = error.condition or ""
        self._is_unanswered = isinstance(error, SparkFailure) and error.outside and not condition
        if is_conflict(error) or (self.base.version < 0 and condition in _TAKEN):
            raise Moved(f"others have changed {self.entry.model} meanwhile: {error}") from error
        if isinstance(error, AnalysisError):
            said = f"Spark refused the statement that publishes {self.entry.model}: {error.message}"
            raise SparkFailure(said, condition, outside=True) from error
        raise error

    def _look_back(self) -> None:
        """What others have committed between the look at the table and this publish."""
        self._session.rows(f"REFRESH TABLE {self.entry.target}")
        said = self.tables.history(self.base.location, self.base.version)
        self._version = next((version for version in said if version.mark == self._mark), None)
        if self._version is not None:
            number = self._version.number
            self._later = [version for version in said if version.number > number]
            if self.replaces_all and self.base.version >= 0:
                self.replaced = sum(version.added for version in said if version.number < number)

    @property
    def is_on_top(self) -> bool:
        number = self.base.version + 1 if self._version is None else self._version.number
        return number != self.base.version + 1

    def is_committed(self) -> bool:
        """Raises `SparkFailure` where the history does not tell."""
        return self.tables.find_commit(self.base.location, self.base.version, self._mark) is not None

    def is_alone(self) -> bool:
        return self._version is not None and not self.is_on_top and not self._later

    def find_undoing(self) -> str | None:
        found = next((version for version in self._later if version.replaces), None)
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
            for location in (self.folder, self.folder + AFTER, self.folder + BAD):
                self.notebook.store.delete(location)
            self.notebook.delete()

    def settle(self) -> Ending:
        """Finds out from the table's history what became of a commit. Raises `Evicted`, and `SparkFailure` where a
        statement may still be under way."""
        ending: Ending = "undone"
        target = STATES[self.entry.step].target
        if target is Target.NEW or (target is Target.EITHER and self.is_committed()):
            self._tidy()
            ending = "finished"
        elif self._is_unanswered:
            # Without its rows the statement fails, if Spark has not read them yet.
            self.notebook.store.delete(self.folder)
            self.close()
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
