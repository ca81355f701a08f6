"""A real Airflow in a temporary home, and DAGs that run in it by `dag.test()`.

Airflow reads its configuration when it is imported, so the environment is set here, before any test imports it.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import io
import logging
import os
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

HOME = Path(tempfile.mkdtemp(prefix="planproof-airflow-"))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
DAGS = HOME / "dags"
os.environ.update(
    AIRFLOW_HOME=str(HOME),
    AIRFLOW__CORE__DAGS_FOLDER=str(DAGS),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__UNIT_TEST_MODE="False",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{HOME / 'airflow.db'}",
    AIRFLOW__LOGGING__BASE_LOG_FOLDER=str(HOME / "logs"),
    AIRFLOW__USAGE_DATA_COLLECTION__ENABLED="False",
    AIRFLOW__OPENLINEAGE__DISABLED="True",
    AIRFLOW__COSMOS__ENABLE_TELEMETRY="False",
)
DAGS.mkdir()
pytest.importorskip("airflow")
AIRFLOW_3 = importlib.util.find_spec("airflow.sdk") is not None
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Ran:
    """What one `dag.test()` left behind; everything by task id."""

    run_id: str
    state: str
    states: dict[str, str | None]
    tries: dict[str, int]
    instances: dict[tuple[str, int], str | None] = field(default_factory=dict)
    xcoms: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)
    log: str = ""

    @property
    def failures(self) -> str:
        """The messages of the exceptions that failed a task."""
        found = re.findall(
            r"^(?:[\w]+\.)*(\w*(?:Violation|Failed|CannotRun|Error|Timeout|Cancelled|Terminated)\w*: .*?)^20",
            self.log,
            re.M | re.S,
        )
        return "\n".join(found)


@pytest.fixture(scope="session")
def airflow_home() -> Path:
    """Airflow's home, with its database made."""
    from airflow.utils.db import initdb

    with contextlib.redirect_stdout(io.StringIO()):
        initdb()
    return HOME


@pytest.fixture
def run_dag(airflow_home: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Ran]]:
    """`run_dag(text, **names)` writes a DAG file into the bundle, with `names` defined at its top, and runs its DAG.

    `run_dag(path, dag_id=...)` does so with a file that exists. With `date` it is the run of that logical date, which
    replaces an earlier one.
    """

    def run(
        source: str | Path,
        dag_id: str = "tested",
        conf: dict[str, Any] | None = None,
        date: datetime | None = None,
        **names: Any,
    ) -> Ran:
        if isinstance(source, Path):
            text, file = source.read_text(), DAGS / source.name
        else:
            text, file = textwrap.dedent(source), DAGS / "tested.py"
        # The text of a timedelta names its module.
        defined = ["import datetime\n"] if names else []
        file.write_text("".join([*defined, *(f"{name} = {value!r}\n" for name, value in names.items()), text]))
        # Python takes a text of the same size and second for the one that it compiled.
        Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
        given = {"run_conf": conf, **({"logical_date" if AIRFLOW_3 else "execution_date": date} if date else {})}
        return _run(file, dag_id, given, capsys)

    yield run
    for file in DAGS.iterdir():
        file.unlink() if file.is_file() else shutil.rmtree(file)


