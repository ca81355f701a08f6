"""Iceberg tables whose Hive metastore is a server of its own, which is killed in the middle of a publish.

Run as `python on_a_metastore_server.py HOME`, in a network that has nothing but its loopback device: such a server
listens on every address. HOME/settings.json are Spark's settings. Prints what it saw as one line of JSON.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PORT = 9083
CHANGE = {"materialized": "incremental"}
TWO_ROWS = "select * from values (1L, 'a'), (2L, 'b') as v(id, s)"


class Server:
    """A metastore server over Derby in HOME. It is spoken to by py4j, so that its tables of locks can be made."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.start()

    def start(self) -> None:
        import pyspark
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        jars = Path(pyspark.__file__).parent / "jars"
        settings = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={self.home}/metastore;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "datanucleus.connectionPoolingType": "dbcp",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": f"{self.home}/warehouse",
            "hive.metastore.disallow.incompatible.col.type.changes": "false",
            "derby.system.home": str(self.home),
        }
        port, self.process = launch_gateway(
            jarpath=str(next(jars.glob("py4j-*.jar"))),
            classpath=f"{jars}/*",
            javaopts=["-Xmx256m", *(f"-D{name}={value}" for name, value in settings.items())],
            die_on_exit=True,
            return_proc=True,
        )
        jvm = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True)).jvm
        hive = jvm.org.apache.hadoop.hive
        configuration = hive.conf.HiveConf()
        if not (self.home / "locks").exists():
            hive.metastore.txn.TxnDbUtil.prepDb(configuration)
            (self.home / "locks").touch()
        bridge = hive.shims.ShimLoader.getHadoopThriftAuthBridge()
        serve = hive.metastore.HiveMetaStore.startMetaStore
        threading.Thread(target=_until_it_dies, args=(serve, PORT, bridge, configuration), daemon=True).start()
        for _ in range(240):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", PORT)) == 0:
                    return
            time.sleep(0.5)
        raise TimeoutError("the metastore server does not listen")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def _until_it_dies(serve: Callable[..., None], *given: Any) -> None:
    try:
        serve(*given)
    except Exception as error:
        print(f"the server has ended: {type(error).__name__}", file=sys.stderr)


def session(home: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in json.loads((home / "settings.json").read_text()).items():
        builder = builder.config(name, value)
    catalog = "spark.sql.catalog.lake_server"
    builder = builder.config(catalog, "org.apache.iceberg.spark.SparkCatalog").config(f"{catalog}.type", "hive")
    builder = builder.config(f"{catalog}.uri", f"thrift://127.0.0.1:{PORT}")
    # Iceberg asks for its lock for three minutes where no server answers.
    builder = builder.config("spark.hadoop.iceberg.hive.lock-creation-timeout-ms", "5000")
    spark = builder.config(f"{catalog}.warehouse", (home / "warehouse").as_uri()).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("create database lake_server.shop")
    return spark


def published(spark: Any, table: str, sql: str, **more: Any) -> list[Any]:
    """The outcome, what went wrong, and the rows then."""
    from planproof import Guard, Model

    report = Guard(spark).publish(Model(f"lake_server.shop.{table}", sql, file_format="iceberg", **more))
    return [report.outcome, report.error, held(spark, table)]


def held(spark: Any, table: str) -> list[list[Any]] | None:
    other, name = spark.newSession(), f"lake_server.shop.{table}"
    if not other.catalog.tableExists(name):
        return None
    return sorted(([*row] for row in other.sql(f"select * from {name}").collect()), key=str)


def every_kind(spark: Any) -> dict[str, list[Any]]:
    keyed = {"incremental_strategy": "merge", "options": {"unique_key": "id"}, **CHANGE}
    return {
        "first": published(spark, "t", TWO_ROWS),
        "replaced": published(spark, "t", "select 1L as id, 'c' as s"),
        "appended": published(spark, "t", "select 2L as id, 'd' as s", **CHANGE),
        "merged": published(spark, "t", "select * from values (2L, 'e'), (3L, 'e') as v(id, s)", **keyed),
        "retyped": published(spark, "t", "select 'x' as id, 1 as n"),
    }


def beside_a_writer(spark: Any) -> dict[str, Any]:
    """Six appends while another session inserts four times a second."""
    over, written, other = threading.Event(), list[int](), spark.newSession()
    published(spark, "busy", "select 0L as id")

    def write() -> None:
        while not over.wait(0.25):
            other.sql(f"insert into lake_server.shop.busy values ({1000 + len(written)})")
            written.append(1000 + len(written))

    writer = threading.Thread(target=write)
    writer.start()
    outcomes = [published(spark, "busy", f"select {n}L as id", **CHANGE)[0] for n in range(1, 7)]
    over.set()
    writer.join()
    rows = [row[0] for row in held(spark, "busy") or []]
    return {"outcomes": outcomes, "is_whole": sorted(rows) == [*range(7), *written]}


def without_the_server(spark: Any, server: Server) -> dict[str, Any]:
    """It is killed right before the commit of a replacement, and stands again after that."""
    from planproof.session.iceberg import IcebergTransaction

    commit = IcebergTransaction.commit

    def late(self: IcebergTransaction) -> None:
        server.kill()
        commit(self)

    from planproof import Guard, Model

    published(spark, "cut", TWO_ROWS)
    IcebergTransaction.commit = late  # type: ignore[method-assign]
    model = Model("lake_server.shop.cut", "select 9L as id, 'z' as s", file_format="iceberg")
    report = Guard(spark).publish(model)
    IcebergTransaction.commit = commit  # type: ignore[method-assign]
    server.start()
    rows = held(spark, "cut")
    again = published(spark, "cut", "select 9L as id, 'z' as s")
    return {"outcome": report.outcome, "is_transient": report.details.transient, "rows": rows, "again": again}


def main(home: Path) -> None:
    with socket.socket() as device:  # The loopback device of a new network is down.
        fcntl.ioctl(device, 0x8914, struct.pack("16sh", b"lo", 1 | 64))
    server = Server(home)
    try:
        spark = session(home)
        found = {"kinds": every_kind(spark), "beside": beside_a_writer(spark), "cut": without_the_server(spark, server)}
        left = [str(path) for path in home.rglob(".planproof/staged/*.json")]
        print(json.dumps({**found, "left": left}), flush=True)
    finally:
        server.kill()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
