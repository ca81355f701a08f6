"""Sessions: ways to reach Spark. pyspark is imported when one is opened, not before."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planproof.session import jvm_log
from planproof.session.protocol import Changing, Moved, Session, SparkFailure, SparkPlanes, StoredTable, Transaction
from planproof.session.store import Store, decode_uri, encode_uri, local, store_of

if TYPE_CHECKING:
    from planproof.session.classic import ClassicSession
    from planproof.session.frames import ConnectSession


_EMBEDDED = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}

_THRIFT = "thrift."


def open(spark: Any) -> Session:
    """A session over a classic or Connect SparkSession, or over a PyHive connection to a Thrift server.

    A planproof session is returned as it is. Raises `SparkFailure`.
    """
    if hasattr(spark, "planes") and hasattr(spark, "capabilities"):
        opened: Session = spark
        return opened
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        from planproof.session.frames import ConnectSession

        return ConnectSession(spark)
    if type(spark).__module__.startswith("pyhive"):
        from planproof.session.thrift import ThriftSession

        return ThriftSession(spark)
    if not hasattr(spark, "_jsparkSession"):
        raise SparkFailure(f"{type(spark).__name__} is neither a SparkSession nor a planproof session")
    from planproof.session.classic import ClassicSession

    jvm_log.filter_own_warnings(spark)
    return ClassicSession(spark)


def _configure(builder: Any, settings: Mapping[str, str]) -> Any:
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder


def open_embedded(conf: Mapping[str, str] | None = None) -> Session:
    """A session on a Spark inside this process, or on the one that already runs here.

    `conf` are Spark settings and wins over the defaults: local[*], no UI, bound to 127.0.0.1. Raises `SparkFailure`
    where pyspark or Java is missing.
    """
    try:
        from pyspark import SparkContext
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkFailure(f"pyspark is not installed ({error}); install planproof[spark]") from error
    from planproof.session.versions import pass_on_interrupts

    is_ours = SparkContext._active_spark_context is None
    # Spark's own default is the `python3` on the PATH, which need not have pyarrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.master": "local[*]", **_EMBEDDED, **(conf or {})}
    builder = _configure(SparkSession.builder.appName("planproof"), settings)
    try:
        jvm_log.launch(settings)
        spark = builder.getOrCreate()
    except PySparkException as error:
        needs = "Spark 4 needs Java 17 or 21 on the PATH or JAVA_HOME, Spark 3.5 Java 8, 11 or 17"
        said = ": ".join(filter(None, (str(error), jvm_log.last_lines())))
        raise SparkFailure(f"Spark did not start ({said}); {needs}") from error
    if is_ours:
        pass_on_interrupts()
    return open(spark)


def open_connect(conf: Mapping[str, str]) -> Session:
    """A session on the Spark Connect server that `conf["spark.remote"]` names. Raises `SparkFailure`."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkFailure(f"pyspark is not installed ({error}); install planproof[spark]") from error
    builder = _configure(SparkSession.builder.appName("planproof").remote(conf["spark.remote"]), conf)
    try:
        return open(builder.getOrCreate())
    except PySparkException as error:
        raise SparkFailure(f"the Spark Connect server cannot be reached: {error}", outside=True) from error
    except ImportError as error:  # pyspark 3.5 imports distutils, which Python 3.12 dropped and setuptools brings back.
        cure = "install planproof[connect], on Python 3.12 and later setuptools too"
        raise SparkFailure(f"pyspark's client of Spark Connect does not run here ({error}); {cure}") from error


def open_thrift(conf: Mapping[str, str]) -> Session:
    """A session on the Thrift server at `conf["thrift.host"]`.

    Whatever else begins with `thrift.` is an argument of PyHive's `connect` (`port`, `username`, `auth`, ...); the rest
    are the session's settings. Raises `SparkFailure`.
    """
    try:
        hive = importlib.import_module("pyhive.hive")
    except ImportError as error:
        raise SparkFailure(f"pyhive is not installed ({error}); install planproof[thrift]") from error
    place: dict[str, Any] = {key[len(_THRIFT) :]: value for key, value in conf.items() if key.startswith(_THRIFT)}
    place.setdefault("port", "10000")
    settings = {key: value for key, value in conf.items() if not key.startswith(_THRIFT)}

    # It logs what it raises, where nothing hides what a profile's `env_var` gave.
    logging.getLogger("thrift.transport.TSocket").setLevel(logging.CRITICAL)

    def connect() -> Any:
        return hive.connect(**{**place, "port": int(place["port"])}, configuration=settings)

    from planproof.session.thrift import ThriftSession

    try:
        return ThriftSession(connect(), connect)
    except Exception as error:  # The transport, SASL and PyHive each have exceptions of their own.
        said = f"the Thrift server {place['host']}:{place['port']} cannot be reached: {error}"
        raise SparkFailure(said, outside=True) from error


def launch_for_dbt(parameters: Mapping[str, str]) -> None:
    """Starts the JVM of dbt-spark's `method: session` where none runs yet, with no secret of the profile's on its
    command line: dbt-spark would write all of them there."""
    if "spark.remote" not in parameters and "SPARK_REMOTE" not in os.environ:
        jvm_log.launch(parameters)


def open_for_dbt(
    parameters: Mapping[str, str], known: ClassicSession | ConnectSession | None = None
) -> ClassicSession | ConnectSession:
    """The session of dbt-spark's `method: session`, opened as dbt-spark's cursor opens it: with Hive's catalog and the
    profile's `server_side_parameters`. With `spark.remote` among them, or SPARK_REMOTE set, it is a Connect client.

    Returns `known` itself where its Spark is still the current one: it remembers what Spark told it before.
    """
    from pyspark.sql import SparkSession

    if known is not None and known.spark is SparkSession._instantiatedSession and known.spark._sc._jsc is not None:
        return known
    builder = _configure(SparkSession.builder.enableHiveSupport(), parameters)
    launch_for_dbt(parameters)
    spark = builder.getOrCreate()
    if known is not None and known.spark is spark:
        return known
    opened: ClassicSession | ConnectSession = open(spark)  # type: ignore[assignment]
    return opened


def find_running() -> Session | None:
    """A session on the Spark that runs in this process already, or None. pyspark is not imported for the answer."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    spark = SparkSession._instantiatedSession
    return open(spark) if spark is not None and spark._sc._jsc is not None else None
