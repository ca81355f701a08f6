"""Fixtures that every room shares: one real Spark session per run, a fresh database per test.

The session has Hive's catalog, so that `SparkSession.builder.enableHiveSupport().getOrCreate()`, which dbt-spark calls
for each statement, finds it. Its metastore is a Derby database in memory; warehouse and Derby's log lie in a temporary
directory. The two of them take two fifths of the time of a publish: Spark's own catalog is there instead, save for
`WITH_HIVE` and files that are marked `hive`. A run takes those first, and starts Spark once more after them. With
`CATALOG=hive` in the environment every file has Hive's: so `make conformance` runs.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jvm
import manifests
import parsed_macros
import pytest
import servers
import yaml
from hypothesis import HealthCheck, settings
from servers import Ports
from tracked import copy_tracked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from planproof.session import Session

SPARK_CONF = {
    "spark.master": "local[2]",
    "spark.app.name": "planproof-tests",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.python.daemon.module": "ready_daemon",
    "spark.sql.session.timeZone": "America/Los_Angeles",
    "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:planproof;create=true",
    "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
    "spark.hadoop.hive.metastore.schema.verification": "false",
}


def pytest_configure(config: pytest.Config) -> None:
    """Checks of tests leave the cache of whoever runs them alone."""
    if "PLANPROOF_CACHE_DIR" not in os.environ:
        kept = tempfile.mkdtemp(prefix="planproof-tests-")
        os.environ["PLANPROOF_CACHE_DIR"] = kept
        config.add_cleanup(lambda: shutil.rmtree(kept, ignore_errors=True))
    # A busy machine makes no property untrue.
    settings.register_profile("planproof", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("planproof")


# For every JVM that a test starts, in a process of its own too.
for size in ("COLUMNS", "LINES"):  # What is shown must not depend on a terminal; xdist gives its workers one of 80.
    os.environ.pop(size, None)
os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm.options())


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what an older Spark than the marked one cannot show, and says why."""
    parsed_macros.keep()
    for mark in item.iter_markers("needs_spark"):
        wanted, why = mark.args
        if _numbers_of(metadata.version("pyspark")) < _numbers_of(wanted):
            pytest.skip(f"needs Spark {wanted}: {why}")


def _numbers_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


SECONDS = Path(__file__).parent / "seconds.yml"
_started: list[tuple[SparkSession, dict[str, str]]] = []
_numbers = itertools.count(1)


WITH_HIVE = ("delta", "iceberg")
"""The folders of tests whose tables stand in Hive's catalog, as those of files that are marked `hive` do."""


