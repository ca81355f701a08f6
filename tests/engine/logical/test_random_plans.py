"""Random plans: the text of a plan is analyzed to the plan's own schema, by planproof and by real Spark."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from planproof import AnalysisError, Conf, Unknown
from planproof_engine.api import plan
from planproof_engine.logical.nodes import Plan
from planproof_engine.sql.unparse import unparse
from planproof_engine.sql.unparse.texts import write_node

_SPEC = importlib.util.spec_from_file_location("random_plans", Path(__file__).parent / "random_plans.py")
assert _SPEC is not None
assert _SPEC.loader is not None
random_plans = importlib.util.module_from_spec(_SPEC)
sys.modules["random_plans"] = random_plans
_SPEC.loader.exec_module(random_plans)

CATALOG = random_plans.catalog()
ANSI = Conf(ansi=True, time_type=True)
_SETTINGS: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=250, derandomize=True, **_SETTINGS)
@given(random_plans.plans(ANSI))
def test_the_text_of_a_random_plan_is_planned_to_its_schema(made: Plan) -> None:
    found = plan(unparse(made), CATALOG, conf=ANSI)
    assert found.physical_schema == made.schema.strip(), unparse(made)


def drawn(conf: Conf, count: int, number: int) -> list[Plan]:
    found: list[Plan] = []

    @seed(number)
    @settings(max_examples=count, phases=[Phase.generate], **_SETTINGS)
    @given(random_plans.plans(conf))
    def collect(made: Plan) -> None:
        found.append(made)

    collect()
    return found


Answer = list[tuple[str | None, str, Any, bool]] | str
"""Relation, name, type with nested flags, and flag of each field; or the condition of a rejection."""


def ours(query: str, conf: Conf) -> Answer:
    try:
        schema = plan(query, CATALOG, conf=conf).schema
    except AnalysisError as error:
        return error.condition
    except Unknown as gap:
        return f"unknown: {gap.construct}"
    return [(f.relation, f.name, random_plans.specimens.spelled(f.type), f.nullable) for f in schema]


class Spark:
    """Real Spark's answers over the relations of the plans, in one session."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        spark.conf.set("spark.sql.timeType.enabled", "true")
        for name, fields in random_plans.RELATIONS.items():
            members = [{"name": n, "type": t.json, "nullable": flag, "metadata": {}} for n, t, flag in fields]
            schema = json.dumps({"type": "struct", "fields": members})
            struct = spark._jvm.org.apache.spark.sql.types.DataType.fromJson(schema)
            rows = spark._jvm.java.util.ArrayList()
            spark._jsparkSession.createDataFrame(rows, struct).createOrReplaceTempView(name)

    def answer(self, query: str) -> Answer:
        from pyspark.errors import PySparkException

        try:
            analyzed = self.spark.sql(query)._jdf.queryExecution().analyzed()
        except PySparkException as error:
            return str(error.getCondition() or error)[:300]
        fields = json.loads(analyzed.schema().json())["fields"]
        output = analyzed.output()
        relations = [output.apply(at).qualifier().mkString(".") or None for at in range(len(fields))]
        return [(r, f["name"], without_metadata(f["type"]), f["nullable"]) for r, f in zip(relations, fields)]


def without_metadata(form: Any) -> Any:
    if isinstance(form, dict):
        return {k: {} if k == "metadata" else without_metadata(v) for k, v in form.items()}
    return [without_metadata(v) for v in form] if isinstance(form, list) else form


@pytest.mark.conformance
@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "legacy"])
def test_real_spark_gives_random_plans_their_schemas(spark: Any, ansi: bool) -> None:
    conf = Conf(ansi=ansi, time_type=True)
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    real = Spark(spark)
    differ = []
    for made in drawn(conf, 1500, 1):
        # The plan's own text has its names, the text of its root node the relations that Spark gives.
        for query in (unparse(made), write_node(made)):
            expected, found = ours(query, conf), real.answer(query)
            if found != expected:
                differ.append((query, expected, found))
        fields = [(f.name, random_plans.specimens.spelled(f.type), f.nullable) for f in made.schema]
        if not isinstance(expected, str) and fields != [f[1:] for f in ours(unparse(made), conf)]:
            differ.append((unparse(made), fields, "the plan itself differs from its text"))
    assert differ == []
