"""A snapshot of an Iceberg table, as Iceberg's own metadata and manifests describe it; no data file is opened. The
table is loaded past every cache, and put behind a staged name.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from planproof.session.described import physical_schema
from planproof.session.failures import translate_errors
from planproof.session.iceberg import placing
from planproof.session.iceberg.catalogs import Catalogs
from planproof.session.iceberg.placing import Opened
from planproof.session.protocol import SparkFailure
from planproof.session.snapshots import Counts, Snapshot, SnapshotField
from planproof_engine import AnalysisError, quote_parts
from planproof_engine.claim import Path

_BY_NUMBER = "HadoopTableOperations"
"""The operations of tables whose states are numbered files. All others compare what they replace."""
_BY_CHANGES = "RESTTableOperations"
"""The operations of a REST catalog's tables: what is sent is the changes, with what they take for granted."""


class CatalogTable:
    """The table that a transaction changes. `cache` is that of the staging names' catalog; `is_cached` tells whether
    Spark holds anything of CACHE TABLE and the like."""

    def __init__(self, catalogs: Catalogs, parts: tuple[str, ...], cache: Any, is_cached: Callable[[], bool]) -> None:
        self._catalogs, self._parts, self._cache, self._is_cached = catalogs, parts, cache, is_cached
        self.key = uuid.uuid4().hex
        self._staged: Any = catalogs.static("org.apache.iceberg.catalog.TableIdentifier", "parse")(self.key)
        self._swaps: bool | None = None

    def load(self) -> Any | None:
        """Iceberg's table as the catalog has it now, past every cache; None where there is none."""
        with translate_errors():
            self._invalidate()
        found = self._catalogs.load(self._parts)
        return None if found is None else found.table()

    def current_metadata(self) -> Any | None:
        table = self.load()
        return None if table is None else table.operations().current()

    def open(self, table: Any) -> Opened:
        return self.describe_staged(table.newTransaction().table())

    def describe_staged(self, staged: Any) -> Opened:
        """What a transaction's own table tells of it."""
        operations = staged.operations()
        # Catalogs that cache hand out a transaction of their own around Iceberg's, which alone knows its base.
        transaction = self._catalogs.hidden(operations, "this$0").get(operations)
        table = self._catalogs.java_class("org.apache.iceberg.BaseTable")(operations, quote_parts(self._parts))
        return Opened(transaction, table, transaction.startMetadata(), transaction.underlyingOps())

    def open_compared(self, replacement: Opened) -> Opened:
        """A replacement that the catalog compares with the table that it replaces. A REST server puts one over whatever
        stands there, and asks of a change of columns and rows that both are as they were."""
        table = (
            self.load() if replacement.base is not None and self.is_sent_as_changes(replacement.operations) else None
        )
        if table is None:
            return replacement
        opened = self.open(table)
        placing.apply_change(self._catalogs, replacement, opened, "replace", None)
        return opened

    def stage(self, table: Any) -> None:
        """Puts a transaction's table behind the staged name."""
        self._cache.put(self._staged, table)

    def is_compared(self, operations: Any) -> bool:
        """Whether a commit by these operations compares the table with the one that it replaces."""
        if self._swaps is None:
            self._swaps = _class_name(operations) != _BY_NUMBER
        return self._swaps

    def is_sent_as_changes(self, operations: Any) -> bool:
        """Whether a commit by these operations sends how a state came about, and not the state."""
        return _class_name(operations) == _BY_CHANGES

    def forget(self) -> None:
        """Takes the staged name away."""
        with translate_errors():
            self._cache.invalidate(self._staged)

    def refresh(self) -> None:
        """Has the session see the table as it is now."""
        with translate_errors():
            self._invalidate()
            # What was cached of it, or of a query over it, reads the table by an object of then, which no refresh
            # brings up to date. Spark, too, forgets both where it replaces a table.
            if self._is_cached():
                catalog, name = self._catalogs.java.catalog(), quote_parts(self._parts)
                was_cached = catalog.isCached(name)
                catalog.uncacheTable(name)
                if was_cached:
                    catalog.cacheTable(name)

    def drop(self) -> None:
        with translate_errors():
            self._catalogs.catalog(self._parts[0]).dropTable(self._catalogs.identifier(self._parts))

    def _invalidate(self) -> None:
        with suppress(AnalysisError):
            self._catalogs.catalog(self._parts[0]).invalidateTable(self._catalogs.identifier(self._parts))


