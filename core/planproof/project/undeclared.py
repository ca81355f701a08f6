"""What columns would change that a source has and the manifest does not declare.

dbt asks nobody to declare all columns of a source. So a query is planned once more over relations that have more of
them: two of names that no text has, which `*` brings out, and those that the text names, which may take the
place of an alias or of an outer query's column. For example, in `SELECT id AS amount, amount AS n` the second item is
the source's own `amount` where it has one. What comes out as before does not depend on such columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from planproof.judge.doubts import Incomplete
from planproof.project import ProjectNode
from planproof_engine import AnalysisError, Catalog, Conf, Relation, Unknown, evolve, record
from planproof_engine.schema import ColumnNames, LogicalField, LogicalSchema
from planproof_engine.texts import list_mentioned_names, read_head
from planproof_engine.types import DOUBLE, STRING, VOID, DataType

Parts = tuple[str, ...]

_ONE_MORE = "__planproof_one_more"
# The types of the columns that a text may name: nearly all functions take a string, and no column was of NULL's type.
_KINDS: tuple[DataType, ...] = (VOID, STRING)
# Those of the columns that a star brings out: `coalesce(*)` has the wider type, which one of the two is.
_MARKS: tuple[DataType, ...] = (STRING, DOUBLE)
_TRIES = 16
_SHOWN = 3

_OWN = ("table", "view", "materialized_view", "incremental", "ephemeral")
# Words of hooks after which a relation may have other columns.
_CHANGING = frozenset(("column", "columns", "create", "replace", "rename"))
_RELATION = re.compile(r"\{\{\s*(?:this|ref\([^(){}]*\)|source\([^(){}]*\))(?:\.\w+)*\s*\}\}")
_AMBIGUOUS = re.compile(r"^Reference (\S+) is ambiguous")


def join_alternatives(sources: Iterable[str]) -> str:
    """
    >>> join_alternatives(["the source a", "the source b", "the source a"])
    'the source a or the source b'
    """
    found = [*dict.fromkeys(sources)]
    return " or ".join(found) if len(found) <= _SHOWN else f"one of {len(found)} relations that it reads"


def find_growth(node: ProjectNode) -> str | None:
    """Why a model's relation may have more columns than its query: another materialization than dbt's own makes it, or
    a hook changes it. None where nothing of that kind is seen."""
    if node.materialized not in _OWN:
        return f"{node.relation}, which the materialization {node.materialized} makes,"
    if any(map(_may_change_columns, node.hooks())):
        return f"{node.relation}, which its hooks may change,"
    return None


def _may_change_columns(hook: str) -> bool:
    """
    >>> _may_change_columns("alter table {{ this }} add columns (day date)"), _may_change_columns("optimize {{ this }}")
    (True, False)
    """
    text = _RELATION.sub(" x ", hook)
    if "{{" in text or "{%" in text:
        return True
    statement = read_head(text)
    return statement.kind not in ("read", "about") and not _CHANGING.isdisjoint(statement.names)


@record(frozen=True, slots=True)
class Supposition:
    """A query over relations that may have more columns than are known.

    `find` gives a relation as it is known, `incomplete` what is not known of it, None where all is.
    """

    sql: str
    conf: Conf
    find: Callable[[Parts], Relation | None]
    incomplete: Callable[[Relation], Incomplete | None]

    def find_change(self, known: LogicalSchema) -> Incomplete | None:
        """What may be other than in the schema that was planned; None where nothing is."""
        names, sources = list_mentioned_names(self.sql, self.conf), dict[str, str]()
        with_names = self._plan_wider(names, VOID, sources)
        if not sources or (isinstance(with_names, LogicalSchema) and _form_of(with_names) == _form_of(known)):
            return None
        plain = self._plan_wider(frozenset(), VOID, {})
        if not isinstance(plain, LogicalSchema):
            return Incomplete(join_alternatives(sources.values()), True, known.names)
        changed = dict.fromkeys(_find_changed(known, plain))
        for other in (with_names, self._plan_wider(names, STRING, {})):
            changed.update(dict.fromkeys(_find_changed(known, other) if isinstance(other, LogicalSchema) else ()))
        is_wider = plain.names != known.names
        if not is_wider and not changed:
            return None
        shown = [source for mark, source in sources.items() if any(_has_mark(f, mark) for f in plain)]
        return Incomplete(join_alternatives(shown or sources.values()), is_wider, tuple(changed))

    def find_mending_source(self, error: AnalysisError) -> str | None:
        """The source of which another column may mend the error, or make it another one."""
        names, sources = list_mentioned_names(self.sql, self.conf), dict[str, str]()
        found = [self._plan_wider(names, kind, sources, error) for kind in _KINDS]
        return (
            join_alternatives(sources.values())
            if sources and any(not _is_same(error, other) for other in found)
            else None
        )

    def _plan_wider(
        self, names: frozenset[str], kind: DataType, sources: dict[str, str], error: AnalysisError | None = None
    ) -> LogicalSchema | AnalysisError | Unknown:
        """The schema over the wider relations, or why there is none. Fills `sources` by the column that shows each.

        A name that is ambiguous only where a relation gets it is left out: with it Spark rejects the query in any case.
        """
        from planproof_engine import plan

        is_ambiguous = error is not None and _ambiguous_name(error) is not None
        failure: AnalysisError | Unknown = Unknown("what its names mean")
        for _ in range(_TRIES):
            wider = Catalog(source=lambda parts, added=names: self._widen(parts, added, kind, sources))  # type: ignore[misc]
            try:
                return plan(self.sql, wider, conf=self.conf).schema
            except Unknown as unknown:
                return unknown
            except AnalysisError as found:
                failure, name = found, _ambiguous_name(found)
                if name is None or name not in names or is_ambiguous:
                    return found
                names -= {name}
        return failure

    def _widen(self, parts: Parts, names: frozenset[str], kind: DataType, sources: dict[str, str]) -> Relation | None:
        found = self.find(parts)
        unknown = None if found is None else self.incomplete(found)
        if found is None or unknown is None:
            return found
        mark = f"{_ONE_MORE}({'.'.join(found.parts).lower()})"
        sources[mark] = unknown.source
        fields = [evolve(f, type=kind, nullable=True) if f.name in unknown.columns else f for f in found.schema]
        if unknown.is_wider:
            held = ColumnNames(f.name for f in fields)
            fields += [LogicalField(found.name, f"{mark}{n}", t, nullable=True) for n, t in enumerate(_MARKS)]
            fields += [LogicalField(found.name, name, kind, nullable=True) for name in sorted(names - held)]
        return evolve(found, schema=LogicalSchema(tuple(fields)))


def _form_of(schema: LogicalSchema) -> list[tuple[str, DataType, bool]]:
    return [(f.name, f.type, f.nullable) for f in schema]


def _find_changed(known: LogicalSchema, other: LogicalSchema) -> Iterator[str]:
    """The columns that have another type or nullability in the other schema, or are not in it."""
    first = {f.name: f for f in reversed(other.fields)}
    for f in known:
        now = first.get(f.name)
        if now is None or (now.type, now.nullable) != (f.type, f.nullable):
            yield f.name


def _has_mark(field: LogicalField, mark: str) -> bool:
    """Whether a column is the one that was added, or has it within: a struct of all columns has one more field."""
    return mark in field.name or mark in field.type.simple


def _is_same(error: AnalysisError, other: LogicalSchema | AnalysisError | Unknown) -> bool:
    return isinstance(other, AnalysisError) and (other.condition, other.message) == (error.condition, error.message)


def _ambiguous_name(error: AnalysisError) -> str | None:
    """The lower-case name of the column that is ambiguous."""
    match = _AMBIGUOUS.match(error.message) if error.condition == "AMBIGUOUS_REFERENCE" else None
    return match[1].split(".")[-1].strip("`").lower() if match else None
