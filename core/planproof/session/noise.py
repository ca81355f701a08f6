"""Keeps those warnings out of Spark's log that the guard's own folders cause: nobody can use them."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError

OWN = "(?s).*(All paths were ignored.*__planproof|[Ff]ailed to delete .*__planproof|__planproof.*Force to delete).*"
"""The texts of these warnings.

Spark takes a folder whose name begins with `_` for a hidden one, and warns of each staged table. Hive tries to delete
the folder of a dropped table after the guard deleted it, and warns of that.
"""

_MARK = "_planproof_filters_log"


def filter_own_warnings(spark: Any) -> None:
    """Puts a filter before the log's root, once per JVM. Where the log is not log4j 2 it stays as it is."""
    gateway = spark.sparkContext._gateway
    # Not `getattr`: Py4J gives a member of its Java side for every name.
    if _MARK in vars(gateway):
        return
    setattr(gateway, _MARK, True)
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j
    try:
        result = log4j.core.Filter.Result
        kept_out = log4j.core.filter.RegexFilter.createFilter(OWN, None, False, result.DENY, result.NEUTRAL)
        kept_out.start()
        log4j.LogManager.getContext(False).getConfiguration().getRootLogger().addFilter(kept_out)
    except (Py4JError, TypeError):
        return
