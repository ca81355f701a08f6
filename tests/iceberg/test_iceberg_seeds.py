"""Seeds and snapshots on Iceberg: published in one commit each, and what becomes of their tables where they fail.

dbt-spark drops a seed's table before it makes it anew, and adds a snapshot's new columns before it merges.
"""

from __future__ import annotations

import json
from typing import Any

GOOD, QUOTED = "id,name\n1,a\n2,b\n", "id,name\n1,a\n2,it's\n"
TYPES = "seeds:\n  - {name: WHO_typed, config: {column_types: {id: \"{{ var('kind', 'int') }}\"}}}\n"
SNAPSHOT = """
    {% snapshot WHO_kept %}
    {{ config(strategy='check', unique_key='id', check_cols=['n'], file_format='iceberg', hard_deletes='invalidate') }}
    {% if var('bad', false) %}
    select id, 'c' as n, cast(raise_error('no') as int) as more from range(2)
    {% else %}
    select id, '{{ var("n") }}' as n {% if var("n") == "b" %}, 1 as more {% endif %} from range({{ var("rows") }})
    {% endif %}
    {% endsnapshot %}
    """


def _snapshots(dbt: Any, name: str) -> int:
    return int(dbt.spark.table(f"{dbt.place}.{name}.snapshots").count())


def play(dbt: Any, who: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state of each table before and after the runs that fail; None where it is gone."""
    names = [f"{who}_{name}" for name in ("typed", "quoted", "kept")]

    def build(*more: str, **variables: Any) -> Any:
        given = json.dumps({"n": "a", "rows": 3, **variables})
        return dbt.run("build", "--vars", given, "--select", *names, *more, guarded=who == "guarded")

    def states() -> dict[str, Any]:
        return {name.removeprefix(f"{who}_"): dbt.state(name) if dbt.exists(name) else None for name in names}

    files = {"typed.csv": GOOD, "quoted.csv": GOOD, "types.yml": TYPES}
    dbt.write({f"seeds/{who}_{name}": text.replace("WHO", who) for name, text in files.items()})
    dbt.write({f"snapshots/{who}_kept.sql": SNAPSHOT.replace("WHO", who)})
    assert build().success, dbt.log[-3000:]
    before = states()
    dbt.write({f"seeds/{who}_quoted.csv": QUOTED})
    build(kind="integr", bad=True)
    assert set(dbt.statuses.values()) == {"error"}, dbt.statuses
    return before, states()


def test_tables_of_seeds_and_snapshots_that_fail(dbt: Any) -> None:
    before, after = play(dbt, "bare")
    # The control: where this no longer fails, dbt-spark has learnt something.
    assert after["typed"] is None, "dropped, and not made again"
    assert after["quoted"][1] == [], "made again, and empty"
    if dbt.catalog != "spark_catalog":  # There dbt-spark takes the snapshot's table for Hive's, and stops.
        assert ("more" in after["kept"][0], after["kept"][1] == before["kept"][1]) == (True, False)
    before, after = play(dbt, "guarded")
    assert after == before


def test_seeds_and_snapshots_through_their_life(dbt: Any) -> None:
    who = "life"
    dbt.write({f"seeds/{who}_seed.csv": GOOD, f"snapshots/{who}_kept.sql": SNAPSHOT.replace("WHO", who)})
    dbt.write({f"models/{who}_after.sql": f"select * from {{{{ ref('{who}_seed') }}}}"})

    def build(n: str, rows: int, *more: str) -> None:
        given = json.dumps({"n": n, "rows": rows})
        assert dbt.run("build", "--vars", given, "--select", f"{who}_*", *more).success, dbt.log[-3000:]
        assert {name for name, r in dbt.reports.items() if r["outcome"] == "published"} >= {"life_seed", "life_kept"}

    build("a", 3)
    assert dbt.rows("life_seed") == [(1, "a"), (2, "b")]
    assert [(row[0], row[1]) for row in dbt.rows("life_kept")] == [(0, "a"), (1, "a"), (2, "a")]
    build("b", 2)
    assert (_snapshots(dbt, "life_seed"), _snapshots(dbt, "life_kept")) == (2, 2), "replaced and merged, not dropped"
    kept = dbt.spark.sql(
        f"select id, n, more, dbt_valid_to is null from {dbt.place}.life_kept order by id, n"
    ).collect()
    assert list(map(tuple, kept)) == [
        *((0, "a", None, False), (0, "b", 1, True), (1, "a", None, False), (1, "b", 1, True)),
        (2, "a", None, False),
    ]
    dbt.write({f"seeds/{who}_seed.csv": "id,name,price\n3,c,1.5\n"})
    build("b", 2, "--full-refresh")
    assert [(row[0], row[1], float(row[2])) for row in dbt.rows("life_seed")] == [(3, "c", 1.5)]
    assert dbt.statuses["life_after"] == "success"
    assert not [r["tableName"] for r in dbt.spark.sql("show tables").collect() if "planproof_seed" in r["tableName"]]
    dbt.write({f"seeds/{who}_seed.csv": "id,name,price\n"})
    build("b", 2)
    assert dbt.rows("life_seed") == []