def _run(file: Path, dag_id: str, given: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> Ran:
    from airflow.settings import Session
    from sqlalchemy import select

    Xcom, Event, value_of, uri_of = _models()
    module = _loaded(file)
    dag = next(d for d in vars(module).values() if getattr(d, "dag_id", None) == dag_id and hasattr(d, "test"))
    capsys.readouterr()
    with _logged() as lines:
        run = dag.test(**given) if AIRFLOW_3 else _tested_on_airflow_2(dag, given)
    log = _ANSI.sub("", "".join([*capsys.readouterr(), lines.getvalue()]))
    with Session() as db:
        tasks = run.get_task_instances(session=db)
        xcoms: dict[str, dict[str, Any]] = {}
        for row in db.scalars(select(Xcom).where(Xcom.run_id == run.run_id, Xcom.dag_id == dag_id)):
            xcoms.setdefault(row.task_id, {})[row.key] = value_of(row)
        events = db.scalars(select(Event).where(Event.source_run_id == run.run_id))
        extras = {uri_of(event): event.extra for event in events if event.source_dag_id == dag_id}
    return Ran(
        run.run_id,
        str(run.state),
        {t.task_id: str(t.state) if t.state else None for t in tasks},
        {t.task_id: t.try_number for t in tasks},
        {(t.task_id, t.map_index): str(t.state) if t.state else None for t in tasks},
        xcoms,
        list(extras),
        extras,
        log,
    )


def _tested_on_airflow_2(dag: Any, given: dict[str, Any]) -> Any:
    """`dag.test()` there neither registers datasets, nor catches what ends a task by a signal."""
    from airflow.exceptions import AirflowTaskTerminated, AirflowTaskTimeout
    from airflow.models.dagrun import DagRun

    dag.sync_to_db()
    try:
        return dag.test(**given)
    except (AirflowTaskTerminated, AirflowTaskTimeout) as error:
        logging.getLogger().error("%s: %s", type(error).__name__, error)
        found = DagRun.find(dag_id=dag.dag_id)
        return max(found, key=lambda run: run.id)


@contextlib.contextmanager
def _logged() -> Iterator[io.StringIO]:
    """What Airflow 2 logs in the block; Airflow 3 writes it to standard output instead."""
    lines = io.StringIO()
    if AIRFLOW_3:
        yield lines
        return
    handler = logging.StreamHandler(lines)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logging.getLogger().addHandler(handler)
    try:
        yield lines
    finally:
        logging.getLogger().removeHandler(handler)


def _models() -> tuple[Any, Any, Callable[[Any], Any], Callable[[Any], str]]:
    """The database's classes of XComs and asset events, an XCom's value, and how an event names its asset."""
    try:
        from airflow.models.asset import AssetEvent
        from airflow.models.xcom import XComModel
    except ImportError:  # Airflow 2
        from airflow.models.dataset import DatasetEvent
        from airflow.models.xcom import BaseXCom

        return BaseXCom, DatasetEvent, lambda row: row.value, lambda event: event.dataset.uri
    return XComModel, AssetEvent, XComModel.deserialize_value, lambda event: event.asset.uri


def _loaded(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"dag_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PROJECT = {
    "dbt_project.yml": """
        name: shop
        version: "1.0"
        profile: shop
        models: {+materialized: table, +file_format: parquet}
        flags: {send_anonymous_usage_stats: false}
        """,
    "profiles.yml": """
        shop:
          target: test
          outputs:
            test:
              {type: spark, method: session, host: NA, schema: "{{ env_var('SHOP_SCHEMA') }}", threads: 1}
        """,
    "models/customers.sql": """
        select id, name from values (1, 'ada'), (2, 'bob'), (3, 'cyd') as t(id, name)
        """,
    "models/orders.sql": """
        select cast(order_id as bigint) as order_id, customer_id
        from values (10, 1), (11, 1), (12, 2) as t(order_id, customer_id)
        """,
    "models/customer_orders.sql": """
        select
            c.id,
            o.order_id
        from {{ ref('customers') }} as c
        {{ var('join', 'inner') }} join {{ ref('orders') }} as o
            on o.customer_id = c.id
        """,
    "models/customer_totals.sql": """
        select id, count(*) as orders from {{ ref('customer_orders') }} group by id
        """,
    "models/schema.yml": """
        models:
          - name: customers
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: int, constraints: [{type: not_null}]}
              - {name: name, data_type: string, constraints: [{type: not_null}]}
          - name: orders
            config: {contract: {enforced: true}}
            columns:
              - {name: order_id, data_type: bigint, constraints: [{type: not_null}]}
              - {name: customer_id, data_type: int, constraints: [{type: not_null}]}
          - name: customer_orders
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: int, constraints: [{type: not_null}]}
              - {name: order_id, data_type: bigint, constraints: [{type: not_null}]}
        """,
}


@pytest.fixture(scope="session")
def shop_files() -> dict[str, str]:
    """The files of the project `shop`, by name."""
    return PROJECT


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A dbt project of four models; the variable `join: left` breaks the contract of `customer_orders`."""
    for name, text in PROJECT.items():
        file = tmp_path / "shop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip())
    return tmp_path / "shop"
