"""What Spark's own texts say, for clients that have no schema objects: its schema JSON, its settings, and its
descriptions of a relation.

In Spark 4 `DESCRIBE TABLE EXTENDED ... AS JSON` says everything, every flag too (`DescribeRelationJsonCommand`). In
Spark 3.5 the flags stand in the tree that `SHOW TABLE EXTENDED` prints (`CatalogTable.toLinkedHashMap`,
`StructType.treeString`), and everything else in the lines of `DESCRIBE TABLE EXTENDED`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from planproof.session.protocol import SparkFailure, StoredTable
from planproof_engine import Conf, PhysicalField, PhysicalSchema, UnknownSpark, evolve
from planproof_engine import types as dt
from planproof_engine.types import Struct, from_json


@lru_cache(maxsize=256)  # A publish meets the same text at plane after plane.
def physical_schema(form: str) -> PhysicalSchema:
    """The schema that `StructType.json` spells, with the types that a query sees (char and varchar are strings)."""
    return _schema(_drop_lengths(json.loads(form)))


def declared_schema(form: str) -> PhysicalSchema:
    """What `physical_schema` gives, with the char and varchar lengths that the fields' metadata keeps."""
    return _schema(json.loads(form))


def filled_columns(form: str) -> tuple[str, ...]:
    """The columns that a file without them holds a value in (`ResolveDefaultColumns.existenceDefaultValues`)."""
    return tuple(f["name"] for f in json.loads(form)["fields"] if "EXISTS_DEFAULT" in f["metadata"])


def _schema(form: Any) -> PhysicalSchema:
    struct = from_json(form)
    assert isinstance(struct, Struct)
    return PhysicalSchema(tuple(PhysicalField(f.name, f.type, f.nullable) for f in struct.fields))


def _drop_lengths(form: Any) -> Any:
    """The form without the lengths of char and varchar. Collations stand in the metadata, too, and stay: a query sees
    them."""
    if isinstance(form, dict):
        return {k: _drop_lengths(v) for k, v in form.items() if k != "__CHAR_VARCHAR_TYPE_STRING"}
    return [_drop_lengths(v) for v in form] if isinstance(form, list) else form


MANAGED_PARTITIONS = "spark.sql.hive.manageFilesourcePartitions"
"""Where it is false, Spark neither registers partitions of Parquet tables nor lists them."""
RAW_LITERALS = "spark.sql.parser.escapedStringLiterals"
"""Where it is true, a backslash in a string literal stands for itself."""

COMPARED = "spark.sql.execution.arrow.pyspark.validateSchema.enabled"
"""Where it is true, Spark compares each batch of a Python function with what the function declares. An older Spark
accepts the setting and ignores it."""

CLAIMING = re.compile(r"MapInArrow|MapInPandas|FlatMap(?:Co)?Groups|PythonDataSource")
"""Nodes that may claim NOT NULL for rows that Spark did not look at, in the text of a plan."""


BY_PLACE = re.compile(r"\b(?:(?:Python)?MapInArrow|FlatMap(?:Co)?GroupsInArrow)\b")
"""Nodes that give batches whose columns Spark takes by position, in the text of a plan; before 4.0 with `Python`."""


def conf_of(version: str, found: Mapping[str, str | None], provider: str | None) -> Conf:
    """The conf of a live Spark: its version's defaults, and over them what Spark says of each setting (None: nothing).

    `provider` is its `spark.sql.sources.default`. Raises `SparkFailure` where planproof does not know the version.
    """
    try:
        conf = Conf.of(version, {key: value for key, value in found.items() if value is not None})
    except UnknownSpark as error:
        raise SparkFailure(str(error)) from None
    return evolve(conf, create_table_provider=provider or conf.create_table_provider)


Form = Mapping[str, Any]

_NODE = re.compile(
    r" \|(?P<depth>(?: {4}\|)*)-- (?P<name>.*): (?P<type>[^:]+?)"
    r"(?: \((?:nullable|containsNull|valueContainsNull) = (?P<flag>true|false)\))?"
)
_ROOT = "\nSchema: root\n"


def parse_relation(name: str, text: str) -> StoredTable:
    """The relation that the statement's one row describes. Raises `SparkFailure` where it cannot be read."""
    try:
        form: Form = json.loads(text)
        fields = tuple(
            PhysicalField(c["name"], _parse_form(c["type"]), bool(c.get("nullable", True))) for c in form["columns"]
        )
    except (KeyError, TypeError, ValueError, dt.TypeSyntaxError) as error:
        raise SparkFailure(f"what Spark says of {name} cannot be read: {error!r}") from error
    kind = str(form.get("type", "")).upper()
    is_table = kind in ("MANAGED", "EXTERNAL")
    provider = form.get("provider")
    return StoredTable(
        name,
        "table" if is_table else "temporary view" if form.get("catalog_name") == "system" else "view",
        PhysicalSchema(fields),
        tuple(map(str, form.get("partition_columns") or ())),
        str(provider).lower() if is_table and provider else None,
        form.get("location") if is_table else None,
        kind == "MANAGED",
        {str(k): str(v) for k, v in (form.get("table_properties") or {}).items()},
        form.get("comment"),
        "num_buckets" in form,
        str(form.get("partition_provider")).lower() == "catalog",
        text=None if is_table else form.get("view_text"),
        created=str(form.get("created_time")),
        filled=tuple(c["name"] for c in form["columns"] if c.get("default") is not None),
        has_options=has_options(form.get("storage_properties") or ()),
    )


