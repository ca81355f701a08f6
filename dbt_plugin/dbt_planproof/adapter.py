"""dbt's Spark adapter with a gate: planproof carries out the statements that write a model, dbt all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from dbt.adapters.base.meta import available
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt_planproof.dbts import Adapter
from dbt_planproof.gate import Gate
from dbt_planproof.scope import why_unreachable
from planproof_engine import quote_parts


class Gated:
    """The methods that come before dbt's own: a class that is put in front of dbt's adapter class."""

    planproof_gated = True

    def __init__(self, config: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, *args, **kwargs)  # type: ignore[call-arg]
        self.planproof = Gate(cast(Adapter, self))

    @available.parse(lambda *given: "")
    def planproof_guards(self) -> str:
        """Nothing to print: a project whose `on-run-start` calls it does not run where this adapter is missing, or
        cannot guard."""
        why = why_unreachable(self.planproof.reach.method)
        if why is not None:
            raise DbtRuntimeError(why)
        return ""

    def pre_model_hook(self, config: Any) -> Any:
        context = super().pre_model_hook(config)  # type: ignore[misc]
        self.planproof.enter(config)
        return context

    def post_model_hook(self, config: Any, context: Any) -> None:
        self.planproof.leave()
        super().post_model_hook(config, context)  # type: ignore[misc]

    def execute(self, sql: str, *more: Any, **named: Any) -> Any:
        answer = self.planproof.execute(sql)
        if answer is not None:
            return answer
        return super().execute(sql, *more, **named)  # type: ignore[misc]

    def add_query(self, sql: str, *more: Any, **named: Any) -> Any:
        held = self.planproof.hold_rows(sql)
        return super().add_query(sql if held is None else held, *more, **named)  # type: ignore[misc]

    def get_relation(self, database: Any, schema: Any, identifier: Any) -> Any:
        return self.planproof.mark_stored(super().get_relation(database, schema, identifier))  # type: ignore[misc]

    def list_relations_without_caching(self, schema_relation: Any) -> Any:
        def ask(sql: str) -> Any:
            return super(Gated, self).execute(sql, fetch=True)[1]  # type: ignore[misc]

        def listed() -> Any:
            return super(Gated, self).list_relations_without_caching(schema_relation)  # type: ignore[misc]

        return list_relations(str(schema_relation.schema), listed, ask)

    def get_column_schema_from_query(self, sql: str) -> Any:
        # dbt compares this next, before the statement that writes arrives. Where dbt would fail, our message says more.
        known = self.planproof.find_columns(sql)
        if known is not None:
            return list(known)
        try:
            columns = super().get_column_schema_from_query(sql)  # type: ignore[misc]
        except Exception:
            self.planproof.check_contract(sql)
            raise
        self.planproof.check_contract(sql, columns)
        return columns

    def get_columns_in_relation(self, relation: Any) -> Any:
        staged = self.planproof.trials.find_columns(relation)
        if staged is not None:
            return staged
        return self.planproof.add_changed_columns(relation, super().get_columns_in_relation(relation))  # type: ignore[misc]

    def drop_relation(self, relation: Any) -> Any:
        if self.planproof.put_off_drop(relation):
            return None
        return super().drop_relation(relation)  # type: ignore[misc]

    def rename_relation(self, from_relation: Any, to_relation: Any) -> Any:
        self.planproof.run_put_off()
        return super().rename_relation(from_relation, to_relation)  # type: ignore[misc]

    def cleanup_connections(self) -> None:
        # The last thing that dbt does with its adapter, whether the invocation failed or not.
        self.planproof.end()
        super().cleanup_connections()  # type: ignore[misc]

    def drop_now(self, relation: Any) -> None:
        """dbt's own drop, for one that was put off."""
        super().drop_relation(relation)  # type: ignore[misc]

    def execute_now(self, sql: str) -> None:
        """dbt's own way to run a statement, for one that was put off."""
        super().execute(sql)  # type: ignore[misc]


def make_guarded(plain: type) -> type:
    """A subclass of dbt's SparkAdapter that gates models.

    It keeps the name: dbt imports `dbt.adapters.<name without Adapter, lowercased>.__version__`.
    """

    class SparkAdapter(Gated, plain):  # type: ignore[misc]
        # dbt shows templates what a class of its own metaclass defines itself.
        planproof_guards = Gated.planproof_guards

    SparkAdapter.__module__ = plain.__module__
    SparkAdapter.__qualname__ = plain.__qualname__
    return SparkAdapter


TRIES = 3
_MISSING = ("SCHEMA_NOT_FOUND", "Schema not found", "NoSuchNamespace", "NoSuchDatabase", "Database not found")
Ask = Callable[[str], Iterable[Any]]


class Unanswered(DbtDatabaseError):
    """Raised where the catalog does not say which relations there are: nothing is built as if there were none."""


def list_relations(schema: str, listed: Callable[[], list[Any]], ask: Ask) -> list[Any]:
    """What `listed` gives; where it gives nothing, `ask` (a statement's rows) must say the same.

    dbt-spark reads an error's text, and gives no relations where it speaks of a schema or a table that is not found. It
    says so, too, where one of many tables was dropped while they were listed, and where a metastore fails in that way.
    dbt would then build every incremental table anew, over the rows that stand there.

    Raises `Unanswered`, by which dbt ends the command, or fails the node that asked.
    """
    for _ in range(TRIES):
        found = listed()
        shown = [] if found else _show_tables(schema, ask)
        if not shown:
            return found
    raise Unanswered(
        f"planproof: the catalog lists {', '.join(shown[:3])}{', ...' if len(shown) > 3 else ''} in {schema} "
        "and gave none when dbt asked what they are. Nothing is built as if there were no tables; run the command "
        "again once the catalog answers"
    )


def _show_tables(schema: str, ask: Ask) -> list[str]:
    """The relations of a schema by their names alone, without temporary views."""
    try:
        rows = list(ask(f"show tables in {quote_parts((schema,))}"))
    except DbtRuntimeError as error:
        if not any(word in str(error) for word in _MISSING):
            raise _make_error(schema, error) from error
        try:
            known = [str(row[0]).strip("`") for row in ask("show databases")]
        except DbtRuntimeError as second:
            raise _make_error(schema, second) from second
        return [f"the schema {schema} itself"] if schema.lower() in map(str.lower, known) else []
    return [str(row[1]) for row in rows if str(row[2]).lower() != "true"]


def _make_error(schema: str, error: Exception) -> Unanswered:
    # dbt says the kind of an error in lines of its own.
    said = [line.strip() for line in str(error).splitlines() if not line.strip().endswith("Error")]
    return Unanswered(
        f"planproof: the catalog did not say which tables there are in {schema}: {said[0] if said else error!r}. "
        "Nothing is built as if there were none; run the command again once the catalog answers"
    )