def _catalog(module: pytest.Module) -> str:
    here = Path(__file__).parent
    folder = module.path.relative_to(here).parts[0] if here in module.path.parents else ""
    if folder in WITH_HIVE or module.get_closest_marker("hive"):
        return "hive"
    return os.environ.get("CATALOG", "in-memory")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The files that are marked `hive` run in one process: the others need no Spark with Hive's catalog then."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        kinds: dict[str, str] = {}

        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file not in self.kinds:
                has_hive = "\npytestmark = pytest.mark.hive" in Path(config.rootpath, file).read_text("utf-8")
                self.kinds[file] = "hive" if has_hive else file
            return self.kinds[file]

    return Together(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files with Hive's catalog first, and of each kind those that take long: both processes end together."""
    here = Path(__file__).parent
    first = {name: number for number, name in enumerate(yaml.safe_load(SECONDS.read_text())["first"])}

    def place(item: pytest.Item) -> tuple[bool, int]:
        module = item.getparent(pytest.Module)
        if module is None or here not in item.path.parents:
            return False, len(first)
        return _catalog(module) == "in-memory", first.get(str(item.path.relative_to(here)), len(first))

    items.sort(key=place)


@pytest.fixture(scope="session")
def spark_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run's warehouse, Derby log and local Spark files lie."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark_settings() -> dict[str, str]:
    """Settings with which the run's Spark starts beside `SPARK_CONF`: for folders that need another Spark."""
    return {}


class Running:
    """The run's one Spark, which starts again where a file wants other settings than the one before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings: dict[str, str] = {}

    def with_settings(self, settings: dict[str, str]) -> SparkSession:
        if not _started or self.settings != settings:
            self.stop()
            self.settings = settings
            session = self._start()
            _count_what_is_asked(session)
            _started.append((session, _settings(session)))
        return _started[0][0]

    def _start(self) -> SparkSession:
        from pyspark.sql import SparkSession

        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        paths = {
            "spark.sql.warehouse.dir": (self.folder / "warehouse").as_uri(),
            "spark.local.dir": str(self.folder / "local"),
            # What a publish leaves behind is young: with room for it, it is collected a few times in all.
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={self.folder} -Xss8m -Xms1g -Xmn600m",
        }
        builder = SparkSession.builder
        # The tests mean ANSI mode where they do not say otherwise; it is the default since Spark 4.
        for key, value in {"spark.sql.ansi.enabled": "true", **SPARK_CONF, **paths, **self.settings}.items():
            builder = builder.config(key, value)
        with pytest.MonkeyPatch.context() as patch:
            # Spark gives the path of the process that starts it to Python's workers.
            patch.setenv("PYTHONPATH", str(Path(__file__).parent / "python_daemon"), prepend=os.pathsep)
            session = builder.getOrCreate()
        session.sparkContext.setLogLevel("FATAL")
        _keep_names(session._jvm)
        return session

    def stop(self) -> None:
        while _started:
            _started.pop()[0].stop()


@pytest.fixture(scope="session")
def _running(spark_dir: Path) -> Iterator[Running]:
    running = Running(spark_dir)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest, _running: Running, spark_settings: dict[str, str]) -> SparkSession:
    """The run's one Spark session: local[2], ANSI, time zone America/Los_Angeles, and the catalog of its folder."""
    pytest.importorskip("pyspark")
    return _running.with_settings({"spark.sql.catalogImplementation": _catalog(request.node), **spark_settings})


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Session:
    """planproof's view of the run's Spark session."""
    import planproof.session

    return planproof.session.open(spark)


@pytest.fixture
def database(spark: SparkSession) -> Iterator[str]:
    """The name of a database made for this test and dropped, with all that it holds, after it."""
    name = f"t{next(_numbers)}_{os.getpid()}"
    spark.sql(f"create database `{name}`")
    yield name
    spark.catalog.setCurrentDatabase("default")
    spark.sql(f"drop database if exists `{name}` cascade")


@pytest.fixture
def ansi(spark: SparkSession) -> Callable[[bool], None]:
    """Sets `spark.sql.ansi.enabled` for the rest of the test: `ansi(False)` is how dbt-spark runs."""
    return lambda on: spark.conf.set("spark.sql.ansi.enabled", str(on).lower())


@pytest.fixture(scope="module")
def metastore(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The run's Hive metastore, calls of which can be made to fail."""
    from outages import Metastore

    found = Metastore(spark, tmp_path_factory.mktemp("outage"))
    yield found
    found.leave()


@pytest.fixture(scope="session")
def ports() -> Ports:
    return Ports()


@pytest.fixture(scope="session")
def thrift_settings() -> Callable[[Path], dict[str, str]]:
    """What a folder's tests set for the Thrift server besides, by the folder in which it works."""
    return lambda home: {}


@pytest.fixture(scope="session")
def thrift(
    tmp_path_factory: pytest.TempPathFactory, ports: Ports, thrift_settings: Callable[[Path], dict[str, str]]
) -> Iterator[str]:
    """The address of a Thrift server in a process of its own, with a metastore in its memory and files on this disk."""
    pytest.importorskip("pyspark")
    pytest.importorskip("pyhive.hive")
    with servers.thrift_server(tmp_path_factory.mktemp("thrift"), ports, thrift_settings) as address:
        yield address


@pytest.fixture(scope="module")
def connect(spark: Any, ports: Any) -> Iterator[Any]:
    """A client's session on a Connect server that is started in this Spark, and is stopped afterwards."""
    from pyspark.sql.connect.session import SparkSession

    port = ports.free()
    spark._jsc.sc().conf().set("spark.connect.grpc.binding.address", "127.0.0.1")
    spark._jsc.sc().conf().set("spark.connect.grpc.binding.port", str(port))
    # py4j cannot look into the service's own class, which names classes under other packages than they are shipped in.
    server = getattr(spark._jvm, "org.apache.spark.sql.connect.SparkConnectPlugin")().driverPlugin()
    server.init(spark._jsc.sc(), None)
    try:
        client = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        yield client
        client.stop()
    finally:
        server.shutdown()


@pytest.fixture
def example_project(tmp_path: Path) -> Path:
    """A copy of the example's dbt project."""
    return copy_tracked(Path(__file__).parents[1] / "dags_examples" / "project", tmp_path / "project")


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The demo project's PLANPROOF_DEMO_HOME, set for the whole run, with its TPC-H files (15,000 orders)."""
    script = Path(__file__).parents[1] / "dags_examples" / "demo_data.py"
    home = tmp_path_factory.mktemp("demo")
    subprocess.run([sys.executable, str(script), str(home), "0.01"], check=True, capture_output=True, timeout=120)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANPROOF_DEMO_HOME", str(home))
        yield home


def _settings(spark: SparkSession) -> dict[str, str]:
    from planproof.session.versions import given_settings

    return given_settings(spark)


def _keep_names(jvm: Any) -> None:
    """Has pyspark's most frequent questions for names answered once: py4j looks for a class of each part of a name, for
    `py4j` in `py4j.reflection`, too, in every jar of Spark's, which was a tenth of the JVM's time."""
    for path in ("py4j.reflection.TypeUtil", "py4j.reflection.ReflectionUtil", "PythonUtils", "scala.Option"):
        at = jvm
        for part in path.split("."):
            found = getattr(at, part)
            setattr(at, part, found)
            at = found


class _Asked:
    """How often Python has asked the JVM by now, and how often when Spark was last as a test is to find it.

    Most tests ask nothing: where the two numbers are the same, there is nothing to restore. What a module's fixtures
    asked counts, too, whether its first test asks anything or not.
    """

    count = 0
    restored = 0
    views: tuple[int, frozenset[str]] = (0, frozenset())
    """The temporary views, and how often the JVM had been asked when they were looked at."""


def _count_what_is_asked(spark: SparkSession) -> None:
    client: Any = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    send = client.send_command

    def counted(*args: Any, **options: Any) -> Any:
        _Asked.count += 1
        return send(*args, **options)

    client.send_command = counted


def _temporary_views(spark: Any) -> set[str]:
    found = spark._jsparkSession.sessionState().catalog().listLocalTempViews("*")
    return {found.apply(i).table() for i in range(found.size())}


def _views() -> frozenset[str]:
    """The temporary views of the run's Spark, asked for where it was asked anything since."""
    if _Asked.views[0] != _Asked.count:
        found = frozenset(name for spark, _ in _started for name in _temporary_views(spark))
        _Asked.views = _Asked.count, found
    return _Asked.views[1]


def _restore(kept: frozenset[str]) -> None:
    """Gives the run's Spark the settings and the database with which it started, and no temporary views but these."""
    if _Asked.count == _Asked.restored and _Asked.views[1] <= kept:
        return
    for spark, before in _started:
        for name in _temporary_views(spark) - kept:
            spark.catalog.dropTempView(name)
        after = _settings(spark)
        # A dbt profile may name settings of the JVM, which a running session keeps but does not follow.
        for key in after.keys() - before.keys():
            if spark.conf.isModifiable(key):
                spark.conf.unset(key)
        for key, value in before.items():
            if after.get(key) != value and spark.conf.isModifiable(key):
                spark.conf.set(key, value)
        if spark.catalog.currentCatalog() != "spark_catalog":
            spark.catalog.setCurrentCatalog("spark_catalog")
        if spark.catalog.currentDatabase() != "default":
            spark.catalog.setCurrentDatabase("default")
    # Looked at now, so that the next test need not ask.
    _views()
    _Asked.restored = _Asked.count


@pytest.fixture(scope="module", autouse=True)
def _restored_after_a_module() -> Iterator[None]:
    """Gives the next module what stood before this one's fixtures: dbt leaves a view for each incremental run."""
    kept = _views()
    yield
    _restore(kept)


@pytest.fixture(autouse=True)
def _restored_spark() -> Iterator[None]:
    """Gives the next test the settings, the database and the temporary views that stood before this one."""
    kept = _views()
    yield
    _restore(kept)


@pytest.fixture(scope="session")
def dbt_manifest() -> Callable[..., dict[str, Any]]:
    """Makes a manifest as dbt 1.11 writes it: see manifests.py."""
    return manifests.dbt_manifest


_taken: dict[str, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds what a test took, its fixtures too, to its folder."""
    folder = Path(report.nodeid.partition("::")[0]).parent
    name = folder.parts[1] if folder.parts[:1] == ("tests",) and len(folder.parts) > 1 else folder.name
    _taken[name] = _taken.get(name, 0.0) + report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says how long each folder took, where the whole took over half a minute, and which took longer than it may."""
    if sum(_taken.values()) < 30:
        return
    budget = yaml.safe_load(SECONDS.read_text())
    terminalreporter.section("seconds per folder")
    for line in over_budget(_taken, budget["folders"], budget["others"], os.getloadavg()[0] / (os.cpu_count() or 1)):
        terminalreporter.write_line(line)


def over_budget(taken: dict[str, float], budget: dict[str, float], others: float, load: float) -> list[str]:
    """A line per folder, the longest first: seconds taken and allowed; `load` is that of the machine per core.

    A folder over its budget is a warning, no failure: other work on the machine makes every test slower.
    """
    lines = []
    for name, seconds in sorted(taken.items(), key=lambda item: -item[1]):
        allowed = budget.get(name, others)
        over = f"  OVER: look at --durations (load {load:.1f} per core)" if seconds > allowed else ""
        lines.append(f"{name:<12} {seconds:7.0f} s of {allowed:g}{over}")
    return [*lines, f"{'all':<12} {sum(taken.values()):7.0f} s"]
