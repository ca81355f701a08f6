"""Delta's own classes, over py4j; `planproof.session.delta.protocol.DeltaTables`."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from planproof.session import versions
from planproof.session.delta.protocol import Action, LogState, NewTable, NewVersion, Operation
from planproof.session.described import declared_schema
from planproof.session.failures import silence_pyspark, translate_errors
from planproof.session.java import items
from planproof.session.protocol import Moved, SparkFailure
from planproof.session.statics import Statics
from planproof.session.store import decode_uri, local
from planproof_engine import ByColumn, PhysicalSchema, quote_parts, split_name

_DELTA = "org.apache.spark.sql.delta."
_CATALOG = "spark.sql.catalog.spark_catalog"
_ATTEMPTS = "spark.databricks.delta.maxCommitAttempts"
"""How often Delta tries again where others were faster: with 0, a commit is made on its base or not at all."""
_CONFLICT = "ConcurrentModificationException"
_PLAIN = frozenset(
    {"appendOnly", "invariants", "checkConstraints", "generatedColumns", "changeDataFeed", "timestampNtz"}
)
"""Features by which no file depends on more than its path."""
_REMEMBERED = 20
"""Tables of which the last look at the log is held, each an object in the JVM."""
_FEW = 50
"""Of so many files at most Delta's checksums list each (`spark.databricks.delta.allFilesInCrc.thresholdNumFiles`)."""
_MANY = 20_000
"""Files that are named in one commit."""
_FENCE = "planproof."
"""Begins the id of the transaction by which a table refuses the commits of a run."""
_ACTIONS = _DELTA + "actions."
_MANUAL = _DELTA + "DeltaOperations$ManualUpdate"
_SAVE_MODE = "org.apache.spark.sql.SaveMode"
_EXCEEDED = "DELTA_MAX_COMMIT_RETRIES_EXCEEDED"


