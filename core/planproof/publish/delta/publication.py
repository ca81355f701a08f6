"""One publish of a Delta table under way: a staged table in the target's folder, and how far it is."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from planproof.judge.effect import Effect
from planproof.publish.delta.actions import LOG, Staged, UnknownAction, read
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import owner
from planproof.publish.transaction.forms import read_form
from planproof.publish.transaction.names import Refused, join
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.states import Ending
from planproof.session.delta.protocol import DeltaTables, LogState, NewVersion
from planproof.session.protocol import Moved, SparkFailure, SparkPlanes
from planproof.session.store import decoded, store_of
from planproof_engine.quoting import quoted
from planproof_engine.schema import PhysicalSchema

PREFIX = "planproof_"
_OF_THE_WHOLE = ("unique", "primary_key", "foreign_key")
NOTE = "_planproof_"
"""Begins the name of the file beside a staged table that says who writes it; VACUUM passes over names with a `_`."""


@dataclass
class Stage:
    """What is known of a publish from outside; `planproof.publish.materialize.materialization.Standing`."""

    model: str
    staging: str
    strategy: str
    effect: Effect
    step: str = "begin"


@dataclass(frozen=True, slots=True)
class StagedNote:
    """Who writes a staged table, and on which version of the target's log."""

    owner: Owner
    base: int

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> StagedNote:
        """Raises ValueError where the text is no note."""
        return read_form(cls, text)


