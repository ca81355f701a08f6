"""A snapshot of an Iceberg table, as Iceberg's own metadata and manifests describe it; no data file is opened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from planproof.catalog import split_name
from planproof.claim import Path
from planproof.origin import AnalysisError
from planproof.quoting import quoted
from planproof.schema import PhysicalSchema
from planproof.session.protocol import Session, SparkFailure

_CATALOG = "org.apache.iceberg.spark.source.HasIcebergCatalog"
_TABLE = "org.apache.iceberg.spark.source.SparkTable"
_IMPORTED = "schema.name-mapping.default"
"""The property of a table that took over files which others wrote (`add_files`, `migrate`): such files have no field
ids, and nobody has compared their values with the table's schema."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the schema by Iceberg's field id. `enforced`: it is required, and was so in every schema of the table,
    so that each of its writers refused nulls there."""

    path: Path
    number: int
    required: bool
    enforced: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """What the manifests say of a snapshot's files. `nulls` has only ids that each file with rows counts; of a field of
    a struct they hold the nulls of the struct, too. `rows` are those of the data files, before `deletes`, the files
    that take rows away from them."""

    files: int = 0
    rows: int = 0
    deletes: int = 0
    nulls: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot; `number` is None where the table has none yet. `relation` reads it, in a FROM clause. `partitions`
    and `sorting` are the table's own now, as Spark prints them."""

    relation: str
    number: int | None
    schema: PhysicalSchema
    places: tuple[Place, ...]
    partitions: tuple[str, ...]
    sorting: str | None
    counts: Counts

    @property
    def ids(self) -> dict[str, int]:
        """The field id of each column."""
        return {place.path[0]: place.number for place in self.places if len(place.path) == 1}


def snapshot_of(session: Session, name: str, at: str | None = None, counted: bool = True) -> Snapshot | None:
    """The current snapshot of an Iceberg table, or with the schema of then the one `at` a tag, a branch or an id.

    None for any other relation, and in a session that does not reach the JVM. Without `counted` no manifest is read.
    Raises `SparkFailure` where the table has no such snapshot.
    """
    spark = getattr(session, "spark", None)
    if spark is None or not hasattr(spark, "_jvm"):
        return None
    return _Tables(spark).snapshot(session, name, at, counted)


class _Tables:
    def __init__(self, spark: Any) -> None:
        self._spark, self._jvm = spark, spark._jvm
        self._java = spark._jsparkSession

    def snapshot(self, session: Session, name: str, at: str | None, counted: bool) -> Snapshot | None:
        from planproof.session.failures import translated
        from planproof.session.versions import class_named

        catalogs = class_named(self._jvm, _CATALOG)
        if catalogs is None:
            return None
        with translated():
            parts = self._complete(name)
        found = self._loaded(catalogs, parts)
        if found is None:
            return None
        with translated():
            table = found.table()
            table.refresh()
            current = table.currentSnapshot()
            number = _numbered(current) if at is None else _asked(table, name, at)
            schema = table.schema() if at is None else self._class("util.SnapshotUtil").schemaFor(table, number)
            relation = quoted(parts) if at is None else f"{quoted(parts)} VERSION AS OF {number}"
            form = self._class("spark.SparkSchemaUtil").convert(schema).json()
            places = tuple(self._places(table, schema))
            partitions = tuple(str(transform.toString()) for transform in found.partitioning())
            sorting = found.properties().get("sort-order")
        counts = _counts(session, parts, number) if counted and number is not None else Counts()
        return Snapshot(relation, number, _physical(form), places, partitions, sorting and str(sorting), counts)

    def _catalogs(self) -> Any:
        """Spark's register of catalogs, which reads the thread's active session: dbt's threads have none."""
        from planproof.session.versions import session_class

        session_class(type(self._spark), self._jvm).setActiveSession(self._java)
        return self._java.sessionState().catalogManager()

    def _complete(self, name: str) -> tuple[str, ...]:
        """Catalog, namespace and table, as the session resolves the name."""
        parts, catalogs = split_name(name), self._catalogs()
        if len(parts) > 1 and bool(catalogs.isCatalogRegistered(parts[0])):
            return parts
        current = str(catalogs.currentCatalog().name())
        return (current, *parts) if len(parts) > 1 else (current, *map(str, catalogs.currentNamespace()), *parts)

    def _loaded(self, catalogs: Any, parts: Sequence[str]) -> Any | None:
        """Spark's view of an Iceberg table; None for any other relation. A catalog may show other kinds too."""
        from planproof.session.failures import translated
        from planproof.session.versions import class_named

        tables = class_named(self._jvm, _TABLE)
        with suppress(SparkFailure, AnalysisError), translated():
            catalog = self._catalogs().catalog(parts[0])
            if catalogs.isInstance(catalog):
                found = catalog.loadTable(self._identifier(parts))
                return found if tables is not None and tables.isInstance(found) else None
        return None

    def _identifier(self, parts: Sequence[str]) -> Any:
        namespace = self._spark.sparkContext._gateway.new_array(self._jvm.java.lang.String, len(parts) - 2)
        for at, part in enumerate(parts[1:-1]):
            namespace[at] = part
        return getattr(self._jvm, "org.apache.spark.sql.connector.catalog.Identifier").of(namespace, parts[-1])

    def _class(self, name: str) -> Any:
        return getattr(self._jvm, f"org.apache.iceberg.{name}")

    def _places(self, table: Any, schema: Any) -> Iterator[Place]:
        written = self._class("SchemaParser").toJson
        imported = table.properties().get(_IMPORTED) is not None
        former = [json.loads(str(written(s))) for s in table.schemas().values()]
        optional = {number for form in former for _, number, required in fields(form) if not required}
        for path, number, required in fields(json.loads(str(written(schema)))):
            yield Place(path, number, required, required and not imported and number not in optional)


