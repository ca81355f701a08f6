"""One table by the catalog in which it stands: loaded past every cache, and put behind a staged name."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from planproof.session.failures import translate_errors
from planproof.session.iceberg import placing
from planproof.session.iceberg.catalogs import Catalogs
from planproof.session.iceberg.placing import Opened
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import quote_parts

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
