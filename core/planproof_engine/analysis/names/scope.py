"""What a name can mean: the columns of a query block, the lambda variables around an expression, the enclosing query.

Source: `AttributeSeq.resolve`, `ResolveLambdaVariables`, `ColumnResolutionHelper`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from planproof_engine.expr import Column, Variable
from planproof_engine.expr.pretty import NAMELESS
from planproof_engine.ground import AnalysisError, Origin, evolve, record

METADATA = "_metadata"
"""The struct that tables of files offer beside their columns (`FileFormat.METADATA_NAME`)."""


@dataclass(slots=True)
class Scope:
    """The columns that expressions of one query block may name.

    `hidden` are columns that a name reaches only where no other column has it (the other side's keys of a USING join,
    what a generator of the same SELECT makes, the items under HAVING, the input under QUALIFY). `outer` is the scope of
    the enclosing query; a column found there is correlated. `aggregated` says that the enclosing query's aggregates can
    be named from a subquery (in HAVING), `filters` that the subquery stands in its WHERE, HAVING or ON. `suggests`: an
    error may be shown, which then names similar columns. `known` is False where there may be columns of which nothing
    is known.
    """

    columns: tuple[Column, ...]
    hidden: tuple[Column, ...] = ()
    outer: Scope | None = None
    case_sensitive: bool = False
    aggregated: bool = False
    suggests: bool = True
    filters: bool = False
    known: bool = True
    _by_name: dict[str, list[Column]] = field(init=False)
    _hidden_by_name: dict[str, list[Column]] = field(init=False)
    _alone: Scope | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._by_name = self._index_by_name(self.columns)
        self._hidden_by_name = self._index_by_name(self.hidden)

    def _index_by_name(self, columns: Iterable[Column]) -> dict[str, list[Column]]:
        found: dict[str, list[Column]] = {}
        for column in columns:
            found.setdefault(self.key(column.name), []).append(column)
        return found

    def key(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()

    def find_first(self, name: str) -> Column | None:
        """The first column of the name, of whatever relation."""
        return next(iter(self._by_name.get(self.key(name), ())), None)

    def drop_outer(self) -> Scope:
        """The scope without the query around it."""
        if self.outer is None:
            return self
        if self._alone is None:
            self._alone = Scope(self.columns, self.hidden, None, self.case_sensitive, self.aggregated)
        return self._alone

    def find_matches(self, parts: Sequence[str]) -> tuple[list[Column], tuple[str, ...]]:
        """The columns that `parts` may name, and the parts left over as nested fields."""
        found = self._find_matches(parts, self._by_name)
        return found if found[0] else self._find_matches(parts, self._hidden_by_name)

    def _find_matches(
        self, parts: Sequence[str], index: dict[str, list[Column]]
    ) -> tuple[list[Column], tuple[str, ...]]:
        # The longest qualifier wins: catalog.schema.table.column, then down to a bare column.
        for width in range(min(3, len(parts) - 1), 0, -1):
            wanted = [self.key(p) for p in parts[:width]]
            found = [
                c
                for c in index.get(self.key(parts[width]), ())
                if len(c.qualifier) >= width and [self.key(q) for q in c.qualifier[-width:]] == wanted
            ]
            if found:
                return _drop_repeated(found), tuple(parts[width + 1 :])
        return _drop_repeated(index.get(self.key(parts[0]), ())), tuple(parts[1:])

    def find_qualified(self, parts: Sequence[str]) -> tuple[Column, ...]:
        """The columns of `parts.*`: those whose qualifier ends in `parts`, hidden ones included."""
        wanted = tuple(self.key(p) for p in parts)
        return tuple(
            c
            for c in (*(h for h in self.hidden if h.name != METADATA), *self.columns)
            if len(c.qualifier) >= len(wanted) and tuple(self.key(q) for q in c.qualifier[-len(wanted) :]) == wanted
        )

    def list_candidates(self, parts: Sequence[str]) -> list[str]:
        """The names of the columns, the most similar ones first, as Spark suggests them."""
        spelled = [(*c.qualifier, c.name) for c in self.columns if NAMELESS not in c.name] if self.suggests else []
        shared = next((n for n in (1, 2) if len(parts) <= n and len({s[:-n] for s in spelled}) == 1), 0)
        named = {".".join(f"`{p}`" for p in s[-shared:]): s[-1] for s in spelled}
        edits = _measure_edits(".".join(parts))
        return sorted(named, key=lambda text: (edits(text), named[text]))[:5]


def _measure_edits(wanted: str) -> Callable[[str], int]:
    """How many letters must be added, dropped or changed to turn a text into `wanted` (Levenshtein).

    Myers, "A fast bit-vector algorithm for approximate string matching": one number holds a column of the table, by two
    bits for each letter of `wanted`. A query of thousands of wrong names is compared with each column of its tables.
    """
    ones, top = (1 << len(wanted)) - 1, 1 << len(wanted) >> 1
    places: dict[str, int] = {}
    for at, letter in enumerate(wanted):
        places[letter] = places.get(letter, 0) | 1 << at

    def measure(text: str) -> int:
        if not wanted:
            return len(text)
        more, less, edits = ones, 0, len(wanted)
        for letter in text:
            same = places.get(letter, 0)
            both = same | less
            same = (((same & more) + more) ^ more) | same
            up, down = less | ~(same | more), more & same
            edits += bool(up & top) - bool(down & top)
            up, down = up << 1 | 1, down << 1
            more, less = (down | ~(both | up)) & ones, up & both
        return edits

    return measure


def _drop_repeated(columns: Sequence[Column]) -> list[Column]:
    return list(dict.fromkeys(columns)) if len(columns) > 1 else [*columns]


@record(frozen=True, slots=True)
class LambdaScope:
    """The parameters of one lambda, and of the lambdas around it. They shadow columns and outer parameters."""

    variables: dict[str, Variable]
    outer: LambdaScope | None = None

    def find(self, key: str) -> Variable | None:
        found = self.variables.get(key)
        return found if found is not None or self.outer is None else self.outer.find(key)


def make_ambiguous_error(parts: Sequence[str], found: Sequence[Column], origin: Origin | None = None) -> AnalysisError:
    """The error for a name that several columns have, all of them listed."""
    name = ".".join(f"`{p}`" for p in parts)
    options = ", ".join(sorted(".".join(f"`{q}`" for q in (*c.qualifier, c.name)) for c in found))
    return AnalysisError("AMBIGUOUS_REFERENCE", f"Reference {name} is ambiguous, could be: [{options}].", origin)


_FIRST_NAME = re.compile(r"`(?:[^`]|``)*`|\w+")


def place_variable(variable: Variable, span: tuple[int, int], text: str) -> Variable:
    """The variable with the place of its name: the first part of the dotted name at `span`."""
    name = _FIRST_NAME.match(text, span[0]) if span[0] >= 0 else None
    return variable if name is None else evolve(variable, span=name.span())
