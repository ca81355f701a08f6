"""The data tests of `tests: before` and `tests: answered`.

With `before`, dbt's own compiler and materialization run a model's tests over its staged rows, before it is published.
When dbt comes to a test's node, it gets what was found then.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbt_planproof import log, relied
from dbt_planproof.dbts import compile_test, names_of, parents_of, read_flags, run_test, test_result
from planproof.own_errors import describe, place_of
from planproof.project import ProjectError
from planproof.publish.data_tests.decided import Failures, Relations, count
from planproof.publish.data_tests.evidence import Plans
from planproof.publish.data_tests.known import Question, Thresholds, parse_question
from planproof.publish.data_tests.one_query import SHARED, count_together
from planproof.publish.data_tests.trial import COUNTED, DataTest, NotRun, StagedRows
from planproof.report import DataTestResult
from planproof.session import Session, SparkFailure
from planproof_engine import AnalysisError, ColumnNames, RelationName, quote_parts

if TYPE_CHECKING:
    from dbt_planproof.dbts import Adapter, Column, Relation
    from dbt_planproof.states import NodeState, ThisThread
    from planproof_engine import Statement

_MACROS = (
    "materialization_test_default",
    "materialization_test_spark",
    "get_test_sql",
    "default__get_test_sql",
    "spark__get_test_sql",
    "get_limit_subquery_sql",
    "default__get_limit_subquery_sql",
    "spark__get_limit_subquery_sql",
    "should_store_failures",
)
"""The macros that make a test's SQL into its result. A project or package with macros of its own may count in another
way."""


Relied = tuple[tuple[str, bool], ...]
"""Relations on whose rows an answer rests, by their quoted names. Of each: whether it is a view that a model of the
project makes, so that what lies below it is among them, too."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a test's node is to report: dbt's own result over the staged rows, why that holds, and of which relations.

    `state` is what these looked like when the model had been published.
    """

    result: Any
    ground: str
    relations: Relied
    state: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A test that dbt has compiled: its node, the copy that is asked, whether all that the node does is done here, its
    SQL, and what it asks and counts, where that is known."""

    node: Any
    test: Any
    whole: bool
    sql: str
    question: Question | None
    known: tuple[Any, str] | None


@dataclass(frozen=True, slots=True)
class TestsBefore:
    """The data tests of one model, which the guard calls over its staged rows; `answers` are dbt's results by the
    test's unique id, each with what it rests on."""

    trials: Trials
    unique_id: str
    answers: dict[str, tuple[Any, str]] = field(default_factory=dict)

    def __call__(self, staged: StagedRows) -> list[DataTestResult]:
        return self.trials.run_before(self, staged)