class Delta:
    """The Delta tables of one classic session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._java: Any = spark._jsparkSession
        self._jvm = Statics(spark._jvm)
        self._states: dict[str, tuple[Any, LogState]] = {}

    @cached_property
    def is_there(self) -> bool:
        given = versions.given_settings(self._spark).get(_CATALOG, "")
        return given.startswith(_DELTA) and versions.find_class(self._jvm.jvm, _DELTA + "DeltaLog") is not None

    def state(self, location: str, version: int | None = None) -> LogState:
        with translate_errors():
            snapshot = self._snapshot(self._log(location), version)
            known = self._states.get(location)
            # A log in which nothing is new gives the same object once more.
            if known is not None and bool(snapshot.equals(known[0])):
                return known[1]
            number = int(snapshot.version())
            forms = [json.loads(str(part.json())) for part in (snapshot.metadata(), snapshot.protocol())]
            metadata, protocol = forms[0]["metaData"], forms[1]["protocol"]
            if number < 0:  # Each look gives metadata of a new id.
                return LogState(location, number, PhysicalSchema(()), {}, protocol)
            state = LogState(location, number, declared_schema(metadata["schemaString"]), metadata, protocol)
            if len(self._states) >= _REMEMBERED:
                self._states.clear()
            self._states[location] = snapshot, state
            return state

    def place(self, name: str) -> str:
        with translate_errors():
            return decode_uri(str(self._catalog.defaultTablePath(self._identifier(name)).toString()))

    def has_files_in(self, base: LogState, folder: str) -> bool:
        with translate_errors():
            files = self._find(base).allFiles()
            return not bool(files.filter(f"startswith(path, '{folder}/')").isEmpty())

    def commit(self, change: NewVersion, name: str, mark: str) -> int:
        try:
            # pyspark has classes of its own for some of Java's exceptions.
            with translate_errors(), self._activate_session(change.exact):
                return self._commit(change, name, mark)
        except SparkFailure as failure:
            error = failure.__cause__
            if isinstance(error, Py4JJavaError) and self._is_conflict(error.java_exception):
                raise Moved(str(error.java_exception.getMessage())) from error
            raise

    def _commit(self, change: NewVersion, name: str, mark: str) -> int:
        opened, actions = self._open_transaction(change, name, mark), self._parse_actions(change.added)
        removed = self._list_removed(opened, change, actions)
        counts = {**change.counts, **(self._count_removed(removed) if change.operation == "overwrite" else {})}
        actions.addAll(removed)
        opened.registerSQLMetrics(self._java, self._make_metrics(counts))
        return int(
            opened.commit(self._jvm.to_seq(actions), self._describe(change), self._jvm.to_map({"planproof": mark}))
        )

    def clone(self, location: str, base: LogState) -> None:
        with translate_errors(), silence_pyspark():
            snapshot = self._find(base)
            files, checksum = snapshot.allFiles(), snapshot.checksumOpt()
            # Most commits leave their counts beside the log: to count anew costs three of Spark's jobs.
            number = int(checksum.get().numFiles() if checksum.isDefined() else files.count())
            if base.is_mapped or not base.features <= _PLAIN or number > _MANY:
                source, own = (quote_parts(("delta", place)) for place in (base.location, location))
                self._java.sql(f"CREATE TABLE {own} SHALLOW CLONE {source} VERSION AS OF {base.version}")
                return
            # What CLONE does, without its checkpoint, and without counting what both logs hold.
            opened = self._begin_another(location, base)
            functions = self._jvm.java_class("org.apache.spark.sql.functions")
            path, root = functions.col("path"), str(self._log(base.location).dataPath().toUri().toString())
            whole = functions.when(path.rlike("^([A-Za-z][A-Za-z0-9+.-]*:|/)"), path)
            inside = functions.concat(self._jvm.to_seq([functions.lit(root + "/"), path]))
            named = getattr(files.withColumn("path", whole.otherwise(inside)), "as")(files.encoder())
            opened.commit(self._jvm.to_seq(named.collectAsList()), self._name("append"), self._jvm.to_map({}))

    def create(self, location: str, table: NewTable) -> Held:
        with translate_errors(table.statement):
            self._java.sessionState().sqlParser().parsePlan(table.statement)  # Refuses properties that are reserved.
        with translate_errors(table.query), silence_pyspark():
            log = self._log(location)
            opened = self._start(log)
            validate = self._jvm.static(_DELTA + "DeltaConfigs", "validateConfigurations")
            known = validate(self._jvm.to_map(_texts(table.properties)))
            comment = {} if table.comment is None else {"comment": table.comment}
            named = getattr(known, "$plus$plus")(self._jvm.to_map(comment))
            values = [
                log,
                self._jvm.static(_SAVE_MODE, "ErrorIfExists"),
                self._options(self._jvm.to_map(_texts(table.options))),
                self._jvm.to_seq(list(table.partition_by)),
                named,
                self._java.sql(table.query),
            ]
            write = self._jvm.fill(_DELTA + "commands.WriteIntoDelta", values)
            said = write.writeAndReturnCommitData(opened, self._java, self._jvm.none, False)
            return self._hold(location, opened, said.actions(), is_new=True)

    def insert(self, location: str, base: LogState, statement: str) -> Held | None:
        with translate_errors(statement), silence_pyspark():
            opened = self._begin_another(location, base)
            state = self._java.sessionState()
            skip = self._jvm.static("org.apache.spark.sql.execution.CommandExecutionMode", "SKIP")()
            analyzed = state.executePlan(state.sqlParser().parsePlan(statement), skip).analyzed()
            if str(analyzed.getClass().getSimpleName()) != "AppendData":
                return None
            rows = self._order(versions.dataset_class(self._jvm.jvm).ofRows(self._java, analyzed.query()), base.schema)
            options = self._jvm.some(self._options(analyzed.writeOptions()))
            return self._hold(location, opened, opened.writeFiles(rows, options), is_new=False)

    def fence(self, location: str, mark: str) -> None:
        action = {"txn": {"appId": _FENCE + mark, "version": 1, "lastUpdated": int(time.time() * 1000)}}
        with translate_errors():
            actions = self._jvm.to_seq([self._action(json.dumps(action))])
            self._start(self._log(location)).commit(actions, self._jvm.companion(_MANUAL), self._jvm.to_map({}))

    def files(self, base: LogState) -> list[Action] | None:
        with translate_errors():
            snapshot = self._find(base)
            checksum = snapshot.checksumOpt()
            if not checksum.isDefined():
                return None
            listed = checksum.get().allFiles()
            if listed.isDefined():
                found = listed.get()
            elif int(checksum.get().numFiles()) <= _FEW:
                # After an ALTER TABLE no checksum lists them any more. To replace or merge, Delta asks for them, too.
                found = snapshot.allFiles().collectAsList()
            else:
                return None
            return [json.loads(text)["add"] for text in self._list_texts(found).split("\n") if text]

    def is_read(self, name: str, location: str, execution: Any) -> bool:
        with translate_errors():
            analyzed = execution.analyzed()
            text = str(analyzed.toString()).replace("`", "").lower()
            names = (".".join(split_name(name)[-2:]), location)
            if any(said.lower() in text for said in names):
                return True
            # A view of a DataFrame that was read from a folder names none.
            return any(_is_leaf_at(leaf, location) for leaf in items(analyzed.collectLeaves()))

    def _open_transaction(self, change: NewVersion, name: str, mark: str) -> Any:
        """Delta's transaction on the change's base."""
        log = self._jvm.static(_DELTA + "DeltaLog", "forTable")(self._java, change.base.location)
        base = self._snapshot(log, change.base.version)
        if str(base.metadata().id()) != change.base.metadata.get("id") and change.base.version >= 0:
            raise Moved(f"{name} was made anew: its version {change.base.version} is another table's")
        entry = self._entry(name)
        opened = log.startTransaction(self._jvm.none if entry is None else self._jvm.some(entry), self._jvm.some(base))
        if change.metadata is not None:
            self._change_metadata(opened, change)
        # What a transaction has asked for is refused where others commit it meanwhile.
        getattr(opened.readTxn(), "$plus$eq")(_FENCE + mark)
        # To ask costs a scan of the whole log, and no version can hold it that is older than the publish.
        if change.base.version > change.since and int(opened.txnVersion(_FENCE + mark)) >= 0:
            raise Moved(f"{name} refuses the commits of {mark}: a recovery has taken it over")
        return opened

    def register(self, name: str, location: str, managed: bool) -> None:
        """As Delta's CREATE TABLE AS does after its commit: the log says what the table is, the catalog where it is."""
        named = "org.apache.spark.sql.catalyst.catalog."
        with translate_errors():
            storage = self._jvm.java_class(named + "CatalogStorageFormat")
            uri = self._jvm.some(self._jvm.java_class("org.apache.hadoop.fs.Path")(location).toUri())
            empty = storage.empty()
            stored = empty.copy(uri, *[empty.productElement(at) for at in range(1, empty.productArity())])
            kinds = self._jvm.java_class(named + "CatalogTableType")
            given = [
                self._identifier(name),
                kinds.MANAGED() if managed else kinds.EXTERNAL(),
                stored,
                self._jvm.java_class("org.apache.spark.sql.types.StructType")(),
                self._jvm.some("delta"),
            ]
            self._catalog.createTable(self._jvm.fill(named + "CatalogTable", given), False, False)

    def refresh(self, name: str) -> None:
        with translate_errors():
            if bool(self._java.sharedState().cacheManager().isEmpty()):
                self._catalog.refreshTable(self._identifier(name))
                return
            # Rows that are cached are read anew, for which Spark analyzes the table.
            self._spark.catalog.refreshTable(quote_parts(split_name(name)))

    # --- the JVM's side ---------------------------------------------------------------------------------------------

    @cached_property
    def _catalog(self) -> Any:
        return self._java.sessionState().catalog()

    @cached_property
    def _activate(self) -> Callable[[Any], Any]:
        """Delta takes its settings from the thread's active session, and dbt's threads have none."""
        found: Callable[[Any], Any] = versions.session_class(SparkSession, self._jvm.jvm).setActiveSession
        return found

    def _list_texts(self, actions: Any) -> str:
        """A line for each of Delta's actions."""
        return str(
            self._jvm.static("java.lang.String", "join")("\n", self._jvm.map_each(actions, _ACTIONS + "Action", "json"))
        )

    def _identifier(self, name: str) -> Any:
        return self._java.sessionState().sqlParser().parseTableIdentifier(quote_parts(split_name(name)))

    def _entry(self, name: str) -> Any | None:
        identifier = self._identifier(name)
        return self._catalog.getTableMetadata(identifier) if self._catalog.tableExists(identifier) else None

    def _log(self, location: str) -> Any:
        self._activate(self._java)
        return self._jvm.static(_DELTA + "DeltaLog", "forTable")(self._java, location)

    def _snapshot(self, log: Any, version: int | None) -> Any:
        none = self._jvm.none
        now = log.update(False, none, none)
        if version is None or int(now.version()) == version:
            return now
        takes = _count_parameters(log, "getSnapshotAt")
        return log.getSnapshotAt(version, *[none] * min(takes - 1, 2), *[False] * (takes - 3))

    def _find(self, base: LogState) -> Any:
        """What `state` has seen, which needs no other look at the log where it was the last that was seen there."""
        snapshot, state = self._states.get(base.location, (None, None))
        return snapshot if state is base else self._snapshot(self._log(base.location), base.version)

    def _start(self, log: Any) -> Any:
        return log.startTransaction(self._jvm.none, self._jvm.none)

    def _order(self, rows: Any, schema: PhysicalSchema) -> Any:
        """The columns as the table has them: by name Delta writes them as the query does."""
        at = ByColumn((name, number) for number, name in enumerate(schema.names))
        given = [str(name) for name in rows.columns()]
        wanted = sorted(given, key=lambda name: at.get(name, len(at)))
        if wanted == given:
            return rows
        col = self._jvm.static("org.apache.spark.sql.functions", "col")
        return rows.select(self._jvm.to_seq([col(quote_parts((name,))) for name in wanted]))

    def _begin_another(self, location: str, base: LogState) -> Any:
        """The transaction that makes a table like the base, of an id of its own."""
        opened, metadata = self._start(self._log(location)), {**base.metadata, "id": str(uuid.uuid4())}
        opened.updateMetadataForNewTable(self._action(json.dumps({"metaData": metadata})))
        return opened

    def _hold(self, location: str, opened: Any, written: Any, is_new: bool) -> Held:
        texts = self._list_texts(written)
        if is_new:
            texts = f"{opened.metadata().json()}\n{texts}"
        return Held(location, opened, texts, lambda: opened.commit(written, self._name("append"), self._jvm.to_map({})))

    def _options(self, given: Any) -> Any:
        return self._jvm.java_class(_DELTA + "DeltaOptions")(given, self._java.sessionState().conf())

    def _action(self, text: str) -> Any:
        return self._jvm.static(_ACTIONS + "Action", "fromJson")(text)

    def _name(self, operation: Operation, partition_by: Sequence[str] = ()) -> Any:
        """What the history calls a commit, with the partitions of a table that it makes."""
        if operation == "update":
            return self._jvm.companion(_MANUAL)
        mode = self._jvm.static(_SAVE_MODE, operation.capitalize())
        return self._jvm.fill(
            _DELTA + "DeltaOperations$Write", [mode, self._jvm.some(self._jvm.to_seq(list(partition_by)))]
        )

    def _describe(self, change: NewVersion) -> Any:
        """What the history says of a change."""
        if change.merge is None:
            return self._name(change.operation, (change.metadata or {}).get("partitionColumns", ()))
        clause, none = self._jvm.companion(_DELTA + "DeltaOperations$MergePredicate"), self._jvm.none
        clauses = [self._jvm.to_seq([clause.apply(none, k) for k in kinds]) for kinds in change.merge]
        return self._jvm.fill(_DELTA + "DeltaOperations$Merge", [none, none, none, none, *clauses])

    def _make_metrics(self, counts: Mapping[str, int]) -> Any:
        create = self._jvm.static("org.apache.spark.sql.execution.metric.SQLMetrics", "createMetric")
        context = self._java.sparkContext()
        found = {name: create(context, name) for name in counts}
        for name, metric in found.items():
            metric.set(counts[name])
        return self._jvm.to_map(found)

    def _change_metadata(self, opened: Any, change: NewVersion) -> None:
        """Raises `SparkFailure` where Delta would make another table of it, or a table for which readers need more than
        for the one that stands there."""
        wanted = dict(change.metadata or {})
        before = str(opened.protocol().json())
        action = self._action(json.dumps({"metaData": wanted}))
        if change.replaces and change.base.version >= 0:
            opened.updateMetadataForNewTableInReplace(action)
        elif change.replaces:
            opened.updateMetadataForNewTable(action)
        else:
            opened.updateMetadata(action, False)
        made = json.loads(str(opened.metadata().json()))["metaData"]
        if json.loads(made["schemaString"]) != json.loads(wanted["schemaString"]):
            raise SparkFailure("Delta would map the new columns otherwise than the staged files do")
        if change.base.version >= 0 and str(opened.protocol().json()) != before:
            raise SparkFailure(
                "the change needs another protocol of the table than it has, and planproof upgrades none: say the "
                "table's properties by ALTER TABLE first"
            )

    def _remove_overwritten(self, opened: Any, added: Any) -> Any:
        """Removes what stands in the partitions of the added files. Older versions of Delta ask for their values."""
        wanted: Any = self._jvm.to_seq(added)
        takes = [m.getParameterTypes() for m in opened.getClass().getMethods() if str(m.getName()) == "filterFiles"]
        if any(len(types) == 1 and str(types[0].getSimpleName()) == "Set" for types in takes):
            wanted = self._jvm.to_seq([file.partitionValues() for file in added]).toSet()
        return self._remove_each(opened.filterFiles(wanted))

    def _list_removed(self, opened: Any, change: NewVersion, added: Any) -> Any:
        """The actions that take files away."""
        # What an overwrite of partitions has read is those alone: who writes elsewhere is no conflict.
        if change.overwrites:
            return self._remove_overwritten(opened, added)
        if change.base.version < 0 or not (change.reads or change.removed is None or change.removed):
            return []
        if change.removals and len(change.removals) == len(change.removed or ()):
            # The transaction reads all of the base, and need not list it.
            opened.readWholeTable()
            return self._parse_actions(change.removals)
        found = opened.filterFiles()
        if change.removed is None:
            return self._remove_each(found)
        wanted = set(change.removed)
        removed = [file.remove() for file in items(found) if str(file.path()) in wanted]
        if len(removed) != len(wanted):
            raise SparkFailure("files that were replaced are not those of the table's version")
        return removed

    def _remove_each(self, files: Any) -> Any:
        """A RemoveFile for each AddFile: a table has tens of thousands of files."""
        return self._jvm.map_each(files, _ACTIONS + "AddFile", "remove")

    def _count_removed(self, removed: Any) -> dict[str, int]:
        """By the names that Delta's overwrites give them in the history; older versions pass over them."""
        if not len(removed):
            return {"numRemovedFiles": 0, "numRemovedBytes": 0}
        sizes = self._jvm.map_each(removed, _ACTIONS + "RemoveFile", "getFileSize")
        return {"numRemovedFiles": len(removed), "numRemovedBytes": sum(json.loads(str(sizes.toString())))}

    def _parse_actions(self, actions: Sequence[Action]) -> Any:
        """Delta's actions, as a Java list that can grow."""
        made = self._jvm.java_class("java.util.ArrayList")
        if not actions:
            return made()
        lines = self._jvm.static("java.util.regex.Pattern", "compile")("\n")
        texts = lines.splitAsStream("\n".join(map(json.dumps, actions)))
        listed = texts.collect(self._jvm.static("java.util.stream.Collectors", "toList")())
        return made(self._jvm.map_each(listed, _ACTIONS + "Action", "fromJson", "java.lang.String"))

    @contextmanager
    def _activate_session(self, exact: bool) -> Iterator[None]:
        """The session whose settings Delta takes for a commit: a copy where it is to be made on its base or not at all,
        as the threads of dbt share one."""
        active = self._java
        if exact:
            active = active.cloneSession()
            active.conf().set(_ATTEMPTS, "0")
        self._activate(active)
        try:
            yield
        finally:
            self._activate(self._java)

    def _is_conflict(self, java: Any) -> bool:
        kind = java.getClass()
        while kind is not None:
            if str(kind.getSimpleName()) == _CONFLICT:
                return True
            kind = kind.getSuperclass()
        return _EXCEEDED in str(java.getMessage())


