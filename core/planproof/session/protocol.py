"""A way to reach Spark, as the rest of the project sees it. Only this room knows pyspark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from planproof.confidential import hide_secrets
from planproof.session.delta.protocol import DeltaTables
from planproof.session.snapshots import LOG_FORMATS, DataFile, Snapshot
from planproof_engine import Conf, PhysicalSchema, evolve, record

if TYPE_CHECKING:
    from planproof_engine.functions.nested import ListCall
    from planproof_engine.python_functions import Function

NULL_FOUND = "planproof: Python data claims NOT NULL and holds a null in", "as it is written"
"""What stands before and after the column's name in the failure of a watched query (`Session.watched`)."""


@record(frozen=True, slots=True)
class Capabilities:
    """The kind of a route, and why later planes cannot be read on it."""

    kind: str
    reason: str = ""


@record(frozen=True, slots=True)
class SparkPlanes:
    """The schemas of one query at Spark's planes, nullability included. A plane that cannot be read here is None.

    `declared` is `analyzed` with the char and varchar lengths that Spark keeps beside its strings. `python_fed`: a
    Python function or Python data feeds the query, so that its NOT NULL flags are claims, not evidence. `unplanned`
    says why Spark could not optimize or plan a query that it analyzed. `by_place`: a Python function gives Arrow
    batches, Spark takes their columns by position, and this version cannot be asked to compare names and types first.
    `execution` belongs to the session: it is the analyzed query, which the session plans and writes without parsing the
    text again. `bare`: it is known that no column has more than its name and type, such as a comment.
    """

    analyzed: PhysicalSchema
    optimized: PhysicalSchema | None
    executed: PhysicalSchema | None
    declared: PhysicalSchema | None = None
    python_fed: bool = False
    unplanned: str | None = None
    by_place: bool = False
    execution: Any = field(default=None, compare=False, repr=False)
    bare: bool = False


class Written(NamedTuple):
    """The schemas of the plans behind a write: the optimized one (None where it is not known), and the one that ran (as
    AQE left it)."""

    optimized: PhysicalSchema | None
    executed: PhysicalSchema

    def as_planned(self, planes: SparkPlanes) -> SparkPlanes | None:
        """The planes of the query that was written; None where these plans are not the query's alone: a column was cast
        to the table's type, or a plane is missing."""
        if self.optimized is None or self.executed.as_nullable() != planes.analyzed.as_nullable():
            return None
        return evolve(planes, optimized=self.optimized, executed=self.executed)


@record(frozen=True, slots=True)
class StoredTable:
    """A relation as the catalog registers it.

    `kind` is `table`, `view` or `temporary view`; `location` is a URI, None for a view. `schema` has the flags that a
    query sees, and char and varchar lengths. `tracked`: the catalog holds the partitions, and this session has Spark
    use them (`spark.sql.hive.manageFilesourcePartitions`). `text` is a view's query, None where this route does not
    tell it. `created`: when it was made, as this route spells it; a relation that was dropped and made again has
    another. `filled` are columns with a default, which a file without them may hold. `has_options`: each write to it
    takes options that the catalog has.
    """

    name: str
    kind: str
    schema: PhysicalSchema
    partition_by: tuple[str, ...]
    format: str | None
    location: str | None
    managed: bool
    properties: dict[str, str]
    comment: str | None = None
    bucketed: bool = False
    tracked: bool = True
    text: str | None = None
    created: str | None = None
    filled: tuple[str, ...] = ()
    has_options: bool = False

    @property
    def is_plain_parquet(self) -> bool:
        """Whether its rows are those of the Parquet files below its location and its partitions'."""
        return self.kind == "table" and self.format == "parquet" and bool(self.location)

    @property
    def has_log(self) -> bool:
        """Whether a log of its format's own says which files are its rows: what lies below its location does not."""
        return self.format in LOG_FORMATS

    @property
    def is_iceberg_view(self) -> bool:
        """Whether Iceberg keeps this view."""
        return self.kind == "view" and self.properties.get("table_type", "").upper() == "ICEBERG-VIEW"


class Place(NamedTuple):
    """Where the catalog says that a relation's data lies: a URI, None for a view. `is_partitioned`: the catalog knows
    of partitions, which may lie elsewhere."""

    location: str | None
    is_partitioned: bool


@record(frozen=True, slots=True)
class PythonEntry:
    """A place where Python data enters a query: a relation over its rows, without the flags that it claims."""

    relation: str
    claimed: PhysicalSchema


@record(frozen=True, slots=True)
class Entries:
    """Where Python data enters one query: `rows` are entries whose nulls can be counted, `unread` names the kinds of
    entries whose rows cannot be read before Spark trusts their flags."""

    rows: tuple[PythonEntry, ...] = ()
    unread: tuple[str, ...] = ()