def parse_lines(
    name: str, lines: Sequence[Sequence[Any]], schema: PhysicalSchema, properties: Mapping[str, str]
) -> StoredTable:
    """The relation that the lines of `DESCRIBE TABLE EXTENDED` describe; `schema` is the one that a query of it
    sees."""
    heads = [str(line[0]) for line in lines]
    start = max((i for i, head in enumerate(heads) if head.startswith("# Detailed ")), default=len(schema))
    details = {str(line[0]): str(line[1]) for line in lines[start:]}
    partitions: list[str] = []
    if "# Partition Information" in heads:
        for head in heads[heads.index("# Partition Information") + 2 :]:
            if not head or head.startswith("#"):
                break
            partitions.append(head)
    provider = details.get("Provider")
    return StoredTable(
        name,
        "view" if details.get("Type") == "VIEW" else "table",
        schema,
        tuple(partitions),
        provider.lower() if provider else None,
        details.get("Location"),
        details.get("Type") == "MANAGED",
        dict(properties),
        details.get("Comment"),
        "Num Buckets" in details,
        details.get("Partition Provider") == "Catalog",
        text=details.get("View Text"),
        created=details.get("Created Time"),
        has_options=has_options(_list_keys(details.get("Storage Properties", ""))),
    )


def _list_keys(shown: str) -> list[str]:
    """The keys of `[a=1, b=2]`."""
    return [pair.partition("=")[0] for pair in shown.strip("[]").split(", ") if "=" in pair]


def has_options(storage: Iterable[str]) -> bool:
    """Whether there are options of a user's among a table's storage properties, by their names."""
    return bool({*storage} - {"path", "serialization.format"})


def parse_tree(information: str, lines: Sequence[Sequence[Any]]) -> PhysicalSchema:
    """The columns of a relation. Flags come from the tree in the output of `SHOW TABLE EXTENDED`, names and the lengths
    of char and varchar from `lines`, which describe it. Raises `SparkFailure` where they cannot be read.

    >>> tree = "\\nSchema: root\\n |-- a: array (nullable = false)\\n |    |-- element: string (containsNull = true)"
    >>> parse_tree(tree, [("a", "array<varchar(3)>")]).fields[0]
    PhysicalField(name='a', type=Array(element=Varchar(length=3), contains_null=True), nullable=False)
    """
    try:
        nodes = [
            _parse_node(line) for line in information[information.rindex(_ROOT) + len(_ROOT) :].rstrip().splitlines()
        ]
        fields, rest = _parse_fields(nodes, 0)
        if rest or len(fields) > len(lines):
            raise ValueError(information)
        described = [(str(line[0]), _parse_described_type(str(line[1]))) for line in lines]
    except (ValueError, dt.TypeSyntaxError) as error:
        raise SparkFailure(f"the columns that Spark prints cannot be read: {error!r}") from error
    return PhysicalSchema(
        tuple(
            PhysicalField(name, f.type if declared is None else _add_lengths(f.type, declared), f.nullable)
            for f, (name, declared) in zip(fields, described)
        )
    )


_Node = tuple[int, str, str, bool]


def _parse_node(line: str) -> _Node:
    """Depth, name, type and flag of a line of the tree."""
    found = _NODE.fullmatch(line)
    if found is None:
        raise ValueError(line)
    return len(found["depth"]) // 5, found["name"], found["type"], found["flag"] != "false"


def _parse_fields(nodes: Sequence[_Node], depth: int) -> tuple[list[dt.StructField], Sequence[_Node]]:
    """The fields at the beginning that stand at one depth, and what follows them."""
    fields: list[dt.StructField] = []
    while nodes and nodes[0][0] == depth:
        (_, name, kind, nullable), nodes = nodes[0], nodes[1:]
        below, nodes = _parse_fields(nodes, depth + 1)
        fields.append(dt.StructField(name, _build_type(kind, below), nullable))
    return fields, nodes


def _build_type(kind: str, below: Sequence[dt.StructField]) -> dt.DataType:
    if kind == "struct":
        return dt.Struct(tuple(below))
    if kind == "array":
        (element,) = below
        return dt.Array(element.type, element.nullable)
    if kind == "map":
        key, value = below
        return dt.Map(key.type, value.type, value.nullable)
    return dt.parse_type(kind)


def _parse_described_type(text: str) -> dt.DataType | None:
    """A described type; None for one whose nested names need quotes, which this description does not give."""
    try:
        return dt.parse_type(text)
    except ValueError:
        return None


def _add_lengths(t: dt.DataType, declared: dt.DataType) -> dt.DataType:
    return dt.add_lengths(t, declared) if dt.same_structure(t, dt.drop_lengths(declared)) else t


def _parse_form(form: Form) -> dt.DataType:
    read = _READERS.get(form["name"])
    return read(form) if read is not None else dt.parse_type(str(form["name"]))


def _parse_interval(form: Form) -> dt.DataType:
    if "start_unit" not in form:
        return dt.parse_type("interval")
    start, end = form["start_unit"], form.get("end_unit") or form["start_unit"]
    return dt.parse_type(f"interval {start}" if start == end else f"interval {start} to {end}")


_READERS: dict[str, Callable[[Form], dt.DataType]] = {
    "decimal": lambda f: dt.Decimal(f["precision"], f["scale"]),
    "char": lambda f: dt.Char(f["length"]),
    "varchar": lambda f: dt.Varchar(f["length"]),
    "string": lambda f: dt.String(None if f.get("collation", "UTF8_BINARY") == "UTF8_BINARY" else f["collation"]),
    "interval": _parse_interval,
    "array": lambda f: dt.Array(_parse_form(f["element_type"]), bool(f.get("element_nullable", True))),
    "map": lambda f: dt.Map(
        _parse_form(f["key_type"]), _parse_form(f["value_type"]), bool(f.get("value_nullable", True))
    ),
    "struct": lambda f: dt.Struct(
        tuple(dt.StructField(x["name"], _parse_form(x["type"]), bool(x.get("nullable", True))) for x in f["fields"])
    ),
}
