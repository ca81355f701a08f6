"""A null that fails a write is the table's own refusal only where its schema says NOT NULL of that field."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planproof import Contract, Guard, Model, Settings
from planproof.judge.draft import Draft
from planproof.publish.audit.refusals import find_met_null
from planproof.publish.transaction.names import Refused
from planproof.session.protocol import SparkFailure
from planproof_engine.catalog import RelationName

SAID = "Null value appeared in non-nullable field:\n{path}\nIf the schema is inferred from a Scala tuple/case class, .."


def job(stored: str | None, promised: str) -> Any:
    contract, kept = (
        None if t is None else Contract([("s", t, True), ("id", "int", True)]) for t in (promised, stored)
    )
    model = Model("shop.t", "select 1", contract=contract)
    return SimpleNamespace(
        model=model,
        target=None if kept is None else SimpleNamespace(schema=kept.schema, properties={}),
        draft=Draft(model, Settings()),
        examined=SimpleNamespace(locate=lambda name: None),
        names=SimpleNamespace(target=RelationName(("shop", "t"))),
    )


STRICT, LOOSE = "struct<a: int not null>", "struct<a: int>"


@pytest.mark.parametrize(("stored", "path"), [(None, "s\na"), (LOOSE, "s\na"), (STRICT, "id")])
def test_a_null_that_the_table_takes_is_not_told_as_its_refusal(stored: str | None, path: str) -> None:
    made = job(stored, STRICT)
    assert not find_met_null(made, SparkFailure(SAID.format(path=path)))
    assert made.draft.findings == []


def test_a_null_that_table_and_contract_forbid_is_violated() -> None:
    made = job(STRICT, STRICT)
    assert find_met_null(made, SparkFailure(SAID.format(path="S\na")))
    (found,) = made.draft.findings
    assert (found.code, found.verdict, found.field) == ("PP505", "violated", "S.a")


def test_a_null_that_the_table_alone_forbids_is_refused_with_the_way_out() -> None:
    with pytest.raises(Refused, match=r"ALTER COLUMN `s`\.`a` DROP NOT NULL"):
        find_met_null(job(STRICT, LOOSE), SparkFailure(SAID.format(path="s\na")))


def test_what_is_denied_is_not_cured_by_a_second_try() -> None:
    for text in ("Permission denied: user=etl", "MetaException: AccessControlException", "Access Denied (403)"):
        failure = SparkFailure(text, outside=True)
        assert (failure.outside, failure.transient) == (True, False), text
    assert not SparkFailure("no", "UNSUPPORTED_FEATURE.ALTER", outside=True).transient
    assert SparkFailure("cannot read shop.user_permissions: Connection reset", outside=True).transient


def test_a_name_that_the_catalog_cannot_have_is_not_called_the_work_of_others(session: Any, database: str) -> None:
    report = Guard(session).publish(Model(f"{database}.`we ird`", "select 1 as id"))
    assert (report.outcome, report.details.transient) == ("failed", False)
    assert "is not a valid name for tables" in (report.error or "")
    assert "somebody may have changed" not in (report.error or "")
