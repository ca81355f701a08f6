"""What a model's children find when it is stored: order, flags and evidence after the write."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from planproof.contract import LOGGED_FORMATS, Contract
from planproof.project import Known, ProjectNode
from planproof.project.nodes import Node, settings_of, split_columns
from planproof_engine.schema import ColumnNames, LogicalField, LogicalSchema, by_name, fold_name
from planproof_engine.types import DataType, as_nullable

_HARMLESS = re.compile(r"\s*(analyze|comment|grant|revoke|refresh|optimize|select|show|describe|set)\b", re.I)

Column = tuple[str, DataType, bool]


def stored_output(node: ProjectNode, schema: LogicalSchema, contract: Contract | None) -> Known:
    """The stored form of a planned model.

    A V1 table forgets every flag, nested ones too, and keeps its partition columns last; a view keeps the flags of its
    query. dbt stores a table in the order of its enforced contract. Evidence outlives the flags, except in an
    incremental table, whose older rows this query did not make.
    """
    if node.materialized == "view":
        columns = tuple((f.name, f.type, f.nullable) for f in schema)
        return Known(columns, "planned", _collect_evidence(schema.fields), "view")
    fields = _order_fields(node, schema, contract)
    evidence = {} if node.materialized == "incremental" or _has_later_writes(node) else _collect_evidence(fields)
    return Known(_drop_flags(fields), "planned", {**_promise_evidence(node, contract), **evidence})


def stored_contract(node: ProjectNode, contract: Contract, origin: str) -> Known:
    """The stored form of a model of which only the contract is known. Flags are forgotten for a view too."""
    fields = tuple(LogicalField(None, f.name, f.type, f.nullable) for f in contract.schema)
    schema = LogicalSchema(fields)
    return Known(_drop_flags(_order_fields(node, schema, contract)), origin, _promise_evidence(node, contract))


def _promise_evidence(node: ProjectNode, contract: Contract | None) -> dict[str, str]:
    """A table is published only after its promised NOT NULLs were counted; a view's rows change after that.

    Nothing is promised by a model that planproof does not publish, or whose settings let a null through.
    """
    if contract is None or node.materialized != "table" or not _is_counted(node) or _has_later_writes(node):
        return {}
    why = f"the contract of {node.relation}, counted before it is published"
    return {f.name: why for f in contract.schema if not f.nullable}


def _is_counted(node: ProjectNode) -> bool:
    config: Any = node.raw.get("config") or {}
    settings = settings_of(node.raw)
    return (
        not node.is_python
        and (config.get("file_format") or "parquet") == "parquet"
        and "nullability" in settings.enforce
        and settings.guard == "on"
        and settings.fail_on != "never"
        and settings.unproved == "count"
        and not {"PP505", "PP506"} & set(settings.allow)
    )


def _has_later_writes(node: ProjectNode) -> bool:
    """Whether a post-hook may write other rows to the table; one that is a macro's call may."""
    config: Any = node.raw.get("config") or {}
    hooks = [*(config.get("post-hook") or ()), *(config.get("post_hook") or ())]
    texts = [str(hook.get("sql") or "") if isinstance(hook, Mapping) else str(hook) for hook in hooks]
    return any(text.strip() and not _HARMLESS.match(text) for text in texts)


def _order_fields(node: ProjectNode, schema: LogicalSchema, contract: Contract | None) -> Sequence[LogicalField]:
    fields = list(schema.fields)
    known = by_name(fields)
    if contract is not None and ColumnNames(known) == ColumnNames(contract.schema.names):
        fields = [known[f.name] for f in contract.schema]
    partition_by = _read_partition_by(node.raw)
    last = [f for name in partition_by for f in fields if fold_name(f.name) == name]
    return [f for f in fields if fold_name(f.name) not in partition_by] + last


def _read_partition_by(raw: Node) -> list[str]:
    config: Any = raw.get("config") or {}
    # Columns of tables with a log stay where they are.
    given = None if config.get("file_format") in LOGGED_FORMATS else config.get("partition_by")
    names = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [fold_name(name) for name in split_columns(list(map(str, names)))]


def _drop_flags(fields: Sequence[LogicalField]) -> tuple[Column, ...]:
    return tuple((f.name, as_nullable(f.type), True) for f in fields)


def _collect_evidence(fields: Sequence[LogicalField]) -> dict[str, str]:
    return {f.name: f.evidence for f in fields if f.evidence}
