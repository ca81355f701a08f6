"""Which of dbt's nodes the guard publishes itself, and why it does not publish the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from dbt_planproof import relied
from dbt_planproof.absence import WRITES_NOTHING
from dbt_planproof.dbts import Node, Relation
from planproof.contract import FILE_FORMATS, LOGGED_FORMATS

METHODS = ("session", "thrift")
STORED = ("model", "seed", "snapshot")
MATERIALIZATIONS = ("table", "view", "incremental")
STRATEGIES = ("append", "insert_overwrite", "microbatch")
_PROVIDER = re.compile(r"^Provider: *(\S+)", re.M)


def is_written(node: Node, command: str) -> bool:
    """Whether this invocation writes the node. Clones, data tests and unit tests come through the same hook."""
    return node.resource_type in STORED and command not in WRITES_NOTHING and command != "clone"


def why_unreachable(method: str) -> str | None:
    """Why the guard cannot reach Spark in the way in which dbt does, None where it can."""
    if method in METHODS:
        return None
    return f"planproof does not guard this run: it reaches Spark by {' or '.join(METHODS)}, not by {method}"


def why_unguarded(node: Node) -> str | None:
    """Why dbt writes this node itself, None where the guard does."""
    config = node.config
    if node.resource_type != "model":
        return None if is_logged(node) and not _lacks(str(node.resource_type)) else f"it is a {node.resource_type}"
    if node.language != "sql":
        return f"it is a {node.language} model"
    if config.materialized not in MATERIALIZATIONS:
        return f"it is materialized as {config.materialized}"
    file_format = config.get("file_format") or "parquet"
    if config.materialized != "view" and file_format not in FILE_FORMATS:
        return f"its file format is {file_format}"
    strategy = config.get("incremental_strategy") or "append"
    known = (*STRATEGIES, "merge") if file_format in LOGGED_FORMATS else STRATEGIES
    if config.materialized == "incremental" and strategy not in known:
        return f"its incremental strategy is {strategy}"
    return None


@cache
def _lacks(kind: str) -> bool:
    """Whether this dbt lacks what the guard needs for seeds or snapshots."""
    return bool(relied.find_missing(relied.OF_KINDS[kind]))


def is_logged(node: Node, formats: Sequence[str] = LOGGED_FORMATS) -> bool:
    """Whether the node is stored as a table of these formats."""
    return node.config.materialized != "view" and node.config.get("file_format") in formats


def why_stored_elsewhere(existing: Relation | None, node: Node, full_refresh: bool) -> str | None:
    """Why only dbt's own way serves the table that exists: its format keeps a log, or rows are added to one that is not
    Spark's Parquet (a Hive table, say)."""
    if existing is None or is_logged(node, ("iceberg",)):
        return None
    if existing.information is None:
        # dbt made the entry of its cache itself, of what this invocation wrote (the batch before, of a microbatch): the
        # guard looks at the table.
        return None
    if is_logged(node, ("delta",)):
        return (
            None
            if existing.is_delta
            else "its name belongs to a relation that is no Delta table, and a Delta commit cannot replace it"
        )
    if existing.is_delta or existing.is_iceberg or existing.is_hudi:
        return "its table keeps a log of its own (Delta, Iceberg or Hudi)"
    information = existing.information or ""
    provider = _PROVIDER.search(information)
    is_added_to = node.config.materialized == "incremental" and existing.is_table and not full_refresh
    if not is_added_to or provider is None:
        return None
    if provider[1].lower() == "parquet":
        untracked = "\nPartition Columns:" in information and "\nPartition Provider: Catalog" not in information
        return "the catalog does not hold its table's partitions; MSCK REPAIR TABLE adds them" if untracked else None
    return f"it adds rows to a table of the format {provider[1]}"
