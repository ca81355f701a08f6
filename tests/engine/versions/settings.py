"""Writes what the Spark that Python finds says of each setting that `Conf` follows, beside what others said.

    PYTHONPATH=core python tests/engine/versions/settings.py

`null` stands for a setting that this Spark has not. Run it with the Python of each version.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from planproof_engine.conf import SETTINGS, spark_version

WRITTEN = Path(__file__).parents[1] / "cases" / "versions" / "settings.json"


def asked(spark: Any) -> dict[str, str | None]:
    """Each setting's default; a session sets neither of them."""
    conf = spark._jsparkSession.sessionState().conf()
    return {key: _default(conf, key) for key in SETTINGS if key != "spark.sql.session.timeZone"}


def _default(conf: Any, key: str) -> str | None:
    try:
        return str(conf.getConfString(key))
    except Exception as error:  # Of another class in each version.
        if "NoSuchElement" in str(error) or "SQL_CONF_NOT_FOUND" in str(error):
            return None
        raise


def main() -> int:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    known = json.loads(WRITTEN.read_text()) if WRITTEN.exists() else {}
    known[spark_version(spark.version)] = asked(spark)
    spark.stop()
    WRITTEN.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