class Trials:
    """The data tests of one dbt invocation; dbt's threads share it."""

    def __init__(self, adapter: Adapter, here: ThisThread) -> None:
        self.adapter, self.here = adapter, here
        self.manifest: Any = None
        self.selected: frozenset[str] = frozenset()
        self.built: set[str] = set()
        self.answers: dict[str, Answer] = {}
        self.grounds: dict[str, str] = {}
        self.plans = Plans()
        self.published: set[RelationName] = set()
        self._lock = threading.Lock()
        self._sharing: dict[RelationName, threading.Lock] = {}
        self._asked: set[RelationName] = set()
        self._of: dict[str, list[Any]] | None = None
        self._plain: bool | None = None

    # --- dbt's side -------------------------------------------------------------------------------------------------

    def begin(self, manifest: Any, selected: Collection[str]) -> None:
        """dbt begins to run these nodes of its manifest. Nothing is looked at before a model asks for its tests."""
        self.manifest, self.selected, self._of = manifest, frozenset(selected), None

    def is_built(self, unique_id: str) -> None:
        """dbt has built the node, and it did not fail."""
        self.built.add(unique_id)

    def answer(self, test: Any, session: Session) -> Any | None:
        """dbt's result of a test, where it is known for the rows that stand now; None where dbt is to run it."""
        known = self.answers.pop(test.unique_id, None)
        if known is not None and _read_state(session, known.relations, {}) == known.state:
            self.grounds[test.unique_id] = known.ground
            return known.result
        counted = self._count(test, session, None) or self._find_shared(test, session)
        if counted is None:
            return None
        self.grounds[test.unique_id] = counted[1]
        return counted[0]

    def _count(self, test: Any, session: Session, staged: StagedRows | None) -> tuple[Any, str] | None:
        """The result of a test of dbt's own, by plans or by the files that it reads, and by what of them; None where
        that does not tell all that dbt's query would."""
        asked = self._find_question(test)
        if asked is None or (staged is None and asked.relation not in self.published):
            return None
        found = staged.count(asked, self.plans) if staged is not None else count(asked, Relations(session, self.plans))
        return _make_result(test, found) if found is not None else None

    def _find_shared(self, test: Any, session: Session) -> tuple[Any, str] | None:
        """The result of a test that one query gives with those of its relation that dbt comes to later; theirs wait for
        them. A relation is asked so once."""
        asked = self._find_question(test)
        if asked is None or asked.relation not in self.published or asked.kind not in SHARED or asked.where:
            return None
        with self._lock:
            lock = self._sharing.setdefault(asked.relation, threading.Lock())
        with lock:  # Another thread may just be asking for this one, too.
            if asked.relation not in self._asked:
                self._asked.add(asked.relation)
                self._share(test, asked, session)
        found = self.answers.pop(test.unique_id, None)
        return None if found is None else (found.result, found.ground)

    def _share(self, test: Any, asked: Question, session: Session) -> None:
        """Asks for the test, and for all that can be counted with it, by one query."""
        table = session.registered_table(asked.relation.quoted)
        relations = self._find_relations(parents_of(test))
        state = _read_state(session, relations, {})
        if table is None or state is None:
            return
        columns = ColumnNames(table.schema.names)
        tests = {asked: [test]}
        for other in self._find_beside(test):
            question = self._find_question(other)
            own = question is not None and question.relation == asked.relation and question.column in columns
            if question is not None and own and self._count(other, session, None) is None:
                tests.setdefault(question, []).append(other)
        found = count_together(session, asked.relation.quoted, tests, "with others, {tests}")
        for question, count_ in found.items():
            for one in tests[question]:
                result, ground = _make_result(one, count_)
                self.answers[one.unique_id] = Answer(result, ground, relations, state)

    def _find_beside(self, test: Any) -> Iterator[Any]:
        """The tests of the same relation alone that dbt is still to run and that may share a query, compiled."""
        for parent in self._find_stored(parents_of(test)):
            for node in self._collect_tests().get(parent, ()):
                kind = getattr(getattr(node, "test_metadata", None), "name", None)
                if kind not in SHARED or node.unique_id not in self.selected or node.unique_id == test.unique_id:
                    continue
                other = copy.deepcopy(node)
                with suppress(Exception):  # dbt reports it at the test's node.
                    compile_test(self.adapter, other, self.manifest)
                    yield other

    def _find_question(self, test: Any) -> Question | None:
        """What a compiled test of dbt's own asks, where its result is a count and no more."""
        if Thresholds.of(test.config.to_dict()) is None or _stores(test) or not self._is_plain(test):
            return None
        return parse_question(str(test.compiled_code or ""))

    def _is_plain(self, test: Any) -> bool:
        """Whether dbt would run the test by its own macros, whose meaning is known here."""
        if self._plain is None:
            macros = self.manifest.macros.values()
            own = any(m.name in _MACROS and m.package_name != "dbt" for m in macros)
            self._plain = not own
        return self._plain and not test.config.get("sql_header")

    def find_columns(self, relation: Relation) -> list[Column] | None:
        """The columns of the staged rows, where a test that is being compiled asks for its table's; None elsewhere."""
        staged = self.here.staged
        if staged is None or names_of(relation) != staged.target.in_schema:
            return None
        schema = staged.session.analyze(f"SELECT * FROM {staged.relation}").analyzed
        return [self.adapter.Column(column=f.name, dtype=f.type.simple) for f in schema]

    def refuse_query(self, statement: Statement) -> None:
        """Raises `NotRun` where a test that is being compiled queries the table that is not published yet."""
        staged = self.here.staged
        if staged is not None and staged.target.key[-1] in statement.names:
            raise NotRun("it queries the table while dbt compiles it")

    # --- the guard's side -------------------------------------------------------------------------------------------

    def find_tests_before(self, state: NodeState) -> TestsBefore | None:
        """What runs a model's tests over its staged rows; None where dbt is to run them. Raises `ProjectError` where
        they are to run before, and this dbt lacks something for it."""
        if state.node.model.settings.tests != "before":
            return None
        if self.manifest is None:
            said = "; ".join(relied.find_missing(relied.OF_TESTS)) or "dbt did not say which nodes it runs"
            raise ProjectError(f"`tests: before` cannot be kept with this dbt; set `tests: after`. {said}")
        return TestsBefore(self, str(state.node.form["unique_id"]))

    def keep_answers(self, state: NodeState, tests: TestsBefore | None, session: Session) -> None:
        """The model was published: what was found counts for its table as it stands now."""
        if state.node.model.settings.tests != "after":
            self.published.add(state.node.target)
        seen: dict[str, str | None] = {}
        for key, (result, ground) in (tests.answers if tests is not None else {}).items():
            relations = self._find_relations(parents_of(self.manifest.nodes.get(key)))
            looks = _read_state(session, relations, seen)
            if looks is not None:
                self.answers[key] = Answer(result, ground, relations, looks)

    def run_before(self, tests: TestsBefore, staged: StagedRows) -> list[DataTestResult]:
        """Runs a model's tests over its staged rows, and keeps dbt's results of those that need not run again."""
        begun = [self._begin(node, tests.unique_id, staged) for node in self._collect_tests().get(tests.unique_id, ())]
        left = (test.question for test in begun if isinstance(test, Begun) and test.known is None)
        together = staged.count_together(filter(None, left))
        found = [
            test if isinstance(test, DataTestResult) else self._run_one(test, tests, staged, together) for test in begun
        ]
        for test in found:
            if test.status == "not run":
                said = f"does not run over the staged rows of {staged.target.last}: {test.said}"
                log.info(f"planproof: {test.name} {said}")
        return found

    def _collect_tests(self) -> dict[str, list[Any]]:
        """The data tests of each stored node."""
        with self._lock:
            if self._of is None:
                self._of = {}
                for node in self.manifest.nodes.values():
                    for parent in self._find_stored(parents_of(node)) if node.resource_type == "test" else ():
                        self._of.setdefault(parent, []).append(node)
            return self._of

    def _why_more(self, test: Any, own: str) -> str | None:
        """Why a test needs more than this model's rows, None where it does not."""
        for parent in sorted(self._find_stored(parents_of(test)) - {own}):
            node = self.manifest.nodes.get(parent)
            if node is not None and own in self._find_ancestors(parent):
                return f"it reads {node.name}, which is built from this model"
            if node is not None and parent in self.selected and parent not in self.built:
                return f"it reads {node.name}, which is not built yet"
        return None

    def _find_stored(self, keys: Iterable[str]) -> set[str]:
        """The nodes that are relations; an ephemeral one is part of who reads it, and so are its parents."""
        found: set[str] = set()
        for key in keys:
            node = self.manifest.nodes.get(key)
            is_text = node is not None and node.config.materialized == "ephemeral"
            found |= self._find_stored(parents_of(node)) if is_text else {key}
        return found

    def _find_ancestors(self, key: str) -> set[str]:
        seen: set[str] = set()
        waiting = [key]
        while waiting:
            node = self.manifest.nodes.get(waiting.pop())
            parents = [parent for parent in parents_of(node) if parent not in seen]
            seen.update(parents)
            waiting += parents
        return seen

    def _find_relations(self, keys: Iterable[str]) -> Relied:
        """The stored relations that these nodes' rows come from: a view's are its parents'."""
        found: set[tuple[str, bool]] = set()
        for key in self._find_stored(keys):
            node = self.manifest.nodes.get(key) or self.manifest.sources.get(key)
            if node is None:
                continue
            is_view = getattr(node.config, "materialized", None) == "view"
            found.add((quote_parts((str(node.schema), str(getattr(node, "identifier", None) or node.alias))), is_view))
            if is_view:
                found.update(self._find_relations(parents_of(node)))
        return tuple(sorted(found))

    def _begin(self, node: Any, own: str, staged: StagedRows) -> Begun | DataTestResult:
        """One test as far as it goes without Spark: compiled by dbt, and counted by plans and files."""
        try:
            why = self._why_more(node, own)
            if why is not None:
                return _describe(node).report_not_run(why)
            test, whole = self._prepare(node)
            with self.here.hide_node():
                self._compile(test, staged)
                known = self._count(test, staged.session, staged)
            return Begun(node, test, whole, str(test.compiled_code), self._find_question(test), known)
        except Exception as error:
            return _make_error_result(node, error)

    def _run_one(
        self, begun: Begun, tests: TestsBefore, staged: StagedRows, together: Mapping[Question, Failures]
    ) -> DataTestResult:
        """One test by dbt's own hands: put over the staged rows, and materialized."""
        node, test, asked = begun.node, begun.test, begun.sql
        found = together.get(begun.question) if begun.question is not None else None
        try:
            with self.here.hide_node():
                test.compiled_code = staged.text(asked)
                known = begun.known or (_make_result(test, found) if found is not None else None)
                result, ground = known or (run_test(self.adapter, test, self.manifest), COUNTED)
        except Exception as error:
            return _make_error_result(node, error)
        numbers = (result.failures, result.should_warn, result.should_error)
        tested = _describe(test, asked).judge(*numbers, staged, ground)
        if begun.whole:
            tests.answers[node.unique_id] = (result, tested.said)
        return tested

    def _prepare(self, node: Any) -> tuple[Any, bool]:
        """A copy of dbt's node, which dbt compiles again in its turn; whether all that the node does is done here.

        Failures are stored as a table, where dbt has made its schema: a view over staged rows would not last.
        """
        test = copy.deepcopy(node)
        if _stores(test) and (node.unique_id not in self.selected or test.config.store_failures_as == "view"):
            test.config.store_failures = False
            return test, False
        return test, True

    def _compile(self, test: Any, staged: StagedRows) -> None:
        self.here.staged = staged
        try:
            compile_test(self.adapter, test, self.manifest)
        finally:
            self.here.staged = None


