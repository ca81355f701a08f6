"""One `airflow standalone`, as a user starts it: a healthy run, a violation, a retry, a kill, the report page."""

from __future__ import annotations

import json
import os
import re
import shutil
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from standalone import Airflow, spark_conf, started

from planproof.publish.transaction import lock, owner

pytestmark = [pytest.mark.slow, pytest.mark.conformance]
pytest.importorskip("airflow.api_fastapi", reason="Airflow 3's standalone")

HEAD = """
import datetime
from airflow.sdk import DAG, Asset
from airflow_planproof import PlanproofRunOperator

place = {"project_dir": PROJECT, "profiles_dir": PROJECT, "env": {"SHOP_SCHEMA": "default"}, "spark_conf": SPARK}
again = {"retries": 2, "retry_delay": datetime.timedelta(seconds=20)}
start = datetime.datetime(2026, 1, 1)
"""
DAGS = {
    "shop": """
params = {"join": "inner"}
with DAG("shop", schedule=None, start_date=start, max_active_runs=1, default_args=again, params=params) as dag:
    PlanproofRunOperator(
        task_id="run", exclude="endless sales daily", vars={"join": "{{ params.join }}"}, threads=1,
        outlets=[Asset("x-shop://totals")], **place,
    )
""",
    "other": """
with DAG("other", schedule=None, start_date=start, default_args=again, params={"select": "sales"}) as dag:
    PlanproofRunOperator(task_id="run", select="{{ params.select }}", **place)
""",
    "daily": """
end = start + datetime.timedelta(days=9)
with DAG("daily", schedule="@daily", start_date=start, end_date=end, catchup=False, default_args=again) as dag:
    PlanproofRunOperator(
        task_id="run", select="daily", vars={"day": "{{ ds }}"}, max_active_tis_per_dag=1, **place
    )
""",
}
EXAMPLES = Path(__file__).parents[2] / "dags_examples"
SECRET = "hunter2-of-s3"
DAY = """
{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['day']) }}
select id, '{{ var("day", "none") }}' as day from range(3)
"""
ENDLESS = "select sum(hash(a.id, b.id)) as total from range(3000000) as a cross join range(3000000) as b"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, shop_files: dict[str, str]) -> Path:
    folder = tmp_path_factory.mktemp("standalone") / "shop"
    for name, text in shop_files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip())
    (folder / "models" / "endless.sql").write_text(ENDLESS)
    (folder / "models" / "sales.sql").write_text(f"select id from parquet.`{folder.parent}/{SECRET}`")
    (folder / "models" / "daily.sql").write_text(DAY)
    return folder


@pytest.fixture(scope="module")
def airflow(project: Path) -> Iterator[Airflow]:
    home = project.parent
    (home / "dags").mkdir()
    spark = spark_conf(home, **{"spark.hadoop.fs.s3a.secret.key": SECRET})
    defined = f"PROJECT = {str(project)!r}\nSPARK = {spark!r}\n"
    for dag, text in DAGS.items():
        (home / "dags" / f"{dag}.py").write_text(defined + HEAD + text)
    for file in EXAMPLES.glob("planproof_*.py"):
        (home / "dags" / file.name).symlink_to(file)
    with started(home, {"PLANPROOF_DEMO_HOME": str(home / "demo")}) as found:
        yield found


def stored(airflow: Airflow) -> dict[str, tuple[int, float]]:
    """Every data file of customer_orders in the warehouse, with its size and age."""
    found = (airflow.home / "warehouse").rglob("*.parquet")
    return {str(f): (f.stat().st_size, f.stat().st_mtime) for f in found if "customer_orders" in str(f)}


def test_a_day_in_the_life(airflow: Airflow, tmp_path: Path) -> None:
    green = airflow.trigger("shop")
    task = airflow.wait_for_end("shop", green)
    assert task["state"] == "success", airflow.log("shop", green, 1)
    assert airflow.events() == 1
    before = stored(airflow)
    assert before

    red = airflow.trigger("shop", join="left")
    task = airflow.wait_for_end("shop", red)
    assert (task["state"], task["try_number"], task["max_tries"]) == ("failed", 1, 2), airflow.log("shop", red, 1)
    assert "PP505 violated column order_id" in airflow.log("shop", red, 1)
    assert "The table published before is still there, with its 3 rows." in airflow.log("shop", red, 1)
    assert airflow.events() == 1
    assert stored(airflow) == before

    _opened_in_a_browser(airflow, "shop", red, tmp_path)
    _killed(airflow)
    again = airflow.trigger("shop")
    assert airflow.wait_for_end("shop", again)["state"] == "success", airflow.log("shop", again, 1)
    assert airflow.events() == 2
    assert list((airflow.home / "cwd").iterdir()) == []


