"""The statements around a model's publish that a manifest holds: hooks, grants, on-run-start and on-run-end.

They run where dbt-spark runs them: pre-hooks, the publish, grants, post-hooks. A hook is a text of the project's own,
and is not judged: what it does to tables is done, as it is in dbt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from planproof.session import Session, SparkFailure
from planproof_engine import AnalysisError, quote_name, quote_parts, record, split_name

_JINJA = re.compile(r"\{\{|\{%|\{#")
_PRIVILEGE = re.compile(r"[A-Za-z_]+( [A-Za-z_]+)*")
_SHOWN = 60


@record(frozen=True, slots=True)
class Hook:
    """A statement; `moment` is `pre-hook`, `post-hook`, `on-run-start` or `on-run-end`.

    `runs` is False for a hook outside of a transaction (`transaction: false`): dbt-spark's materializations run those
    inside of one only, so that it is never run.
    """

    moment: str
    sql: str
    runs: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether the text is SQL as it stands; what Jinja would print only dbt knows."""
        return not _JINJA.search(self.sql)

    @property
    def shown(self) -> str:
        """The statement on one line, cut."""
        text = " ".join(self.sql.split())
        return f"{self.moment} `{text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}`"


def hooks_of(config: Mapping[str, Any]) -> tuple[Hook, ...]:
    """The hooks of a model's config, those before it first; empty texts are none, as in dbt."""
    found: list[Hook] = []
    for key in ("pre-hook", "pre_hook", "post-hook", "post_hook"):
        given = config.get(key) or ()
        for hook in [given] if isinstance(given, (str, Mapping)) else given:
            text = str((hook.get("sql") if isinstance(hook, Mapping) else hook) or "")
            runs = hook.get("transaction") is not False if isinstance(hook, Mapping) else True
            if text.strip():
                found.append(Hook(key.replace("_", "-"), text, runs))
    return tuple(found)


def on_run_hooks(nodes: Iterable[Mapping[str, Any]]) -> tuple[Hook, ...]:
    """The on-run-start and on-run-end hooks among a manifest's nodes, in the order in which dbt runs them."""
    found: list[tuple[int, Hook]] = []
    for node in nodes:
        tags = node.get("tags")
        moment = next((t for t in ("on-run-start", "on-run-end") if isinstance(tags, list) and t in tags), None)
        text = str(node.get("raw_code") or "")
        if node.get("resource_type") == "operation" and moment is not None and text.strip():
            index = node.get("index")
            found.append((index if isinstance(index, int) else 0, Hook(moment, text)))
    return tuple(hook for _, hook in sorted(found, key=lambda pair: pair[0]))


def grants_of(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """The grantees of each privilege that the config names."""
    given = config.get("grants")
    if not isinstance(given, Mapping):
        return {}
    return {
        str(privilege): [str(name) for name in ([names] if isinstance(names, str) else names or ())]
        for privilege, names in given.items()
    }


def list_dbt_only(config: Mapping[str, Any]) -> list[str]:
    """What a config asks for around the model that only dbt can do, in words."""
    found = [f"{hook.shown} has Jinja" for hook in hooks_of(config) if hook.runs and not hook.is_plain]
    return found + [f"grants {name!r}, no privilege" for name in grants_of(config) if not _PRIVILEGE.fullmatch(name)]


def list_never_run(config: Mapping[str, Any]) -> list[str]:
    """What a config asks for around the model that dbt-spark does not do either, in words."""
    found = [
        f"{hook.shown}: dbt-spark runs no hook outside of a transaction" for hook in hooks_of(config) if not hook.runs
    ]
    header = bool(config.get("sql_header"))
    return found + (["sql_header: dbt-spark writes it into no statement of a table or view"] if header else [])


def grant_statements(
    relation: str, wanted: Mapping[str, Sequence[str]], present: Mapping[str, Sequence[str]] | None
) -> list[str]:
    """dbt-spark's statements: what is `present` and not wanted is revoked, what is wanted and not present granted.

    None: nothing was there, so that nothing can be present. Privileges and grantees are compared without case.

    >>> grant_statements("s.t", {"select": ["a`b"]}, {"SELECT": ["old"]})
    ['revoke SELECT on `s`.`t` from `old`', 'grant select on `s`.`t` to `a``b`']
    """
    target = ".".join(map(quote_name, split_name(relation)))
    revoked = [f"revoke {p} on {target} from {quote_name(name)}" for p, name in _find_beyond(present or {}, wanted)]
    return revoked + [f"grant {p} on {target} to {quote_name(name)}" for p, name in _find_beyond(wanted, present or {})]


def _find_beyond(these: Mapping[str, Sequence[str]], those: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    known = {(privilege.lower(), name.lower()) for privilege, names in those.items() for name in names}
    pairs = [(privilege, name) for privilege, names in these.items() for name in names]
    return [(privilege, name) for privilege, name in pairs if (privilege.lower(), name.lower()) not in known]


@record(frozen=True, slots=True)
class Around:
    """Runs the statements around models; `forget` is told each one, for it may have written what was proved before."""

    session: Session
    forget: Callable[[str], None]

    def run(self, hooks: Iterable[Hook], moment: str) -> None:
        """The plain hooks of one moment, in their order. Raises `SparkFailure`, which names the hook."""
        from planproof_engine import drop_terminators

        for hook in hooks:
            if hook.moment == moment and hook.runs and hook.is_plain:
                self._run_statement(drop_terminators(hook.sql).strip(), f"the {moment}")

    def create_databases(self, relations: Iterable[str]) -> None:
        """Makes the databases of these relations that are not there yet, as dbt does first. Raises `SparkFailure`."""
        for database in sorted({split_name(relation)[:-1] for relation in relations} - {()}):
            name = quote_parts(database)
            try:
                self.session.database_location(name)
            except (AnalysisError, SparkFailure) as error:
                # Who may not look at a database may still be one who publishes to it.
                if error.condition == "SCHEMA_NOT_FOUND":
                    self._run_statement(f"create database if not exists {name}", f"making the database {name}")

    def grant(self, relation: str, wanted: Mapping[str, Sequence[str]], existed: bool) -> None:
        """Gives the relation the grants that its model asks for, and no others. Raises `SparkFailure`."""
        if not wanted:
            return
        present = self._read_grants(relation) if existed else None
        for statement in grant_statements(relation, wanted, present):
            self._run_statement(statement, "a grant")

    def _read_grants(self, relation: str) -> dict[str, list[str]]:
        """What SHOW GRANTS says (principal, action, type of object), as dbt-spark reads it."""
        target = ".".join(map(quote_name, split_name(relation)))
        found: dict[str, list[str]] = {}
        for principal, action, kind, *_ in self._run_statement(f"show grants on {target}", "asking for its grants"):
            if kind == "TABLE" and action != "OWN":
                found.setdefault(str(action), []).append(str(principal))
        return found

    def _run_statement(self, sql: str, what: str) -> list[tuple[Any, ...]]:
        try:
            return self.session.rows(sql)
        except AnalysisError as error:
            raise SparkFailure(f"{what} failed: [{error.condition}] {error.message}; it is: {sql}") from error
        except SparkFailure as error:
            raise SparkFailure(f"{what} failed: {error}; it is: {sql}", error.condition, error.outside) from error
        finally:
            self.forget(sql)
