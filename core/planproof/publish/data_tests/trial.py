"""Data tests before the publish: dbt's tests of the table run over the rows that the table is to hold."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planproof.own_errors import describe, place_of
from planproof.publish.data_tests.decided import Failures, Own, Relations, Stored, count
from planproof.publish.data_tests.evidence import Plans, Shown, show_target
from planproof.publish.data_tests.known import Question, Thresholds, parse_question
from planproof.publish.data_tests.one_query import count_together
from planproof.publish.materialize.materialization import Job
from planproof.publish.staged_write import StagedWrite
from planproof.report import DataTestResult
from planproof.session import Session, SparkFailure
from planproof_engine import AnalysisError, Finding, RelationName, Unknown, Verdict, evolve
from planproof_engine.texts import stand_in

COUNTED = "counted over the staged rows, before they were published"


class NotRun(Exception):
    """A test cannot be asked of the staged rows; the message says why."""


@dataclass(frozen=True, slots=True)
class StagedRows:
    """The rows of one publish as `relation` of its session, in backticks, for as long as the tests run.

    `target` is the whole name. `shown` is what stands for them afterwards, in a query that a person
    runs; None where nothing does. `files` are all of them, where they lie on this machine, and `proved` is what the
    plan says of them.
    """

    session: Session
    target: RelationName
    relation: str
    shown: str | None
    files: Stored | None = None
    proved: Shown | None = None

    def text(self, sql: str) -> str:
        """A test's SQL over these rows. Raises `NotRun` where it cannot be said so."""
        return self._text(sql, self.relation)

    def query(self, sql: str) -> str | None:
        """The same for a person to run, once the rows have been rejected."""
        return self._text(sql, self.shown) if self.shown is not None else None

    def count(self, asked: Question, plans: Plans) -> Failures | None:
        """What a test of which the meaning is known counts in these rows, where plans and files tell."""
        own: Own = {self.target: (self.files, self.proved)}
        return count(self.complete_names(asked), Relations(self.session, plans, own, {self.target: self.relation}))

    def count_together(self, questions: Iterable[Question]) -> dict[Question, Failures]:
        """What one query counts for several tests of these rows; for those that it cannot answer, nothing."""
        own = (asked for asked in questions if self.complete_names(asked).relation == self.target)
        when = "over the staged rows, {tests}, before they were published"
        return count_together(self.session, self.relation, own, when)

    def complete_names(self, asked: Question) -> Question:
        """The same question, of whole names."""
        there, other = self.session.namespace, asked.other
        return evolve(asked, relation=asked.relation.within(there), other=other and other.within(there))

    def _text(self, sql: str, relation: str) -> str:
        try:
            text, count = stand_in(sql, self.target, relation, self.session.namespace, self.session.conf)
        except (AnalysisError, Unknown) as error:
            raise NotRun(f"planproof does not read its SQL: {error}") from error
        if not count:
            raise NotRun("its SQL does not name the table")
        return text


Tests = Callable[[StagedRows], Sequence[DataTestResult]]
"""Runs what belongs to a model over its staged rows."""


def try_tests(job: Job, staged: StagedWrite, tests: Tests) -> None:
    """Adds to the job's draft what the tests find in the staged rows: a test that fails is a violation. The report also
    names the tests that cannot run over these rows, each with the reason."""
    with staged.tested() as rows:
        target = job.names.target.within(job.session.namespace)
        found = _ask(
            job, tests, StagedRows(job.session, target, rows.relation, rows.later, rows.files, show_target(job))
        )
    if not found:
        return
    job.draft.set_details(tests=found)
    job.draft.add(f for test in found for f in _report_findings(test))


def _ask(job: Job, tests: Tests, staged: StagedRows) -> tuple[DataTestResult, ...]:
    """An error of planproof's own stops no model: dbt runs the tests after the publish, and the report says so."""
    try:
        return tuple(tests(staged))
    except Exception as error:
        if place_of(error) is None:
            raise
        message = (
            f"{describe(error)}. No data test was asked before the publish; dbt runs them after it. Please report it"
        )
        job.draft.set_details(traceback=traceback.format_exc())
        job.draft.add([Finding(Verdict.WARNING, "PP901", "files", found=type(error).__name__, message=message)])
        return ()


