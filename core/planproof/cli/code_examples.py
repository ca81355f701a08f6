"""For each code an example that shows it, and the same example mended. A test runs both through the offline check.

A code that only a run, files or two compiles can show has no example here; its page (tools/code_pages.py) says what
shows it.
"""

from __future__ import annotations

from dataclasses import dataclass

from planproof.judge.allowed import UNPUBLISHABLE

SOURCES: dict[str, dict[str, str]] = {
    "raw.t": {"a": "int", "b": "int", "c": "string"},
    "raw.big": {"id": "bigint", "price": "decimal(12,4)", "code": "string", "x": "double"},
    "raw.ids": {"id": "int", "price": "decimal(12,2)"},
    "raw.times": {"at": "timestamp", "local_at": "timestamp_ntz", "day": "date"},
    "raw.nested": {"s": "struct<a:int,b:int>"},
}
"""The columns of the sources that the examples read, all nullable."""


@dataclass(frozen=True, slots=True)
class Case:
    """A model: its SQL, and the contract's columns by name, each with its type, `!` in front where it is NOT NULL.
    ANSI is off unless said, as under dbt-spark. `settings` are planproof's own, of the model."""

    sql: str
    columns: tuple[tuple[str, str], ...] = ()
    ansi: bool = False
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """`failing` shows the code; `fixed` does not, and breaks nothing else of its contract."""

    failing: Case
    fixed: Case


_ID = (("id", "int"),)
_WARN = (("overflow", "warn"),)

EXAMPLES: dict[str, Example] = {
    "PP101": Example(
        Case("select q.b from (select a as id, b, c as id from raw.t) q"),
        Case("select q.b from (select a as id, b, c as name from raw.t) q"),
    ),
    "PP102": Example(Case("select a as id, b as id from raw.t"), Case("select a as id, b as other_id from raw.t")),
    "PP103": Example(Case("select make_interval(1) as span"), Case("select 12 as months")),
    "PP110": Example(Case("select a + array(1) as n from raw.t"), Case("select a + 1 as n from raw.t")),
    "PP120": Example(
        Case("select a, b from raw.t union all select b, a from raw.t"),
        Case("select a, b from raw.t union all select a, b from raw.t"),
    ),
    "PP121": Example(
        Case("with x(b, a) as (select a, b from raw.t) select a, b from x"),
        Case("with x(a, b) as (select a, b from raw.t) select a, b from x"),
    ),
    "PP122": Example(
        Case("select cast(s as struct<b:int,a:int>) as s from raw.nested"),
        Case("select named_struct('b', s.b, 'a', s.a) as s from raw.nested"),
    ),
    "PP123": Example(
        Case("select big.code from raw.big natural join raw.ids"),
        Case("select big.code from raw.big join raw.ids using (id)"),
    ),
    "PP124": Example(
        Case("select big.id from raw.big join raw.ids on big.code = ids.id"),
        Case("select big.id from raw.big join raw.ids on cast(big.code as int) = ids.id"),
    ),
    "PP125": Example(
        Case("select id from raw.big union all select x from raw.big"),
        Case("select cast(id as decimal(20,2)) as id from raw.big union all select price from raw.ids"),
    ),
    "PP126": Example(
        Case("select cast(id as int) as id from raw.big"), Case("select try_cast(id as int) as id from raw.big")
    ),
    "PP127": Example(Case("select cast(a / b as int) as q from raw.t"), Case("select a div b as q from raw.t")),
    "PP128": Example(
        Case("select at from raw.times union all select local_at from raw.times"),
        Case("select at from raw.times union all select cast(local_at as timestamp) from raw.times"),
    ),
    "PP129": Example(Case("select * from raw.t"), Case("select a, b, c from raw.t")),
    "PP130": Example(Case("select cast(c as varchar(3)) as c from raw.t"), Case("select left(c, 3) as c from raw.t")),
    "PP132": Example(
        Case("select coalesce(c, 0) as c from raw.t", ansi=True),
        Case("select coalesce(c, '0') as c from raw.t", ansi=True),
    ),
    "PP136": Example(
        Case("select sum(a * b) as n from raw.t", settings=_WARN),
        Case("select sum(cast(a as decimal(10,0)) * b) as n from raw.t", settings=_WARN),
    ),
    "PP138": Example(
        Case("select cast(code as int) as n from raw.big", settings=_WARN),
        Case("select try_cast(code as int) as n from raw.big", settings=_WARN),
    ),
    "PP500": Example(
        Case("select c from raw.t", (("c", "varchar(3)"),)),
        Case("select left(c, 3) as c from raw.t", (("c", "string"),)),
    ),
    "PP501": Example(
        Case("select a as id from raw.t", (*_ID, ("name", "string"))),
        Case("select a as id, c as name from raw.t", (*_ID, ("name", "string"))),
    ),
    "PP502": Example(Case("select a as id, c as name from raw.t", _ID), Case("select a as id from raw.t", _ID)),
    "PP504": Example(Case("select c as id from raw.t", _ID), Case("select try_cast(c as int) as id from raw.t", _ID)),
    "PP506": Example(
        Case("select a as id from raw.t", (("id", "!int"),)),
        Case("select coalesce(a, 0) as id from raw.t", (("id", "!int"),)),
    ),
}


def accept(code: str) -> str:
    """How to live with a finding of the code: the setting that lets it pass, or why none does."""
    if code in UNPUBLISHABLE:
        return "No setting can allow it."
    if code[2] in "369":
        return "There is nothing to allow: it is about the run, not about the model."
    return f"Set `meta: {{planproof: {{allow: [{code}]}}}}`: it is a warning then."


def render_case(case: Case) -> str:
    """A case as a reader writes it: the SQL, and the YAML of its contract."""
    lines = [case.sql]
    if case.columns:
        lines += ["", "columns:"]
        for name, kind in case.columns:
            constraints = ", constraints: [{type: not_null}]" if kind.startswith("!") else ""
            lines.append(f"  - {{name: {name}, data_type: {kind.lstrip('!')}{constraints}}}")
    if case.settings:
        said = ", ".join(f"{name}: {value}" for name, value in case.settings)
        lines += ["", "config:", f"  meta: {{planproof: {{{said}}}}}"]
    return "\n".join(lines)