def fields(form: Any, above: Path = ()) -> Iterator[tuple[Path, int, bool]]:
    """Path, id and whether it is required of each place of a schema in Iceberg's JSON, parents first.

    >>> struct = {"type": "struct", "fields": [{"id": 3, "name": "a", "required": True, "type": "int"}]}
    >>> list(fields({"type": "list", "element-id": 2, "element-required": False, "element": struct}, ("items",)))
    [(('items', 'element'), 2, False), (('items', 'element', 'a'), 3, True)]
    """
    if not isinstance(form, dict):
        return
    below = [(f["name"], f["id"], f["required"], f["type"]) for f in form.get("fields", ())]
    for part, always in (("key", True), ("element", False), ("value", False)):
        if part in form:
            below.append((part, form[f"{part}-id"], always or form[f"{part}-required"], form[part]))
    for name, number, required, kind in below:
        yield (*above, name), int(number), bool(required)
        yield from fields(kind, (*above, name))


def _numbered(snapshot: Any) -> int | None:
    return None if snapshot is None else int(snapshot.snapshotId())


def _asked(table: Any, name: str, at: str) -> int:
    """A tag or branch of that name comes before an id."""
    refs = {str(ref): int(there.snapshotId()) for ref, there in dict(table.refs()).items()}
    if at in refs:
        return refs[at]
    known = [int(s.snapshotId()) for s in table.snapshots()]
    if at.isdecimal() and int(at) in known:
        return int(at)
    named = ", ".join(sorted(refs)) or "no name"
    raise SparkFailure(
        f"{name} has no tag, branch or snapshot {at}; it has {named}, and {len(known)} snapshots, the last of which "
        f"are {', '.join(map(str, known[-3:])) or 'not there'}"
    )


def _counts(session: Session, parts: Sequence[str], number: int) -> Counts:
    """One statement over the table's `files`, which is as short however many there are."""
    files = f"{quoted((*parts, 'files'))} VERSION AS OF {number}"
    rows = session.rows(
        "SELECT content = 0, -1 AS id, count(*), count_if(record_count > 0), sum(record_count) "
        f"FROM {files} GROUP BY content = 0 UNION ALL "
        "SELECT true, id, count(*), 0L, sum(nulls) FROM "
        f"(SELECT explode(null_value_counts) AS (id, nulls) FROM {files} WHERE content = 0 AND record_count > 0) "
        "GROUP BY id"
    )
    whole = {bool(data): (int(n), int(filled), int(total)) for data, at, n, filled, total in rows if at == -1}
    count, filled, total = whole.get(True, (0, 0, 0))
    nulls = {int(at): int(found) for _, at, n, _, found in rows if at != -1 and n == filled}
    return Counts(count, total, whole.get(False, (0, 0, 0))[0], nulls)


def _physical(form: Any) -> PhysicalSchema:
    from planproof.session.schemas import physical_schema

    return physical_schema(str(form))
