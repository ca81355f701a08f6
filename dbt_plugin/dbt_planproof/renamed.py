"""A table that dbt renames keeps its rows.

Over Hive's metastore Spark gives a renamed managed table the path of its new name (HiveExternalCatalog.renameTable).
Files in a version directory are not moved, so that the table would read as empty.
"""

from __future__ import annotations

from dbt_planproof.dbts import Adapter
from dbt_planproof.reach import Reach
from dbt_planproof.scope import why_unreachable
from planproof.publish.transaction.names import PREFIX
from planproof.session import SparkFailure, decode_uri
from planproof_engine import AnalysisError, Statement, quote_literal, quote_parts


def rename_with_rows(adapter: Adapter, reach: Reach, statement: Statement) -> bool:
    """Runs a rename, and has the table point at its files again. False, and nothing is done, where it needs no help."""
    old, new = statement.relation, statement.clauses["to"]
    if why_unreachable(reach.method) is not None or reach.find_refusal() is not None:
        return False
    try:
        session = reach.open_session()
        stored = session.registered_table(quote_parts(old))
    except (AnalysisError, SparkFailure):
        return False
    if stored is None or stored.kind != "table" or not stored.managed or f"/{PREFIX}/" not in (stored.location or ""):
        return False
    if session.setting("spark.sql.catalogImplementation") == "in-memory":
        return False  # It moves the files to the new name's folder (InMemoryCatalog.renameTable).
    adapter.execute_now(statement.text)
    # Spark renames a table within its database.
    named = quote_parts((*old[:-1], new[-1]))
    adapter.execute_now(f"alter table {named} set location {quote_literal(decode_uri(stored.location or ''))}")
    return True
