"""The driver holds every rule to I6: deliberately bad rules are named and refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import generator
import pytest
import rows

from planproof_engine.api import RegistryMismatch, optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf
from planproof_engine.expr import Alias, fresh_id
from planproof_engine.functions.registry import Registry, builtin
from planproof_engine.logical.nodes import Join, Plan, Project
from planproof_engine.optimizer import driver, laws
from planproof_engine.optimizer.rules import AT_ONCE, OVER
from planproof_engine.optimizer.rules.hoist_invariants import hoist_invariants
from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.types import INT, LONG, Array

CONF = Conf()
SOURCES = {"t": [("a", "int", False), ("b", "int", True)], "u": [("a", "int", False), ("c", "string", True)]}


def swap_columns(root: Plan, conf: Conf, registry: Registry) -> Plan:
    return (
        replace(root, items=root.items[::-1])
        if isinstance(root, Project) and root.items[0].id < root.items[-1].id
        else root
    )  # type: ignore[attr-defined]


def rename(root: Plan, conf: Conf, registry: Registry) -> Plan:
    if not isinstance(root, Project) or isinstance(root.items[0], Alias):
        return root
    return replace(root, items=(Alias(root.items[0], "renamed", fresh_id()), *root.items[1:]))


def loosen(root: Plan, conf: Conf, registry: Registry) -> Plan:
    if not isinstance(root, Project) or root.items[0].nullable:
        return root
    return replace(root, items=(replace(root.items[0], nullable=True), *root.items[1:]))  # type: ignore[type-var]


def swap_join_sides(root: Plan, conf: Conf, registry: Registry) -> Plan:
    if isinstance(root, Project):
        child = swap_join_sides(root.child, conf, registry)
        return root if child is root.child else Project(child.output, child)
    if isinstance(root, Join) and root.left.output[0].id < root.right.output[0].id:
        return replace(root, left=root.right, right=root.left)
    return root


def _first(root: Plan, **changed: object) -> Plan:
    """The projection with its first item changed, once."""
    if not isinstance(root, Project) or all(getattr(root.items[0], k) == v for k, v in changed.items()):
        return root
    return replace(root, items=(replace(root.items[0], **changed), *root.items[1:]))  # type: ignore[type-var]


def widen(root: Plan, conf: Conf, registry: Registry) -> Plan:
    return _first(root, type=LONG)


def loosen_inside(root: Plan, conf: Conf, registry: Registry) -> Plan:
    return _first(root, type=Array(Array(INT, True), False))


def requalify(root: Plan, conf: Conf, registry: Registry) -> Plan:
    return _first(root, qualifier=("other",))


def drop_last(root: Plan, conf: Conf, registry: Registry) -> Plan:
    return replace(root, items=root.items[:-1]) if isinstance(root, Project) and len(root.items) > 1 else root


@pytest.mark.parametrize("rule", [swap_columns, rename, loosen, widen, requalify, drop_last])
def test_a_rule_that_changes_the_schema_is_named_and_refused(rule: driver.Rule) -> None:
    root = plan("SELECT a, b FROM t", Catalog(SOURCES)).root
    found = driver.run(root, CONF, builtin(), [rule])
    assert [r.rule for r in found.refused] == [rule.__name__]
    assert found.plan is root
    assert found.fired == ()


def repeat_inside(root: Plan, conf: Conf, registry: Registry) -> Plan:
    """Reads a column twice below the projection, whose own schema stays."""
    if not isinstance(root, Project) or isinstance(root.child, Project):
        return root
    first = root.child.output[0]
    return replace(root, child=Project((*root.child.output, first), root.child))


def test_a_rule_that_repeats_a_name_in_an_inner_node_is_named_and_refused() -> None:
    found = optimize(plan("SELECT a, b FROM t", Catalog(SOURCES)), rules=[repeat_inside])
    assert found.rules == ()
    assert [(f.code, f.message) for f in found.findings] == [
        ("PP202", "the rule repeat_inside made two columns called t.a and was refused")
    ]


def test_a_rule_that_changes_a_nested_flag_is_named_and_refused() -> None:
    root = plan(
        "SELECT a, b FROM n", Catalog({"n": [("a", Array(Array(INT, False), False), True), ("b", INT, True)]})
    ).root
    found = driver.run(root, CONF, builtin(), [loosen_inside])
    assert [r.rule for r in found.refused] == ["loosen_inside"]
    assert (found.plan, found.fired) == (root, ())


def test_the_set_form_can_be_chosen_and_a_lawful_swap_is_no_breach() -> None:
    made = plan("SELECT a, b FROM t", Catalog(SOURCES))
    ordered = optimize(made, rules=[swap_columns])
    assert [f.code for f in ordered.findings] == ["PP202"]
    assert [r.rule for r in driver.run(made.root, CONF, builtin(), [swap_columns], "set").refused] == []
    lawful = optimize(made, rules=[swap_columns], form="set")
    assert (lawful.findings, lawful.sql) == ((), made.text)
    assert [r.rule for r in driver.run(made.root, CONF, builtin(), [drop_last], "set").refused] == ["drop_last"]
    with pytest.raises(ValueError, match="known: ordered, set"):
        optimize(made, form="sets")


def test_a_plan_is_optimized_under_its_own_registry() -> None:
    made = plan("SELECT a FROM t", Catalog(SOURCES), registry=builtin().extended())
    assert optimize(made).sql == made.text
    with pytest.raises(RegistryMismatch):
        optimize(made, registry=builtin())


def test_a_rule_that_swaps_two_columns_of_one_name_and_type_is_refused() -> None:
    root = plan("SELECT t.a, u.a FROM t JOIN u ON t.a = u.a + 1", Catalog(SOURCES)).root
    found = driver.run(root, CONF, builtin(), [swap_columns])
    assert root.schema.strip().names == ("a", "a")
    assert [r.rule for r in found.refused] == ["swap_columns"]


def test_a_refused_rule_does_not_keep_others_from_firing() -> None:
    made = plan("SELECT a, transform(split(c, ','), x -> concat(x, upper(c))) AS r FROM u", Catalog(SOURCES))
    found = driver.run(made.root, CONF, builtin(), [drop_last, hoist_invariants, widen])
    assert [r.rule for r in found.refused] == ["drop_last", "widen"]
    assert [f.rule for f in found.fired] == ["hoist_invariants"]


@cache
def roots() -> tuple[Plan, ...]:
    return tuple(_plan_roots())


def _plan_roots() -> Iterator[Plan]:
    """Plans of random expressions, and of the written queries."""
    for text, _ in islice(generator.expressions(3, True, generator.Tally()), 3000):
        try:
            yield plan(f"SELECT {text} AS e FROM equality", generator.CATALOG, conf=Conf(ansi=True)).root
        except (AnalysisError, Unknown):
            continue
    for text in written():
        yield plan(text, Catalog({"rows": rows.STORED})).root


def written() -> list[str]:
    cases = (Path(__file__).parents[1] / "cases" / "rewrites.sql").read_text().split(";\n")
    return [text for text in cases if text.strip()]


def test_a_rule_that_the_driver_does_not_ask_would_change_nothing() -> None:
    asked = 0
    for root in roots():
        for rule in OVER if laws.has_plain_strings(root.all_expressions()) else ():
            if rule(root, Conf(ansi=True), builtin()) is not root:
                found = driver.run(root, Conf(ansi=True), builtin(), [rule])
                assert found.fired or found.refused, (rule.__name__, str(root))
                asked += 1
    assert asked > 300


def test_a_rule_that_is_not_asked_twice_in_a_row_would_change_nothing() -> None:
    fired: Counter[str] = Counter()
    for root in roots():
        for rule in AT_ONCE if laws.has_plain_strings(root.all_expressions()) else ():
            made = rule(root, Conf(ansi=True), builtin())
            if made is not root:
                assert rule(made, Conf(ansi=True), builtin()) is made, (rule.__name__, str(made))
                fired[rule.__name__] += 1
    assert min(fired[rule.__name__] for rule in AT_ONCE) > 10, fired


def test_rules_that_never_come_to_an_end_are_an_error() -> None:
    def again(root: Plan, conf: Conf, registry: Registry) -> Plan:
        return Project(root.output, root)

    with pytest.raises(driver.RewriteCycle, match="again"):
        driver.run(plan("SELECT a FROM t", Catalog(SOURCES)).root, CONF, builtin(), [again])


def test_the_refused_rule_is_a_finding_and_the_text_is_untouched() -> None:
    made = plan("SELECT a, b FROM t", Catalog(SOURCES))
    rewriting = optimize(made, rules=[rename])
    assert rewriting.sql == made.text
    assert [(f.code, f.plane) for f in rewriting.findings] == [("PP202", "rewritten")]
    assert "rename" in rewriting.findings[0].message


def test_join_sides_may_swap_below_a_non_projected_root_only() -> None:
    joined = plan("SELECT * FROM t JOIN u ON t.a = u.a", Catalog(SOURCES)).root.children[0]
    free = driver.run(joined, CONF, builtin(), [swap_join_sides])
    assert [f.rule for f in free.fired] == ["swap_join_sides"]
    assert free.plan.schema != joined.schema
    assert free.plan.schema.same_fields(joined.schema)
    projected = Project(joined.output, joined)
    bound = driver.run(projected, CONF, builtin(), [swap_join_sides])
    assert [r.rule for r in bound.refused] == ["swap_join_sides"]


def test_equal_names_are_read_by_index_after_optimization() -> None:
    sql = "SELECT t.a, u.a, transform(split(u.c, ','), x -> concat(x, upper(u.c))) FROM t JOIN u ON t.a = u.a"
    made = plan(sql, Catalog(SOURCES))
    rewriting = optimize(made)
    assert rewriting.rules == ("hoist_invariants",)
    assert rewriting.plan.schema == made.schema
    assert [f.relation for f in rewriting.plan.schema][:2] == ["t", "u"]


def test_rules_that_undo_each_other_are_an_error() -> None:
    def there_and_back(root: Plan, conf: Conf, registry: Registry) -> Plan:
        assert isinstance(root, Project)
        inner = root.child
        return inner if isinstance(inner, Project) else Project(root.output, root)

    root = plan("SELECT a FROM t", Catalog(SOURCES)).root
    with pytest.raises(driver.RewriteCycle, match="there_and_back"):
        driver.run(root, CONF, builtin(), [there_and_back])


def test_a_rule_that_changes_nothing_gives_back_the_same_object() -> None:
    root = plan("SELECT a, b FROM t WHERE b > 1", Catalog(SOURCES)).root
    assert driver.run(root, CONF, builtin()).plan is root


def test_a_column_without_an_alias_keeps_its_name() -> None:
    made = plan("SELECT transform(split(c, ','), x -> concat(x, upper(c))) FROM u", Catalog(SOURCES))
    rewriting = optimize(made)
    again = plan(rewriting.sql, Catalog(SOURCES))
    assert rewriting.rules == ("hoist_invariants",)
    assert again.physical_schema == made.physical_schema


def test_a_rewriting_that_would_rename_a_column_is_not_made() -> None:
    made = plan("SELECT (transform(split(c, ','), x -> concat(x, upper(c)))) FROM u", Catalog(SOURCES))
    rewriting = optimize(made)
    assert rewriting.sql == made.text
    assert rewriting.rules == ()
    assert rewriting.findings == ()


def test_a_rule_that_is_not_asked_had_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog({"rows": rows.STORED})
    plans = [plan(text, catalog) for text in written()]
    asked_for = [optimize(p).sql for p in plans]
    monkeypatch.setattr(driver, "OVER", {})
    monkeypatch.setattr(driver, "AT_ONCE", frozenset())
    assert asked_for == [optimize(p).sql for p in plans]
