"""What a dotted name means: a column of the scope, and the field, element or value that stands in it.

Source: `AttributeSeq.resolve`, `ColumnResolutionHelper`, `ExtractValue`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planproof_engine import types as dt
from planproof_engine.analysis.names.scope import Scope, make_ambiguous_error
from planproof_engine.expr import Category, Mismatch, transform_up
from planproof_engine.expr import nodes as x
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.bind import apply, cast_unless_same, check_cast
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import AnalysisError, Conf, Origin, evolve


class Fields:
    """Parts of values by their names, as one statement's settings and functions have it."""

    def __init__(self, conf: Conf, registry: Registry) -> None:
        self._conf, self._registry = conf, registry
        self._last: tuple[dt.Struct, Mapping[str, Sequence[int]]] | None = None
        """The struct that was looked into last, with the places of its fields by their names. A query that reads all
        fields of one of thousands looks at them once."""

    def resolve(
        self, parts: Sequence[str], scope: Scope, origin: Origin | None = None
    ) -> tuple[x.Expr, x.Column] | None:
        """What a dotted name means in the scope or in the query around it: the expression, and the column it reads.

        Spark looks into the query right around, and no further. None where nothing has the name; raises `AnalysisError`
        where several columns have it, or a field does not exist.
        """
        found, rest = scope.find_matches(parts)
        if len(found) > 1:
            raise make_ambiguous_error(parts, found, origin)
        if found:
            column, written = found[0], parts[len(parts) - len(rest) - 1]
            if column.name != written:
                column = evolve(column, name=written)
            return self.extract_fields(column, rest, origin), column
        if scope.outer is None:
            return None
        try:
            correlated = self.resolve(parts, scope.outer.drop_outer(), origin)
        except AnalysisError:
            # Whatever is wrong with the name there, Spark says that it found none (`resolveOuterReferences`).
            return None
        if correlated is None:
            return None
        marked = transform_up(correlated[0], lambda e: x.Outer(e) if isinstance(e, x.Column) else e)
        if not isinstance(marked, (x.Outer, x.Alias)):
            marked = x.Alias(
                marked, parts[-1], x.fresh_id(), explicit=False
            )  # `resolveOuterReferences` keeps the name.
        return marked, correlated[1]

    def extract_fields(self, expr: x.Expr, names: Sequence[str], origin: Origin | None = None) -> x.Expr:
        """`expr.a.b`, through structs, arrays of structs and maps (`ExtractValue`)."""
        for name in names:
            expr = self.extract(expr, name, origin)
            if isinstance(expr, x.Alias):
                expr = expr.child  # A path has the name of its last part.
        return expr

    def extract(self, expr: x.Expr, name: str, origin: Origin | None = None) -> x.Expr:
        """`expr.name`: a struct's field, the field of each element, or a map's value. Raises `AnalysisError`."""
        given = self._find_row(expr) or expr.type
        if isinstance(given, dt.Struct):
            at = self.ordinal(given, name, origin)
            found = given.fields[at]
            return x.GetField(expr, at, found.type, expr.nullable or found.nullable, name)
        if isinstance(given, dt.Array) and isinstance(given.element, dt.Struct):
            at = self.ordinal(given.element, name, origin)
            found = given.element.fields[at]
            # `GetArrayStructFields.containsNull`: a null struct or a null field makes a null element.
            data_type = dt.Array(found.type, given.contains_null or found.nullable)
            return x.GetFieldOfElements(expr, at, found.name, data_type, expr.nullable)
        if isinstance(given, dt.Map):
            return self.extract_item(expr, self._make_key(name, given, origin), origin)
        if isinstance(given, dt.Array):
            return self.extract_item(expr, _make_text(name), origin)
        if given == dt.VOID and not self._conf.before("4.2"):
            return self._extract_from_null(expr, _make_text(name))
        raise _make_base_error(expr, origin)

    def _find_row(self, expr: x.Expr) -> dt.Struct | None:
        """The row that a generator makes: as an expression it is a struct (`Generator.dataType`)."""
        if (
            not isinstance(expr, x.Call)
            or expr.function.category is not Category.GENERATOR
            or not expr.function.columns
        ):
            return None
        return dt.Struct(tuple(dt.StructField(*column) for column in expr.function.columns(expr.args, self._conf)))

    def _extract_from_null(self, expr: x.Expr, key: x.Expr) -> x.Expr:
        """A part of NULL is NULL in Spark 4.2 (`ExtractValue.applyOrNull`), under the name of the part. An older
        one rejects it."""
        if isinstance(expr, x.Variable):
            raise _make_base_error(expr, None)  # `ResolveLambdaVariables` knows no part of NULL.
        return x.Alias(x.Literal(None, dt.VOID, "NULL"), f"{pretty(expr)}[{pretty(key)}]", x.fresh_id(), explicit=False)

    def _make_key(self, name: str, given: dt.Map, origin: Origin | None) -> x.Expr:
        """The name as a key of the map: since 4.0 Spark casts it to the keys' type, whatever casts are implicit."""
        if self._conf.before("4.0"):
            return _make_text(name)
        refused = check_cast(dt.STRING, given.key, "ansi" if self._conf.ansi else "legacy")
        if refused is not None:
            raise AnalysisError(refused.full_condition, refused.message, origin)
        return cast_unless_same(_make_text(name), given.key, self._conf)

    def extract_item(self, expr: x.Expr, key: x.Expr, origin: Origin | None = None) -> x.Expr:
        """`expr[key]` of an array, a map or a struct."""
        row = self._find_row(expr)
        given: dt.DataType = row or expr.type
        text = key.value if isinstance(key, x.Literal) and dt.is_string(key.type) else None
        if text is not None and _has_names(given):
            return self.extract(expr, text, origin)
        if text is not None and isinstance(given, dt.Map) and not dt.is_string(given.key):
            key = self._make_key(text, given, origin)
        if row is not None:
            return x.GetField(expr, 0, row.fields[0].type, True, row.fields[0].name)  # Refused for the generator in it.
        if isinstance(given, dt.Struct):
            said = "The field name must be a non-null string literal."
            raise AnalysisError("INVALID_EXTRACT_FIELD_TYPE", said, origin)
        name = "getarrayitem" if isinstance(given, dt.Array) else "getmapvalue" if isinstance(given, dt.Map) else None
        function = self._registry.find(name) if name else None
        if function is None or given == dt.VARIANT:
            if given == dt.VOID and not self._conf.before("4.2"):
                return self._extract_from_null(expr, key)
            raise _make_base_error(expr, origin)
        try:
            return apply(function, (expr, key), self._conf)
        except Mismatch as mismatch:
            raise AnalysisError(mismatch.full_condition, mismatch.message, origin) from None

    def ordinal(self, struct: dt.Struct, name: str, origin: Origin | None = None) -> int:
        """The place of the struct's field of that name. Raises `AnalysisError` for none, or for several."""
        wanted = name if self._conf.case_sensitive else name.lower()
        found = self._find_places(struct).get(wanted, ())
        if len(found) == 1:
            return found[0]
        if found:
            raise AnalysisError("AMBIGUOUS_REFERENCE_TO_FIELDS", f"Ambiguous reference to the field `{name}`.", origin)
        fields = ", ".join(f"`{f}`" for f in struct.names)
        raise AnalysisError("FIELD_NOT_FOUND", f"No such struct field `{name}` in {fields}.", origin)

    def _find_places(self, struct: dt.Struct) -> Mapping[str, Sequence[int]]:
        if self._last is not None and self._last[0] is struct:
            return self._last[1]
        found: dict[str, list[int]] = {}
        for at, name in enumerate(struct.names):
            found.setdefault(name if self._conf.case_sensitive else name.lower(), []).append(at)
        self._last = struct, found
        return found


def _make_base_error(expr: x.Expr, origin: Origin | None) -> AnalysisError:
    text = (
        f'Can\'t extract a value from "{pretty(expr)}". Need a complex type [STRUCT, ARRAY, MAP] '
        f'but got "{expr.type.sql}".'
    )
    return AnalysisError("INVALID_EXTRACT_BASE_FIELD_TYPE", text, origin)


def _make_text(name: str) -> x.Expr:
    return x.Literal(name, dt.STRING, name)


def _has_names(given: dt.DataType) -> bool:
    """Whether its parts are named: a struct, or an array of some."""
    return isinstance(given.element if isinstance(given, dt.Array) else given, dt.Struct)