def _class_name(operations: Any) -> str:
    return str(operations.getClass().getSimpleName())


IMPORTED = "schema.name-mapping.default"
"""The property of a table that took over files which others wrote (`add_files`, `migrate`): such files have no field
ids, and nobody has compared their values with the table's schema."""


def snapshot(catalogs: Catalogs, name: str, at: str | None, counted: bool) -> Snapshot | None:
    """See `planproof.session.protocol.Transactional.snapshot`."""
    with translate_errors():
        parts = catalogs.complete(name)
    found = catalogs.load(parts)
    if found is None:
        return None

    def iceberg(name: str, method: str) -> Any:
        return catalogs.static(f"org.apache.iceberg.{name}", method)

    with translate_errors():
        table = found.table()
        current = table.currentSnapshot()
        number = _snapshot_number(current) if at is None else _resolve_snapshot(table, name, at)
        schema = table.schema() if at is None else iceberg("util.SnapshotUtil", "schemaFor")(table, number)
        relation = quote_parts(parts) if at is None else f"{quote_parts(parts)} VERSION AS OF {number}"
        form = iceberg("spark.SparkSchemaUtil", "convert")(schema).json()
        places = tuple(_list_fields(table, schema, iceberg("SchemaParser", "toJson")))
        partitions = tuple(str(transform.toString()) for transform in found.partitioning())
        sorting = found.properties().get("sort-order")
    counts = _read_counts(catalogs, parts, number) if counted and number is not None else Counts()
    return Snapshot(relation, number, physical_schema(str(form)), places, partitions, sorting and str(sorting), counts)


def _list_fields(table: Any, schema: Any, written: Any) -> Iterator[SnapshotField]:
    imported = table.properties().get(IMPORTED) is not None
    former = [json.loads(str(written(s))) for s in table.schemas().values()]
    optional = {number for form in former for _, number, required in list_fields(form) if not required}
    for path, number, required in list_fields(json.loads(str(written(schema)))):
        yield SnapshotField(path, number, required, required and not imported and number not in optional)


def list_fields(form: Any, above: Path = ()) -> Iterator[tuple[Path, int, bool]]:
    """Path, id and whether it is required of each place of a schema in Iceberg's JSON, parents first.

    >>> struct = {"type": "struct", "fields": [{"id": 3, "name": "a", "required": True, "type": "int"}]}
    >>> list(list_fields({"type": "list", "element-id": 2, "element-required": False, "element": struct}, ("items",)))
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
        yield from list_fields(kind, (*above, name))


def _snapshot_number(snapshot: Any) -> int | None:
    return None if snapshot is None else int(snapshot.snapshotId())


def _resolve_snapshot(table: Any, name: str, at: str) -> int:
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


def _read_counts(catalogs: Catalogs, parts: Sequence[str], number: int) -> Counts:
    """One statement over the table's `files`, which is as short however many there are."""
    files = f"{quote_parts((*parts, 'files'))} VERSION AS OF {number}"
    text = (
        "SELECT content = 0, -1 AS id, count(*), count_if(record_count > 0), sum(record_count) "
        f"FROM {files} GROUP BY content = 0 UNION ALL "
        "SELECT true, id, count(*), 0L, sum(nulls) FROM "
        f"(SELECT explode(null_value_counts) AS (id, nulls) FROM {files} WHERE content = 0 AND record_count > 0) "
        "GROUP BY id"
    )
    with translate_errors(text):
        rows = catalogs.spark.sql(text).collect()
    whole = {bool(data): (int(n), int(filled), int(total)) for data, at, n, filled, total in rows if at == -1}
    count, filled, total = whole.get(True, (0, 0, 0))
    nulls = {int(at): int(found) for _, at, n, _, found in rows if at != -1 and n == filled}
    return Counts(count, total, whole.get(False, (0, 0, 0))[0], nulls)