_LASTING = (
    r"\bPermission denied\b|PERMISSION_DENIED|INSUFFICIENT_PERMISSION|AccessControlException"
    r"|\b[Aa]ccess ?(is )?[Dd]enied|\bForbidden\b|\bnot authorized\b"
    # Spark 3.5 calls a file that cannot be read UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY, too.
    r"|UnsupportedOperationException|^(UNSUPPORTED(?!_DATASOURCE_FOR_DIRECT_QUERY)|NOT_SUPPORTED)"
    # SessionCatalog.validateName; Spark 3.5 has no condition of that name.
    r"|^INVALID_SCHEMA_OR_RELATION_NAME|is not a valid name for tables"
)


_LONGEST = 50_000
"""Letters of a message: a query, or its rows, may have Spark say megabytes, in which others then look for patterns."""


class SparkFailure(Exception):
    """Spark could not do what it was asked; this is no violation. `condition` is Spark's own name of the error.

    `outside`: the cause lies outside of the query (a file, a privilege, the metastore, the network, the machine). The
    message is told without the passwords, keys and tokens in it.
    """

    def __init__(self, message: str, condition: str | None = None, outside: bool = False) -> None:
        super().__init__(hide_secrets(message)[:_LONGEST])
        self.condition, self.outside = condition, outside

    @property
    def transient(self) -> bool:
        """Whether a second try may succeed: not where something is denied to this user, or this catalog cannot do
        it."""
        return self.outside and not re.search(_LASTING, f"{self.condition or ''} {self}")


class Moved(SparkFailure):
    """Somebody changed a table after a transaction was opened on it. Nothing was committed. `replaces`: what is staged
    anew takes the place of rows that were changed."""

    replaces = False

    def __init__(self, message: str) -> None:
        super().__init__(message, outside=True)


class Transaction(Protocol):
    """An open change of one table, in a format that commits all of a change at once: until the commit nobody else sees
    what is written under its name."""

    @property
    def staged(self) -> str:
        """The quoted name under which SQL writes to the change and reads the table as it will be."""

    @property
    def alters(self) -> bool:
        """Whether columns and properties can change with the rows."""

    @property
    def is_new(self) -> bool:
        """Whether the table is not there yet."""

    @property
    def base(self) -> str | None:
        """The name of the state of the table on which the change was opened; None where there was no table."""

    @property
    def created(self) -> str | None:
        """What tells the table from any other one that ever had its name, as `StoredTable.created`; None where that is
        not told."""

    @property
    def branch(self) -> str | None:
        """The branch of the table that holds the change until it is committed; None for an open transaction."""

    @property
    def location(self) -> str:
        """The table's folder."""

    def schema(self) -> PhysicalSchema:
        """The table's schema once it is committed."""

    def place_files(self, name: str) -> str | None:
        """Has later data files lie in a folder of that name, beside the table's others, and returns its location; None
        where the table places its files by other rules."""

    def manifests(self) -> Sequence[str]:
        """The locations of the metadata files that were written for the change."""

    def branch_snapshot(self) -> int | None:
        """The snapshot in which a branch holds the change; None where there is none."""

    def add_columns(self, planes: SparkPlanes, names: Sequence[str]) -> None:
        """Adds columns of an analyzed query to the table, at its end and nullable."""

    def require(self, names: Sequence[str], required: bool = True) -> None:
        """Makes columns NOT NULL, or nullable again. Nothing of what is stored is looked at."""

    def select_counted(self, names: Sequence[str]) -> Sequence[str]:
        """Those of the columns, none of them nested, whose nulls the table's metadata will count in each new file."""

    def identifier_columns(self) -> Sequence[str]:
        """The columns that hold an identifier field, itself or inside of a struct: they cannot be made nullable."""

    def read_property(self, key: str) -> str | None:
        """A property of the table as it will be; None where it has none."""

    def set_property(self, key: str, value: str | None) -> None:
        """Sets a property, or removes it."""

    def files(self) -> Sequence[str]:
        """The data files that were added, sorted, as the format names them."""

    def list_before(self, most: int) -> Sequence[DataFile]:
        """The data files of the table as it was opened, at most so many. Raises `Unlisted`."""

    def list_after(self, most: int) -> Sequence[DataFile]:
        """The data files of the table as it will be, at most so many. Raises `Unlisted`."""

    def footer(self, path: str) -> bytes:
        """The footer of a Parquet file that was added, read as the table's files are, by what its catalog hands out.
        Raises `SparkFailure`."""

    def rows(self) -> int:
        """How many rows stand in the data files that were added."""

    def commit(self) -> None:
        """Puts the change in the table's place, if the table is still the one that was opened. Raises `Moved` where it
        is not, or where what was written is not there any more, and `SparkFailure`, after which `is_committed` tells
        what became of it."""

    def rebase(self, how: str) -> int:
        """Puts the change on top of the table as it is now, its rows as the statement `how` (append, overwrite or
        merge) wrote them. Returns how many rows it replaces that others have added since it was opened first. Raises
        `Moved` where it does not fit: more than rows has changed, or the format's own rules say so."""

    def has_rows_of_others(self) -> bool:
        """Whether others have added rows since the change was opened first, where it puts its own."""

    def is_lost(self) -> bool:
        """Whether files that were written for the change are not there any more, or not as they were written."""

    @property
    def is_gone(self) -> bool:
        """Whether the table that was opened is not there any more, under its name."""

    def is_exchanged(self) -> bool:
        """Whether another table has its name by now; False where this route does not tell tables apart."""

    def is_committed(self) -> bool:
        """Whether the table, read anew, has the change."""

    def find_undoing(self) -> str | None:
        """The snapshot by which others have taken back, or replaced, rows of the change that was committed; an empty
        text where its name is no table's any more, or another one's."""

    def is_alone(self) -> bool:
        """Whether nobody else has changed rows since the change was opened, up to now; it has been committed."""

    def discard(self) -> None:
        """Removes every file that was written for the change, which must not have been committed."""

    def close(self) -> None:
        """Forgets the staged name."""


