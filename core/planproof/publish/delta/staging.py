"""A Delta table of its own in a folder of another one, so that its files need not move to become that one's."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from urllib.parse import unquote

from planproof.publish.delta import actions
from planproof.publish.transaction.names import Refused, join
from planproof.session import Session, SparkFailure, Store, encode_uri
from planproof.session.delta.protocol import DeltaTables, HeldWrite, LogState, NewTable
from planproof_engine import quote_parts

PREFIX = "planproof_"
_COMMIT = re.compile(r"([0-9]{20})\.json")
_NOTED = "_planproof"
"""A file in the log of a staged table, which holds where the note of its publish lies."""


class StagedTable:
    """The staged table of one run. `base` is the state of the table that it lies in. `location` is its folder, and
    `relation` its name in SQL."""

    def __init__(self, tables: DeltaTables, store: Store, base: LogState, run: str) -> None:
        self.tables, self.store, self.base = tables, store, base
        self.folder = PREFIX + run
        self.location = join(base.location, self.folder)
        self.relation = quote_parts(("delta", self.location))
        self._first = 0
        self._held: HeldWrite | None = None

    def clone(self) -> None:
        """Begins as a shallow clone of the base: the commits from the second one on are the change."""
        # Without a log of its own Delta takes the folder for a partition of the table that it lies in.
        self.say("")
        self._first, self._held = 1, None
        self.tables.clone(self.location, self.base)

    def create(self, table: NewTable) -> None:
        """Begins as a table of its own, whose rows no log names until SQL asks for them: a commit costs Delta as much
        as many a query."""
        self._held = self.tables.create(self.location, table)

    def insert(self, statement: str) -> bool:
        """Writes the rows of an INSERT INTO the base, as `create` does. False, and nothing is written, where Spark
        plans no append of it."""
        self.say("")
        self._held = self.tables.insert(self.location, self.base, statement)
        return self._held is not None

    def open(self) -> None:
        """SQL can read what was written."""
        if self._held is not None:
            self._held.open()

    def say(self, note: str) -> None:
        """Has the folder itself name the note of its publish: proof of whose it is where no catalog knows the place."""
        self.store.write(join(self.location, actions.LOG, _NOTED), note)

    @cached_property
    def written(self) -> actions.Staged:
        """What the log says of the rows that were written. Raises `Refused`."""
        try:
            return actions.read(self._read_commits(), self.folder, self.base.location)
        except actions.UnknownAction as unknown:
            raise Refused(f"{unknown}; planproof cannot publish it") from unknown

    def _read_commits(self) -> list[str]:
        if self._held is not None:
            return [self._held.actions]
        log = join(self.location, actions.LOG)
        names = sorted(name for name in self.store.names(log) if _COMMIT.fullmatch(name))
        return [self.store.read(join(log, name)) or "" for name in names if int(name[:20]) >= self._first]

    @cached_property
    def state(self) -> LogState:
        """Once its rows are written, nobody changes it."""
        return self.tables.state(self.location) if self._held is None else self._held.state

    def paths(self) -> list[str]:
        """The data files that were written, as URIs."""
        return [encode_uri(self.locate(form["path"])) for form in self.written.files]

    def locate(self, path: str) -> str:
        """The location of a file that the log of the base names: there a path is a URI, most often from the table's
        folder on."""
        is_whole = re.match("[a-z][a-z0-9+.-]*:|/", path)
        return unquote(path) if is_whole else join(self.base.location, unquote(path))

    def new_rows(self) -> str:
        """The rows of the files that were written, and no others, for a FROM clause."""
        self.open()
        if not self._first:
            return self.relation
        return f"(SELECT * FROM {self.relation} WHERE contains(_metadata.file_path, '/{self.folder}/'))"

    def count(self, session: Session) -> int:
        """How many rows were written: by the log's statistics, or Spark's count where it has none."""
        known = actions.count_rows(self.written.files)
        return int(session.rows(f"SELECT count(*) FROM {self.new_rows()}")[0][0]) if known is None else known

    def count_gone(self) -> tuple[int, int]:
        """How many of its files are gone or changed, of how many. VACUUM without a retention deletes the files of
        whoever writes at that moment: Delta would commit them all the same, and the table could not be read."""
        own = f"{self.folder}/"
        files = self.written.files
        wanted = {unquote(form["path"]): int(form["size"]) for form in files if form["path"].startswith(own)}
        there = self.store.contents(self.location) if wanted else {}
        return sum(there.get(path.removeprefix(own)) != size for path, size in wanted.items()), len(wanted)

    def is_committed(self) -> bool:
        """Whether the log of the table that it lies in has the commit of its files. Raises `SparkFailure` where commits
        are gone that would tell (log retention), and the table names no file of it."""
        base = self.base
        found = is_committed_since(self.tables, self.store, base.location, base.version, self.folder)
        if found is None and self.tables.has_files_in(self.tables.state(base.location), self.folder):
            return True
        if found is None:
            raise SparkFailure(
                f"the log of {base.location} does not say any more whether it was committed", outside=True
            )
        return found

    def find_committed_version(self) -> int | None:
        """The version by which the table that it lies in has its files."""
        said = read_commits_since(self.tables, self.store, self.base.location, self.base.version)
        return next((version for version, commit in said if is_made_by_publish(commit, self.folder)), None)

    def follows_others(self) -> bool:
        """Whether others have changed rows of the table that it lies in between its base and its commit, as far as the
        log tells: a commit that is gone may have. Raises `SparkFailure`."""
        said = read_commits_since(self.tables, self.store, self.base.location, self.base.version)
        before = itertools.takewhile(lambda commit: not is_made_by_publish(commit, self.folder), (c for _, c in said))
        return any(commit is None or actions.list_changes(commit) for commit in before)

    def find_undoing(self) -> int | None:
        """The version by which others have taken back what the publish's own version did, in part or as a whole."""
        own: actions.Effects | None = None
        for version, commit in read_commits_since(self.tables, self.store, self.base.location, self.base.version):
            if own is not None and own.are_undone_by(actions.read_effects(commit or "")):
                return version
            own = actions.read_effects(commit or "") if is_made_by_publish(commit, self.folder) else own
        return None

    def forget_log(self) -> None:
        """The files are the other table's now."""
        forget_log(self.store, self.location)