def test_a_retry_a_clear_and_no_secret(airflow: Airflow, project: Path) -> None:
    """A file that cannot be read at the first try, and can at the second; and once more after the task is cleared.

    The file's folder is called as a secret of `spark_conf`, so that whatever says what is read would tell the secret.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = project.parent / SECRET / "part-0.parquet"
    file.parent.mkdir()
    pq.write_table(pa.table({"id": list(range(20_000))}), file, compression="zstd")
    sound = file.read_bytes()
    file.write_bytes(sound[:8] + bytes(len(sound) // 2) + sound[8 + len(sound) // 2 :])
    run = airflow.trigger("other", select="sales")
    airflow.wait_until(lambda: airflow.task("other", run)["state"] == "up_for_retry")
    assert "PlanproofRunFailed" in airflow.log("other", run, 1)
    for left in file.parent.glob(".*.crc"):
        left.unlink()
    file.write_bytes(sound)
    task = airflow.wait_for_end("other", run)
    assert (task["state"], task["try_number"]) == ("success", 2), airflow.log("other", run, 2)

    first = _rows(airflow, "sales")
    assert sum(first.values()) == 20_000
    cleared = {"dry_run": False, "only_failed": False, "dag_run_id": run, "task_ids": ["run"]}
    airflow.ask("POST", "dags/other/clearTaskInstances", cleared)
    task = airflow.wait_for_end("other", run)
    assert (task["state"], task["try_number"]) == ("success", 3), airflow.log("other", run, 3)
    assert sum(rows for file, rows in _rows(airflow, "sales").items() if file not in first) == 20_000

    told = [json.dumps(airflow.report("other", run)), json.dumps(airflow.task("other", run)["rendered_fields"])]
    for text in (*told, airflow.log("other", run, 1)):
        assert f"{project.parent}/***" in text
    assert SECRET not in "".join([*told, *(airflow.log("other", run, attempt) for attempt in (1, 2, 3))])


def test_what_a_killed_task_left_is_settled_by_its_next_try(airflow: Airflow, project: Path) -> None:
    """SIGKILL, as a machine without memory sends it, while Spark writes what is staged."""
    import psutil

    done = len(airflow.jobs())
    run = airflow.trigger("other", select="endless")
    airflow.wait_until(lambda: _runs(airflow, done))
    (spark,) = [p for p in psutil.Process(airflow.server.pid).children(recursive=True) if p.name() == "java"]
    model = project / "models" / "endless.sql"
    model.write_text("select 1 as total")
    try:
        spark.parent().kill()
        task = airflow.wait_for_end("other", run)
    finally:
        model.write_text(ENDLESS)
    assert (task["state"], task["try_number"]) == ("success", 2), airflow.log("other", run, 2)
    (report,) = airflow.report("other", run)["reports"]
    assert report["outcome"] == "published"
    (undone,) = [finding["message"] for finding in report["findings"] if finding["code"] == "PP602"]
    assert "stopped at step 'stage'; undone" in undone
    files = [str(file) for file in (airflow.home / "warehouse").rglob("*") if file.is_file()]
    # That the table was taken over is kept: its epochs go on from there.
    assert [Path(file).suffix for file in files if "endless" in file and "planproof" in file] == [".past"]


def test_a_backfill(airflow: Airflow) -> None:
    """Airflow's own, over two dates: one of its runs finds the table locked and is retried; each date has its rows.

    Both runs may be active at once, their tasks may not: the embedded metastore serves one process.
    """
    held = Path(lock.path(str(airflow.home / "warehouse"), "daily", 1))
    held.parent.mkdir(parents=True, exist_ok=True)
    owner.begin("night")
    held.write_text(json.dumps(owner.Owner.here("night").form()))
    airflow.switch_on("daily")
    dates = ["--from-date", "2026-01-01", "--to-date", "2026-01-02", "--max-active-runs", "2"]
    airflow.run("backfill", "create", "--dag-id", "daily", *dates)
    runs = {run["dag_run_id"]: run["logical_date"][:10] for run in airflow.ask("GET", "dags/daily/dagRuns")["dag_runs"]}
    assert sorted(runs.values()) == ["2026-01-01", "2026-01-02"]
    first = airflow.wait_until(lambda: [run for run in runs if airflow.task("daily", run)["state"] == "up_for_retry"])
    held.unlink()
    owner.note_end("night")
    assert f"default.daily is being published by run night, process {os.getpid()} on" in airflow.log("daily", *first, 1)

    tasks = {day: airflow.wait_for_end("daily", run) for run, day in runs.items()}
    assert {task["state"] for task in tasks.values()} == {"success"}, airflow.logs()
    assert sorted(task["try_number"] for task in tasks.values()) == [1, 2]
    earlier, later = sorted(tasks.values(), key=lambda task: task["start_date"])
    assert earlier["end_date"] <= later["start_date"]
    for run, day in runs.items():
        (report,) = airflow.report("daily", run)["reports"]
        assert f"'{day}' as day" in report["sql"]
        assert (report["outcome"], report["rows"]) == ("published", 3)
        assert sum(rows for file, rows in _rows(airflow, "daily").items() if f"day={day}" in file) == 3


def test_the_example_dags(airflow: Airflow) -> None:
    """The demo's project is run and audited, and Python makes a table of its tables; the daily audit is due at once."""
    runs = {
        "planproof_shop": (lambda dag: airflow.trigger(dag, scale=0.01), ("prepare", "check", "run", "audit")),
        "planproof_segments": (airflow.trigger, ("customers", "segment_sizes", "tests")),
        "planproof_audit": (airflow.find_scheduled, ("marts", "nations")),
    }
    for dag, (begun, tasks) in runs.items():
        assert airflow.states(dag, begun(dag)) == dict.fromkeys(tasks, "success"), airflow.logs()


