"""Declared limits, judged before the swap: by the footers where these are exact, else by one count."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from planproof.contract import Model
from planproof.judge.draft import Effect
from planproof.limits import Change, Fresh, Limits, Nulls, change_text
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import Refused
from planproof.report import TableChange
from planproof.session import StoredTable
from planproof_engine import ByColumn, Finding, PhysicalSchema, Verdict, by_name, quote_parts
from planproof_engine.types import DATE, TIMESTAMP, TIMESTAMP_NTZ

FOOTERS = "by the files' footers"
COUNTED = "counted"


def refuse_unknown(model: Model, limits: Limits, promised: PhysicalSchema, target: StoredTable | None) -> None:
    """Raises `Refused` for a limit on a column that the table will not have, or on the age of a column that holds no
    times."""
    if limits.partition_rows is not None and not model.partition_by and not (target and target.partition_by):
        raise Refused(
            f"{model.file or model.name}: meta.planproof.limits.partition_rows: {model.name} has no partitions"
        )
    types = ByColumn((f.name, f.type) for schema in (target.schema if target else (), promised) for f in schema)
    where = f"{model.file or model.name}: meta.planproof.limits"
    for column, key in limits.columns:
        kind = types.get(column)
        if kind is None:
            close = difflib.get_close_matches(column, list(types), n=1)
            near = f"; did you mean {close[0]!r}?" if close else ""
            raise Refused(f"{where}.{key}: {model.name} has no column {column!r}{near}")
        if key == "fresh" and kind not in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
            raise Refused(f"{where}.fresh: {column} is {kind.simple}; only a date or a timestamp can be fresh")


@dataclass(frozen=True, slots=True)
class Counts:
    """What is known of the table after the publish. `how` says in words from where."""

    rows: int
    nulls: dict[str, int]
    latest: dict[str, tuple[str | None, bool]]
    how: dict[str, str]


def judge_limits(
    job: Job, limits: Limits, change: TableChange | None, new: Callable[[], str], after: Callable[[], str]
) -> list[Finding]:
    """A finding for each limit: proved where it is kept, else violated. `new` gives a relation of the new rows, `after`
    one of the rows that the table will hold. Raises `SparkFailure` where they cannot be counted."""
    if not limits:
        return []
    counts = _count_all(job, limits, change, after)
    return [
        *_judge_rows(job, limits, change, counts),
        *_judge_partitions(job, limits, new),
        *_judge_columns(job, limits, counts),
    ]


def _count_all(job: Job, limits: Limits, change: TableChange | None, after: Callable[[], str]) -> Counts:
    known = change.after if change is not None else None
    columns = by_name(known.columns if known is not None else ())
    nulls = {n.column: v.nulls for n in limits.nulls if (v := columns.get(n.column)) and v.nulls is not None}
    latest = {f.column: found for f in limits.fresh if (found := _latest(f, columns.get(f.column))) is not None}
    rows = known.rows if known is not None else None
    how = dict.fromkeys(["", *nulls, *latest], FOOTERS)
    open_nulls = [n.column for n in limits.nulls if n.column not in nulls]
    open_fresh = [f for f in limits.fresh if f.column not in latest]
    if rows is None or open_nulls or open_fresh:
        row = _ask_counts(job, after(), open_nulls, open_fresh)
        how.update(dict.fromkeys([*(() if rows is not None else [""]), *open_nulls], COUNTED))
        how.update({f.column: COUNTED for f in open_fresh})
        rows = int(row[0])
        nulls.update({column: int(row[1 + i]) for i, column in enumerate(open_nulls)})
        rest = row[1 + len(open_nulls) :]
        latest.update({f.column: (rest[2 * i], bool(rest[2 * i + 1])) for i, f in enumerate(open_fresh)})
    return Counts(rows, nulls, latest, how)


def _latest(fresh: Fresh, values: Any) -> tuple[str | None, bool] | None:
    """The latest value by the footers, and whether it is fresh; None where the footers give no instant."""
    if values is None or values.unknown or values.type != "timestamp":
        return None
    if values.high is None:
        return None, False
    at = datetime.fromisoformat(values.high.removesuffix(" UTC")).replace(tzinfo=timezone.utc)
    return values.high, at >= _now() - timedelta(seconds=fresh.seconds)


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _ask_counts(job: Job, after: str, nulls: list[str], fresh: list[Fresh]) -> tuple[Any, ...]:
    terms = ["count(*)", *(f"count_if({quote_parts((column,))} IS NULL)" for column in nulls)]
    for one in fresh:
        column = quote_parts((one.column,))
        least = int((_now() - timedelta(seconds=one.seconds)).timestamp() * 1_000_000)
        # A date, and a timestamp without a zone, count in the session's zone.
        terms.append(f"CAST(max({column}) AS STRING)")
        terms.append(f"coalesce(max(CAST({column} AS TIMESTAMP)) >= timestamp_micros({least}), false)")
    return job.session.rows(f"SELECT {', '.join(terms)} FROM {after}")[0]


def _judge_rows(job: Job, limits: Limits, change: TableChange | None, counts: Counts) -> Iterator[Finding]:
    rows, how = counts.rows, counts.how[""]
    if limits.least is not None or limits.most is not None:
        low, high = limits.least or 0, limits.most
        bounds = f"at least {low:,}" if high is None else f"{low:,} to {high:,}"
        kept = low <= rows and (high is None or rows <= high)
        yield _finding(job, "PP510", None, kept, f"{bounds} rows", f"{rows:,} rows", how)
    if limits.change is None or job.target is None:
        return
    before = change.before.rows if change is not None and change.before is not None else None
    if before is None:
        before, how = int(job.session.rows(f"SELECT count(*) FROM {job.names.target.quoted}")[0][0]), COUNTED
    if not before:
        return  # A table without rows has no percent of nulls. The limit `min` is there for that.
    share, (least, most) = (rows - before) * 100 / before, limits.change
    kept = (least is None or share >= least) and (most is None or share <= most)
    yield _finding(
        job,
        "PP510",
        None,
        kept,
        f"{change_text(limits.change)} rows",
        f"{before:,} -> {rows:,} rows, {share:+.1f}%",
        how,
    )


def _judge_partitions(job: Job, limits: Limits, new: Callable[[], str]) -> Iterator[Finding]:
    """Each partition that is overwritten, its rows before and after. One that was not there has no change."""
    effect, target, overwrites = job.draft.effect, job.target, job.model.incremental_strategy == "insert_overwrite"
    if limits.partition_rows is None or target is None or not target.partition_by:
        return
    if effect not in _OVERWRITES and not (effect is Effect.CHANGES and overwrites):
        return
    promised = f"{change_text(limits.partition_rows)} rows in each partition"
    computed = [column for column in target.partition_by if column not in target.schema.names]
    if computed:
        message = (
            f"the limit of {job.model.name} is {promised}; unproved: no column holds the partitions' {computed[0]}"
        )
        yield Finding(Verdict.UNPROVED, "PP510", "files", None, promised, None, message)
        return
    of, broken, *worst = job.session.rows(_partition_query(job, new(), target.partition_by, limits.partition_rows))[0]
    many = f"{of} partition{'' if of == 1 else 's'} overwritten"
    if not broken:
        yield _finding(job, "PP510", None, True, promised, many, COUNTED)
        return
    *values, before, after = worst
    named = ", ".join(f"{column} = {value}" for column, value in zip(target.partition_by, values))
    found = f"{broken} of {many}; {named}: {before:,} -> {after:,} rows, {(after - before) * 100 / before:+.1f}%"
    yield _finding(job, "PP510", None, False, promised, found, COUNTED)


_OVERWRITES = (Effect.REPLACES, Effect.REPLACES_PARTITIONS)


def _partition_query(job: Job, new: str, columns: Sequence[str], allowed: Change) -> str:
    """How many partitions are overwritten, how many of them break the limit, and the values and rows of the worst."""
    keys = [quote_parts((column,)) for column in columns]
    by, (low, high) = ", ".join(keys), allowed
    bounds = [f"`rows changed` < {low}"] * (low is not None) + [f"`rows changed` > {high}"] * (high is not None)
    shown = [*(f"CAST({key} AS STRING)" for key in keys), "`rows before`", "`rows after`"]
    worst = [f"max_by({one}, abs(`rows changed`)) FILTER (WHERE {' OR '.join(bounds)})" for one in shown]
    same = " AND ".join(f"n.{key} <=> o.{key}" for key in keys)
    old = f"SELECT {by}, count(*) AS `rows before` FROM {job.names.target.quoted} GROUP BY {by}"
    made = f"SELECT {by}, count(*) AS `rows after` FROM {new} GROUP BY {by}"
    kept = ", ".join(f"n.{key}" for key in keys)
    share = "(`rows after` - `rows before`) * 100D / `rows before` AS `rows changed`"
    both = f"SELECT {kept}, `rows before`, `rows after`, {share} FROM ({made}) n JOIN ({old}) o ON {same}"
    return f"SELECT count(*), count_if({' OR '.join(bounds)}), {', '.join(worst)} FROM ({both})"


def _judge_columns(job: Job, limits: Limits, counts: Counts) -> Iterator[Finding]:
    for one in limits.nulls:
        number = counts.nulls[one.column]
        yield _finding(
            job, "PP511", one.column, _is_kept(one, number, counts.rows), f"{one} nulls",
            _format_share(number, counts.rows), counts.how[one.column],
        )  # fmt: skip
    for fresh in limits.fresh:
        value, kept = counts.latest[fresh.column]
        found = "no value" if value is None else f"latest {value}"
        promised = f"a value of the last {fresh.said}"
        yield _finding(job, "PP512", fresh.column, kept, promised, found, counts.how[fresh.column])


def _is_kept(limit: Nulls, number: int, rows: int) -> bool:
    if limit.count is not None:
        return number <= limit.count
    assert limit.share is not None
    return number * 100 <= limit.share * rows


def _format_share(number: int, rows: int) -> str:
    return f"{number:,} of {rows:,}" + (f", {number * 100 / rows:.2g} %" if rows else "")


def _finding(job: Job, code: str, column: str | None, kept: bool, promised: str, found: str, how: str) -> Finding:
    subject = f"{job.model.name}.{column}" if column else job.model.name
    message = f"the limit of {subject} is {promised}; found: {found} ({how})"
    verdict = Verdict.PROVED if kept else Verdict.VIOLATED
    return Finding(verdict, code, "files", column, promised, found, message, evidence=how if kept else None)
