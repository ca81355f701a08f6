"""One node of a dbt manifest (a plain mapping, untrusted) as a `Model` and its `Contract`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planproof.contract import CONSTRAINTS, Constraint, Contract, ContractError, Model, quarantine_refusal
from planproof.project.reads import ProjectError, UnreadableContract
from planproof.settings import ENFORCEABLE, Settings, SettingsError
from planproof_engine import ColumnNames, Conf, evolve, split_name
from planproof_engine.types import DataType, parse_type, quote_if_needed

Node = Mapping[str, Any]

_OWN_QUARANTINE = re.compile(r"\bon_violation\W+quarantine\b")
_LISTED = re.compile(r"`((?:``|[^`])+)`|([^,`\s][^,`]*)")
_OPTIONS = (
    "location_root",
    "options",
    "tblproperties",
    "clustered_by",
    "buckets",
    "on_schema_change",
    "unique_key",
    "sql_header",
    "full_refresh",
)


def model_of(
    node: Node,
    *,
    sql: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    conf: Conf | None = None,
) -> Model:
    """The model that a manifest's node describes.

    `sql` stands in for the node's `compiled_code`; `conf` says what a bare `timestamp` in the contract means. Settings
    are `defaults`, then the node's `meta.planproof`, then `overrides` (what a command line or an operator says). A dbt
    contract binds columns by name: unless the node says `enforce` itself, the order is not part of the promise. Raises
    `ProjectError`, which names the node.
    """
    where = label_of(node)
    compiled = sql if sql is not None else node.get("compiled_code")
    if not isinstance(compiled, str) or not compiled.strip():
        raise ProjectError(f"{where}: the manifest holds no compiled SQL for it; run `dbt compile`")
    if node.get("language") == "python":
        raise ProjectError(f"{where}: a Python model has no SQL that planproof could check")
    config = read_mapping(node, "config", where)
    try:
        return Model(
            relation_of(node),
            compiled,
            contract=contract_of(node, conf),
            materialized=materialized_of(node),
            incremental_strategy=_read_strategy(_read_text(config, "incremental_strategy", where)),
            # dbt does not look at a view's, which may be another warehouse's form of it.
            partition_by=() if materialized_of(node) == "view" else _read_list(config, "partition_by", where),
            settings=settings_of(node, defaults=defaults, overrides=overrides),
            file=_read_text(node, "original_file_path", where),
            unique_id=_read_text(node, "unique_id", where),
            file_format=_read_text(config, "file_format", where) or "parquet",
            options=_read_options(config, materialized_of(node), where),
            comment=_read_comment(node, config),
        )
    except ContractError as error:
        raise ProjectError(f"{where}: {error}") from error


def seed_form(node: Node) -> Node:
    """A seed's node as that of the table that the guard publishes; no contract of dbt's binds it."""
    config = {**read_mapping(node, "config", label_of(node)), "materialized": "table", "contract": None}
    return {**node, "resource_type": "model", "contract": None, "language": "sql", "config": config}


def _read_options(config: Node, materialized: str, where: str) -> dict[str, Any]:
    given = {key: config[key] for key in _OPTIONS if config.get(key) is not None}
    if "clustered_by" in given and materialized != "view":
        given["clustered_by"] = _read_list(config, "clustered_by", where)
    return given


def _read_list(config: Node, key: str, where: str) -> tuple[str, ...]:
    return split_columns(_read_names(config, key, where))


def split_columns(given: Sequence[str]) -> tuple[str, ...]:
    """The columns of `partition_by` and `clustered_by`: dbt-spark puts each text into its statement as it is, which may
    be in backticks, or name several columns.

    >>> split_columns(["day", "`the hour`, zone"])
    ('day', 'the hour', 'zone')
    """
    names: list[str] = []
    for text in given:
        # A transform (`days(at)`) is no column; the formats that know some are not written here.
        found = [] if "(" in text else _LISTED.findall(text)
        names += [quoted.replace("``", "`") if quoted else plain.strip() for quoted, plain in found] or [text]
    return tuple(names)


def _read_strategy(given: str | None) -> str:
    """dbt-spark writes each batch of `microbatch` by INSERT OVERWRITE of the partitions that it holds."""
    return "insert_overwrite" if given == "microbatch" else given or "append"


def contract_of(node: Node, conf: Conf | None = None) -> Contract | None:
    """The contract of a node, or None where none is enforced. Raises `UnreadableContract` with the column's name.

    A bare `timestamp` is what `conf` makes of it (`spark.sql.timestampType`), as in the casts of dbt's own comparison.
    A `custom` constraint is SQL for one database that nobody can count; the contract lists those as `unknown`.
    """
    try:
        return _read_contract(node, conf or Conf())
    except ProjectError as error:
        raise UnreadableContract(str(error)) from error


def _read_contract(node: Node, conf: Conf) -> Contract | None:
    where = label_of(node)
    config = read_mapping(node, "config", where)
    declared = read_mapping(config, "contract", where) or read_mapping(node, "contract", where)
    if not declared.get("enforced"):
        return None
    columns = _read_columns(node, where)
    if not columns:
        raise ProjectError(f"{where}: its contract is enforced, but it names no columns; list them under `columns:`")
    source = patch_of(node)[1] or where
    # dbt-spark adds the checks to a Delta table once its rows are there, and Delta refuses them where one is null.
    takes_null = materialized_of(node) == "view" or _read_text(config, "file_format", where) != "delta"
    try:
        return Contract(
            [(name, _read_type(column, name, where, conf), True) for name, column in columns.items()],
            [evolve(c, takes_null=takes_null) for c in _read_constraints(node, columns, where) if c is not None],
            dict.fromkeys(columns, source),
            custom_constraints(node),
        )
    except ContractError as error:
        raise ProjectError(f"{where}: {error}") from error


def custom_constraints(node: Node) -> tuple[str, ...]:
    """The declared constraints of a kind that planproof does not know, as `kind: expression`."""
    where = label_of(node)
    return tuple(
        f"{form.get('type')}: {form.get('expression') or ''}".rstrip(": ")
        for form, _ in _find_constraints(node, _read_columns(node, where), where)
        if form.get("type") not in CONSTRAINTS
    )


def settings_of(
    node: Node, *, defaults: Mapping[str, Any] | None = None, overrides: Mapping[str, Any] | None = None
) -> Settings:
    """`config.meta.planproof`, else `meta.planproof`, between `defaults` and `overrides`. Raises `ProjectError`."""
    where = label_of(node)
    given = _read_settings(node, where)
    by_name = {"enforce": [term for term in ENFORCEABLE if term != "order"]}
    try:
        found = Settings.of({**by_name, **(defaults or {}), **given, **(overrides or {})}, f"{where}: meta.planproof")
    except SettingsError as error:
        raise ProjectError(str(error)) from error
    if found.in_force.on_violation != "quarantine":
        return found
    if has_no_rows(node) and not _has_own_quarantine(node):
        return evolve(found, on_violation="stop")
    if given.get("on_violation") == "quarantine":
        _refuse_quarantine(node, where)
    return found


def has_no_rows(node: Node) -> bool:
    """Whether the node is a view, or a part of the models that read it. For such a node a folder's `on_violation:
    quarantine` has no effect."""
    return materialized_of(node) in ("view", "ephemeral")


def has_inherited_quarantine(node: Node) -> bool:
    """Whether the node has `on_violation: quarantine`, and it has no effect. Raises `ProjectError`."""
    asked = _read_settings(node, label_of(node)).get("on_violation") == "quarantine"
    return asked and has_no_rows(node) and not _has_own_quarantine(node)


def _has_own_quarantine(node: Node) -> bool:
    """Whether the model's own file says it. dbt's manifest does not tell what a YAML file says of one model from what
    it says of a folder."""
    return _OWN_QUARANTINE.search(str(node.get("raw_code") or "")) is not None


def guard_of(node: Node, overrides: Mapping[str, Any] | None = None) -> str:
    """The node's `guard` alone: its other settings, which may be wrong, do not matter where it is `off`. Raises
    `ProjectError`."""
    where = label_of(node)
    given = (overrides or {}).get("guard", _read_settings(node, where).get("guard"))
    try:
        return Settings.of({} if given is None else {"guard": given}, f"{where}: meta.planproof").guard
    except SettingsError as error:
        raise ProjectError(str(error)) from error


def _read_settings(node: Node, where: str) -> Mapping[str, Any]:
    config_meta = read_mapping(read_mapping(node, "config", where), "meta", where)
    given = config_meta.get("planproof", read_mapping(node, "meta", where).get("planproof")) or {}
    if not isinstance(given, Mapping):
        raise ProjectError(f"{where}: meta.planproof is {given!r}, not a mapping of settings")
    return given


def _refuse_quarantine(node: Node, where: str) -> None:
    """Raises `ProjectError` where the node asks for what its way of storing rows cannot give."""
    config = read_mapping(node, "config", where)
    strategy = _read_text(config, "incremental_strategy", where) or "append"
    name, file_format = str(node.get("name") or where), _read_text(config, "file_format", where) or "parquet"
    why = quarantine_refusal(name, materialized_of(node), strategy, file_format)
    if why is not None:
        raise ProjectError(f"{where}: meta.planproof.on_violation: quarantine cannot be kept: {why}")


def relation_of(node: Node) -> str:
    """The dotted name of the node's relation, quoted only where a part needs it; an ephemeral model has one too."""
    where = label_of(node)
    given = node.get("relation_name")
    if isinstance(given, str) and given.strip():
        # dbt quotes with the adapter's character; a manifest compiled for another adapter may hold double quotes.
        parts: Sequence[str] = split_name(given.strip().replace('"', "`"))
    else:
        name = node.get("alias") or node.get("identifier") or node.get("name")
        parts = [str(part) for part in (node.get("database"), node.get("schema"), name) if part]
    if not parts or not all(parts):
        raise ProjectError(f"{where}: it has no relation name (found {given!r})")
    return ".".join(quote_if_needed(part) for part in parts)