def read_note_name(store: Store, folder: str) -> str | None:
    """The note that the folder of a staged table names."""
    return store.read(join(folder, actions.LOG, _NOTED))


def forget_log(store: Store, location: str) -> None:
    """A staged table whose files are another table's is no table any more."""
    with suppress(SparkFailure):
        store.delete(join(location, actions.LOG))


def read_commits_since(tables: DeltaTables, store: Store, location: str, base: int) -> Iterator[tuple[int, str | None]]:
    """The versions of a table's log after one, with their commits, the oldest first; None for versions in a row whose
    files are gone, at the first of them: a log may say any number of itself."""
    log, now = join(location, actions.LOG), tables.state(location).version
    after = max(base, -1) + 1
    there = sorted(int(found[1]) for found in map(_COMMIT.fullmatch, store.names(log)) if found)
    for version in there:
        if after <= version <= now:
            if after < version:
                yield after, None
            yield version, store.read(join(log, f"{version:020}.json"))
            after = version + 1
    if after <= now:
        yield after, None


def is_committed_since(tables: DeltaTables, store: Store, location: str, base: int, folder: str) -> bool | None:
    """Whether a commit after a version has the files of a publish, by their folder; None where none has, and some are
    gone."""
    is_gone = False
    for _, commit in read_commits_since(tables, store, location, base):
        if is_made_by_publish(commit, folder):
            return True
        is_gone = is_gone or commit is None
    return None if is_gone else False


def is_made_by_publish(commit: str | None, folder: str) -> bool:
    """Whether the text of a commit says that a publish made it, by the folder of its files."""
    said = f'"planproof":"{folder}"'
    return any(said in line for line in actions.list_lines(commit or "") if line.startswith('{"commitInfo"'))
