"""`airflow standalone` of Airflow 3, in a temporary home, by its public REST API."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

PATIENCE = 1200.0
"""Seconds after which something hangs. On a busy machine Airflow alone takes minutes to start."""


@dataclass
class Airflow:
    """The running server, by its public REST API."""

    url: str
    token: str
    home: Path
    server: subprocess.Popen[bytes]
    environment: Mapping[str, str]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v2/{path}",
            json.dumps(body).encode() if body is not None else None,
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")

    def switch_on(self, dag: str) -> None:
        self.wait_until(lambda: _is_known(self, dag))
        self.ask("PATCH", f"dags/{dag}", {"is_paused": False})

    def trigger(self, dag: str, **conf: Any) -> str:
        self.switch_on(dag)
        return str(self.ask("POST", f"dags/{dag}/dagRuns", {"logical_date": None, "conf": conf})["dag_run_id"])

    def find_scheduled(self, dag: str) -> str:
        """The run that is due once the DAG is switched on."""
        self.switch_on(dag)
        return str(self.wait_until(lambda: self.ask("GET", f"dags/{dag}/dagRuns")["dag_runs"])[0]["dag_run_id"])

    def task(self, dag: str, run: str, task: str = "run") -> Any:
        return self.ask("GET", f"dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}")

    def report(self, dag: str, run: str) -> Any:
        """What the task `run` pushed as its report."""
        entry = f"dags/{dag}/dagRuns/{quote(run)}/taskInstances/run/xcomEntries/planproof_report"
        return self.ask("GET", entry)["value"]

    def wait_until(self, what: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = what()
            if found:
                return found
            if self.server.poll() is not None:
                raise RuntimeError(f"airflow standalone ended with code {self.server.returncode}\n{self.logs()}")
            time.sleep(0.5)
        raise TimeoutError(self.logs())

    def wait_for_end(self, dag: str, run: str) -> Any:
        return self.wait_until(lambda: (t := self.task(dag, run))["state"] in ("success", "failed") and t)

    def states(self, dag: str, run: str) -> dict[str, str]:
        """The states of a run's tasks, once it has ended."""
        path = f"dags/{dag}/dagRuns/{quote(run)}"
        self.wait_until(lambda: self.ask("GET", path)["state"] in ("success", "failed"), 2 * PATIENCE)
        found = self.ask("GET", f"{path}/taskInstances")["task_instances"]
        return {task["task_id"]: task["state"] for task in found}

    def run(self, *arguments: str) -> str:
        """What an `airflow` command of this home says."""
        command = [str(Path(sys.executable).parent / "airflow"), *arguments]
        ran = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        if ran.returncode:
            raise RuntimeError(f"{command}: {ran.stderr[-4000:]}")
        return ran.stdout

    def log(self, dag: str, run: str, attempt: int) -> str:
        files = list(self.home.glob(f"logs/dag_id={dag}/run_id={run}/task_id=run/attempt={attempt}.log"))
        return files[0].read_text() if files else ""

    def logs(self) -> str:
        files = [self.home / "standalone.log", *self.home.glob("logs/dag_id=*/**/*.log")]
        return "\n".join(f"{file}\n{file.read_text()[-4000:]}" for file in files)

    def jobs(self) -> list[dict[str, Any]]:
        """The starts and ends of all Spark jobs, by Spark's event logs, whose last lines may be half written."""
        lines = [line for file in (self.home / "events").iterdir() for line in file.read_text().splitlines(True)]
        whole = (line for line in lines if line.startswith('{"Event":"SparkListenerJob') and line.endswith("\n"))
        events = [json.loads(line) for line in whole]
        return sorted(events, key=lambda event: event.get("Submission Time") or event["Completion Time"])

    def events(self) -> int:
        return int(self.ask("GET", "assets/events?source_dag_id=shop")["total_entries"])


@contextlib.contextmanager
def started(home: Path, environment: Mapping[str, str]) -> Iterator[Airflow]:
    """The server of `home`, whose folder `dags` holds its DAG files."""
    for folder in ("events", "cwd"):
        (home / folder).mkdir()
    (home / "passwords.json").write_text(json.dumps({"ada": "secret"}))
    port, *others = _free_ports(3)
    url = f"http://127.0.0.1:{port}"
    environment = {**_environment(home, url, others), **environment}
    with open(home / "standalone.log", "w") as log:
        server = subprocess.Popen(
            [str(Path(sys.executable).parent / "airflow"), "standalone"],
            env=environment,
            cwd=home / "cwd",
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    # Whoever ends the tests by a signal does not want to find a server afterwards.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        found = Airflow(url, "", home, server, environment)
        found.wait_until(lambda: _is_reachable(f"{url}/api/v2/monitor/health"))
        login = json.dumps({"username": "ada", "password": "secret"}).encode()
        request = urllib.request.Request(f"{url}/auth/token", login, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            found.token = json.loads(answer.read())["access_token"]
        yield found
    finally:
        _end(server)
        signal.signal(signal.SIGTERM, before)


def spark_conf(home: Path, **more: str) -> dict[str, str]:
    """Settings under which everything that Spark writes lies below `home`."""
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": (home / "warehouse").as_uri(),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (home / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        **more,
    }


def _environment(home: Path, url: str, ports: list[int]) -> dict[str, str]:
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "300",
        "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "600",
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
        # With its 5 seconds a task on a busy machine loses its first try before it has begun.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "120",
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


def _is_reachable(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _is_known(airflow: Airflow, dag: str) -> bool:
    try:
        return bool(airflow.ask("GET", f"dags/{dag}"))
    except urllib.error.HTTPError:
        return False
