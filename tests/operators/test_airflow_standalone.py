"""One `airflow standalone`, as a user starts it: a healthy run, a violation, a retry, a kill, the report page."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.conformance]
pytest.importorskip("airflow.api_fastapi", reason="Airflow 3's standalone")

DAG = """
import datetime
from airflow.sdk import DAG, Asset
from airflow_planproof import PlanproofRunOperator

with DAG("shop", schedule=None, start_date=datetime.datetime(2026, 1, 1), max_active_runs=1,
         params={{"join": "inner", "select": ""}}) as dag:
    PlanproofRunOperator(
        task_id="run", project_dir={project!r}, profiles_dir={project!r}, select="{{{{ params.select }}}}",
        exclude="endless sales", vars={{"join": "{{{{ params.join }}}}"}}, env={{"SHOP_SCHEMA": "default"}},
        spark_conf={spark!r}, outlets=[Asset("x-shop://totals")], retries=2,
        retry_delay=datetime.timedelta(seconds=20), threads=1,
    )
with DAG("other", schedule=None, start_date=datetime.datetime(2026, 1, 1), params={{"select": "sales"}}) as other:
    PlanproofRunOperator(
        task_id="run", project_dir={project!r}, profiles_dir={project!r}, select="{{{{ params.select }}}}",
        env={{"SHOP_SCHEMA": "default"}}, spark_conf={spark!r}, retries=2, retry_delay=datetime.timedelta(seconds=20),
    )
"""
SECRET = "hunter2-of-s3"
ENDLESS = "select sum(hash(a.id, b.id)) as total from range(3000000) as a cross join range(3000000) as b"


@dataclass
class Airflow:
    """The running server, by its public REST API."""

    url: str
    token: str
    home: Path
    server: subprocess.Popen[bytes]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v2/{path}",
            json.dumps(body).encode() if body is not None else None,
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def trigger(self, dag: str, **conf: Any) -> str:
        return str(self.ask("POST", f"dags/{dag}/dagRuns", {"logical_date": None, "conf": conf})["dag_run_id"])

    def task(self, dag: str, run: str) -> Any:
        return self.ask("GET", f"dags/{dag}/dagRuns/{quote(run)}/taskInstances/run")

    def until(self, what: Callable[[], Any], seconds: float = 300) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = what()
            if found:
                return found
            if self.server.poll() is not None:
                raise RuntimeError(f"airflow standalone ended with code {self.server.returncode}\n{self.logs()}")
            time.sleep(0.5)
        raise TimeoutError(self.logs())

    def ended(self, dag: str, run: str) -> Any:
        return self.until(lambda: (t := self.task(dag, run))["state"] in ("success", "failed") and t)

    def log(self, dag: str, run: str, attempt: int) -> str:
        files = list(self.home.glob(f"logs/dag_id={dag}/run_id={run}/task_id=run/attempt={attempt}.log"))
        return files[0].read_text() if files else ""

    def logs(self) -> str:
        files = [self.home / "standalone.log", *self.home.glob("logs/dag_id=*/**/*.log")]
        return "\n".join(f"{file}\n{file.read_text()[-4000:]}" for file in files)

    def jobs(self) -> list[dict[str, Any]]:
        """The starts and ends of all Spark jobs, by Spark's event logs."""
        lines = [line for file in (self.home / "events").iterdir() for line in file.read_text().splitlines()]
        events = [json.loads(line) for line in lines if line.startswith('{"Event":"SparkListenerJob')]
        return sorted(events, key=lambda event: event.get("Submission Time") or event["Completion Time"])

    def events(self) -> int:
        return int(self.ask("GET", "assets/events?source_dag_id=shop")["total_entries"])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, shop_files: dict[str, str]) -> Path:
    folder = tmp_path_factory.mktemp("standalone") / "shop"
    for name, text in shop_files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip())
    (folder / "models" / "endless.sql").write_text(ENDLESS)
    (folder / "models" / "sales.sql").write_text(f"select id from parquet.`{folder.parent}/{SECRET}`")
    return folder


