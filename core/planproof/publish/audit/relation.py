"""What is stored now, a table, a view or a Parquet path, against a contract."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from planproof.invariants import contract as contract_terms
from planproof.invariants import registered
from planproof.judge.draft import Draft
from planproof.publish.audit.constraints import judge_constraints
from planproof.publish.audit.samples import sample_stored_rows
from planproof.publish.audit.snapshots import audit_snapshot
from planproof.publish.audit.staged import count, drop_empty_files, is_broken_by_rows_alone, read_files, read_paths
from planproof.publish.transaction.partition import partitions_of
from planproof.report import Report
from planproof.session import Session, SparkFailure, StoredTable, decode_uri, local, store_of
from planproof_engine import AnalysisError, Claim, Facts, Finding, Verdict, quote_literal, quote_parts, split_name
from planproof_engine.schema import PhysicalSchema


def audit_stored(draft: Draft, session: Session, at: str | None = None) -> Report:
    """`at` names a snapshot, tag or branch of an Iceberg table, or a version or timestamp of a Delta table. Raises
    `SparkFailure` where there is no such table, path or snapshot."""
    for plane in ("logical", "rewritten", "analyzed", "optimized", "executed"):
        draft.mark_absent(plane, "an audit reads what is stored, not the query that wrote it")
    for invariant in ("I1", "I3", "I4", "I6", "I7", "D1"):
        draft.mark_not_enforced(invariant, "an audit reads what is stored, not the query that wrote it")
    contract = draft.model.contract
    assert contract is not None
    draft.read(Claim("contract", contract.schema))
    name = draft.model.name
    tables = None if "/" in name else session.transactions()
    snapshot = None if tables is None else tables.snapshot(name, at)
    if snapshot is not None:
        return audit_snapshot(draft, session, snapshot)
    if at is not None:
        relation, schema, facts = *_read_version(draft, session, name, at), None
    else:
        relation, schema, facts = _read_path(draft, session, name) if "/" in name else _read_table(draft, session, name)
    draft.rows = facts.rows if facts else None
    plane = "catalog" if facts is None else "files"
    # A declared length binds only those who write through Spark. The stored values are counted.
    draft.add(
        contract_terms.check(contract, schema.drop_lengths(), {}, facts, draft.settings, plane, lambda column: None)
    )
    if is_broken_by_rows_alone(draft):
        failing = count(draft, session, relation)
        draft.add(judge_constraints(session, draft.model, relation, relation, failing))
        draft.findings = contract_terms.conclude(draft.findings, draft.settings)
    sample_stored_rows(draft, session, relation)
    return draft.report("audited")


def _read_path(draft: Draft, session: Session, location: str) -> tuple[str, PhysicalSchema, Facts | None]:
    draft.mark_absent("catalog", "a path is in no catalog")
    relation = f"parquet.{quote_parts((location,))}"
    path = local(location)
    paths = session.files(path or location)
    if not paths:
        raise SparkFailure(f"{location} holds no data files")
    if _is_icebergs(session, path or location, paths):
        raise SparkFailure(
            f"{location} belongs to an Iceberg table, and may hold files that its rows are no longer in: audit the "
            "table by its name"
        )
    if _is_deltas(session, location):
        raise SparkFailure(
            f"{location} belongs to a Delta table, and holds files that its rows are no longer in: audit the table by "
            "its name"
        )
    schema = session.planes(f"SELECT * FROM {relation}").analyzed
    keys = _list_partition_columns(paths)
    return relation, schema, read_paths(draft, drop_empty_files(draft, paths), None, keys, session)


def _find_unseen_files(session: Session, table: StoredTable, paths: Sequence[str]) -> list[Finding]:
    """Files at the table's location that lie in no partition that the catalog knows: readers do not see them."""
    location = decode_uri(table.location) if table.location else None
    try:
        there = session.files(local(location) or location) if location else ()
    except SparkFailure:
        return []
    unseen = sorted(set(there) - set(paths))
    if not unseen:
        return []
    many = f"{len(unseen)} file{'' if len(unseen) == 1 else 's'}"
    message = (
        f"{table.name}: {many} at {location} in no partition that the catalog knows, {unseen[0]} for one: readers do "
        "not see their rows. Register the partitions (MSCK REPAIR TABLE), or remove the files"
    )
    return [Finding(Verdict.WARNING, "PP403", "catalog", None, "no other file", many, message)]


