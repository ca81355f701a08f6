"""How the gate reaches the Spark that dbt uses: the session of this process, its driver here or behind Spark Connect,
or dbt's connection to a Thrift server."""

from __future__ import annotations

import re
import threading
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import planproof.session
from dbt_planproof.dbts import Adapter, Node, Relation
from planproof.publish.transaction import database_root
from planproof.publish.transaction.names import Refused, join, parent
from planproof.session import Session, SparkFailure, decode_uri, local, store_of
from planproof.session.delta.statements import DeltaStatements
from planproof_engine import AnalysisError, quote_literal

if TYPE_CHECKING:
    from dbt_planproof.states import ThisThread
    from planproof.session.classic import ClassicSession
    from planproof.session.frames import ConnectSession
    from planproof.session.thrift import ThriftSession

OWN_CATALOG = "spark_catalog"
_LOCATION = re.compile(r"^Location: *(\S.*)$", re.M)


class Reach:
    """One for each dbt invocation. dbt's threads share the session of `method: session`; over Thrift every thread has a
    connection, and so a session, of its own."""

    def __init__(self, adapter: Adapter, here: ThisThread) -> None:
        self.adapter, self.here = adapter, here
        self.lock = threading.Lock()
        self.shared: dict[str, str | None] = {}
        self.found: ClassicSession | ConnectSession | None = None
        self.is_launched = False

    @property
    def method(self) -> str:
        return str(getattr(self.adapter.config.credentials.method, "value", self.adapter.config.credentials.method))

    @property
    def is_shared(self) -> bool:
        """Whether all of dbt's threads use one session."""
        return self.method == "session"

    def open_session(self) -> Session:
        """planproof's session over the one that dbt's statements on this thread run in. Raises `SparkFailure`."""
        return self._open_session() if self.is_shared else self._open_thrift()

    def find_spark(self) -> Any:
        """The Spark session of `method: session`."""
        return self._open_session().spark

    def launch(self) -> None:
        """Starts Spark before dbt's first statement does, so that no secret of the profile's stands on its command
        line. Where it does not start, dbt says so."""
        if self.is_shared and not self.is_launched:
            with self.lock, suppress(Exception):
                planproof.session.launch_for_dbt(self.adapter.config.credentials.server_side_parameters)
            self.is_launched = True

    def _open_session(self) -> ClassicSession | ConnectSession:
        with self.lock:
            parameters = self.adapter.config.credentials.server_side_parameters
            self.found = planproof.session.open_for_dbt(parameters, self.found)
            return self.found

    def _open_thrift(self) -> ThriftSession:
        from planproof.session.thrift import ThriftSession

        connection = self.adapter.connections.get_thread_connection().handle.handle
        if self.here.session is None or self.here.session.connection is not connection:
            self.here.session = ThriftSession(connection)
        return self.here.session

    def read_setting(self, key: str) -> str | None:
        """A setting of Spark's, None where it has no value."""
        if self.is_shared:
            found = self._open_session().spark.conf.get(key, None)
            return None if found is None else str(found)
        ((_, value, *_),) = self.open_session().rows(f"SET {key}")
        return None if value == "<undefined>" else str(value)

    def find_refusal(self) -> str | None:
        """Why Spark does not answer, None where it does."""
        if self.is_shared:
            return None
        try:
            # A Spark that planproof does not know fails here, too.
            _ = self.open_session().conf
        except (SparkFailure, AnalysisError) as error:
            return f"its Thrift server does not answer: {error}"
        return None

    def find_iceberg_obstacle(self, name: str) -> str | None:
        """Why an Iceberg table of that name cannot be guarded, None where it can."""
        tables = self.open_session().transactions()
        if tables is None:
            return (
                "its file format is iceberg, whose transactions are held open in Spark's driver, and this connection "
                "does not reach it: run dbt with method: session, where Spark runs in dbt's own process"
            )
        reason = tables.refusal()
        if reason is None and not tables.is_in_catalog(name):
            catalog = tables.complete(name)[0]
            reason = f"its file format is iceberg, and the catalog {catalog} makes no Iceberg tables in this session"
        return reason

    def find_delta_obstacle(self) -> str | None:
        """Why Delta tables cannot be guarded, None where they can."""
        session = self.open_session()
        tables = session.delta()
        if tables is None:
            obstacle = DeltaStatements(session).find_obstacle()
            return None if obstacle is None else f"its file format is delta, and {obstacle}"
        return None if tables.is_there else "its file format is delta, and the session's own catalog is not Delta's"

    def find_other_catalog(self) -> str | None:
        """Why the relations that dbt names are not in Spark's own catalog, None where they are."""
        current = self.open_session().namespace[0]
        return None if current == OWN_CATALOG else f"its catalog is {current}, not {OWN_CATALOG}"

    def measure_distance(self, node: Node, existing: Relation | None) -> str | None:
        """Why the node's files are out of reach, None where they are not.

        Staged files are read and moved from this machine. That this can be done with what Spark, beyond this process,
        writes is proved by a file that is written there, and read, moved and deleted here.
        """
        session = self.open_session()
        if session.capabilities.kind == "classic":
            return None
        try:
            roots = [database_root(session, (node.schema,))]
        except Refused as refusal:
            return str(refusal)
        location = _LOCATION.search(existing.information or "") if existing is not None and existing.is_table else None
        roots += [root for root in (node.config.get("location_root"),) if root]
        roots += [parent(decode_uri(location[1]))] if location else []
        return next((why for root in roots if (why := self._measure_distance(session, root))), None)

    def _measure_distance(self, session: Session, root: str) -> str | None:
        with self.lock:
            if root not in self.shared:
                self.shared[root] = _measure_distance(session, root)
            return self.shared[root]


def _measure_distance(session: Session, root: str) -> str | None:
    """Why the files below `root` are not shared with Spark, None where they are."""
    if local(root) is None:
        return f"its files lie at {root}, which planproof reaches only where Spark's driver is in dbt's process"
    store, nonce = store_of(session), uuid.uuid4().hex
    folder = join(root, f".planproof_{nonce}")
    try:
        session.rows(f"INSERT OVERWRITE DIRECTORY {quote_literal(folder)} USING text SELECT '{nonce}' AS value")
        written = [name for name in store.names(folder) if name.startswith("part-")]
        if [store.read(join(folder, name)) for name in written] != [f"{nonce}\n"]:
            return f"Spark's server and this machine do not share {root}"
        # Staged files are moved and deleted from here, whoever the server runs as.
        store.move(join(folder, written[0]), join(folder, "moved"))
        store.delete(folder)
    except (SparkFailure, AnalysisError) as error:
        return f"Spark's server and this machine do not share {root}: {error}"
    return None