@pytest.fixture(scope="module")
def airflow(project: Path) -> Iterator[Airflow]:
    home = project.parent
    for folder in ("dags", "events", "cwd"):
        (home / folder).mkdir()
    (home / "dags" / "shop.py").write_text(DAG.format(project=str(project), spark=_spark(home)))
    (home / "passwords.json").write_text(json.dumps({"ada": "secret"}))
    port, *others = _free_ports(3)
    url = f"http://127.0.0.1:{port}"
    with open(home / "standalone.log", "w") as log:
        server = subprocess.Popen(
            [str(Path(sys.executable).parent / "airflow"), "standalone"],
            env=_environment(home, url, others),
            cwd=home / "cwd",
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    # Whoever ends the tests by a signal does not want to find a server afterwards.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        found = Airflow(url, "", home, server)
        found.until(lambda: _reachable(f"{url}/api/v2/monitor/health"))
        login = json.dumps({"username": "ada", "password": "secret"}).encode()
        request = urllib.request.Request(f"{url}/auth/token", login, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            found.token = json.loads(answer.read())["access_token"]
        for dag in ("shop", "other"):
            found.until(lambda dag=dag: _known(found, dag))
            found.ask("PATCH", f"dags/{dag}", {"is_paused": False})
        yield found
    finally:
        _end(server)
        signal.signal(signal.SIGTERM, before)


def _spark(home: Path) -> dict[str, str]:
    """Everything that Spark writes lies below `home`."""
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.sql.warehouse.dir": (home / "warehouse").as_uri(),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (home / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def _environment(home: Path, url: str, ports: list[int]) -> dict[str, str]:
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "ada:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": url.rpartition(":")[2],
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(ports[0]),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(ports[1]),
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "5",
        "AIRFLOW__OPENLINEAGE__DISABLED": "True",
        "AIRFLOW__COSMOS__ENABLE_TELEMETRY": "False",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _end(server: subprocess.Popen[bytes]) -> None:
    """Ends the server and all that it started: a task has a session of its own, and Spark's JVM is the task's."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        started = psutil.Process(server.pid).children(recursive=True)
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(5)
        for child in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    server.kill()
    server.wait()


def _reachable(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _known(airflow: Airflow, dag: str) -> bool:
    try:
        return bool(airflow.ask("GET", f"dags/{dag}"))
    except urllib.error.HTTPError:
        return False


def stored(airflow: Airflow) -> dict[str, tuple[int, float]]:
    """Every data file of customer_orders in the warehouse, with its size and age."""
    found = (airflow.home / "warehouse").rglob("*.parquet")
    return {str(f): (f.stat().st_size, f.stat().st_mtime) for f in found if "customer_orders" in str(f)}


def test_a_day_in_the_life(airflow: Airflow, tmp_path: Path) -> None:
    green = airflow.trigger("shop")
    task = airflow.ended("shop", green)
    assert task["state"] == "success", airflow.log("shop", green, 1)
    assert airflow.events() == 1
    before = stored(airflow)
    assert before

    red = airflow.trigger("shop", join="left")
    task = airflow.ended("shop", red)
    assert (task["state"], task["try_number"], task["max_tries"]) == ("failed", 1, 2), airflow.log("shop", red, 1)
    assert "PP505 violated column order_id" in airflow.log("shop", red, 1)
    assert "the table is as it was (3 rows)" in airflow.log("shop", red, 1)
    assert airflow.events() == 1
    assert stored(airflow) == before

    _opened_in_a_browser(airflow, "shop", red, tmp_path)
    _killed(airflow)
    again = airflow.trigger("shop")
    assert airflow.ended("shop", again)["state"] == "success", airflow.log("shop", again, 1)
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
    airflow.until(lambda: airflow.task("other", run)["state"] == "up_for_retry")
    assert "PlanproofRunFailed" in airflow.log("other", run, 1)
    for left in file.parent.glob(".*.crc"):
        left.unlink()
    file.write_bytes(sound)
    task = airflow.ended("other", run)
    assert (task["state"], task["try_number"]) == ("success", 2), airflow.log("other", run, 2)

    first = _rows(airflow)
    assert sum(first.values()) == 20_000
    cleared = {"dry_run": False, "only_failed": False, "dag_run_id": run, "task_ids": ["run"]}
    airflow.ask("POST", "dags/other/clearTaskInstances", cleared)
    task = airflow.ended("other", run)
    assert (task["state"], task["try_number"]) == ("success", 3), airflow.log("other", run, 3)
    assert sum(rows for file, rows in _rows(airflow).items() if file not in first) == 20_000

    place = f"dags/other/dagRuns/{quote(run)}/taskInstances/run"
    report = airflow.ask("GET", f"{place}/xcomEntries/planproof_report")["value"]
    told = [json.dumps(report), json.dumps(airflow.ask("GET", place)["rendered_fields"])]
    for text in (*told, airflow.log("other", run, 1)):
        assert f"{project.parent}/***" in text
    assert SECRET not in "".join([*told, *(airflow.log("other", run, attempt) for attempt in (1, 2, 3))])


def _rows(airflow: Airflow) -> dict[str, int]:
    """The data files of the table `sales`, each with its number of rows."""
    import pyarrow.parquet as pq

    files = [file for file in (airflow.home / "warehouse").rglob("*.parquet") if "sales" in str(file)]
    return {str(file): pq.read_metadata(file).num_rows for file in files}


def _killed(airflow: Airflow) -> None:
    """Set to failed while its Spark job runs: the job has ended within 5 s of Airflow's `on_kill`."""
    done = len(airflow.jobs())
    run = airflow.trigger("other", select="endless")
    airflow.until(
        lambda: [e["Event"] for e in airflow.jobs()[done:]][-1:] == ["SparkListenerJobStart"] and _still(airflow)
    )
    airflow.ask("PATCH", f"dags/other/dagRuns/{quote(run)}/taskInstances/run", {"new_state": "failed"})
    log = airflow.until(lambda: (t := airflow.log("other", run, 1)) and "the Spark work was cancelled" in t and t)
    asked = _moment(log, "cancelling the Spark work")
    assert _moment(log, "the Spark work was cancelled") - asked < 5, log
    assert "has not ended yet" not in log
    *_, last = airflow.jobs()
    assert (last["Event"], last["Job Result"]["Result"]) == ("SparkListenerJobEnd", "JobFailed")
    seconds = last["Completion Time"] / 1000 - asked
    print(f"the Spark job ended {seconds:.2f} s after on_kill")
    assert 0 < seconds < 5


def _still(airflow: Airflow) -> bool:
    """Whether the job that began last goes on: short ones are over by then."""
    began = len(airflow.jobs())
    time.sleep(3)
    return len(airflow.jobs()) == began


def _moment(log: str, words: str) -> float:
    from datetime import datetime

    line = next(line for line in log.splitlines() if words in line)
    found = re.search(r'"timestamp":\s*"([^"]+)"', line)
    assert found is not None, line
    return datetime.fromisoformat(found[1].replace("Z", "+00:00")).timestamp()


def _opened_in_a_browser(airflow: Airflow, dag: str, run: str, folder: Path) -> None:
    from browser import EXECUTABLE, Browser

    report = airflow.ask("GET", f"dags/{dag}/dagRuns/{quote(run)}/taskInstances/run/xcomEntries/planproof_report")
    value = report["value"] if isinstance(report["value"], dict) else json.loads(report["value"])
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
