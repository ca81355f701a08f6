"""The metastore behind a classic session's own catalog: Hive's, or one in memory that ends with the session."""

from __future__ import annotations

import hashlib
import os
import socket
from typing import Any

from pyspark.sql import SparkSession

_METASTORE = (
    "hive.metastore.client.factory.class",
    "metastore.catalog.default",
    "hive.metastore.uris",
    "javax.jdo.option.ConnectionURL",
)
"""What tells one metastore from another."""


def find_hive(spark: SparkSession) -> Any | None:
    """Spark's client of Hive's metastore; None where the catalog is not Hive's."""
    external = _external(spark)
    return external.client() if str(external.getClass().getName()).endswith(".HiveExternalCatalog") else None


def identify_metastore(spark: SparkSession) -> str | None:
    """See `planproof.session.protocol.Session.catalog_id`."""
    client, application = find_hive(spark), str(spark.sparkContext.applicationId)
    if client is None:
        return _digest(str(_external(spark).getClass().getName()), application)
    factory, catalog, uris, url = (str(client.getConf(key, "")) for key in _METASTORE)
    if factory:
        # Another service, such as Glue. Its account is told by settings that are not known here.
        return None
    if uris:
        # `localhost`, or a name in a network of containers, is another metastore on another machine.
        return _digest(socket.gethostname(), uris, catalog)
    if url.startswith("jdbc:derby:memory:"):
        return _digest(url, catalog, application)
    # A URL means something on this machine only, and the path of a Derby database may be relative to a folder.
    jvm: Any = spark._jvm
    folder = (os.getcwd(), str(jvm.java.lang.System.getProperty("derby.system.home")))
    return _digest(socket.gethostname(), url, catalog, *(folder if url.startswith("jdbc:derby:") else ()))


def _external(spark: SparkSession) -> Any:
    java: Any = spark._jsparkSession
    return java.sharedState().externalCatalog().unwrapped()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
