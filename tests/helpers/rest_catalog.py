"""A server of Iceberg's REST catalog: the servlet of Iceberg's own tests before a database in sqlite's file, and a
proxy before it that can lose requests and answers.

The server is a JVM of its own, which is spoken to by py4j, so that nothing has to be compiled.
"""

from __future__ import annotations

import json
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

Fate = Callable[[str, str, bytes], str | None]
"""What becomes of a request, by its method, path and body: None, it is answered; `lost`, it arrives and its answer does
not; `unavailable`, it arrives and the answer is 503; `away`, it never arrives."""


class Server:
    """`uri` is the catalog's address. `fate` may be set to lose what comes; `seen` lists the requests. `handed_out`
    goes with each table that the server answers: how its files are reached, such as credentials."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.fate: Fate | None = None
        self.seen: list[tuple[str, str, bytes]] = []
        self.handed_out: dict[str, str] = {}

    @contextmanager
    def losing(self, fate: str, times: int = 1) -> Iterator[list[str]]:
        """The next commits of tables, so many of them, meet this fate. Yields the paths of those that did."""
        met: list[str] = []

        def decide(method: str, path: str, body: bytes) -> str | None:
            if method != "POST" or not is_commit(path, body) or len(met) >= times:
                return None
            met.append(path)
            return fate

        self.fate = decide
        try:
            yield met
        finally:
            self.fate = None


def is_commit(path: str, body: bytes) -> bool:
    """Whether a request commits to a table: it has requirements and updates."""
    return "/tables/" in path and b'"requirements"' in body and bool(json.loads(body).get("updates"))


IN_MEMORY = {"io-impl": "org.apache.iceberg.inmemory.InMemoryFileIO"}
"""Files of one JVM's memory: who is not told so finds none of them."""


@contextmanager
def served(jars: Path, driver: tuple[list[Path], Path], database: Path, warehouse: Path | None) -> Iterator[Server]:
    """A server on 127.0.0.1 whose tables lie in the folder `warehouse`, or in memory."""
    drivers, library = driver
    hadoop = sorted((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar"))
    logging = sorted((Path(pyspark.__file__).parent / "jars").glob("commons-logging-*.jar"))
    port = launch_gateway(
        jarpath=str(next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"), "")) or None,
        classpath=os.pathsep.join(map(str, [*sorted(jars.glob("*.jar")), *hadoop, *logging, *drivers])),
        javaopts=["-Xmx256m", f"-Djava.library.path={library}"],
        die_on_exit=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    try:
        behind = _start(gateway, database, warehouse)
        with _proxy(behind) as server:
            yield server
    finally:
        gateway.shutdown()


def _start(gateway: Any, database: Path, warehouse: Path | None) -> str:
    jvm = gateway.jvm
    properties = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": f"jdbc:sqlite:{database}",
        "jdbc.schema-version": "V1",
        "clients": "1",
        **({"warehouse": warehouse.as_uri()} if warehouse is not None else {"warehouse": "mem://lake", **IN_MEMORY}),
    }
    configuration = jvm.org.apache.hadoop.conf.Configuration()
    catalog = jvm.org.apache.iceberg.CatalogUtil.buildIcebergCatalog("behind", properties, configuration)
    servlet = jvm.org.apache.iceberg.rest.RESTCatalogServlet(jvm.org.apache.iceberg.rest.RESTCatalogAdapter(catalog))
    context = jvm.org.eclipse.jetty.servlet.ServletContextHandler(0)
    context.addServlet(jvm.org.eclipse.jetty.servlet.ServletHolder(servlet), "/*")
    server = jvm.org.eclipse.jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", 0))
    server.setHandler(context)
    server.start()
    return f"http://127.0.0.1:{server.getURI().getPort()}"


@contextmanager
def _proxy(behind: str) -> Iterator[Server]:
    server = Server("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            server.seen.append((self.command, self.path, body))
            fate = server.fate(self.command, self.path, body) if server.fate is not None else None
            status, kind, answer = (0, "", b"") if fate == "away" else _ask(behind, self, body)
            if server.handed_out and b'"metadata"' in answer:
                answer = json.dumps(_add_config(json.loads(answer), server.handed_out)).encode()
            if fate in ("lost", "away"):
                self.close_connection = True
                return
            if fate == "unavailable":
                status, answer = 503, b""
            self.send_response(status)
            if kind:
                self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)

        do_GET = do_HEAD = do_POST = do_DELETE = _pass

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: tests read what is printed."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    server.uri = f"http://127.0.0.1:{listening.server_port}"
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()


def _add_config(answer: dict[str, Any], config: dict[str, str]) -> dict[str, Any]:
    """A table's answer with what a server hands out: `config` and `storage-credentials` of the REST specification's
    LoadTableResult."""
    credentials = [{"prefix": "s3://", "config": config}]
    return {**answer, "config": {**answer.get("config", {}), **config}, "storage-credentials": credentials}


def _ask(behind: str, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, str, bytes]:
    headers = {k: v for k, v in request.headers.items() if k.lower() not in ("host", "connection", "content-length")}
    sent = urllib.request.Request(behind + request.path, body or None, headers, method=request.command)
    try:
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return answer.status, answer.headers.get("content-type", ""), answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers.get("content-type", ""), refused.read()