def materialized_of(node: Node) -> str:
    """`table`, `view`, `incremental`, `ephemeral`, `seed`, or whatever else the node says."""
    if node.get("resource_type") == "seed":
        return "seed"
    return str(read_mapping(node, "config", label_of(node)).get("materialized") or "view")


def label_of(node: Node) -> str:
    """The node's id and file, for errors."""
    name = str(node.get("unique_id") or node.get("name") or "a node without unique_id")
    file = node.get("original_file_path")
    return f"{name} ({file})" if isinstance(file, str) and file else name


def patch_of(node: Node) -> tuple[str, str]:
    """The package and the path of the YAML file that describes the node, both empty where there is none.

    dbt 1 writes `package://models/schema.yml`, the first dbt 2 the path alone.
    """
    given = str(node.get("patch_path") or "").replace("\\", "/")
    package, separator, path = given.partition("://")
    return (package, path) if separator else ("", given.removeprefix("./"))


def documented_columns(node: Node) -> list[str]:
    """The columns that the node's YAML names, with a `data_type` or without."""
    return list(_read_columns(node, label_of(node)))


def declared_not_null(node: Node) -> ColumnNames:
    """The columns that a constraint promises NOT NULL."""
    where = label_of(node)
    return ColumnNames(
        name
        for form, names in _find_constraints(node, _read_columns(node, where), where)
        if form.get("type") in ("not_null", "primary_key")
        for name in names
    )