class Changing(Protocol):
    """How rows of tables change, of a format that commits all of a change at once. Names are dotted, and may hold
    backticks."""

    def complete(self, name: str) -> tuple[str, ...]:
        """Catalog, namespace and table of a name, as the session resolves it."""

    def table(self, name: str) -> StoredTable | None:
        """The format's table of that name as it is now, found by loading it; None for anything else."""

    def namespace_location(self, database: Sequence[str]) -> str | None:
        """The location of a namespace, whose name begins with its catalog; None where the catalog gives it none."""

    def refusal(self) -> str | None:
        """Why no table that heeds the session's settings of where rows go may be written to; None where each may."""

    def change(self, name: str) -> Transaction:
        """Opens a change of a table as it is now."""


class Transactional(Changing, Protocol):
    """What a session can do with tables of a format that commits all of a change at once."""

    def is_in_catalog(self, name: str) -> bool:
        """Whether the name lies in a catalog that makes tables of the format."""

    def fence(self, name: str, run: str) -> None:
        """Has every commit fail that was prepared on an older state of the table than the one that this makes, which
        names the run that is kept out."""

    def is_read(self, name: str, planes: SparkPlanes) -> bool:
        """Whether an analyzed query reads the table of that name; true where it is not certain."""

    def resolve_view(self, name: str) -> tuple[str, ...] | None:
        """The whole name of a view that lies, or may be made, in another catalog than the session's own; None for any
        other name."""

    def snapshot(self, name: str, at: str | None = None, counted: bool = True) -> Snapshot | None:
        """The current snapshot of a table, or the one that `at` names (a tag, a branch or an id), with the schema that
        the table had then; None for any other relation. Without `counted` no manifest is read. Raises `SparkFailure`
        where the table has no such snapshot."""

    def has_files_in(self, name: str, folder: str | None, others: Sequence[str]) -> bool | None:
        """Whether a snapshot of the table names a data file below the folder, or one of the other files; None where
        there is no such table. Raises `SparkFailure`."""

    def namespace_locations(self) -> list[str]:
        """The locations of all namespaces of the session's other catalogs that make such tables."""

    def replace(
        self,
        name: str,
        planes: SparkPlanes,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> Transaction:
        """Opens the replacement of a table, or a new table, with the columns of an analyzed query; it has no row
        yet."""


class Session(Protocol):
    """One Spark session. Names of relations are dotted, may hold backticks, and are quoted before Spark sees them."""

    @property
    def capabilities(self) -> Capabilities:
        """What kind of session this is, and what it cannot read."""

    @property
    def conf(self) -> Conf:
        """The settings in force now."""

    def setting(self, key: str) -> str | None:
        """A Spark setting as it is in force, set or by default; None for one that has neither."""

    @property
    def namespace(self) -> tuple[str, ...]:
        """The current catalog and database, such as `("spark_catalog", "default")`."""

    @property
    def catalog_id(self) -> str | None:
        """A digest of the session's metastore: the same in every process of this machine that uses the same metastore,
        and another one for any other metastore. None where this route does not tell which it is."""

    def change_settings(self, changes: dict[str, str]) -> AbstractContextManager[None]:
        """Changes Spark's settings for the length of a block, and restores them after it."""

    def preserve_settings(self) -> AbstractContextManager[None]:
        """After the block every setting and the current database are what they were before it, whoever changed them."""

    def planes(self, sql: str) -> SparkPlanes:
        """Analyzes and plans `sql` without running it. Raises `AnalysisError` with Spark's condition and place."""

    def analyze(self, sql: str) -> SparkPlanes:
        """Analyzes `sql`: what `planes` gives, without the planes that `planned` adds."""

    def add_plans(self, planes: SparkPlanes) -> SparkPlanes:
        """What `analyzed` gave, with Spark's later planes."""

    def write_files(self, planes: SparkPlanes, location: str) -> SparkPlanes | None:
        """Writes the rows of an analyzed query as the Parquet files of a folder, in place of what lies there. Returns
        the query's planes, the later ones as they ran; None, with nothing written, where this route writes by
        statements only. Raises `SparkFailure`."""

    def transactions(self) -> Transactional | None:
        """Iceberg's tables in this session's catalogs; None where this route does not reach the JVM."""

    def delta(self) -> DeltaTables | None:
        """Delta's tables in this session's own catalog; None where this route does not reach the JVM."""

    def entries(self, sql: str) -> AbstractContextManager[Entries]:
        """Where Python data enters the query and claims NOT NULL; the relations can be read as long as the block
        lasts."""

    def watch(self, sql: str) -> AbstractContextManager[str | None]:
        """A text that gives the query's rows, and fails at the first null in Python data that claims NOT NULL: the
        query's own text where no data claims that, None where nulls can only be counted (`entries`). It can be run as
        long as the block lasts."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Runs a statement and returns its rows. Raises `SparkFailure`."""

    def write(self, sql: str) -> Written | None:
        """Runs a statement that writes rows. Returns the schemas of the plans that wrote them; None where this route or
        this statement does not show them. Raises `SparkFailure`."""

    def table(self, name: str) -> StoredTable | None:
        """The relation of that name; None where there is none."""

    def registered_table(self, name: str) -> StoredTable | None:
        """What `table` gives, but with the schema of a view as the catalog has it: what the view reads is not looked
        at."""

    def metastore(self, name: str) -> PhysicalSchema | None:
        """The columns of a table as Hive's metastore itself lists them, beside the copy that Spark keeps. None where
        there is no such list, or this route does not show it."""

    def database_location(self, name: str) -> str | None:
        """A database's location, a URI; None where its catalog gives it none. Raises `AnalysisError` where there is no
        such database."""

    def places(self, database: str) -> Mapping[str, Place]:
        """Where the relations of a database lie, as far as one call of the catalog tells: by their names, as the
        catalog spells them. A relation that is not among them is asked for by itself. Raises `SparkFailure`."""

    def partitions(
        self, name: str, among: Sequence[Mapping[str, str]] | None = None
    ) -> Sequence[tuple[str, str]] | None:
        """Each partition of a table, as Spark spells it (`d=2024-01-01/n=1`), with its location, a URI; with `among`
        only these (column and value as the catalog holds them). None where this route cannot list them at once."""

    def partition_locations(self, name: str) -> Sequence[str] | None:
        """The locations of all partitions of a table, decoded, by one call; None where this route has no such call."""

    def forget_size(self, name: str) -> None:
        """Has Spark forget how large a table was, or count it anew, wherever the table and its partitions lie."""

    def files(self, location: str) -> Sequence[str]:
        """The data files under a location, sorted; names that begin with `_` or `.` are left out."""

    def footer(self, path: str) -> bytes:
        """A Parquet file's bytes from the start of its footer on, read by Spark's own client. Raises `SparkFailure`."""

    def spread(self, function: Callable[[Iterable[str]], list[Any]], paths: Sequence[str]) -> list[Any] | None:
        """Runs `function` on Spark's workers, each time over a share of the paths, and returns all results together.
        None where that is not possible, for example where the workers do not have planproof."""

    def local_path(self, uri: str) -> str | None:
        """The path of a `file:` URI on this machine, or None where only Spark's own client reaches it."""

    def register(self, name: str, function: Any) -> Function | None:
        """Makes a Python function known to SQL by `name`, for this session: a `planproof.Function`, a pyspark UDF or
        UDTF. Returns what it declares, None for a table function. Raises `SparkFailure`."""

    def register_lists(self, call: ListCall, functions: Mapping[str, Function]) -> None:
        """Makes a call over whole lists known to SQL by its name. Raises `SparkFailure` where workers cannot run it."""

    def ship(self, path: str) -> None:
        """Gives the workers a Python module's file, so that the module's functions can run there."""

    def unregister(self, name: str) -> None:
        """Forgets a function that `register` or `register_lists` made known."""

    def tag(self, tag: str) -> None:
        """Puts the Spark jobs that the calling thread starts from now on under `tag`."""

    def cancel(self, tag: str) -> None:
        """Cancels every running Spark job under `tag`, from any thread. Jobs that start later are not affected."""

    def stop(self) -> None:
        """Ends the Spark behind this session, for everybody in this process who uses it."""