class DeltaPublication:
    """`materialization.Publishing` over a staged Delta table.

    `base` is the target's state that the rows were staged on. `managed`: who drops the table has its files deleted.
    `whole`: something was counted over all rows that the table will hold, so that nobody may have added any since.
    """

    can_be_kept = False
    next_step = "once its files can be read, the table's history tells whether it was committed"

    def __init__(self, job: Job, tables: DeltaTables, base: LogState, strategy: str, managed: bool) -> None:
        self.tables, self.base, self.managed = tables, base, managed
        self.name, self.store = quoted(job.names.target), store_of(job.session)
        self.is_registered = job.target is not None
        self.folder = PREFIX + job.names.stamp
        self.location = join(decoded(base.location), self.folder)
        effect = Effect.REPLACES if strategy == "replace" else Effect.CHANGES
        self.entry = Stage(job.model.name, quoted(("delta", self.location)), strategy, effect)
        self.planes: SparkPlanes | None = None
        self.watched = False
        self.whole = _looks_at_all(job)
        self.published: PhysicalSchema | None = None
        self.reads = True
        self._first = 0
        self._owner = Owner.here(job.names.stamp)
        owner.begin(job.names.stamp)
        self._note = join(decoded(base.location), f"{NOTE}{job.names.stamp}.json")
        self.store.write(self._note, StagedNote(self._owner, base.version).to_json())

    def as_clone(self) -> None:
        """The staged table begins as a shallow clone; its commits from the second one on are the change."""
        # Without a log of its own Delta takes the folder for a partition of the table that it lies in.
        self.store.write(join(self.location, LOG, "_planproof"), "")
        self._first = 1

    @cached_property
    def staged(self) -> Staged:
        """What the staged table's log says of the rows that were written. Raises `Refused`."""
        log = join(self.location, LOG)
        names = sorted(name for name in self.store.names(log) if name.endswith(".json") and name[:1].isdigit())
        texts = [self.store.read(join(log, name)) or "" for name in names if int(name.partition(".")[0]) >= self._first]
        try:
            return read(texts, self.folder, self.base.location)
        except UnknownAction as unknown:
            raise Refused(f"{self.entry.model}: {unknown}; planproof cannot publish it") from unknown

    def state(self) -> LogState:
        return self.tables.state(self.location)

    def schema(self) -> PhysicalSchema:
        return self.state().schema

    def paths(self) -> list[str]:
        """The data files that were written, as URIs."""
        return [join(self.base.location, form["path"]) for form in self.staged.files]

    def new_rows(self) -> str:
        """The rows of the files that were written, and no others, for a FROM clause."""
        if self.entry.strategy == "replace":
            return self.entry.staging
        return f"(SELECT * FROM {self.entry.staging} WHERE contains(_metadata.file_path, '/{self.folder}/'))"

    def step(self, name: str, **changes: Any) -> None:
        self.entry.step = name

    note = step

    def commit(self) -> None:
        """One commit of the target's log, and where the table is new its name. Raises `Moved`, `SparkFailure`, and a
        transient `Refused` where files that were audited are gone."""
        staged, replaces = self.staged, self.entry.strategy == "replace"
        self._refuse_swept(staged)
        self.step("commit")
        change = NewVersion(
            self.base,
            staged.added,
            None if replaces else staged.removed,
            self._metadata(),
            self.reads,
            self.whole or replaces,
            replaces,
        )
        try:
            self.tables.commit(change, self.name, self.folder)
        except Moved:
            if not self.is_committed():
                self.step("refused")
                raise
        if not self.is_registered:
            self.tables.register(self.name, self.base.location, self.managed)
        self.step("clean")
        self._forget_log()
        with suppress(SparkFailure):
            self.tables.refresh(self.name)

    def _refuse_swept(self, staged: Staged) -> None:
        """VACUUM without a retention deletes the files of whoever writes at that moment: Delta would commit them all
        the same, and the table could not be read."""
        own = f"{self.folder}/"
        wanted = {unquote(form["path"]): int(form["size"]) for form in staged.files if form["path"].startswith(own)}
        there = self.store.contents(self.location) if wanted else {}
        gone = [path for path, size in wanted.items() if there.get(path.removeprefix(own)) != size]
        if gone:
            raise Refused(
                f"{self.entry.model}: {len(gone)} of {len(wanted)} files that were audited are gone or changed, as by "
                "VACUUM without a retention; nothing was published. Run the model again",
                transient=True,
            )

    def _metadata(self) -> dict[str, Any] | None:
        """The target's new metadata; None where they stay."""
        if self.entry.strategy == "replace":
            return self.staged.metadata
        made = self.staged.metadata
        if made is None:
            return None
        kept = {**self.base.properties, **(made.get("configuration") or {})}
        return {**self.base.metadata, "schemaString": made["schemaString"], "configuration": kept}

    def is_committed(self) -> bool:
        """Whether the target's log has this publish's commit."""
        now = self.tables.state(self.base.location).version
        log = join(decoded(self.base.location), LOG)
        for version in range(self.base.version + 1, now + 1):
            if names_publish(self.store.read(join(log, f"{version:020}.json")), self.folder):
                return True
        return False

    def keep(self) -> None:
        """Nothing is kept of what is not committed."""

    def discard(self) -> None:
        self.store.delete(self.location)
        self.store.delete(self._note)
        if self.base.version < 0:
            self.store.prune(decoded(self.base.location))

    def _forget_log(self) -> None:
        """The files are the target's now."""
        with suppress(SparkFailure):
            self.store.delete(join(self.location, LOG))
            self.store.delete(self._note)

    def close(self) -> None:
        owner.end(self._owner.run)

    def settle(self) -> Ending:
        """Finds out from the log what became of a commit whose answer was lost."""
        ending: Ending = "undone"
        if self.entry.step in ("commit", "clean") and self.is_committed():
            if not self.is_registered and self.entry.step == "commit":
                self.tables.register(self.name, self.base.location, self.managed)
            self._forget_log()
            ending = "finished"
        elif self.entry.step != "clean":
            self.discard()
        self.close()
        return ending


def _looks_at_all(job: Job) -> bool:
    """Whether what is promised is counted over all rows that the table will hold."""
    contract = job.model.contract
    keys = contract is not None and any(c.kind in _OF_THE_WHOLE for c in contract.constraints)
    return keys or bool(job.draft.settings.limits) or job.tests is not None


def names_publish(commit: str | None, folder: str) -> bool:
    """Whether the text of a commit says that a publish made it, by the folder of its files."""
    said = f'"planproof":"{folder}"'
    return any(said in line for line in (commit or "").splitlines() if line.startswith('{"commitInfo"'))