def declared_columns(node: Node) -> list[tuple[str, str, bool]]:
    """The documented columns that have a `data_type`, with NOT NULL from their constraints; no contract is implied."""
    columns, not_null = _read_columns(node, label_of(node)), declared_not_null(node)
    return [
        (name, str(column["data_type"]), name not in not_null)
        for name, column in columns.items()
        if column.get("data_type")
    ]


def _read_columns(node: Node, where: str) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for key, column in read_mapping(node, "columns", where).items():
        if not isinstance(column, Mapping):
            raise ProjectError(f"{where}: column {key!r} is {column!r}, not a mapping")
        found[str(column.get("name") or key)] = column
    return found


def _read_type(column: Node, name: str, where: str, conf: Conf) -> DataType:
    given = column.get("data_type")
    if not isinstance(given, str) or not given.strip():
        raise ProjectError(f"{where}: column {name!r} of its enforced contract has no data_type; give it one")
    try:
        return parse_type(given, timestamp_ntz=conf.timestamp_type == "TIMESTAMP_NTZ")
    except ValueError as error:  # It is no type, or too large a one.
        raise ProjectError(f"{where}: column {name!r}: {error}") from error


def _find_constraints(node: Node, columns: Mapping[str, Node], where: str) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Every declared constraint with the columns that it is about."""
    for name, column in columns.items():
        for form in _read_sequence(column, "constraints", f"{where}: column {name!r}"):
            yield form, (name,)
    for form in _read_sequence(node, "constraints", where):
        yield form, _read_names(form, "columns", where)


def _read_constraints(node: Node, columns: Mapping[str, Node], where: str) -> Iterator[Constraint | None]:
    for form, names in _find_constraints(node, columns, where):
        kind = form.get("type")
        yield _read_constraint(str(kind), form, names, where) if kind in CONSTRAINTS else None


def _read_constraint(kind: str, form: Node, names: tuple[str, ...], where: str) -> Constraint:
    expression = _read_text(form, "expression", where)
    if kind == "foreign_key" and form.get("to"):
        expression = f"{_read_target(str(form['to']))} ({', '.join(_read_names(form, 'to_columns', where))})"
    return Constraint(kind, names, expression, _read_text(form, "name", where))


def _read_target(given: str) -> str:
    """The foreign key's relation; dbt leaves `ref('x')` as it is until it compiles the model."""
    return given if "(" in given else ".".join(quote_if_needed(part) for part in split_name(given))


def _read_comment(node: Node, config: Node) -> str | None:
    persist = config.get("persist_docs")
    wanted = isinstance(persist, Mapping) and persist.get("relation")
    return str(node.get("description") or "") or None if wanted else None


def read_mapping(node: Node, key: str, where: str) -> Node:
    """The mapping at a key, empty where nothing stands there. Raises `ProjectError`."""
    given = node.get(key)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ProjectError(f"{where}: `{key}` is {type(given).__name__}, not a mapping")
    return given


def _read_sequence(node: Node, key: str, where: str) -> Sequence[Node]:
    given = node.get(key)
    if given is None:
        return []
    if not isinstance(given, (list, tuple)) or not all(isinstance(item, Mapping) for item in given):
        raise ProjectError(f"{where}: `{key}` is not a list of mappings")
    return given


def _read_names(node: Node, key: str, where: str) -> tuple[str, ...]:
    given = node.get(key)
    if given is None:
        return ()
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise ProjectError(f"{where}: `{key}` is {given!r}, neither a name nor a list of names")
    return tuple(names)


def _read_text(node: Node, key: str, where: str) -> str | None:
    given = node.get(key)
    if given is not None and not isinstance(given, str):
        raise ProjectError(f"{where}: `{key}` is {given!r}, not a text")
    return given
