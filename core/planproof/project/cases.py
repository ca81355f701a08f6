"""One case of `planproof derive`: what setup left behind and a query, to the schema that Spark would give it."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from planproof.catalog import Catalog
from planproof.conf import Conf
from planproof.origin import AnalysisError, Unknown
from planproof.types import TypeSyntaxError

_SET = re.compile(r"\s*set\s+([\w.]+)\s*=\s*(.*?)\s*;?\s*", re.I | re.S)
_TIME_ZONE = re.compile(r"\s*set\s+time\s+zone\s+'([^']*)'\s*;?\s*", re.I)

Setup = Callable[[list[str], Mapping[str, Any], Conf], tuple[Catalog, Conf]]


def derived(case: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a case: `schema`, `error` with its place, or `unknown`. Never raises."""
    answer: dict[str, Any] = {"id": case.get("id")}
    try:
        from planproof.api import plan as planned

        catalog, conf = _setup()(
            [str(statement) for statement in case.get("setup") or ()],
            case.get("relations") or {},
            Conf(ansi=bool(case.get("ansi", True))),
        )
        plan = planned(str(case["query"]), catalog, conf=conf)
        return {**answer, "schema": [_field(field) for field in plan.schema]}
    except Unknown as unknown:
        return {**answer, "unknown": unknown.construct}
    except AnalysisError as error:
        place = error.origin
        line, column = (place.line, place.column) if place is not None else (None, None)
        return {**answer, "error": f"{error.condition}: {error.message}", "line": line, "column": column}
    except RecursionError:
        return {**answer, "unknown": "a query nested this deeply"}
    except Exception as error:  # One case must never end the others.
        return {**answer, "unknown": f"internal error: {type(error).__name__}: {error}"}


def _field(field: Any) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": field.type.simple,
        "type_json": field.type.json,
        "nullable": field.nullable,
        "relation": field.relation,
    }


def _setup() -> Setup:
    if importlib.util.find_spec("planproof.analysis.setup") is not None:
        found: Setup = importlib.import_module("planproof.analysis.setup").apply
        return found
    return apply


def apply(setup: Iterable[str], relations: Mapping[str, Any], conf: Conf) -> tuple[Catalog, Conf]:
    """The conf after the SET statements, and the relations that the other statements left behind."""
    for statement in setup:
        zone, match = _TIME_ZONE.fullmatch(statement), _SET.fullmatch(statement)
        if zone is not None:
            conf = conf.with_setting("spark.sql.session.timeZone", zone[1])
        elif match is not None:
            conf = conf.with_setting(match[1], match[2].strip("'\""))
    catalog = Catalog()
    for name, columns in relations.items():
        try:
            catalog.add(name, [(column, kind, nullable) for column, kind, nullable in columns])
        except TypeSyntaxError as error:
            raise Unknown(f"the schema of {name}: {error}") from error
    return catalog, conf