def _is_icebergs(session: Session, location: str, paths: Iterable[str]) -> bool:
    """Whether Iceberg's metadata lies at a location, or beside it: its data files lie in `data/`."""
    above = location.rstrip("/").rpartition("/")[0]
    try:
        beside = session.files(f"{above}/metadata") if above and not _has_metadata(paths) else paths
    except SparkFailure:
        return False
    return _has_metadata(beside)


def _is_deltas(session: Session, location: str) -> bool:
    """Whether Delta's log lies at a location, or above the folders of its partitions."""
    place = location.rstrip("/")
    while "=" in place.rpartition("/")[2]:
        place = place.rpartition("/")[0]
    return store_of(session).exists(f"{place}/_delta_log")


def _has_metadata(paths: Iterable[str]) -> bool:
    return any(path.endswith(".metadata.json") for path in paths)


def _list_partition_columns(paths: Iterable[str]) -> list[str]:
    """The partition columns that directories spell (`day=2024-01-01/`), also directories above the place that is
    audited. Readers of the whole table take such a column's value from the path, and readers of the place from the
    file."""
    folders = [path.split("/")[:-1] for path in paths]
    return sorted({unquote(part.partition("=")[0]) for parts in folders for part in parts if "=" in part})


def _read_table(draft: Draft, session: Session, name: str) -> tuple[str, PhysicalSchema, Facts | None]:
    relation = quote_parts(split_name(name))
    table = session.table(relation)
    if table is None:
        draft.set_details(absent=True)
        raise SparkFailure(f"the table {name} does not exist: it was not built yet, or not in this catalog")
    draft.read(Claim("catalog", table.schema))
    draft.add(_find_altered_columns(session, relation, table))
    if table.kind != "table":
        for plane in ("files", "batches"):
            draft.mark_absent(plane, "a view stores nothing")
        return relation, table.schema, None
    if not table.is_plain_parquet:
        for plane in ("files", "batches"):
            draft.mark_unreadable(plane, f"{table.format} files are not read")
        return relation, table.schema, None
    if not table.partition_by:
        return relation, table.schema, read_files(draft, session, table, None)
    return relation, table.schema, _read_partitions(draft, session, relation, table)


def _read_version(draft: Draft, session: Session, name: str, at: str) -> tuple[str, PhysicalSchema]:
    """What a Delta table held at a version or a timestamp."""
    table = None if "/" in name else session.table(quote_parts(split_name(name)))
    if table is None or table.format != "delta":
        raise SparkFailure(
            f"{name} is no Iceberg or Delta table that this session can look into: it has no snapshot {at}"
        )
    when = f"VERSION AS OF {int(at)}" if at.isdecimal() else f"TIMESTAMP AS OF {quote_literal(at)}"
    relation = f"(SELECT * FROM {quote_parts(split_name(name))} {when})"
    schema = session.planes(f"SELECT * FROM {relation}").analyzed
    draft.read(Claim("catalog", schema))
    for plane in ("files", "batches"):
        draft.mark_unreadable(plane, "files of an older version are not read: what is promised is counted")
    return relation, schema


def _find_altered_columns(session: Session, relation: str, table: StoredTable) -> list[Finding]:
    """What the metastore's own list of a table's columns says; nothing where it does not answer."""
    try:
        # Of a Delta table the metastore lists no columns: its log does.
        listed = session.metastore(relation) if table.kind == "table" and table.format != "delta" else None
    except (AnalysisError, SparkFailure):
        return []
    return [] if listed is None else registered.check_metastore(table.schema, listed)


def _read_partitions(draft: Draft, session: Session, relation: str, table: StoredTable) -> Facts | None:
    """A partition's files lie where the catalog says, which need not be below the table's location."""
    paths: list[str] = []
    for part in partitions_of(session, relation, table):
        paths += session.files(part.local)
    draft.add(_find_unseen_files(session, table, paths))
    return read_paths(draft, drop_empty_files(draft, paths), None, table.partition_by, session, table)