def _make_result(test: Any, found: Failures) -> tuple[Any, str]:
    """dbt's result of a test with so many failures, and by what they are known."""
    limits = Thresholds.of(test.config.to_dict())
    assert limits is not None
    return test_result(found.failures, limits.warns(found.failures), limits.fails(found.failures)), found.ground


def _make_error_result(node: Any, error: Exception) -> DataTestResult:
    """A test's own errors are of many classes, and dbt reports them at its node."""
    if isinstance(error, NotRun):
        return _describe(node).report_not_run(str(error))
    if place_of(error) is not None:
        why = f"{describe(error)}; dbt runs this test after the publish, as without planproof. Please report it"
        return _describe(node).report_not_run(why)
    said = str(error).strip().splitlines()
    return _describe(node).report_not_run(f"it fails over the staged rows: {said[0] if said else error!r}")


def _stores(test: Any) -> bool:
    own = test.config.store_failures
    return bool(getattr(read_flags(), "STORE_FAILURES", False) if own is None else own)


def _describe(node: Any, sql: str = "") -> DataTest:
    """A test of dbt's with its limits, the column that it is declared for, and the file; `sql` is what it asks."""
    limits = {name: getattr(node.config, name) for name in ("severity", "warn_if", "error_if")}
    file = str(node.original_file_path) if node.original_file_path else None
    return DataTest(node.name, sql, **limits, column=getattr(node, "column_name", None), place=file)


def _read_state(session: Session, relations: Relied, seen: dict[str, str | None]) -> str | None:
    """What the relations look like now; None where that cannot be told of one of them. `seen` holds those that were
    looked at just before."""
    from planproof.publish.fingerprint import compute_fingerprint

    try:
        for relation, is_view in relations:
            if relation not in seen:
                # Nobody knows what lies below a view that is no model: its rows may be others at any time.
                seen[relation] = compute_fingerprint(session, relation, view="text" if is_view else "unknown")
    except (AnalysisError, SparkFailure):
        return None
    found = [seen[relation] for relation, _ in relations]
    return None if None in found else " ".join(map(str, found))


def add_ground(message: str | None, ground: str) -> str:
    """The message of a test's result with the ground on which it stands."""
    return f"{message}; {ground}" if message else f"pass ({ground})"
