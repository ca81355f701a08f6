"""Servers that tests start on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Ports:
    """Ports of this machine on which tests have servers listen."""

    def free(self) -> int:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            return int(found.getsockname()[1])

    def wait(self, port: int, seconds: int = 60) -> None:
        for _ in range(seconds * 2):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.5)
        raise TimeoutError(f"nothing listens at {port}")


@contextmanager
def thrift_server(home: Path, ports: Ports, more: Callable[[Path], dict[str, str]]) -> Iterator[str]:
    """The address of a Thrift server in a process of its own, which works in `home`; `more` are settings besides."""
    import pyspark

    port = ports.free()
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:thrift;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        **more(home),
    }
    hive = {
        "hive.server2.thrift.port": str(port),
        "hive.server2.thrift.bind.host": "127.0.0.1",
        # With users of their own, sessions that close side by side may make Hive load its functions, for which pip's
        # pyspark lacks a class (LlapSigner): from then on the server never answers who closes one.
        "hive.server2.enable.doAs": "false",
    }
    confs = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    confs += ["spark-internal", *(part for key, value in hive.items() for part in ("--hiveconf", f"{key}={value}"))]
    server = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    command = [submit, "org.apache.spark.deploy.SparkSubmit", "--class", server, *confs]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        ports.wait(port, 180)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)
