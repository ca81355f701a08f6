"""Delta tables by the guard: what is published, what a violation leaves, and what others see meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from delta_tables import ADDED, BAD, GOOD, MERGED, contract, folder, list_left, publish, rows, versions

from planproof import Contract, Guard
from planproof.publish.kernel import Publish
from planproof.quarantine import Quarantine
from planproof.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_table_is_made_replaced_and_kept(delta: SparkSession, place: str) -> None:
    name = f"{place}.orders"
    assert publish(delta, name, BAD).outcome == "rejected"
    assert not delta.catalog.tableExists(name)
    report = publish(delta, name, GOOD)
    assert (report.outcome, report.rows) == ("published", 3), report.findings
    assert rows(delta, name) == [(0, "0"), (1, "1"), (2, "2")]
    detail = delta.sql(f"describe extended {name}").collect()
    assert {r.data_type for r in detail if r.col_name in ("Provider", "Type")} == {"delta", "MANAGED"}
    before = versions(delta, name)
    assert publish(delta, name, BAD).outcome == "rejected"
    assert (versions(delta, name), list_left(folder(delta, name))) == (before, [])
    wider = Contract([("id", "bigint", False), ("n", "int", True)])
    made = publish(delta, name, "select id, cast(7 as int) as n from range(2)", contract=wider, partition_by=("n",))
    assert made.outcome == "published", made.findings
    assert (rows(delta, name), len(versions(delta, name))) == ([(0, 7), (1, 7)], len(before) + 1)
    assert list(delta.sql(f"describe detail {name}").collect()[0].partitionColumns) == ["n"]


@pytest.mark.parametrize("how", ["replaced", "added"])
def test_what_changes_is_known_of_a_table_that_was_altered(delta: SparkSession, place: str, how: str) -> None:
    """After an ALTER TABLE, as dbt makes for comments and constraints, no checksum lists the files any more."""
    name = f"{place}.orders"
    assert publish(delta, name, GOOD).outcome == "published"
    delta.sql(f"alter table {name} alter column id comment 'the key'")
    more = "select id + 3 as id, cast(id as string) as v from range(2)"
    report = publish(delta, name, more, **(ADDED if how == "added" else {}))
    assert report.outcome == "published", report.findings
    change = report.details.change
    assert change is not None
    assert change.before is not None
    assert (change.before.rows, change.after.rows) == (3, 5 if how == "added" else 2)


def test_defaults_of_a_source_are_not_handed_on(delta: SparkSession, place: str) -> None:
    """Delta's own statement fails, too: without the feature its table could not be altered any more."""
    supported = {"delta.feature.allowColumnDefaults": "supported"}
    source, name, query = f"{place}.source", f"{place}.handed", "select id, {} as v from {}.source"
    delta.sql(
        f"create table {source} (id bigint, v string default 'd') using delta "
        "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    delta.sql(f"insert into {source} values (1, default)")
    report = publish(delta, name, query.format("v", place))
    assert report.outcome == "rejected", report.findings
    assert [f.found for f in report.findings if f.code == "PP110"] == [
        "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED"
    ]
    assert not delta.catalog.tableExists(name)
    assert publish(delta, name, query.format("coalesce(v)", place)).outcome == "published"
    delta.sql(f"alter table {name} alter column v comment 'said'")
    report = publish(delta, name + "2", query.format("v", place), options={"tblproperties": supported})
    assert (report.outcome, rows(delta, name + "2")) == ("published", [(1, "d")]), report.findings


def test_rows_are_added_merged_and_overwritten(delta: SparkSession, place: str) -> None:
    name = f"{place}.changed"
    assert publish(delta, name, GOOD, **ADDED).outcome == "published"
    more = "select id, 'new' as v from range(3, 5)"
    assert publish(delta, name, more, **ADDED).outcome == "published"
    assert len(rows(delta, name)) == 5
    before = versions(delta, name)
    assert publish(delta, name, BAD, **ADDED).outcome == "rejected"
    assert publish(delta, name, BAD, **MERGED).outcome == "rejected"
    assert versions(delta, name) == before
    report = publish(delta, name, "select id, 'merged' as v from range(4, 6)", **MERGED)
    assert report.outcome == "published", report.findings
    assert rows(delta, name)[3:] == [(3, "new"), (4, "merged"), (5, "merged")]
    assert len(versions(delta, name)) == len(before) + 1
    assert list_left(folder(delta, name)) == []


BARE = {
    "append": "insert into {t} select id, 'added' as v from range(2, 5)",
    "insert_overwrite": "insert overwrite {t} select id, 'added' as v from range(2, 5)",
    "merge": "merge into {t} t using (select id, 'added' as v from range(2, 5)) s on s.id = t.id "
    "when matched then update set * when not matched then insert *",
}


@pytest.mark.parametrize("how", BARE)
def test_the_history_says_of_a_publish_what_it_says_of_its_statement(delta: SparkSession, place: str, how: str) -> None:
    said = []
    for name in (f"{place}.bare", f"{place}.guarded"):
        assert publish(delta, name, GOOD).outcome == "published"
        if name.endswith("bare"):
            delta.sql(BARE[how].format(t=name))
        else:
            more = {**MERGED, "incremental_strategy": how}
            assert publish(delta, name, "select id, 'added' as v from range(2, 5)", **more).outcome == "published"
        last = delta.sql(f"describe history {name} limit 1").collect()[0]
        clauses = {key: value for key, value in last.operationParameters.items() if key != "predicate"}
        counts = {key: n for key, n in last.operationMetrics.items() if not key.endswith(("TimeMs", "Bytes"))}
        said.append((last.operation, clauses, counts))
    assert said[0] == said[1]


def test_partitions_are_overwritten(delta: SparkSession, place: str) -> None:
    name = f"{place}.parts"
    over = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": ("v",)}
    first = "select id, concat('a b/', id % 2) as v from range(4)"
    made = publish(delta, name, first, **over)
    assert made.outcome == "published", made.findings
    second = publish(delta, name, "select id + 10 as id, 'a b/1' as v from range(2)", **over)
    assert second.outcome == "published", second.findings
    assert rows(delta, name) == [(0, "a b/0"), (10, "a b/1"), (11, "a b/1"), (2, "a b/0")]


def test_columns_are_added_with_their_rows(delta: SparkSession, place: str) -> None:
    name = f"{place}.evolved"
    assert publish(delta, name, GOOD, **ADDED).outcome == "published"
    given = {**ADDED, "options": {"on_schema_change": "append_new_columns"}}
    wider = Contract([("id", "bigint", False), ("v", "string", True), ("extra", "int", True)])
    assert publish(delta, name, f"select *, 1 as extra from ({BAD})", contract=wider, **given).outcome == "rejected"
    assert len(delta.table(name).columns) == 2
    report = publish(delta, name, f"select *, 1 as extra from ({GOOD})", contract=wider, **given)
    assert report.outcome == "published", report.findings
    assert [r[2] for r in rows(delta, name)] == [1, None] * 3


def test_columns_that_the_session_has_delta_add_are_no_news(delta: SparkSession, place: str) -> None:
    """What a bare MERGE does to the table, `on_schema_change: ignore` or not."""
    name, merges = f"{place}.merged", "spark.databricks.delta.schema.autoMerge.enabled"
    assert publish(delta, name, GOOD).outcome == "published"
    wider = Contract([("id", "bigint", False), ("v", "string", True), ("extra", "int", True)])
    delta.conf.set(merges, "true")
    try:
        report = publish(delta, name, "select 2L as id, 'new' as v, 7 as extra", contract=wider, **MERGED)
    finally:
        delta.conf.unset(merges)
    assert report.outcome == "published", report.findings
    assert "left out" not in str(report.findings)
    assert rows(delta, name) == [(0, "0", None), (1, "1", None), (2, "new", 7)]


@pytest.mark.parametrize("how", ["append", "replace", "overwrite", "partitions", "keys", "itself", "view"])
def test_another_writer_meanwhile(delta: SparkSession, place: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that commits between the audit and the commit: an append, a replacement and an overwrite go on top, what
    reads or counts the whole table is staged anew."""
    from planproof.publish.delta.publication import DeltaPublication

    name, commit, came = f"{place}.busy", DeltaPublication.commit, []
    parts: dict[str, Any] = {"partition_by": ("v",)} if how == "partitions" else {}
    assert publish(delta, name, GOOD, **parts, **ADDED).outcome == "published"

    def late(self: DeltaPublication) -> None:
        if not came:
            came.append(delta.sql(f"insert into {name} values (100, 'theirs'), (101, 'ours')").collect())
        commit(self)

    monkeypatch.setattr(DeltaPublication, "commit", late)
    stagings = []
    begin = DeltaPublication.__init__
    monkeypatch.setattr(
        DeltaPublication, "__init__", lambda self, *a, **k: (stagings.append(1), begin(self, *a, **k))[1]
    )
    more = "select id, 'ours' as v from range(10, 12)"
    if how == "itself":
        more = f"select max(id) + 1 as id, 'ours' as v from {name}"
    elif how == "view":
        delta.sql(f"create view {place}.highest as select max(id) as id from {name}")
        delta.sql(f"create view {place}.above as select id + 1 as id, 'ours' as v from {place}.highest")
        more = f"select * from {place}.above"
    given = {} if how == "replace" else {**ADDED, "contract": contract(keys=how == "keys"), **parts}
    if how in ("overwrite", "partitions"):
        given["incremental_strategy"] = "insert_overwrite"
    report = publish(delta, name, more, **given)
    assert report.outcome == "published", report.findings
    assert len(stagings) == (2 if how in ("keys", "itself", "view") else 1)
    told = {"replace": ["2 rows"], "overwrite": ["2 rows"], "partitions": ["1 row"]}
    assert [f.found for f in report.findings if f.code == "PP621"] == told.get(how, [])
    found = rows(delta, name)
    assert ((100, "theirs") in found, (101, "ours") in found) == (how not in ("replace", "overwrite"), how not in told)
    assert (102 if how in ("itself", "view") else 10, "ours") in found


def test_an_overwrite_of_partitions_goes_with_who_writes_elsewhere(
    delta: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, parts = f"{place}.apart", {**ADDED, "partition_by": ("v",)}
    assert publish(delta, name, GOOD, **parts).outcome == "published"
    commits: list[Any] = []
    theirs = f"delete from {name} where v = '2'"
    act_before_commit(monkeypatch, True, lambda: commits.append(delta.sql(theirs).collect()))
    over = {**parts, "incremental_strategy": "insert_overwrite"}
    report = publish(delta, name, "select 10L as id, '1' as v", **over)
    assert (report.outcome, len(commits)) == ("published", 1), report.findings
    assert rows(delta, name) == [(0, "0"), (10, "1")]


def test_bad_rows_are_quarantined(delta: SparkSession, place: str) -> None:
    name, settings = f"{place}.sorted", Settings(on_violation="quarantine")
    for number, given in enumerate(({}, ADDED), 1):
        report = publish(delta, name, BAD, settings=settings, **given)
        assert report.outcome == "published", report.findings
        assert [f.code for f in report.findings if f.code == "PP514"] == ["PP514"]
        assert rows(delta, name) == sorted([(0, "0"), (2, "2")] * number)
        bad = delta.table(f"{name}__quarantine").select("id", "v").collect()
        assert [tuple(row) for row in bad] == [(None, "1")] * number
        assert list_left(folder(delta, name)) == []
    before = versions(delta, f"{name}__quarantine")
    strict = Settings(on_violation="quarantine", quarantine=Quarantine(most=0))
    report = publish(delta, name, BAD, settings=strict, **ADDED)
    assert (report.outcome, versions(delta, f"{name}__quarantine")) == ("rejected", before), report.findings


def test_appends_beside_a_writer_that_never_rests(delta: SparkSession, place: str) -> None:
    name, done, theirs = f"{place}.never", threading.Event(), []

    def write() -> None:
        while not done.wait(0.25):
            delta.sql(f"insert into {name} values ({1000 + len(theirs)}, 'theirs')").collect()
            theirs.append(1)

    assert publish(delta, name, GOOD, **ADDED).outcome == "published"
    writer = threading.Thread(target=write)
    writer.start()
    try:
        outcomes = [
            publish(delta, name, f"select id, 'ours' as v from range({n}, {n + 1})", **ADDED).outcome for n in (10, 20)
        ]
    finally:
        done.set()
        writer.join()
    assert outcomes == ["published"] * 2
    assert theirs
    assert len(rows(delta, name)) == 3 + 2 + len(theirs)


def test_an_audit_of_what_is_stored_and_of_an_older_version(delta: SparkSession, place: str) -> None:
    name = f"{place}.audited"
    delta.sql(f"create table {name} using delta as {BAD}")
    at = delta.sql(f"describe history {name}").collect()[0].timestamp
    delta.sql(f"delete from {name} where id is null")
    assert Guard(delta).audit(name, contract()).verdict.value == "proved"
    for when in ("0", str(at)):
        then = Guard(delta).audit(name, contract(), at=when)
        assert then.verdict.value == "violated", then.findings


@pytest.mark.parametrize("late", ["before the look", "after it"])
@pytest.mark.parametrize("how", ["append", "replace"])
def test_a_vacuum_without_retention_meanwhile(
    delta: SparkSession, place: str, how: str, late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It deletes the files of whoever writes, bare or guarded; what is gone is not committed, or taken back."""
    name, check = f"{place}.swept", "spark.databricks.delta.retentionDurationCheck.enabled"
    assert publish(delta, name, GOOD, **ADDED).outcome == "published"
    before = rows(delta, name)

    def vacuum() -> None:
        delta.conf.set(check, "false")
        delta.sql(f"vacuum {name} retain 0 hours").collect()
        delta.conf.unset(check)

    act_before_commit(monkeypatch, late == "after it", vacuum)
    more = "select id, 'ours' as v from range(10, 12)"
    report = publish(delta, name, more, **({} if how == "replace" else ADDED))
    assert (report.outcome, report.details.transient) == ("failed", True), report.findings
    assert "files that were staged are gone" in str(report.error)
    monkeypatch.undo()
    delta.catalog.refreshTable(name)
    assert (rows(delta, name), list_left(folder(delta, name))) == (before, [])


@pytest.mark.parametrize("keys", [False, True], ids=["footers", "counted"])
def test_a_model_is_not_blamed_for_files_that_a_vacuum_deletes_before_the_audit(
    delta: SparkSession, place: str, keys: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, audit, check = f"{place}.swept", Publish._audit, "spark.databricks.delta.retentionDurationCheck.enabled"
    assert publish(delta, name, GOOD, **ADDED).outcome == "published"
    before = rows(delta, name)

    def swept(self: Any) -> None:
        delta.conf.set(check, "false")
        delta.sql(f"vacuum {name} retain 0 hours").collect()
        delta.conf.unset(check)
        audit(self)

    monkeypatch.setattr(Publish, "_audit", swept)
    more = "select id, 'ours' as v from range(10, 12)"
    report = publish(delta, name, more, contract=contract(keys=keys), **ADDED)
    assert (report.outcome, report.details.transient) == ("failed", True), report.findings
    assert "files that were staged are gone" in str(report.error)
    assert not [f for f in report.findings if f.verdict == "violated"]
    assert (rows(delta, name), list_left(folder(delta, name))) == (before, [])


def test_a_table_that_was_made_anew_at_the_commit_is_not_added_to(
    delta: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its version has the number that the change was staged on, and the staged files went with the table before it."""
    name = f"{place}.anew"
    assert publish(delta, name, GOOD).outcome == "published"

    def make_anew() -> None:
        monkeypatch.undo()
        delta.sql(f"drop table {name}")
        delta.sql(f"create table {name} (id bigint, v string) using delta")

    act_before_commit(monkeypatch, True, make_anew)
    report = publish(delta, name, "select 10L as id, 'ours' as v", **ADDED)
    assert (report.outcome, report.details.transient) == ("failed", True), report.findings
    delta.catalog.refreshTable(name)
    assert (rows(delta, name), list_left(folder(delta, name))) == ([], [])


@pytest.mark.parametrize("after", ["replaced", "dropped"])
def test_what_others_do_right_after_the_commit_fails_no_publish(
    delta: SparkSession, place: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are gone then, and nobody misses them."""
    from planproof.session.delta.tables import Delta

    name, commit, check = f"{place}.later", Delta.commit, "spark.databricks.delta.retentionDurationCheck.enabled"
    assert publish(delta, name, GOOD).outcome == "published"

    def early(self: Delta, *given: Any) -> int:
        version = commit(self, *given)
        if after == "dropped":
            delta.sql(f"drop table {name}")
        else:
            delta.sql(f"insert overwrite {name} values (99, 'theirs')")
            delta.conf.set(check, "false")
            delta.sql(f"vacuum {name} retain 0 hours").collect()
            delta.conf.unset(check)
        return version

    monkeypatch.setattr(Delta, "commit", early)
    report = publish(delta, name, "select 10L as id, 'ours' as v", **ADDED)
    assert report.outcome == "published", (report.error, report.findings)
    if after == "replaced":
        delta.catalog.refreshTable(name)
        assert rows(delta, name) == [(99, "theirs")]


def act_before_commit(patch: pytest.MonkeyPatch, is_late: bool, act: Callable[[], None]) -> None:
    """`act` happens before each commit: before the publish looks at its files, or when that is over."""
    from planproof.publish.delta.publication import DeltaPublication
    from planproof.session.delta.tables import Delta

    owner: Any = Delta if is_late else DeltaPublication
    commit = owner.commit

    def late(self: Any, *given: Any) -> Any:
        act()
        return commit(self, *given)

    patch.setattr(owner, "commit", late)


@pytest.mark.parametrize("how", ["append", "replace"])
def test_who_is_evicted_at_its_commit_commits_nothing(
    delta: SparkSession, place: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forced recovery after the last look of a living owner: the log refuses what it would commit."""
    from planproof.session.delta.tables import Delta

    name, commit, ended = f"{place}.evicted", Delta.commit, list[str]()
    assert publish(delta, name, GOOD, **ADDED).outcome == "published"
    before = rows(delta, name)

    def late(self: Delta, *given: Any) -> int:
        if not ended:
            ended.extend(report.outcome for report in Guard(delta).recover(force=True))
        return commit(self, *given)

    monkeypatch.setattr(Delta, "commit", late)
    more = "select id, 'ours' as v from range(10, 12)"
    report = publish(delta, name, more, **({} if how == "replace" else ADDED))
    assert ended == ["rejected"]
    assert (report.outcome, report.details.transient) == ("failed", True), report.findings
    assert str(report.error).startswith("evicted")
    delta.catalog.refreshTable(name)
    assert (rows(delta, name), list_left(folder(delta, name))) == (before, [])