def _rows(airflow: Airflow, table: str) -> dict[str, int]:
    """The data files of a table, each with its number of rows."""
    import pyarrow.parquet as pq

    files = [file for file in (airflow.home / "warehouse").rglob("*.parquet") if table in str(file)]
    return {str(file): pq.read_metadata(file).num_rows for file in files}


def _killed(airflow: Airflow) -> None:
    """Set to failed while its Spark job runs: the job has ended within 5 s of Airflow's `on_kill`."""
    done = len(airflow.jobs())
    run = airflow.trigger("other", select="endless")
    airflow.wait_until(lambda: _runs(airflow, done))
    airflow.ask("PATCH", f"dags/other/dagRuns/{quote(run)}/taskInstances/run", {"new_state": "failed"})
    log = airflow.wait_until(lambda: (t := airflow.log("other", run, 1)) and "the Spark work was cancelled" in t and t)
    asked = _moment(log, "cancelling the Spark work")
    assert _moment(log, "the Spark work was cancelled") - asked < 5, log
    assert "has not ended yet" not in log
    *_, last = airflow.jobs()
    assert (last["Event"], last["Job Result"]["Result"]) == ("SparkListenerJobEnd", "JobFailed")
    seconds = last["Completion Time"] / 1000 - asked
    print(f"the Spark job ended {seconds:.2f} s after on_kill")
    assert 0 < seconds < 5


def _runs(airflow: Airflow, done: int) -> bool:
    """Whether a job that began after the first `done` events goes on: short ones are over by then."""
    seen = airflow.jobs()
    if [event["Event"] for event in seen[done:]][-1:] != ["SparkListenerJobStart"]:
        return False
    time.sleep(3)
    return len(airflow.jobs()) == len(seen)


def _moment(log: str, words: str) -> float:
    from datetime import datetime

    line = next(line for line in log.splitlines() if words in line)
    found = re.search(r'"timestamp":\s*"([^"]+)"', line)
    assert found is not None, line
    return datetime.fromisoformat(found[1].replace("Z", "+00:00")).timestamp()


def _opened_in_a_browser(airflow: Airflow, dag: str, run: str, folder: Path) -> None:
    from browser import EXECUTABLE, Browser

    value = airflow.report(dag, run)
    assert value["url"].startswith(airflow.url)
    links = airflow.ask("GET", f"dags/{dag}/dagRuns/{quote(run)}/taskInstances/run/links")
    assert links["extra_links"] == {"planproof report": value["url"]}
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(value["url"], timeout=30)
    assert refused.value.code == 401
    if EXECUTABLE is None:
        pytest.skip("the report page was not opened: no Chromium on this machine")
    with Browser() as browser:
        assert "customer_orders" not in browser.open(value["url"])
        browser.cookie(airflow.url, "_token", airflow.token)
        page = browser.open(value["url"])
        assert "customer_orders" in page
        assert "PP505" in page
        assert browser.value("document.querySelectorAll('svg g.broken').length") > 0
        assert browser.value("document.scripts.length") == 0
        browser.picture(folder / "report.png")
    shutil.copy(folder / "report.png", airflow.home / "report.png")