def _report_findings(test: DataTestResult) -> Iterator[Finding]:
    verdict = {"pass": Verdict.PROVED, "warn": Verdict.WARNING, "fail": Verdict.VIOLATED}.get(test.status)
    if verdict is None:
        return
    declared = f", declared in {test.place}" if test.place else ""
    yield Finding(
        verdict,
        "PP513",
        "files",
        test.column,
        promised=test.name,
        found=None if test.failures is None else f"failures: {test.failures}",
        message=f"the data test {test.name}{declared}: {test.said}",
        evidence=test.said if verdict is Verdict.PROVED else None,
    )


@dataclass(frozen=True, slots=True)
class DataTest:
    """A compiled data test: its SQL gives the rows that fail. The settings are those that dbt names so."""

    name: str
    sql: str
    severity: str = "ERROR"
    fail_calc: str = "count(*)"
    warn_if: str = "!= 0"
    error_if: str = "!= 0"
    limit: int | None = None
    column: str | None = None
    place: str | None = None

    def judge(
        self, failures: int, warns: bool, fails: bool, staged: StagedRows, ground: str = COUNTED
    ) -> DataTestResult:
        """What the numbers mean, as dbt has it (`TestRunner.build_test_run_result`); `ground` is by what they are
        known."""
        if self.severity.upper() == "ERROR" and fails:
            status, limit = "fail", self.error_if
        elif warns:
            status, limit = "warn", self.warn_if
        else:
            return DataTestResult(self.name, "pass", ground, failures, self.column, self.place)
        results = "result" if failures == 1 else "results"
        said = f"{failures} {results} in the staged rows, configured to {status} if {limit}"
        return DataTestResult(self.name, status, said, failures, self.column, self.place, staged.query(self.sql))

    def report_not_run(self, why: str) -> DataTestResult:
        return DataTestResult(self.name, "not run", why, None, self.column, self.place)


def run_tests(tests: Sequence[DataTest]) -> Tests:
    """The tests as dbt's own materialization asks them (its macro `get_test_sql`), one after the other; those that can
    be counted together by one query."""

    def run(staged: StagedRows) -> list[DataTestResult]:
        known = [_find_question(test, staged) for test in tests]
        together = staged.count_together(asked for asked, _, found in filter(None, known) if found is None)
        return [_answer(test, staged, one, together) for test, one in zip(tests, known)]

    return run


_Known = tuple[Question, Thresholds, "Failures | None"]
"""A test whose meaning is known, and what it counts, where plans and files tell that."""


def _find_question(test: DataTest, staged: StagedRows) -> _Known | None:
    limits = Thresholds.of({name: getattr(test, name) for name in ("limit", "fail_calc", "warn_if", "error_if")})
    asked = parse_question(test.sql) if limits is not None else None
    if asked is None or limits is None:
        return None
    asked = staged.complete_names(asked)
    if staged.target not in (asked.relation, asked.other):
        return None
    return asked, limits, staged.count(asked, Plans())


def _answer(
    test: DataTest, staged: StagedRows, known: _Known | None, together: Mapping[Question, Failures]
) -> DataTestResult:
    if known is None:
        return _run(test, staged)
    asked, held, found = known
    found = found or together.get(asked)
    if found is None:
        return _run(test, staged)
    many = found.failures
    return test.judge(many, held.warns(many), held.fails(many), staged, found.ground)


def _run(test: DataTest, staged: StagedRows) -> DataTestResult:
    try:
        text = staged.text(test.sql)
        limit = f"\nLIMIT {int(test.limit)}" if test.limit is not None else ""
        rows = staged.session.rows(
            f"SELECT {test.fail_calc} AS failures, {test.fail_calc} {test.warn_if} AS should_warn, "
            f"{test.fail_calc} {test.error_if} AS should_error FROM (\n{text}{limit}\n) dbt_internal_test"
        )
        failures, warns, fails = rows[0]
        if failures is None:
            raise NotRun(f"its fail_calc {test.fail_calc} gives NULL")
    except NotRun as reason:
        return test.report_not_run(str(reason))
    except (AnalysisError, SparkFailure) as error:
        return test.report_not_run(f"Spark cannot run it over the staged rows: {error}")
    return test.judge(int(failures), bool(warns), bool(fails), staged)
