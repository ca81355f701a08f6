"""Expressions before and after one rule, for the rules' docstrings."""

from __future__ import annotations

from planproof_engine import Rule, optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf

_ITEM = "struct<sku:string,qty:int,price:double,note:string,ship:struct<city:string,zip:int>>"
_COLUMNS: list[tuple[str, str, bool]] = [
    ("id", "bigint", False),
    ("name", "string", True),
    ("k", "int", True),
    ("xs", "array<int>", True),
    ("ds", "array<double>", True),
    ("words", "array<string>", True),
    ("items", f"array<{_ITEM}>", True),
    ("attrs", "map<string,struct<a:int,b:double,c:string,e:string>>", True),
]


def rewrite_example(rule: Rule, expression: str, ansi: bool = True) -> str:
    """The expression as the rule leaves it, over a table of nullable nested columns."""
    made = plan(f"SELECT {expression} AS e FROM t", Catalog({"t": _COLUMNS}), conf=Conf(ansi=ansi))
    return optimize(made, rules=[rule]).sql.removeprefix("SELECT ").removesuffix(" AS e FROM t")