class Held:
    """`planproof.session.delta.protocol.HeldWrite`. `opened` is Delta's transaction, `actions` are the texts of what is
    to be committed in it, with that of a new table's metadata, and `commit` does so."""

    def __init__(self, location: str, opened: Any, actions: str, commit: Callable[[], Any]) -> None:
        self.actions = actions
        self._location, self._opened, self._commit = location, opened, commit
        self._is_open = False

    @cached_property
    def state(self) -> LogState:
        with translate_errors():
            forms = [json.loads(str(part.json())) for part in (self._opened.metadata(), self._opened.protocol())]
            schema = declared_schema(forms[0]["metaData"]["schemaString"])
            return LogState(self._location, 0, schema, forms[0]["metaData"], forms[1]["protocol"])

    def open(self) -> None:
        if self._is_open:
            return
        with translate_errors(), silence_pyspark():
            self._commit()
        self._is_open = True


def _texts(given: Mapping[str, Any]) -> dict[str, str]:
    """Without what Delta's catalog leaves out, too."""
    return {str(key): str(value) for key, value in given.items() if key not in ("path", "option.path")}


def _count_parameters(holder: Any, name: str) -> int:
    """How many parameters the shortest method of that name takes."""
    methods = holder.getClass().getMethods()
    return min(int(m.getParameterCount()) for m in methods if str(m.getName()) == name)


def _is_leaf_at(leaf: Any, location: str) -> bool:
    """Whether a leaf of a plan reads files of a folder."""
    if str(leaf.getClass().getSimpleName()) != "LogicalRelation":
        return False
    relation = leaf.relation()
    if str(relation.getClass().getSimpleName()) != "HadoopFsRelation":
        return False
    places = [str(path.toString()) for path in items(relation.location().rootPaths())]
    return any((local(place) or place).rstrip("/") == (local(location) or location).rstrip("/") for place in places)
